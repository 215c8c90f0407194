"""A reply as it arrives. The fold of the events is the reply, however they were cut."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from counterfoil.types.message import Block, Ext, Message, Reasoning, Text, ToolCall
from counterfoil.types.request import Reply, Stop, Usage


class ReplyStart(msgspec.Struct, frozen=True, tag="reply_start", omit_defaults=True):
    """A reply begins."""

    model: str | None = None
    id: str | None = None
    ext: Ext = {}


class BlockStart(msgspec.Struct, frozen=True, tag="block_start"):
    """Block `index` begins. `block` is what is known of it so far: a call's id and name, no arguments.

    Indices say the order of the blocks in the reply; there may be gaps between them.
    """

    index: int
    block: Block


class BlockDelta(msgspec.Struct, frozen=True, tag="block_delta"):
    """More of block `index`: prose, reasoning, or the text of a call's arguments."""

    index: int
    text: str


class BlockStop(msgspec.Struct, frozen=True, tag="block_stop"):
    """Block `index` is complete, and this is it. An `Opaque` block may come with no start and no delta."""

    index: int
    block: Block


class ReplyStop(msgspec.Struct, frozen=True, tag="reply_stop", omit_defaults=True):
    """The reply is complete."""

    stop: Stop = "end"
    stop_raw: str | None = None
    usage: Usage | None = None
    ext: Ext = {}
    message_ext: Ext = {}
    """The `ext` of the reply's message."""


StreamEvent = ReplyStart | BlockStart | BlockDelta | BlockStop | ReplyStop


class ReplyFold:
    """Adds stream events up to a `Reply`. `add` each event; `reply` is the result, whole once `done`."""

    def __init__(self) -> None:
        self.start = ReplyStart()
        self.stop: ReplyStop | None = None
        self._blocks: dict[int, Block] = {}

    @property
    def done(self) -> bool:
        """Whether the reply was ended by its model, not by a cut line."""
        return self.stop is not None

    def add(self, event: StreamEvent) -> None:
        """Take one event."""
        if isinstance(event, BlockDelta):  # nearly all of them; the block comes whole at its end
            return
        match event:
            case BlockStop(index, block):
                self._blocks[index] = block
            case ReplyStart():
                self.start = event
            case ReplyStop():
                self.stop = event
            case _:
                pass

    @property
    def reply(self) -> Reply:
        """The reply so far: complete blocks only, in the order of their index."""
        stop = self.stop or ReplyStop("other")
        blocks = tuple(self._blocks[index] for index in sorted(self._blocks))
        return Reply(
            Message("assistant", blocks, ext=stop.message_ext),
            stop.stop,
            stop.stop_raw,
            stop.usage,
            self.start.model,
            self.start.id,
            {**self.start.ext, **stop.ext},
        )


def fold(events: Iterable[StreamEvent]) -> Reply:
    """Add a whole stream up to its reply."""
    adding = ReplyFold()
    for event in events:
        adding.add(event)
    return adding.reply


def events_of(reply: Reply) -> Iterable[StreamEvent]:
    """Say a whole reply as stream events, one delta per block."""
    yield ReplyStart(reply.model, reply.id)
    for index, block in enumerate(reply.message.blocks):
        match block:
            case Text(text) | Reasoning(text):
                yield BlockStart(index, msgspec.structs.replace(block, text=""))
                yield BlockDelta(index, text)
            case ToolCall():
                yield BlockStart(index, msgspec.structs.replace(block, arguments=None, raw=None, parse_error=None))
                yield BlockDelta(index, written_arguments(block))
            case _:
                pass
        yield BlockStop(index, block)
    yield ReplyStop(reply.stop, reply.stop_raw, reply.usage, reply.ext, reply.message.ext)


def written_arguments(call: ToolCall) -> str:
    """A call's arguments as the text of the wire: what the model wrote if that is known, else compact JSON."""
    if call.raw is not None:
        return call.raw
    return msgspec.json.encode(call.arguments if call.arguments is not None else {}).decode()
