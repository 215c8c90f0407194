"""One ordered pipeline that every call passes, whoever sent it."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeGuard, get_args

import msgspec

from counterfoil.gate.attempt import Attempt, Check
from counterfoil.gate.checks.arguments import arguments
from counterfoil.gate.checks.confirmation import confirmation, granted
from counterfoil.gate.checks.limits import Rates, ceilings, clamps
from counterfoil.gate.checks.permission import authorize, permission
from counterfoil.types.entry import Opened
from counterfoil.types.error import CounterfoilError
from counterfoil.types.plan import Mode
from counterfoil.types.session import Session
from counterfoil.types.verdict import ALLOWED, Allowed, Confirm, Refusal, Verdict

log = logging.getLogger("counterfoil.gate")
_MODES: tuple[Mode, ...] = get_args(Mode)


class Gate:
    """Judges calls: scope, arguments, `authorize`, limits, provenance, your own `checks`, confirmation.

    The first refusal ends it; a confirmation is asked for only if no later check refuses. A check that raises refuses.
    `confirmations_expire` is how many seconds an unanswered confirmation stays open; `four_eyes` demands that the
    approver is not the requester.

    `provenance` says how calls are judged that text from outside could have steered: `strict`, `default`, or `off`,
    and each run's journal says which. `vouched` are values that the application vouches for; `me` gives the requester's
    own names with the services (addresses, account numbers). With `unattended` nobody can be asked, so what provenance
    would ask about is refused. With `planning` the model is asked, before it reads anything, what it means to do: that
    much runs without a person, for the price of one more request per prompt. Raises `ValueError`.
    """

    def __init__(
        self,
        checks: Iterable[Check] = (),
        *,
        provenance: Mode = "default",
        planning: bool = False,
        vouched: Iterable[str] = (),
        me: Callable[[Session], Iterable[str]] | None = None,
        unattended: bool = False,
        confirmations_expire: float = 24 * 3600,
        four_eyes: bool = False,
    ) -> None:
        if provenance not in _MODES:
            raise ValueError(f"provenance must be strict, default or off, not {provenance!r}: off must be spelled out")
        if planning and provenance != "default":
            raise ValueError(f"a plan counts for nothing where provenance is {provenance!r}: leave planning out")
        self.planning = planning
        self.checks = tuple(checks)
        self.confirmations_expire = confirmations_expire
        self.four_eyes = four_eyes
        self.provenance: Mode = provenance
        self.vouched = () if vouched == () else _names(vouched, _VOUCHED, ValueError)
        if me is not None and not callable(me):
            raise ValueError(f"me is a function of a session that gives the requester's own names, not {me!r}")
        self._me = me
        self._look_up: tuple[Check, ...] = (*self.checks, confirmation)
        """The last checks of what only looks something up."""
        self._last = (*_origin(provenance, unattended), *self._look_up)
        self._rates = Rates()
        self._halted: str | None = None

    def opened(self, opened: Opened) -> Opened:
        """The same beginning of a run, with what this gate judges its calls' provenance by.

        Raises `CounterfoilError` where `me` gives anything but names.
        """
        if self.provenance == "off":
            return msgspec.structs.replace(opened, provenance="off", vouched=(), me=())
        me = () if self._me is None else _names(self._me(opened.session), _ME, CounterfoilError)
        return msgspec.structs.replace(opened, provenance=self.provenance, vouched=self.vouched, me=me)

    def halt(self, reason: str = "an operator stopped all calls") -> None:
        """Refuse every call from now on, pending ones included, until `release`."""
        self._halted = reason

    def release(self) -> None:
        """Let calls pass again."""
        self._halted = None

    @property
    def stopped(self) -> Refusal | None:
        """What every call is told while the gate is halted."""
        if self._halted is None:
            return None
        return Refusal("declined", f"Nothing may be called now: {self._halted}. Do not try again.")

    async def judge(self, attempt: Attempt) -> Verdict:
        """Say whether a call of a known tool may run. Does not raise for anything the call could contain."""
        if self._halted is not None and (stop := self.stopped) is not None:
            return stop
        tool = attempt.tool
        limits = tool.limits
        # Held by its own name is the common case, and costs no call.
        held = tool.permission in attempt.session.permissions
        if not held and (verdict := permission(attempt)) is not ALLOWED:
            return verdict
        if (verdict := arguments(attempt)) is not ALLOWED:
            return verdict
        if tool.authorize is not None and (verdict := await authorize(attempt)) is not ALLOWED:
            return verdict
        if limits.clamps:
            clamps(attempt)
        if (verdict := ceilings(attempt)) is not ALLOWED:
            return verdict
        if limits.rate is not None and (verdict := self._rates.peek(attempt)) is not ALLOWED:
            return verdict
        asked: Confirm | None = None
        for check in self._look_up if tool.how.harmless else self._last:
            try:
                said = check(attempt)
                if said is ALLOWED:
                    continue
                verdict = await _verdict(said, check)
            except Exception:  # a check that breaks must close the gate, whatever it raised
                log.exception("the check %s raised: the call is refused", _name(check))
                verdict = _UNCHECKED
            if isinstance(verdict, Refusal):
                return verdict
            if isinstance(verdict, Confirm):
                asked = verdict if asked is None else _both(asked, verdict)
        if asked is not None and attempt.approved_by is None:
            asked = msgspec.structs.replace(asked, four_eyes=asked.four_eyes or self.four_eyes)
            if not asked.grantable or not await granted(attempt, four_eyes=asked.four_eyes):
                return asked
        # Counted with no await between looking and taking, so that N concurrent calls at the limit are exactly N.
        if limits.rate is not None and (verdict := self._rates.take(attempt)) is not ALLOWED:
            return verdict
        return Allowed(tuple(attempt.notes)) if attempt.notes or attempt.grant is not None else ALLOWED


_VOUCHED = "vouched are texts that the application vouches for"
_ME = "the gate's `me` must give texts, the requester's own names"


def _names(given: Any, what: str, error: type[Exception]) -> tuple[str, ...]:
    """Texts in an order of their own, each once, since a set has another order in each process. Raises that `error`.

    What is empty names nothing, and may not vouch for what is left empty.
    """
    try:
        names: list[Any] = [given] if isinstance(given, str) else list(given)
    except TypeError:
        names = [given]
    if wrong := [each for each in names if not isinstance(each, str)]:
        raise error(f"{what}, and {wrong[0]!r} is none")
    return tuple(sorted({each for each in names if each.strip()}))


def _both(first: Confirm, second: Confirm) -> Confirm:
    """One question for two reasons: as strict as either."""
    reason = first.reason if second.reason == first.reason else f"{first.reason}; {second.reason}"
    return Confirm(
        reason,
        first.four_eyes or second.four_eyes,
        first.grantable and second.grantable,
        first.code or second.code,
        first.arguments or second.arguments,
    )


@functools.cache
def _origin(mode: Mode, unattended: bool) -> tuple[Check, ...]:
    """The check of provenance, which keeps nothing and can be shared."""
    if mode == "off":
        return ()
    from counterfoil.gate.provenance.check import Provenance  # noqa: PLC0415 - it is long, and the import is measured

    return (Provenance(mode, nobody=unattended),)


async def _verdict(said: Verdict | Awaitable[Verdict | None] | None, check: Check) -> Verdict:
    """Await what is to be awaited; what is no verdict closes the gate."""
    if inspect.isawaitable(said):
        said = await said
    if said is None:
        return ALLOWED
    if _is_verdict(said):
        return said
    log.error("the check %s returned %r: return None, Allowed, Confirm or Refusal", _name(check), said)
    return _UNCHECKED


def _is_verdict(said: object) -> TypeGuard[Verdict]:
    return isinstance(said, Allowed | Confirm | Refusal)


def _name(check: Check) -> str:
    return getattr(check, "__name__", repr(check))


_UNCHECKED = Refusal("not_permitted", "Whether this is permitted could not be checked, so it was not done.")
