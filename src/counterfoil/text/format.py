"""A family at work: read replies, write them, declare tools, give results back."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil.text.declare import declare, write_results
from counterfoil.text.family import Family
from counterfoil.text.reader import Reader
from counterfoil.text.render import render
from counterfoil.types.message import ToolResult
from counterfoil.types.request import Reply, ToolSpec
from counterfoil.types.stream import ReplyFold, StreamEvent


class Format:
    """One family's format, made by `counterfoil.text.get`.

    `parse`, `render`, `declare` and `results` keep nothing. `feed` and `close` read one reply as it arrives, for the
    `tools` that were given to `get`; for several at a time, make a `reader` for each.
    """

    def __init__(self, family: Family, tools: Sequence[ToolSpec] = ()) -> None:
        self.family = family
        self._tools = tuple(tools)
        self._reader: Reader | None = None

    def parse(self, text: str, tools: Sequence[ToolSpec] | None = None, *, thinking: bool = False) -> Reply:
        """Read a whole reply. `thinking`: the prompt has already begun its reasoning.

        Never raises: what is no call is prose, and a call that is broken says so in its `parse_error`.
        """
        reader, folding = self.reader(tools, thinking=thinking), ReplyFold()
        for events in (reader.feed(text), reader.close()):
            for event in events:
                folding.add(event)
        return folding.reply

    def render(self, reply: Reply, tools: Sequence[ToolSpec] | None = None) -> str:
        """Write a reply so that `parse` gives it back. Raises `Unwritable` where the family has no words for it."""
        return render(self.family, reply, self._tools if tools is None else tools)

    def reader(self, tools: Sequence[ToolSpec] | None = None, *, thinking: bool = False) -> Reader:
        """Make a reader for one reply as it arrives."""
        return Reader(self.family, self._tools if tools is None else tools, thinking)

    def feed(self, chunk: str) -> list[StreamEvent]:
        """Take more of the reply that is arriving; a new one begins after `close`."""
        if self._reader is None:
            self._reader = self.reader()
        return self._reader.feed(chunk)

    def close(self) -> list[StreamEvent]:
        """End the reply that was arriving."""
        reader, self._reader = self._reader or self.reader(), None
        return reader.close()

    def declare(self, tools: Sequence[ToolSpec] | None = None) -> str:
        """Write the catalogue the way that the family was shown tools: a part of the system message."""
        return declare(self.family, self._tools if tools is None else tools)

    def results(self, results: Sequence[ToolResult]) -> str:
        """Write the results of one turn, the content of one message of `family.results.role`."""
        return write_results(self.family, results)

    def write_result(self, result: ToolResult) -> str:
        """Write one result."""
        return write_results(self.family, [result])
