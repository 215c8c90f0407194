"""ConverseStream as decoded events, `{"contentBlockDelta": {...}}`, both ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from counterfoil.types.error import ModelError
from counterfoil.types.message import Block, Media, Opaque, Reasoning, Text, ToolCall
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
from counterfoil.wires._envelope import wrap_arguments
from counterfoil.wires._guard import guarded, guarded_feed
from counterfoil.wires._lookups import cited
from counterfoil.wires._open import UNFINISHED, OpenBlock, cut
from counterfoil.wires._sequence import Sequencer
from counterfoil.wires._stops import derive, word
from counterfoil.wires.bedrock.blocks import OWN, Ear, write_block
from counterfoil.wires.bedrock.media import NAME
from counterfoil.wires.bedrock.reply import NO_METRICS, STOPS, read_usage, reply_ext, server, write_usage
from counterfoil.wires.wire import NO_PLAN, Body, Plan

_replace = msgspec.structs.replace


class Reader:
    """Reads one stream."""

    def __init__(self, plan: Plan = NO_PLAN) -> None:
        self._ear = Ear(plan)
        self._open: dict[int, OpenBlock] = {}
        self._extra: dict[int, dict[str, Any]] = {}
        # A call whose arguments were never written: does it take none, or was it cut off? What comes next tells.
        self._silent: OpenBlock | None = None
        self._count = 0
        self._calls = False
        self._stop: dict[str, Any] | None = None
        self._metadata: dict[str, Any] | None = None
        self._ended = False

    @guarded_feed("a stream of bedrock")
    def feed(self, event: Body, /) -> Iterable[StreamEvent]:
        """Take one event."""
        delta = event.get("contentBlockDelta")
        if delta is not None:
            # Nearly all events are deltas.
            return self._delta(delta)
        for kind, value in event.items():
            body = fields.obj(value)
            match kind:
                case "messageStart":
                    return [ReplyStart()]
                case "contentBlockStart":
                    return self._start(body)
                case "contentBlockStop":
                    return self._finish(body)
                case "messageStop":
                    self._stop = body
                    return self._end() if self._metadata is not None else ()
                case "metadata":
                    self._metadata = body
                    return self._end() if self._stop is not None else ()
                case _ if kind.endswith("Exception"):
                    raise ModelError(f"the host broke off its answer: {kind}: {body.get('message')}")
                case _:
                    pass
        return ()

    @guarded("a stream of bedrock")
    def close(self) -> Iterable[StreamEvent]:
        """End the stream."""
        if self._stop is not None:
            return self._end()
        events: list[StreamEvent] = [block.cut() for block in self._open.values()]
        if self._silent is not None:
            events.append(self._silent.cut())
        self._open, self._silent = {}, None
        return events

    def _begin(self, index: int, block: Block) -> list[StreamEvent]:
        events = self._settle(finished=True)
        self._open[index] = opened = OpenBlock(self._count, block)
        self._extra[index] = {}
        self._count += 1
        if not isinstance(block, Opaque):
            events.append(opened.start())
        return events

    def _start(self, body: Body) -> Iterable[StreamEvent]:
        index = fields.need(body, "contentBlockIndex", int, "contentBlockStart")
        start = fields.obj(body.get("start"))
        use = fields.obj(start.get("toolUse"))
        if use and "type" not in use:
            self._calls = True
            call = self._ear.call({**use, "input": {}}, "contentBlockStart")
            return self._begin(index, _replace(call, arguments=None))
        if start:
            return self._begin(index, Opaque(NAME, start))
        # A text says nothing when it starts: its first delta tells.
        return ()

    def _delta(self, body: Body) -> Iterable[StreamEvent]:
        index: int = body["contentBlockIndex"]
        delta: Body = body["delta"]
        held = self._open.get(index)
        if held is not None and isinstance(held.block, ToolCall) and (use := delta.get("toolUse")) and len(use) == 1:
            # Nearly all deltas are more of a call's arguments.
            return (held.more(use["input"]),) if use["input"] else ()
        events: list[StreamEvent] = []
        if index not in self._open:
            events += self._begin(index, Reasoning(ext=OWN) if "reasoningContent" in delta else Text(""))
        opened = self._open[index]
        if len(delta) == 1 and "text" in delta:
            events.append(opened.more(delta["text"]))
            return events
        extra = self._extra[index]
        for kind, value in delta.items():
            inner = fields.obj(value)
            match kind:
                case "toolUse":
                    if text := inner.get("input"):
                        more = opened.more(text)
                        events += [more] if isinstance(opened.block, ToolCall) else []
                    if len(inner) > 1:
                        extra |= fields.rest(inner, "input")
                case "reasoningContent":
                    if "text" in inner:
                        events.append(opened.more(inner["text"]))
                    for key in inner.keys() & {"signature", "redactedContent"}:
                        extra[key] = extra.get(key, "") + inner[key]
                case "citation":
                    extra.setdefault("citations", []).append(value)
                case "toolResult":
                    extra.setdefault("content", []).extend(fields.arr(value))
                case _:
                    extra.update(inner)
        return events

    def _finish(self, body: Body) -> Iterable[StreamEvent]:
        index = fields.need(body, "contentBlockIndex", int, "contentBlockStop")
        opened = self._open.pop(index, None)
        if opened is None:
            return self._empty_text(index)
        extra = self._extra.pop(index)
        match opened.block:
            case ToolCall():
                if extra:
                    opened.block = _replace(opened.block, ext={NAME: {**fields.own(opened.block.ext, NAME), **extra}})
                if not opened.text:
                    self._silent = opened
                    return ()
                return [self._call(opened)]
            case Reasoning():
                block: Block = Reasoning(opened.text, extra.get("signature"), extra.get("redactedContent"), ext=OWN)
            case Opaque(_, data):
                block = self._whole(data, opened.text, extra)
            case _:
                block = Text(opened.text, ext=fields.ext(NAME, extra))
        return [BlockStop(opened.index, cited(block, NAME, "citations"))]

    def _empty_text(self, index: int) -> Iterable[StreamEvent]:
        events = self._begin(index, Text(""))
        opened = self._open.pop(index)
        return [*events, BlockStop(opened.index, Text(""))]

    def _whole(self, start: dict[str, Any], text: str, extra: dict[str, Any]) -> Block:
        if len(start) != 1 or not isinstance(next(iter(start.values())), dict):
            return Opaque(NAME, start)
        ((kind, body),) = start.items()
        more: dict[str, Any] = extra
        if kind == "toolUse":
            more = {"input": _json(text)}
        elif kind == "toolResult":
            more = {"content": [], **extra}
        return self._ear.block({kind: {**body, **more}}, "contentBlockStop")

    def _call(self, opened: OpenBlock) -> BlockStop:
        stop = opened.stop(keep=False)
        call = stop.block
        if isinstance(call, ToolCall) and call.arguments is not None:
            return BlockStop(opened.index, self._ear.arguments(call, call.arguments))
        return stop

    def _settle(self, *, finished: bool) -> list[StreamEvent]:
        silent, self._silent = self._silent, None
        if silent is None or not isinstance(silent.block, ToolCall):
            return []
        call = _replace(silent.block, arguments={}) if finished else cut(silent.block, "", UNFINISHED)
        return [BlockStop(silent.index, call)]

    def _end(self) -> Iterable[StreamEvent]:
        if self._ended or self._stop is None:
            return ()
        self._ended = True
        raw = self._stop.get("stopReason") or ""
        events = self._settle(finished=STOPS.get(raw) != "length")
        events += [block.cut() for block in self._open.values()]
        metadata = self._metadata or {}
        usage = read_usage(metadata.get("usage"), "metadata/usage")
        extra = reply_ext({**self._stop, **metadata})
        return [*events, ReplyStop(derive(STOPS, raw, self._calls), raw, usage, extra)]


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text) if text else {}
    except msgspec.DecodeError:
        return text


class Writer:
    """Writes one stream."""

    def __init__(self) -> None:
        self._scribe = server()
        self._sequence = Sequencer()
        self._index = 0
        self._block: Block | None = None
        self._sent = False

    def feed(self, event: StreamEvent, /) -> Iterator[Body]:
        """Take one event of ours."""
        for each in self._sequence.feed(event):
            match each:
                case ReplyStart():
                    yield {"messageStart": {"role": "assistant"}}
                case BlockStart(_, block):
                    yield from self._start(block)
                case BlockDelta(_, text):
                    yield from self._delta(text)
                case BlockStop(_, block):
                    yield from self._stop(block)
                case ReplyStop():
                    yield from _message_end(each)

    def close(self) -> Iterable[Body]:
        """End the stream."""
        return ()

    def _start(self, block: Block) -> Iterator[Body]:
        self._block, self._sent = block, False
        if isinstance(block, ToolCall):
            id = self._scribe.id.add(block.id, block.provider_id)
            yield self._begin({"toolUse": {"toolUseId": id, "name": self._scribe.name(block.name)}})

    def _begin(self, start: Body) -> Body:
        return {"contentBlockStart": {"start": start, "contentBlockIndex": self._index}}

    def _say(self, delta: Body) -> Body:
        self._sent = True
        return {"contentBlockDelta": {"delta": delta, "contentBlockIndex": self._index}}

    def _delta(self, text: str) -> Iterator[Body]:
        match self._block:
            case Text():
                yield self._say({"text": text})
            case Reasoning():
                yield self._say({"reasoningContent": {"text": text}})
            case ToolCall(kind="function") if text:
                yield self._say({"toolUse": {"input": text}})
            case _:
                # Free text becomes JSON: it is said when it is complete.
                pass

    def _stop(self, block: Block) -> Iterator[Body]:
        if isinstance(block, Media | Opaque):
            deltas = [*self._whole(block)]
            if not deltas:
                return
            yield from deltas
        else:
            if self._block is None:
                yield from self._start(block)
            for delta in self._last(block):
                yield self._say(delta)
        yield {"contentBlockStop": {"contentBlockIndex": self._index}}
        self._index += 1
        self._block = None

    def _last(self, block: Block) -> Iterator[Body]:
        match block:
            case Text(text):
                if text and not self._sent:
                    yield {"text": text}
                for citation in fields.own(block.ext, NAME).get("citations") or ():
                    yield {"citation": citation}
            case Reasoning(text, signature, redacted):
                if redacted is not None:
                    yield {"reasoningContent": {"redactedContent": redacted}}
                    return
                if not self._sent:
                    yield {"reasoningContent": {"text": text}}
                if signature is not None:
                    yield {"reasoningContent": {"signature": signature}}
            case ToolCall():
                # Nothing would be read as a call that takes no arguments.
                unsaid = block.arguments is None and not block.raw
                if block.kind == "custom" or unsaid:
                    yield {"toolUse": {"input": msgspec.json.encode(wrap_arguments(block)).decode()}}
                elif not self._sent:
                    yield {"toolUse": {"input": written_arguments(block)}}
                if extra := fields.said(block.ext, NAME):
                    yield {"toolUse": {"input": "", **extra}}
            case _:
                pass

    def _whole(self, block: Block) -> Iterator[Body]:
        for body in write_block(self._scribe, block, "", reply=True):
            kind = next(iter(body)) if len(body) == 1 else ""
            value = fields.obj(body.get(kind))
            match kind:
                case "image":
                    yield self._begin({kind: {"format": value["format"]}})
                    yield self._say({kind: fields.rest(value, "format")})
                case "toolUse":
                    yield self._begin({kind: fields.rest(value, "input")})
                    yield self._say({kind: {"input": msgspec.json.encode(value["input"]).decode()}})
                case "toolResult":
                    yield self._begin({kind: fields.rest(value, "content")})
                    yield self._say({kind: value["content"]})
                case "text":
                    yield self._say(body)
                case _:
                    # The format streams no other blocks; those of a time to come will say what they are as they start.
                    yield self._begin(body)


def _message_end(event: ReplyStop) -> Iterator[Body]:
    extra = fields.said(event.ext, NAME)
    stop: Body = {"stopReason": word(STOPS, event.stop, event.stop_raw)}
    if (more := extra.pop("additionalModelResponseFields", None)) is not None:
        stop["additionalModelResponseFields"] = more
    yield {"messageStop": stop}
    yield {"metadata": {"usage": write_usage(event.usage), "metrics": dict(NO_METRICS), **extra}}
