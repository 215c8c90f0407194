"""A verdict as the journal has it."""

from __future__ import annotations

from counterfoil.gate.attempt import Attempt
from counterfoil.gate.checks.confirmation import digest
from counterfoil.run.secrets import Held
from counterfoil.types.entry import Judged
from counterfoil.types.verdict import Confirm, Refusal, Verdict


def judged(attempt: Attempt, verdict: Verdict, held: Held | None, expire: float) -> Judged:
    """Journal a verdict that says more than "allowed": a confirmation is open for `expire` seconds."""
    id = attempt.call.id
    if attempt.handed is not None:
        verdict = attempt.handed.verdict(attempt, verdict)
    written = attempt.written
    if held is not None and attempt.changed:
        written = held.masked(attempt.tool, written)
    changed = written if attempt.changed else None
    if isinstance(verdict, Refusal):
        return Judged(id, verdict, grant=attempt.grant)
    if isinstance(verdict, Confirm):
        bound = digest(attempt.run_id, id, attempt.tool.name, written, attempt.session)
        return Judged(id, verdict, bound, changed, attempt.at + expire)
    return Judged(id, verdict, arguments=changed, grant=attempt.grant, intent=attempt.intent)
