"""Decide what a run does next. Pure: state in, step out.

Fresh, resumed, recovered after a crash, answered by a person days later: all of them are only entries.
"""

from __future__ import annotations

from typing import NamedTuple

from counterfoil.gate.checks.limits import spent_up
from counterfoil.journal.journal import Status
from counterfoil.run.state import Call, State
from counterfoil.types.outcome import Outcome
from counterfoil.types.verdict import Confirm


class AskModel(NamedTuple):
    """Send the history. `answer_only`: no tool may be called; `must_answer`: only the structured answer may be."""

    answer_only: bool = False
    must_answer: bool = False


class AskPlan(NamedTuple):
    """Ask the model what it means to do, before it reads anything untrusted."""


class Nudge(NamedTuple):
    """The model answered in prose where a structured answer was asked for: say so."""


class Judge(NamedTuple):
    """Put these calls to the gate."""

    calls: list[Call]


class Invoke(NamedTuple):
    """Run these calls: they are allowed, or were interrupted and may run again."""

    calls: list[Call]


class Recover(NamedTuple):
    """These calls were running when their process died, and may not simply run again."""

    calls: list[Call]


class Wait(NamedTuple):
    """Nothing can go on until a person answers or settles."""

    outcome: Outcome


class Stop(NamedTuple):
    """A ceiling is reached."""

    which: str


class Done(NamedTuple):
    """The run is over, until somebody says something."""

    outcome: Outcome


Step = AskModel | AskPlan | Nudge | Judge | Invoke | Recover | Wait | Stop | Done

_ANSWERED = Done(Outcome("answered"))
_ASK = AskModel()


def next_step(state: State) -> Step:
    """What to do now."""
    ended = state.ended
    if state.open:
        # The model was only to give a last answer, and called all the same.
        return _within_turn(state.open) if ended is None else Stop(ended.which or ended.kind)
    last = state.messages[-1] if state.messages else None
    if ended is not None and ended.kind == "cancelled":
        return Done(ended)
    if state.outside or state.answer is not None:
        return _ANSWERED
    assert state.session is not None, "a run begins with Opened"
    budget = state.session.budget
    if ended is not None and ended.kind == "limit":
        if budget.last_answer and not state.last_words:
            return AskModel(answer_only=True)
        return Done(ended)
    if last is not None and last.role == "assistant":
        if state.output is None:
            return _ANSWERED
        return Nudge() if spent_up(state.past, budget) is None else Stop("turns")
    if (which := spent_up(state.past, budget)) is not None:
        return Stop(which)
    if state.plan_due:
        return AskPlan()
    if state.output is not None:
        return AskModel(must_answer=state.past.turns + 1 >= budget.turns or _nudged(state))
    return _ASK


def standing(state: State) -> Outcome:
    """How a run stands that nobody is working on, from its entries alone."""
    if state.session is None:
        return Outcome("failed", "interrupted", "its process died as it began: run it anew")
    match next_step(state):
        case Wait(outcome) | Done(outcome):
            return outcome
        case _ if state.ended is not None:
            return state.ended
        case _:
            return Outcome("failed", "interrupted", "its process stopped before it was done: resume it")


def status(state: State, outcome: Outcome) -> Status:
    """What the index says of a run that rests like that."""
    if state.doubts and state.unsettled:
        return "doubt"
    return "ready" if outcome.which == "interrupted" else _STATUS.get(outcome.kind, "done")


_STATUS: dict[str, Status] = {"waiting": "waiting", "in_doubt": "doubt", "failed": "failed"}


def _within_turn(calls: list[Call]) -> Step:
    unjudged: list[Call] = []
    ready: list[Call] = []
    interrupted: list[Call] = []
    waiting = doubtful = 0
    for call in calls:
        if call.result is not None:
            continue
        if call.doubt is not None:
            doubtful += 1
        elif call.started is not None:
            (ready if call.started.effect in ("read", "idempotent") else interrupted).append(call)
        elif call.verdict is None:
            unjudged.append(call)
        elif isinstance(call.verdict, Confirm):
            waiting += 1
        else:
            ready.append(call)
    if unjudged:
        return Judge(unjudged)
    if interrupted:
        return Recover(interrupted)
    if ready:
        return Invoke(ready)
    if doubtful:
        return Wait(Outcome("in_doubt", detail=f"{doubtful} call(s) may or may not have taken effect: settle them"))
    return Wait(Outcome("waiting", detail=f"{waiting} call(s) wait for a person's answer"))


def _nudged(state: State) -> bool:
    return bool(state.messages) and state.messages[-1].name == NUDGER


NUDGER = "counterfoil"
"""The name under which the harness itself speaks to the model."""
