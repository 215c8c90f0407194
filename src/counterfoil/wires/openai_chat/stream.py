"""Streams of OpenAI Chat Completions, read and written as decoded chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from counterfoil.types.message import Block, Opaque, Reasoning, Text, ToolCall
from counterfoil.types.request import Usage
from counterfoil.types.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    ReplyStart,
    ReplyStop,
    StreamEvent,
    written_arguments,
)
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires._chatstream import CallPieces, ChunkReader, grow
from counterfoil.wires._guard import guarded, guarded_feed
from counterfoil.wires._ids import Calls
from counterfoil.wires._open import OpenBlock
from counterfoil.wires.openai_chat.messages import FIELD, NAME, REASONING, REFUSAL, slot, write_call
from counterfoil.wires.openai_chat.reply import CHOICE, DEFAULTS, SEARCHED, searched, stop_of, stop_word
from counterfoil.wires.wire import NO_PLAN, Body, Plan

_DELTA = frozenset({"role", "content", "refusal", "tool_calls"})
_CHOICE = frozenset({"index", "delta", "finish_reason"})
_TOP = ("id", "object", "model", "choices", "usage", "obfuscation")


class Reader(ChunkReader):
    """Reads one stream."""

    def __init__(self, plan: Plan = NO_PLAN) -> None:
        super().__init__(CallPieces(NAME, plan, Calls()))
        self._count = 0
        self._field: str | None = None
        self._blocks: list[Block] = []
        self._raw: str | None = None
        self._finished = False
        self._usage: Usage | None = None
        self._kept: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._marks: tuple[Opaque, ...] = ()

    @guarded_feed(f"{NAME} stream")
    def _feed(self, event: Body, /) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        chat.refuse_error(event)
        if list(event) != self._keys or self._finished:
            self._beside(event, events)
        if (usage := event.get("usage")) is not None:
            self._usage = chat.read_usage(usage, NAME)
            self._marks = self._marks or searched(usage)
        if not SEARCHED.isdisjoint(event):
            self._marks = self._marks or searched(event)
        for choice in fields.items(event, "choices"):
            # One reply is read, the first; an index may be missing.
            if not choice.get("index"):
                self._take(choice, events)
        return events

    @guarded(f"{NAME} stream")
    def close(self) -> list[StreamEvent]:
        """End the stream: without a finish reason it was cut, and open calls are not to be run."""
        events: list[StreamEvent] = []
        self._finish(events, whole=self._finished)
        events += [BlockStop(self._count, block) for block in self._marks]
        self._marks = ()
        if self._finished:
            if self._choice:
                self._kept[CHOICE] = self._choice
            stop, held = stop_of(self._raw, tuple(self._blocks)), fields.ext(NAME, self._message)
            events.append(ReplyStop(stop, self._raw, self._usage, fields.ext(NAME, self._kept), held))
        return events

    def _beside(self, event: Body, events: list[StreamEvent]) -> None:
        if self._keys is None:
            known = fields.without(event, DEFAULTS)
            events.append(ReplyStart(known.get("model") or None, known.get("id") or None))
        self._keys = list(event)
        for key, value in event.items():
            if key not in _TOP and value is not None and DEFAULTS.get(key) != value:
                self._kept[key] = value

    def _take(self, choice: Body, events: list[StreamEvent]) -> None:
        delta = fields.sub(choice, "delta")
        self._say(delta, events)
        for entry in fields.items(delta, "tool_calls"):
            self._call(entry, events)
        if not _CHOICE.issuperset(choice):
            for key, value in choice.items():
                if key not in _CHOICE and (value is not None or key not in self._choice):
                    grow(self._choice, {key: value})
        if raw := choice.get("finish_reason"):
            self._raw, self._finished = raw, True
            self._finish(events, whole=True)

    def _say(self, delta: Body, events: list[StreamEvent]) -> None:
        known = _DELTA.issuperset(delta)
        if self._field is None and not known:
            self._field = next((field for field in REASONING if delta.get(field)), None)
        if self._field is not None and (thought := delta.get(self._field)):
            self._more(Reasoning(ext={NAME: {FIELD: self._field}}), thought, events)
        if text := delta.get("content"):
            self._more(Text(""), text, events)
        if refusal := delta.get("refusal"):
            self._more(Text("", ext={NAME: {REFUSAL: True}}), refusal, events)
        if not known:
            self._marks = self._marks or searched(delta)
            grow(self._message, fields.leftover(delta, (*_DELTA, self._field or "role")), strings=True)

    def _more(self, block: Text | Reasoning, text: str, events: list[StreamEvent]) -> None:
        opened = self._open
        known = opened.block if opened is not None else None
        same = isinstance(known, Text | Reasoning) and type(known) is type(block) and known.ext == block.ext
        if opened is None or not same:
            self._stop(events)
            opened = self._open = OpenBlock(self._count, block)
            self._count += 1
            events.append(opened.start())
        events.append(opened.more(text))

    def _call(self, entry: Body, events: list[StreamEvent]) -> None:
        if self._open is not None:
            self._stop(events)
        if "function" not in entry and entry.get("type") not in (None, "function", "custom"):
            stop = BlockStop(self._count, Opaque(NAME, {"tool_calls": fields.rest(entry, "index")}))
            self._count += 1
            self._blocks.append(stop.block)
            events.append(stop)
            return
        events += self._calls.feed(entry, self._count)
        self._count = max(self._count, self._calls.next_index)

    def _stop(self, events: list[StreamEvent]) -> None:
        if self._open is not None:
            stop = self._open.stop(keep=True)
            self._open = None
            self._blocks.append(stop.block)
            events.append(stop)

    def _finish(self, events: list[StreamEvent], *, whole: bool) -> None:
        self._stop(events)
        stops = self._calls.finish(whole=whole)
        self._blocks += [stop.block for stop in stops]
        events += stops


class Writer:
    """Writes one stream."""

    def __init__(self) -> None:
        self._base: Body = {"id": DEFAULTS["id"], "object": "chat.completion.chunk", "created": 0, "model": ""}
        self._open: dict[int, Block] = {}
        self._said: set[int] = set()
        self._places: dict[int, int] = {}

    def feed(self, event: StreamEvent, /) -> Iterator[Body]:
        """Take one event of ours."""
        match event:
            case ReplyStart(model, id):
                self._base |= {"id": id or DEFAULTS["id"], "model": model or DEFAULTS["model"]}
                yield self._chunk({"role": "assistant", "content": ""})
            case BlockStart(index, block):
                self._open[index] = block
                if isinstance(block, ToolCall):
                    yield self._begin(index, block)
            case BlockDelta(index, text):
                if text and (delta := self._delta(index, self._open.get(index), text)):
                    self._said.add(index)
                    yield self._chunk(delta)
            case BlockStop(index, block):
                yield from self._stop(index, block)
            case ReplyStop():
                yield from self._end(event)

    def close(self) -> Iterable[Body]:
        """End the stream."""
        return ()

    def _chunk(self, delta: Body, finish: str | None = None, held: dict[str, Any] | None = None) -> Body:
        choice = fields.fill({"index": 0, "delta": delta, "finish_reason": finish}, held or {})
        return {**self._base, "choices": [choice]}

    def _begin(self, index: int, call: ToolCall) -> Body:
        place = self._places[index] = len(self._places)
        body = write_call(None, call, "")
        for kind in ("function", "custom"):
            if kind in body:
                body[kind] = {**body[kind], ("arguments" if kind == "function" else "input"): ""}
        return self._chunk({"tool_calls": [{"index": place, **body}]})

    def _delta(self, index: int, block: Block | None, text: str) -> Body | None:
        match block:
            case Text() if REFUSAL in slot(block):
                return {"refusal": text}
            case Text():
                return {"content": text}
            case Reasoning():
                return {slot(block).get(FIELD) or REASONING[0]: text}
            case ToolCall(kind="custom"):
                return {"tool_calls": [{"index": self._places[index], "custom": {"input": text}}]}
            case ToolCall():
                return {"tool_calls": [{"index": self._places[index], "function": {"arguments": text}}]}
            case _:
                return None

    def _stop(self, index: int, block: Block) -> Iterator[Body]:
        if index not in self._said:
            if isinstance(block, ToolCall) and index not in self._places:
                yield self._begin(index, block)
            text = written_arguments(block) if isinstance(block, ToolCall) else getattr(block, "text", "")
            if text and (delta := self._delta(index, block, text)):
                yield self._chunk(delta)
        if isinstance(block, Opaque) and block.wire == NAME and "tool_calls" in block.data:
            place = self._places[index] = len(self._places)
            yield self._chunk({"tool_calls": [{"index": place, **block.data["tool_calls"]}]})

    def _end(self, event: ReplyStop) -> Iterator[Body]:
        held = chat.slot(event.ext, NAME)
        fields.fill(self._base, {key: value for key, value in held.items() if key != "created"})
        self._base["created"] = held.get("created", DEFAULTS["created"])
        delta = fields.fill({}, chat.slot(event.message_ext, NAME))
        yield self._chunk(delta, stop_word(event.stop, event.stop_raw), held.get(CHOICE))
        if event.usage is not None:
            yield {**self._base, "choices": [], "usage": chat.write_usage(event.usage, NAME)}
