"""From what was read to stream events: blocks with their index, calls with an id."""

from __future__ import annotations

from collections.abc import Iterator

from counterfoil.text.embedded.reader import Read
from counterfoil.types.json import canonical, read_object
from counterfoil.types.message import Text, ToolCall
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, StreamEvent


class BlockWriter:
    """Numbers the blocks of one reply. `calls` are those written so far; `repeated` is set by one written twice.

    A repeated call is dropped: a small model that has begun to repeat itself does not stop by itself. To be able to,
    calls after the first are held back until they are complete.
    """

    def __init__(self, prefix: str) -> None:
        self.calls: list[ToolCall] = []
        self.repeated = False
        self._prefix = prefix
        self._index = -1
        self._prose: list[str] = []
        self._name = ""
        self._written: list[str] = []

    def take(self, read: Read) -> Iterator[StreamEvent]:
        """Say one thing read as events."""
        match read.kind:
            case "prose":
                if not self._prose:
                    self._index += 1
                    yield BlockStart(self._index, Text(""))
                self._prose.append(read.text)
                yield BlockDelta(self._index, read.text)
            case "call":
                yield from self.end_prose()
                self._name, self._written = read.text, []
                if not self.calls:
                    yield BlockStart(self._index + 1, ToolCall(self._id, self._name))
            case "arguments":
                self._written.append(read.text)
                if not self.calls:
                    yield BlockDelta(self._index + 1, read.text)
            case "end":
                yield from self._end_call()

    def say(self, text: str) -> Iterator[StreamEvent]:
        """Write a whole text block."""
        yield from self.take(Read("prose", text))
        yield from self.end_prose()

    def end_prose(self) -> Iterator[StreamEvent]:
        """Complete the text block, if one is open."""
        if self._prose:
            yield BlockStop(self._index, Text("".join(self._prose)))
            self._prose = []

    def cut(self) -> Iterator[StreamEvent]:
        """Complete a call that was cut off: what there is of it is kept, and is no arguments."""
        raw = "".join(self._written)
        held = bool(self.calls)
        call = ToolCall(self._id, self._name, None, raw, "cut off: the model reached its limit of tokens")
        self._index += 1
        if held:
            yield BlockStart(self._index, ToolCall(call.id, call.name))
        self.calls.append(call)
        yield BlockStop(self._index, call)

    @property
    def _id(self) -> str:
        return f"{self._prefix}{len(self.calls) + 1}"

    def _end_call(self) -> Iterator[StreamEvent]:
        raw = "".join(self._written)
        arguments, error = read_object(raw)
        call = ToolCall(self._id, self._name, arguments, raw if error else None, error)
        if any(_same(call, each) for each in self.calls):
            self.repeated = True
            return
        held = bool(self.calls)
        self._index += 1
        if held:
            yield BlockStart(self._index, ToolCall(call.id, call.name))
            yield BlockDelta(self._index, raw)
        self.calls.append(call)
        yield BlockStop(self._index, call)


def _same(first: ToolCall, second: ToolCall) -> bool:
    return first.name == second.name and canonical(first.arguments) == canonical(second.arguments)
