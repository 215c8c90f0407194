"""Blocks that are still being written, and what becomes of the text of a call's arguments."""

from __future__ import annotations

import msgspec

from counterfoil.types.json import read_object
from counterfoil.types.message import Block, Reasoning, Text, ToolCall
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop

CUT = "the stream was cut before the call was complete"
UNFINISHED = "the arguments are missing: the reply ended before they were written"

_replace = msgspec.structs.replace


def with_text(call: ToolCall, raw: str, *, keep: bool) -> ToolCall:
    """The call, with the text of its arguments read. `keep` the text where it is spelt differently than we would."""
    if call.kind == "custom":
        return _replace(call, raw=raw)
    arguments, error = read_object(raw)
    if arguments is None:
        return _replace(call, arguments=None, raw=raw, parse_error=error)
    return _replace(call, arguments=arguments, raw=raw if keep and not _plain(arguments, raw) else None)


def cut(call: ToolCall, raw: str, why: str = CUT) -> ToolCall:
    """The call, never to be run, because its arguments were not written to their end."""
    return _replace(call, arguments=None, raw=raw, parse_error=why)


def _plain(arguments: dict[str, object], raw: str) -> bool:
    try:
        return msgspec.json.encode(arguments) == raw.encode()
    except (OverflowError, UnicodeError):
        return False


class OpenBlock:
    """A block that is being written: what is known of it, and the text so far, in pieces."""

    __slots__ = ("block", "index", "parts")

    def __init__(self, index: int, block: Block) -> None:
        self.index = index
        self.block = block
        self.parts: list[str] = []

    def start(self) -> BlockStart:
        """The event that says it begins."""
        return BlockStart(self.index, self.block)

    def more(self, text: str) -> BlockDelta:
        """Take more text."""
        self.parts.append(text)
        return BlockDelta(self.index, text)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self.parts)

    def stop(self, *, keep: bool) -> BlockStop:
        """The event that says it is complete."""
        block = self.block
        if isinstance(block, ToolCall):
            block = with_text(block, self.text, keep=keep)
        elif isinstance(block, Text | Reasoning):
            block = _replace(block, text=self.text)
        return BlockStop(self.index, block)

    def cut(self) -> BlockStop:
        """The event that says how far it came. A call is then not to be run."""
        if isinstance(self.block, ToolCall):
            return BlockStop(self.index, cut(self.block, self.text))
        return self.stop(keep=False)
