"""One ordered pipeline that every call passes, whoever sent it."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable

from counterfoil.gate.attempt import Attempt, Check
from counterfoil.gate.checks.arguments import arguments
from counterfoil.gate.checks.confirmation import confirmation
from counterfoil.gate.checks.limits import Rates, ceilings, clamps
from counterfoil.gate.checks.permission import authorize, permission
from counterfoil.gate.checks.provenance import provenance
from counterfoil.types.verdict import ALLOWED, Allowed, Confirm, Refusal, Verdict

log = logging.getLogger("counterfoil.gate")


class Gate:
    """Judges calls: scope, arguments, `authorize`, limits, provenance, your own `checks`, confirmation.

    The first refusal ends it; a confirmation is asked for only if no later check refuses. A check that raises refuses.
    `confirmations_expire` is how many seconds an unanswered confirmation stays open; `four_eyes` demands that the
    approver is not the requester.
    """

    def __init__(
        self, checks: Iterable[Check] = (), *, confirmations_expire: float = 24 * 3600, four_eyes: bool = False
    ) -> None:
        self.checks = tuple(checks)
        self.confirmations_expire = confirmations_expire
        self.four_eyes = four_eyes
        self._last: tuple[Check, ...] = (provenance, *self.checks, confirmation)
        self._rates = Rates()
        self._halted: str | None = None

    def halt(self, reason: str = "an operator stopped all calls") -> None:
        """Refuse every call from now on, pending ones included, until `release`."""
        self._halted = reason

    def release(self) -> None:
        """Let calls pass again."""
        self._halted = None

    async def judge(self, attempt: Attempt) -> Verdict:
        """Say whether a call of a known tool may run. Does not raise for anything the call could contain."""
        if self._halted is not None:
            return Refusal("declined", f"Nothing may be called now: {self._halted}. Do not try again.")
        if (verdict := permission(attempt)) is not ALLOWED or (verdict := arguments(attempt)) is not ALLOWED:
            return verdict
        if attempt.tool.authorize is not None and (verdict := await authorize(attempt)) is not ALLOWED:
            return verdict
        clamps(attempt)
        if (verdict := ceilings(attempt)) is not ALLOWED or (verdict := self._rates.peek(attempt)) is not ALLOWED:
            return verdict
        asked: Confirm | None = None
        for check in self._last:
            verdict = await self._ask(check, attempt)
            if isinstance(verdict, Refusal):
                return verdict
            if isinstance(verdict, Confirm):
                asked = asked or verdict
        if asked is not None and attempt.approved_by is None:
            return Confirm(asked.reason, asked.four_eyes or self.four_eyes)
        # Counted with no await between looking and taking, so that N concurrent calls at the limit are exactly N.
        if (verdict := self._rates.take(attempt)) is not ALLOWED:
            return verdict
        return Allowed(tuple(attempt.notes)) if attempt.notes else ALLOWED

    async def _ask(self, check: Check, attempt: Attempt) -> Verdict:
        """Put the attempt to one check. One that raises, or answers what is no verdict, closes the gate."""
        name = getattr(check, "__name__", repr(check))
        try:
            verdict = check(attempt)
            if verdict is ALLOWED:
                return ALLOWED
            if inspect.isawaitable(verdict):
                verdict = await verdict
        except Exception:  # a check that breaks must close the gate, whatever it raised
            log.exception("the check %s raised: the call is refused", name)
            return _UNCHECKED
        if verdict is None:
            return ALLOWED
        if isinstance(verdict, Allowed | Confirm | Refusal):
            return verdict
        log.error("the check %s returned %r: return None, Allowed, Confirm or Refusal", name, verdict)
        return _UNCHECKED


_UNCHECKED = Refusal("not_permitted", "Whether this is permitted could not be checked, so it was not done.")
