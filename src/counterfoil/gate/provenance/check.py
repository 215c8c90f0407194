"""The gate's fifth check: the policy as a verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from counterfoil.gate.attempt import Attempt
from counterfoil.gate.provenance.known import Known
from counterfoil.gate.provenance.policy import Mode, rule
from counterfoil.gate.provenance.wording import for_model, for_person, ticket
from counterfoil.tools.guess import Handling
from counterfoil.types.verdict import ALLOWED, Confirm, Refusal, Verdict

Look = Callable[[Attempt], tuple[Known, Handling]]
"""What the run of an attempt has read, and how the attempt's tool is to be treated."""


class Provenance:
    """Asks a person before a call that text from outside could have steered; refuses it where `nobody` can be asked."""

    def __init__(self, look: Look, mode: Mode = "default", *, nobody: bool = False) -> None:
        if mode not in get_args(Mode):
            raise ValueError(f"mode must be strict, default or off, not {mode!r}: off must be spelled out")
        self.look = look
        self.mode: Mode = mode
        self.nobody = nobody

    def __call__(self, attempt: Attempt) -> Verdict:
        """Judge one attempt."""
        known, how = self.look(attempt)
        ruling = rule(known, attempt.tool.name, how, attempt.arguments, self.mode)
        if ruling.why is None:
            return ALLOWED
        if self.nobody:
            held = ticket(attempt.run_id, attempt.call.id)
            return Refusal("untrusted_origin", for_model(ruling.why, held, asked=False))
        return Confirm(for_person(attempt.tool.name, ruling))
