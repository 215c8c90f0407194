"""Where a conversation stands: what was asked last, and what has been tried for it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from counterfoil.types.message import Message, ToolCall, ToolResult

REPAIRS = 1
"""How often a refused or failed call is written anew before the answer says so."""

_REPAIRABLE = frozenset({None, "bad_arguments", "unknown_tool", "not_parsed"})
"""Codes (`None`: the tool itself complained) that other arguments may put right. A lacking permission is not one."""


class Tried(msgspec.Struct, frozen=True):
    """One call since the last question, and its result."""

    call: ToolCall
    result: ToolResult

    @property
    def repairable(self) -> bool:
        """Whether writing the call anew could help."""
        return self.result.is_error and self.result.code in _REPAIRABLE


class Situation(msgspec.Struct, frozen=True):
    """`asked` is the last question; `earlier` the texts before it, nearest first; `rounds` what was tried since."""

    asked: str
    earlier: tuple[str, ...]
    rounds: tuple[tuple[Tried, ...], ...]

    @property
    def tried(self) -> tuple[Tried, ...]:
        """All calls since the question, in order."""
        return tuple(each for part in self.rounds for each in part)

    @property
    def to_repair(self) -> tuple[Tried, ...]:
        """The calls of the last round that should be written anew."""
        if not 1 <= len(self.rounds) <= REPAIRS:
            return ()
        return tuple(each for each in self.rounds[-1] if each.repairable)


def read(messages: Sequence[Message]) -> Situation:
    """Find the last question and what followed it."""
    last = max((i for i, each in enumerate(messages) if _asks(each)), default=-1)
    earlier = [_text(each) for each in messages[: max(last, 0)] if each.role != "system"]
    rounds: list[tuple[Tried, ...]] = []
    calls: dict[str, ToolCall] = {}
    for message in messages[last + 1 :]:
        if message.calls:
            calls = {call.id: call for call in message.calls}
        if found := tuple(Tried(calls[each.call_id], each) for each in message.results if each.call_id in calls):
            rounds.append(found)
    asked = messages[last].text if last >= 0 else ""
    return Situation(asked, tuple(text for text in reversed(earlier) if text), tuple(rounds))


def _asks(message: Message) -> bool:
    """Whether it is the requester's: the harness speaks under a name of its own, and asks for nothing new."""
    return message.role == "user" and message.name != "counterfoil" and bool(message.text.strip())


def _text(message: Message) -> str:
    return "\n".join(part for part in (message.text, *(result.text for result in message.results)) if part)
