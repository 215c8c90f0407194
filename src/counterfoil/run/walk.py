"""Check a journal without any catalogue: does each entry follow from those before it?"""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil.run.state import Call, State
from counterfoil.run.step import NUDGER, AskModel, AskPlan, Nudge, Stop, next_step
from counterfoil.types.entry import (
    Answered,
    Declassified,
    Doubted,
    Ended,
    Entry,
    Finished,
    Judged,
    Loaded,
    Opened,
    Planned,
    Record,
    Said,
    Settled,
    Started,
)
from counterfoil.types.verdict import Allowed, Confirm


def walk(records: Sequence[Record]) -> list[str]:
    """Check without any catalogue that each entry is one to which the entries before it lead.

    Returns one sentence per entry that does not follow; none: the journal is a run that this code could have made.
    """
    state, found = State(), list[str]()
    for record in records:
        entry = record.entry
        problem = _follows(state, entry)
        if problem is not None:
            found.append(f"record {record.seq} ({entry.__struct_config__.tag}) {problem}")
        try:
            state.apply(entry)
        except (LookupError, AssertionError) as error:
            found.append(f"record {record.seq} cannot be applied: {error}")
            break
    return found


def _follows(state: State, entry: Entry) -> str | None:
    if not state.entries:
        return None if isinstance(entry, Opened) else "is not the beginning of a run"
    match entry:
        case Said(message) if message.role == "assistant" and not state.outside:
            begun = state.session is not None and bool(state.messages)
            asked = begun and isinstance(next_step(state), AskModel)
            return None if asked else "is a reply where no model was to be asked"
        case Said(message) if message.name == NUDGER:
            return None if isinstance(next_step(state), Nudge) else "reminds the model where there was no reason to"
        case Said() | Loaded():
            return "is a message while calls are open" if state.open else None
        case Ended(outcome) if outcome.kind == "limit" and outcome.which != "seconds":
            return None if isinstance(next_step(state), Stop) else "stops at a ceiling that was not reached"
        case Planned() if state.open:
            return "is a plan while calls are open"
        case Planned(by_model=True) if state.known is not None and state.known.tainted:
            return "is a plan of the model's after it had read what others can write"
        case Planned(by_model=True):
            return None if isinstance(next_step(state), AskPlan) else "is a plan of the model's that was not asked for"
        case Declassified(call_id):
            call = state.calls.get(call_id)
            return None if call is not None and call.result is not None else "vouches for a result that is not there"
        case Finished(result):
            return _of_call(state.calls.get(result.call_id), entry)
        case Judged(call_id, intent=int(number)) if not _may_spend(state, state.calls.get(call_id), number):
            return "carries out an intent that is not in the plan, or not any more"
        case Judged(call_id) | Started(call_id) | Doubted(call_id) | Answered(call_id) | Settled(call_id):
            return _of_call(state.calls.get(call_id), entry)
        case _:
            return None


def _may_spend(state: State, call: Call | None, number: int) -> bool:
    plan = state.known.plan if state.known is not None else None
    if plan is None or call is None or not plan.current <= number < len(plan.intents):
        return False
    return number not in plan.spent and plan.intents[number].tool == call.call.name


def _of_call(call: Call | None, entry: Entry) -> str | None:
    """Calls of one turn overlap, so what counts is each call's own order: judged, answered, started, finished."""
    if call is None:
        return "is about a call that nobody asked for"
    if call.result is not None:
        # The run was stopped while the call was in doubt: what became of it is settled afterwards.
        late = isinstance(entry, Settled) and call.doubt is not None
        return None if late else "is about a call that had its result already"
    running = call.started is not None
    match entry:
        case Judged() if running or isinstance(call.verdict, Confirm):
            return "is a verdict on a call that was not to be judged"
        case Started() if running or not isinstance(call.verdict, Allowed):
            return "starts a call that the gate had not let through"
        case Finished() | Doubted() | Settled() if not running:
            return "says what became of a call that had not been started"
        case Answered() if not call.waiting:
            return "answers a call that did not wait"
        case _:
            return None
