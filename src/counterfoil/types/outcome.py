"""How a run stands when control comes back: a value, never an exception."""

from __future__ import annotations

from typing import Literal

import msgspec

OutcomeKind = Literal["answered", "waiting", "limit", "in_doubt", "cancelled", "failed"]


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """`which` names the ceiling of a `limit`; `detail` says for people what happened and what to do."""

    kind: OutcomeKind
    which: str | None = None
    detail: str = ""
