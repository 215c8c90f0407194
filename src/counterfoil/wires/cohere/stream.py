"""Streams of Cohere's chat, version 2, read and written as decoded events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from counterfoil.types.error import ModelError, WireError
from counterfoil.types.message import Block, Opaque, Reasoning, Text, ToolCall
from counterfoil.types.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    ReplyStart,
    ReplyStop,
    StreamEvent,
    written_arguments,
)
from counterfoil.wires import _fields as fields
from counterfoil.wires._chat import slot as own
from counterfoil.wires._chatstream import LONGER, CallPieces, grow
from counterfoil.wires._guard import guarded, guarded_feed
from counterfoil.wires._ids import Calls
from counterfoil.wires._open import OpenBlock
from counterfoil.wires._sequence import Sequencer
from counterfoil.wires._stops import derive, word
from counterfoil.wires.cohere.messages import CONTENT, NAME, PLAN, read_part, slot, speaks_in_content, write_call
from counterfoil.wires.cohere.reply import DEFAULTS, STOPS, read_usage, searched, write_usage
from counterfoil.wires.wire import NO_PLAN, Body, Plan


class Reader:
    """Reads one stream."""

    def __init__(self, plan: Plan = NO_PLAN) -> None:
        self._calls = CallPieces(NAME, plan, Calls())
        self._open: OpenBlock | None = None
        self._blocks: list[Block] = []
        self._count = 0
        self._ended = False
        self._message: dict[str, Any] = {}
        self._marks: tuple[Opaque, ...] = ()

    def feed(self, event: Body, /) -> Sequence[StreamEvent]:
        """Take one event."""
        if event.get("type") == "tool-call-delta" and self._open is None:
            try:
                # Nearly all events are a piece of a call's arguments.
                entry = event["delta"]["message"]["tool_calls"]
                return (self._calls.more(event["index"], entry, entry["function"]),)
            except LONGER:
                pass
        return self._feed(event)

    @guarded_feed(f"{NAME} stream")
    def _feed(self, event: Body, /) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        delta = fields.sub(event, "delta")
        message = fields.sub(delta, "message")
        match event.get("type"):
            case "message-start":
                events.append(ReplyStart(None, fields.without(event, DEFAULTS).get("id") or None))
            case "tool-plan-delta":
                self._more(Text("", ext={NAME: {PLAN: True}}), message.get("tool_plan") or "", events)
            case "content-start":
                self._begin(fields.sub(message, "content"), events)
            case "content-delta":
                content = fields.sub(message, "content")
                block = Reasoning(ext={NAME: {}}) if content.get("thinking") else Text("")
                self._more(block, content.get("thinking") or content.get("text") or "", events)
            case "tool-call-start" | "tool-call-delta":
                self._call({**fields.sub(message, "tool_calls"), "index": event.get("index")}, events)
            case "content-end" | "tool-call-end":
                self._stop(events)
            case "citation-start":
                citation = message.get("citations")
                grow(self._message, {"citations": [citation]})
                self._marks = self._marks or searched([citation])
            case "message-end":
                self._end(event, delta, events)
            case _:
                pass
        return events

    @guarded(f"{NAME} stream")
    def close(self) -> list[StreamEvent]:
        """End the stream: without a `message-end` it was cut, and open calls are not to be run."""
        events: list[StreamEvent] = []
        if not self._ended:
            self._stop(events)
            events += self._calls.finish(whole=False)
            self._mark(events)
        return events

    def _mark(self, events: list[StreamEvent]) -> None:
        events += [BlockStop(self._count, block) for block in self._marks]
        self._marks = ()

    def _begin(self, content: Body, events: list[StreamEvent]) -> None:
        self._stop(events)
        first = read_part({"type": "text", **content}, f"{NAME} stream/content")
        if isinstance(first, Text | Reasoning):
            self._more(msgspec.structs.replace(first, text=""), first.text, events, fresh=True)
        else:
            self._blocks.append(first)
            events.append(BlockStop(self._count, first))
            self._count += 1

    def _more(self, block: Text | Reasoning, text: str, events: list[StreamEvent], *, fresh: bool = False) -> None:
        opened = self._open
        same = opened is not None and _kind(opened.block) == _kind(block)
        if opened is None or not same:
            if not text and not fresh:
                return
            self._stop(events)
            opened = self._open = OpenBlock(self._count, block)
            self._count += 1
            events.append(opened.start())
        if text:
            events.append(opened.more(text))

    def _call(self, entry: Body, events: list[StreamEvent]) -> None:
        if not isinstance(entry.get("function"), dict):
            raise WireError(f"{NAME} stream: a call without a function")
        self._stop(events)
        events += self._calls.feed(entry, self._count)
        self._count = max(self._count, self._calls.next_index)

    def _stop(self, events: list[StreamEvent]) -> None:
        if self._open is not None:
            stop = self._open.stop(keep=True)
            self._open = None
            self._blocks.append(stop.block)
            events.append(stop)

    def _end(self, event: Body, delta: Body, events: list[StreamEvent]) -> None:
        if error := delta.get("error"):
            raise ModelError(f"the host reports an error: {error}")
        self._ended = True
        self._stop(events)
        stops = self._calls.finish(whole=True)
        self._blocks += [stop.block for stop in stops]
        events += stops
        self._mark(events)
        raw = delta.get("finish_reason")
        if speaks_in_content(self._blocks):
            self._message[CONTENT] = True
        called = any(isinstance(block, ToolCall) for block in self._blocks)
        kept = fields.leftover(delta, ("finish_reason", "usage")) | fields.rest(event, "type", "id", "delta")
        usage, held = read_usage(delta.get("usage")), fields.ext(NAME, self._message)
        events.append(ReplyStop(derive(STOPS, raw, called), raw, usage, fields.ext(NAME, kept), held))


def _kind(block: Block) -> tuple[type[Block], bool]:
    return type(block), isinstance(block, Text) and PLAN in slot(block)


class Writer:
    """Writes one stream."""

    def __init__(self) -> None:
        self._sequence = Sequencer()
        self._block: Block | None = None
        self._held: list[str] = []
        self._begun = False
        self._content = 0
        self._calls = 0

    def feed(self, event: StreamEvent, /) -> Iterator[Body]:
        """Take one event of ours."""
        for each in self._sequence.feed(event):
            match each:
                case ReplyStart(_, id):
                    empty: Body = {
                        "role": "assistant",
                        "content": [],
                        "tool_plan": "",
                        "tool_calls": [],
                        "citations": [],
                    }
                    yield {"type": "message-start", "id": id or DEFAULTS["id"], "delta": {"message": empty}}
                case BlockStart(_, block):
                    self._block, self._begun = block, False
                case BlockDelta(_, text) if text:
                    yield from self._delta(self._block, text)
                case BlockStop(_, block):
                    yield from self._stop(block)
                case ReplyStop():
                    yield from self._end(each)
                case _:
                    pass

    def close(self) -> Iterable[Body]:
        """End the stream."""
        return ()

    def _delta(self, block: Block | None, text: str) -> Iterator[Body]:
        match block:
            case Text() if PLAN in slot(block):
                yield _event("tool-plan-delta", None, {"tool_plan": text})
            case Text():
                if not self._begun:
                    content = fields.fill({"type": "text", "text": ""}, slot(block))
                    yield _event("content-start", self._content, {"content": content})
                yield _event("content-delta", self._content, {"content": {"text": text}})
            case Reasoning():
                if not self._begun:
                    content = fields.fill({"type": "thinking", "thinking": ""}, slot(block))
                    yield _event("content-start", self._content, {"content": content})
                yield _event("content-delta", self._content, {"content": {"thinking": text}})
            case ToolCall(kind="function"):
                if not self._begun:
                    empty = msgspec.structs.replace(block, arguments={}, raw="", parse_error=None)
                    yield _event("tool-call-start", self._calls, {"tool_calls": write_call(None, empty, "")})
                yield _event("tool-call-delta", self._calls, {"tool_calls": {"function": {"arguments": text}}})
            case _:
                return
        self._begun = True

    def _stop(self, block: Block) -> Iterator[Body]:
        if not self._begun:
            if isinstance(block, ToolCall):
                said = write_call(None, block, "")["function"]["arguments"] if block.kind == "custom" else ""
                block = msgspec.structs.replace(block, kind="function")
                yield from self._delta(block, said or written_arguments(block))
            elif isinstance(block, Text | Reasoning) and block.text:
                yield from self._delta(block, block.text)
            elif isinstance(block, Opaque) and block.wire == NAME:
                yield _event("content-start", self._content, {"content": block.data})
                self._begun = True
        if self._begun and isinstance(block, ToolCall):
            yield {"type": "tool-call-end", "index": self._calls}
            self._calls += 1
        elif self._begun and PLAN not in own(getattr(block, "ext", {}), NAME):
            yield {"type": "content-end", "index": self._content}
            self._content += 1
        self._block, self._begun = None, False

    def _end(self, event: ReplyStop) -> Iterator[Body]:
        for index, citation in enumerate(own(event.message_ext, NAME).get("citations") or ()):
            yield _event("citation-start", index, {"citations": citation})
            yield {"type": "citation-end", "index": index}
        delta: Body = {"finish_reason": word(STOPS, event.stop, event.stop_raw)}
        if event.usage is not None:
            delta["usage"] = write_usage(event.usage)
        yield {"type": "message-end", "delta": fields.fill(delta, own(event.ext, NAME))}


def _event(type: str, index: int | None, message: Body) -> Body:
    event: Body = {"type": type, "delta": {"message": message}}
    if index is not None:
        event["index"] = index
    return event
