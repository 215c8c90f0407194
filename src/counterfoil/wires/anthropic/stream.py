"""Streams of Anthropic Messages, read and written as decoded events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from counterfoil.types.error import WireError
from counterfoil.types.message import Block, Opaque, Reasoning, Text, ToolCall
from counterfoil.types.request import Usage
from counterfoil.types.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    ReplyStart,
    ReplyStop,
    StreamEvent,
)
from counterfoil.wires import _fields as fields
from counterfoil.wires._envelope import unwrap_arguments, wrap_arguments
from counterfoil.wires._guard import guarded, guarded_feed
from counterfoil.wires._ids import Calls
from counterfoil.wires._lookups import cited
from counterfoil.wires._open import OpenBlock
from counterfoil.wires._sequence import Sequencer
from counterfoil.wires._stops import derive, word
from counterfoil.wires.anthropic.blocks import NAME, read_block, slot, write_reply_block
from counterfoil.wires.anthropic.reply import (
    DEFAULTS,
    STOPS,
    read_usage,
    refuse_error,
    replaced,
    settle,
    write_usage,
)
from counterfoil.wires.wire import NO_PLAN, Body, Plan

_replace = msgspec.structs.replace


class Reader:
    """Reads one stream."""

    def __init__(self, plan: Plan = NO_PLAN) -> None:
        self._plan = plan
        self._calls = Calls()
        self._open: dict[int, _Open] = {}
        # A call that is complete but for one thing: only the stop reason says whether it was cut off.
        self._last: BlockStop | None = None
        self._called = False
        self._usage: Usage | None = None
        self._kept: dict[str, Any] = {}
        self._stop: str | None = None
        self._ended = False

    @guarded_feed(f"{NAME} stream")
    def feed(self, event: Body, /) -> Iterable[StreamEvent]:
        """Take one event."""
        match event.get("type"):
            case "content_block_delta":
                return self._delta(event)
            case "content_block_start":
                return self._begin(event)
            case "content_block_stop":
                return self._finish(event)
            case "message_start":
                return self._start(fields.need(event, "message", dict, f"{NAME} stream"))
            case "message_delta":
                self._usage = replaced(self._usage, event.get("usage"))
                delta = fields.sub(event, "delta")
                self._stop = delta.get("stop_reason") or self._stop
                self._kept |= fields.leftover(fields.without(delta, DEFAULTS), ("stop_reason",))
                return ()
            case "message_stop":
                return self._end()
            case "error":
                refuse_error(event)
                return ()
            case _:
                return ()

    @guarded(f"{NAME} stream")
    def close(self) -> Iterable[StreamEvent]:
        """End the stream: without a `message_stop` it was cut, and open calls are not to be run."""
        if self._ended:
            return []
        return [*self._settle(), *[each.block.cut() for _, each in sorted(self._open.items())]]

    def _start(self, message: Body) -> list[StreamEvent]:
        self._usage = read_usage(message.get("usage"))
        message = fields.without(message, DEFAULTS)
        self._kept = fields.leftover(message, ("type", "role", "content", "stop_reason", "usage", "id", "model"))
        return [ReplyStart(message.get("model") or None, message.get("id") or None)]

    def _begin(self, event: Body) -> list[StreamEvent]:
        index = fields.need(event, "index", int, f"{NAME} stream")
        body = fields.need(event, "content_block", dict, f"{NAME} stream")
        block = read_block(body, f"{NAME} stream/content_block", self._calls, self._plan)
        opened = _Open(index, block)
        self._open[index] = opened
        return [*self._settle(), BlockStart(index, opened.block.block)]

    def _delta(self, event: Body) -> Iterable[StreamEvent]:
        opened = self._open.get(event.get("index", -1))
        if opened is None:
            raise WireError(f"{NAME} stream: a delta for block {event.get('index')!r}, which is not open")
        delta = fields.sub(event, "delta")
        match delta.get("type"):
            case "input_json_delta":
                text = delta.get("partial_json") or ""
                if isinstance(opened.block.block, Opaque):
                    opened.block.more(text)
                    return ()
            case "text_delta":
                text = delta.get("text") or ""
            case "thinking_delta":
                text = delta.get("thinking") or ""
            case "signature_delta":
                opened.signature += delta.get("signature") or ""
                return ()
            case "citations_delta":
                opened.citations.append(delta.get("citation"))
                return ()
            case _:
                return ()
        return (opened.block.more(text),) if text else ()

    def _finish(self, event: Body) -> Iterable[StreamEvent]:
        opened = self._open.pop(event.get("index", -1), None)
        if opened is None:
            raise WireError(f"{NAME} stream: block {event.get('index')!r} stops, which is not open")
        stop = BlockStop(opened.block.index, cited(opened.whole(self._plan), NAME, "citations"))
        if isinstance(stop.block, ToolCall):
            self._called = True
            self._last = stop
            return ()
        return (stop,)

    def _settle(self) -> Iterable[BlockStop]:
        last, self._last = self._last, None
        return (last,) if last is not None else ()

    def _end(self) -> list[StreamEvent]:
        self._ended = True
        stop = derive(STOPS, self._stop, self._called)
        events: list[StreamEvent] = []
        for last in self._settle():
            block = settle(last.block, stop) if isinstance(last.block, ToolCall) else last.block
            events.append(BlockStop(last.index, block))
        events += [each.block.cut() for _, each in sorted(self._open.items())]
        return [*events, ReplyStop(stop, self._stop, self._usage, fields.ext(NAME, self._kept))]


class _Open:
    """A block on its way: what the deltas bring besides text."""

    def __init__(self, index: int, block: Block) -> None:
        self.signature = ""
        self.citations: list[Any] = []
        match block:
            # What a start already says of a text counts as its first delta.
            case Text(text) | Reasoning(text) if text:
                self.block = OpenBlock(index, _replace(block, text=""))
                self.block.more(text)
            case ToolCall(arguments=dict() as said):
                # Hosts that send whole calls put the input into the start.
                self.block = OpenBlock(index, _replace(block, arguments=None))
                if said:
                    self.block.more(msgspec.json.encode(said).decode())
            case _:
                self.block = OpenBlock(index, block)

    def whole(self, plan: Plan) -> Block:
        """The block, complete."""
        block = self.block.block
        if isinstance(block, ToolCall):
            # A call without arguments sends no text, or an empty one.
            if not self.block.text:
                self.block.more("{}")
            called = self.block.stop(keep=False).block
            return unwrap_arguments(called, plan.custom) if isinstance(called, ToolCall) else called
        if isinstance(block, Opaque):
            # The input of a tool that runs at the provider comes in deltas too.
            said = self.block.text
            return _replace(block, data={**block.data, "input": msgspec.json.decode(said)}) if said else block
        whole = self.block.stop(keep=True).block
        if isinstance(whole, Reasoning) and self.signature:
            return _replace(whole, signature=self.signature)
        if isinstance(whole, Text) and self.citations:
            held = {**slot(whole), "citations": [*(slot(whole).get("citations") or ()), *self.citations]}
            return _replace(whole, ext={**whole.ext, NAME: held})
        return whole


class Writer:
    """Writes one stream."""

    def __init__(self) -> None:
        self._sequence = Sequencer()
        self._index = 0
        self._start: Block | None = None
        self._begun = False

    def feed(self, event: StreamEvent, /) -> Iterator[Body]:
        """Take one event of ours."""
        for each in self._sequence.feed(event):
            match each:
                case ReplyStart(model, id):
                    yield _message_start(model, id)
                case BlockStart(_, block):
                    self._start, self._begun = block, False
                case BlockDelta(_, text):
                    yield from self._delta(text)
                case BlockStop(_, block):
                    yield from self._stop(block)
                case ReplyStop():
                    yield from _message_end(each)

    def close(self) -> Iterable[Body]:
        """End the stream."""
        return ()

    def _delta(self, text: str) -> Iterator[Body]:
        match self._start:
            case Text():
                delta = {"type": "text_delta", "text": text}
            case Reasoning():
                delta = {"type": "thinking_delta", "thinking": text}
            case ToolCall(kind="function"):
                delta = {"type": "input_json_delta", "partial_json": text}
            case _:
                return
        if text:
            yield from self._begin(self._start)
            yield {"type": "content_block_delta", "index": self._index, "delta": delta}

    def _begin(self, block: Block) -> Iterator[Body]:
        """Start a block on the wire: late, because only its first text shows that it is not a redacted one."""
        if self._begun:
            return
        match block:
            case Text():
                body = write_reply_block(_replace(block, text=""))
            case Reasoning(redacted=None):
                body = {**(write_reply_block(_replace(block, text="")) or {}), "signature": ""}
            case ToolCall():
                body = write_reply_block(_replace(block, arguments={}, raw=None, parse_error=None, kind="function"))
            case _:
                body = write_reply_block(block)
        if body is not None:
            self._begun = True
            yield {"type": "content_block_start", "index": self._index, "content_block": body}

    def _stop(self, block: Block) -> Iterator[Body]:
        fresh = not self._begun
        if isinstance(block, Text) and fresh:
            held = {key: value for key, value in slot(block).items() if key != "citations"}
            yield from self._begin(_replace(block, ext={NAME: held}))
        else:
            yield from self._begin(block)
        if self._begun:
            for delta in _last_deltas(block, fresh):
                yield {"type": "content_block_delta", "index": self._index, "delta": delta}
            yield {"type": "content_block_stop", "index": self._index}
            self._index += 1
        self._start, self._begun = None, False


def _last_deltas(block: Block, fresh: bool) -> Iterator[Body]:
    match block:
        case Text(text):
            if fresh and text:
                yield {"type": "text_delta", "text": text}
            for citation in slot(block).get("citations") or ():
                yield {"type": "citations_delta", "citation": citation}
        case Reasoning(text, redacted=None):
            if fresh and text:
                yield {"type": "thinking_delta", "thinking": text}
            if block.signature:
                yield {"type": "signature_delta", "signature": block.signature}
        case ToolCall():
            if fresh or block.kind == "custom":
                # Arguments that were nothing at all must not pass for none.
                yield {"type": "input_json_delta", "partial_json": msgspec.json.encode(wrap_arguments(block)).decode()}
        case _:
            pass


def _message_start(model: str | None, id: str | None) -> Body:
    message: Body = {
        "id": id or DEFAULTS["id"],
        "type": "message",
        "role": "assistant",
        "model": model or DEFAULTS["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": write_usage(None),
    }
    return {"type": "message_start", "message": message}


def _message_end(event: ReplyStop) -> Iterator[Body]:
    delta = fields.fill(
        {"stop_reason": word(STOPS, event.stop, event.stop_raw)}, {"stop_sequence": None, **fields.sub(event.ext, NAME)}
    )
    yield {"type": "message_delta", "delta": delta, "usage": write_usage(event.usage)}
    yield {"type": "message_stop"}
