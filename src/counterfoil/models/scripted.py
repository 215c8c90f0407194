"""A model that says what it was told to say: for tests, docs and the first minute."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

from counterfoil.models.model import BaseModel
from counterfoil.types.error import ModelError
from counterfoil.types.message import Block, Message, Text, ToolCall
from counterfoil.types.request import Reply, Request
from counterfoil.types.stream import BlockDelta, StreamEvent, events_of

Turn = str | Sequence[Block] | Reply
"""The answer, or the blocks of a reply, or a whole reply."""


class Scripted(BaseModel):
    """Plays turns in order. A turn is a string (the answer), a list of blocks, a `Reply`, or a callable that is given
    the `Request` and returns one of those.

    `requests` holds what it was sent. A request after the last turn is a `ModelError`; `assert_done` raises
    `AssertionError` when turns were left unused, so that a test cannot pass by stopping early.
    """

    name = "scripted"

    def __init__(self, turns: Iterable[Turn | Callable[[Request], Turn]]) -> None:
        self._turns = list(turns)
        self.requests: list[Request] = []

    async def reply(self, request: Request) -> Reply:
        """Play the next turn."""
        number = len(self.requests)
        self.requests.append(request)
        if number >= len(self._turns):
            raise ModelError(f"the script has {len(self._turns)} turn(s), and this is request {number + 1}: add a turn")
        turn = self._turns[number]
        return reply_of(turn(request) if callable(turn) else turn)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Play the next turn word by word."""
        for event in events_of(await self.reply(request)):
            if isinstance(event, BlockDelta):
                for word in re.findall(r"\s*\S+|\s+$", event.text):
                    yield BlockDelta(event.index, word)
            else:
                yield event

    def assert_done(self) -> None:
        """Raise `AssertionError` unless every turn was played."""
        left = len(self._turns) - len(self.requests)
        if left > 0:
            raise AssertionError(f"{left} of the script's {len(self._turns)} turns were never asked for")


def reply_of(turn: Any) -> Reply:
    """Make a reply of a turn. Raises `TypeError`."""
    if isinstance(turn, Reply):
        return turn
    if isinstance(turn, str):
        return Reply(Message("assistant", (Text(turn),)))
    try:
        blocks: tuple[Any, ...] = tuple(turn)
    except TypeError:
        blocks = (turn,)
    for block in blocks:
        if not isinstance(block, Block):
            raise TypeError(f"a model says a string, a list of blocks or a Reply, not {type(block).__name__}")
    calls = any(isinstance(block, ToolCall) for block in blocks)
    return Reply(Message("assistant", blocks), "tool_calls" if calls else "end")
