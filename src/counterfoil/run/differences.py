"""What is different between a recorded run and the same one as it goes today, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from counterfoil.run.state import Call, State
from counterfoil.types.entry import Entry, Judged, Said
from counterfoil.types.handle import Handle
from counterfoil.types.message import ToolResult
from counterfoil.types.verdict import Allowed, Confirm, Verdict


def verdicts(recorded: Sequence[Entry], today: Sequence[Entry]) -> Iterator[str]:
    """Say where the verdicts on a call are others than they were."""
    names = {call.id: call.name for each in recorded if isinstance(each, Said) for call in each.message.calls}
    then, now = _judged(recorded), _judged(today)
    for call_id, verdicts in then.items():
        what = f"call {call_id} ({names.get(call_id, '?')})"
        others = now.get(call_id, [])
        for index, verdict in enumerate(verdicts):
            if index >= len(others):
                yield f"{what} was {_word(verdict)}, today it is not judged{' again' if index else ''}"
                break
            if _word(verdict) != _word(others[index]):
                yield f"{what} was {_word(verdict)}, today {_word(others[index])}{_why(others[index])}"
                break
            if verdict != others[index]:
                yield f"{what} was {_word(verdict)} in other words{_why(verdict)}; today{_why(others[index])}"
                break
        else:
            if len(others) > len(verdicts):
                yield f"{what} is judged {len(others)} times today, then {len(verdicts)}"
    for call_id in now.keys() - then.keys():
        yield f"call {call_id} was not judged then, today {_word(now[call_id][0])}"


def _judged(entries: Sequence[Entry]) -> dict[str, list[Verdict]]:
    found: dict[str, list[Verdict]] = {}
    for entry in entries:
        if isinstance(entry, Judged):
            found.setdefault(entry.call_id, []).append(entry.verdict)
    return found


def _word(verdict: Verdict) -> str:
    match verdict:
        case Allowed():
            return "allowed"
        case Confirm():
            return "put to a person"
        case _:
            return verdict.code


def _why(verdict: Verdict) -> str:
    match verdict:
        case Allowed(notes):
            return f": {'; '.join(notes)}" if notes else ""
        case Confirm(reason):
            return f": {reason}"
        case _:
            return f": {verdict.message}"


def where(recorded: State, today: State) -> str:
    """Say where two states part that came from the same verdicts."""
    for id, call in recorded.calls.items():
        other = today.calls.get(id)
        if other is None or _came(other) != _came(call):
            return f"call {id} ({call.call.name}) came out differently"
    pairs = enumerate(zip(recorded.messages, today.messages, strict=False), 1)
    said = (number for number, (then, now) in pairs if then.role != "tool" and then != now)  # the others are results
    if (number := next(said, None)) is not None:
        return f"message {number} differs"
    if len(recorded.messages) != len(today.messages):
        return f"there were {len(recorded.messages)} messages, today {len(today.messages)}"
    if _ended(recorded) != _ended(today):
        return "the run ended differently"
    why = ": today's gate does not follow what is read" if recorded.follows and not today.follows else ""
    return f"only the labels of what was read differ{why}"


def _came(call: Call) -> tuple[Any, ...]:
    return call.arguments, call.doubt, _bare(call.result)


def _ended(state: State) -> tuple[Any, ...]:
    return state.ended, state.answer, state.turn, {name: _bare(each) for name, each in state.handles.items()}


def _bare(each: ToolResult | Handle | None) -> ToolResult | Handle | None:
    """The same without its label, which says who could have written it."""
    return None if each is None else msgspec.structs.replace(each, label=None)
