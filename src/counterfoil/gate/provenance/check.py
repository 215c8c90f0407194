"""The gate's check of provenance: the policy as a verdict."""

from __future__ import annotations

import logging

from counterfoil.gate.attempt import Attempt
from counterfoil.gate.provenance.policy import rule
from counterfoil.gate.provenance.wording import for_model, for_person, ticket
from counterfoil.types.plan import Mode
from counterfoil.types.verdict import ALLOWED, Confirm, Refusal, Verdict

log = logging.getLogger("counterfoil.gate")


class Provenance:
    """Asks a person before a call that text from outside could have steered; refuses it where `nobody` can be asked."""

    def __init__(self, mode: Mode = "default", *, nobody: bool = False) -> None:
        self.mode: Mode = mode
        self.nobody = nobody

    def __call__(self, attempt: Attempt) -> Verdict:
        """Judge one attempt."""
        tool = attempt.tool
        known = attempt.known
        assert known is not None, "a run that is judged by what it has read follows what it reads"
        ruling = rule(known, tool.name, tool.how, attempt.written, self.mode)
        attempt.intent = ruling.intent
        if ruling.why is None:
            return ALLOWED
        if self.nobody:
            held = ticket(attempt.run_id, attempt.call.id)
            log.info(
                "%s (call %s of run %s) was held back: %s (%s)",
                tool.name,
                attempt.call.id,
                attempt.run_id,
                ruling.why,
                held,
            )
            return Refusal("untrusted_origin", for_model(ruling.why, held))
        return Confirm(for_person(tool.name, ruling), code=ruling.why, arguments=ruling.traced)
