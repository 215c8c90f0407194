"""4. How much, how often, and not the same thing for ever."""

from __future__ import annotations

from collections import deque

from counterfoil.gate.attempt import Attempt
from counterfoil.gate.past import Past
from counterfoil.tools.limits import Rate
from counterfoil.types.session import Budget
from counterfoil.types.verdict import ALLOWED, Refusal, Verdict


def spent_up(past: Past, budget: Budget) -> str | None:
    """The name of the first ceiling that is reached: after it no model is asked and no call runs."""
    if past.turns >= budget.turns:
        return "turns"
    if budget.tokens is not None and past.tokens >= budget.tokens:
        return "tokens"
    # What has no price cannot be held below a ceiling: the first reply of that kind reaches it.
    if budget.cost is not None and (past.unpriced or past.cost >= budget.cost):
        return "cost"
    return None


def clamps(attempt: Attempt) -> None:
    """Move numbers that are beyond a tool's clamps to the nearest allowed value, and say so in the notes."""
    for name, (low, high) in attempt.tool.limits.clamps.items():
        value = attempt.arguments.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        bounded = value if low is None or value >= low else low
        bounded = bounded if high is None or bounded <= high else high
        if bounded != value:
            attempt.arguments = {**attempt.arguments, name: type(value)(bounded)}
            attempt.notes.append(f"{name} was {value}, which is beyond the limit: {bounded} was used instead")


def ceilings(attempt: Attempt) -> Verdict:
    """Refuse what would exceed the run's budget or the tool's limits, or repeats itself."""
    past, budget, limits = attempt.past, attempt.session.budget, attempt.tool.limits
    name = attempt.tool.name
    if attempt.tool.answers:
        return ALLOWED
    # The turns first, and without a call: nearly every run has only that ceiling.
    capped = past.turns >= budget.turns or budget.tokens is not None or budget.cost is not None
    if capped and (which := spent_up(past, budget)) is not None:
        return _over(f"{name} was not run: this run has reached its limit of {which}, so nobody would read the result.")
    if budget.calls is not None and past.allowed >= budget.calls:
        return _over(f"All {budget.calls} calls of this run are spent. Answer with what you have.")
    if limits.calls_per_run is not None and past.by_tool.get(name, 0) >= limits.calls_per_run:
        return _over(f"{name} may be called {limits.calls_per_run} times in a run, and that is spent.")
    if past.identical.get(attempt.identity, 0) >= limits.repeats:
        return Refusal(
            "repeated_call",
            f"{name} was asked for with these same arguments {limits.repeats} times already in this run. "
            "The result will not change: use it, change the arguments, or answer.",
        )
    for argument, most in limits.sums.items():
        used = sum(float(each.get(argument) or 0) for each in attempt.earlier())
        value = attempt.arguments.get(argument)
        if isinstance(value, int | float) and used + value > most:
            return _over(f"{argument} may add up to {most:g} in a run; {used:g} is used and {value:g} is too much.")
    return ALLOWED


def _over(message: str) -> Refusal:
    return Refusal("over_limit", message)


class Rates:
    """Counts calls per requester and tool in a sliding window, in this process."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, str], deque[float]] = {}

    def take(self, attempt: Attempt) -> Verdict:
        """Count a call that will run; refuse it if it comes too soon."""
        verdict = self.peek(attempt)
        if verdict is ALLOWED and attempt.tool.limits.rate is not None:
            self._times[attempt.session.requester, attempt.tool.name].append(attempt.at)
        return verdict

    def peek(self, attempt: Attempt) -> Verdict:
        """Refuse a call that comes too soon, saying when the next may come."""
        rate: Rate | None = attempt.tool.limits.rate
        if rate is None:
            return ALLOWED
        times = self._times.setdefault((attempt.session.requester, attempt.tool.name), deque())
        while times and times[0] <= attempt.at - rate.seconds:
            times.popleft()
        if len(times) >= rate.calls:
            wait = times[0] + rate.seconds - attempt.at
            return _over(
                f"{attempt.tool.name} may be called {rate.calls} times in {rate.seconds:g} seconds: "
                f"the next call may come in {wait:.0f} seconds. Go on with something else."
            )
        return ALLOWED
