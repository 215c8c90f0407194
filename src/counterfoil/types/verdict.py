"""What the gate says of one call."""

from __future__ import annotations

import msgspec

from counterfoil.types.label import Traced
from counterfoil.types.message import Code


class Allowed(msgspec.Struct, frozen=True, tag="allowed", omit_defaults=True, gc=False):
    """The call may run. `notes` are told to the model with the result: what was clamped or coerced."""

    notes: tuple[str, ...] = ()


class Confirm(msgspec.Struct, frozen=True, tag="confirm", omit_defaults=True, gc=False):
    """A person must approve these very arguments before the call runs."""

    reason: str
    four_eyes: bool = False
    """Whether the approver must be someone other than the requester."""
    grantable: bool = False
    """Whether a person may say "always" to it; otherwise each call is asked about."""
    code: str = ""
    """Why, in a word that does not change, where the provenance check asks."""
    arguments: tuple[Traced, ...] = ()
    """Each argument with its origin, where the provenance check asks."""


class Refusal(msgspec.Struct, frozen=True, tag="refusal", omit_defaults=True, gc=False):
    """The call does not run. `message` is written for the model: what was wrong, where, what would be right."""

    code: Code
    message: str


Verdict = Allowed | Confirm | Refusal
ALLOWED = Allowed()
