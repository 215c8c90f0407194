"""Puts the blocks of a stream one after another, for wires whose blocks must not overlap."""

from __future__ import annotations

from collections.abc import Iterator

from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, StreamEvent


class Sequencer:
    """Hands events on so that each block stops before the next starts; a later block waits for the open one."""

    def __init__(self) -> None:
        self._open: int | None = None
        self._waiting: dict[int, list[StreamEvent]] = {}

    def feed(self, event: StreamEvent, /) -> Iterator[StreamEvent]:
        """Take one event. A block that came as a mere stop is handed on as one."""
        if not isinstance(event, BlockStart | BlockDelta | BlockStop):
            yield event
            return
        if self._open is None or self._open == event.index:
            yield event
            self._open = None if isinstance(event, BlockStop) else event.index
            while self._open is None and self._waiting:
                index = next(iter(self._waiting))
                self._open = index
                for each in self._waiting.pop(index):
                    yield each
                    if isinstance(each, BlockStop):
                        self._open = None
        else:
            self._waiting.setdefault(event.index, []).append(event)
