"""Streams of OpenAI Chat Completions, read and written as decoded chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
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
from counterfoil.wires._chatstream import CallPieces, grow
from counterfoil.wires._guard import guarded_feed
from counterfoil.wires._ids import Calls
from counterfoil.wires._open import OpenBlock
from counterfoil.wires.openai_chat.messages import FIELD, NAME, REASONING, REFUSAL, slot, write_call
from counterfoil.wires.openai_chat.reply import CHOICE, DEFAULTS, stop_of, stop_word
from counterfoil.wires.wire import NO_PLAN, Body, Plan

_DELTA = {"role", "content", "refusal", "tool_calls"}
_CHOICE = {"index", "delta", "finish_reason"}
_TOP = ("id", "object", "model", "choices", "usage", "obfuscation")


class Reader:
    """Reads one stream."""

    def __init__(self, plan: Plan = NO_PLAN) -> None:
        self._calls = CallPieces(NAME, plan, Calls())
        self._open: OpenBlock | None = None
        self._count = 0
        self._field: str | None = None
        self._begun = False
        self._keys: Set[str] = frozenset()
        self._blocks: list[Block] = []
        self._raw: str | None = None
        self._finished = False
        self._usage: Usage | None = None
        self._kept: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._message: dict[str, Any] = {}

    @guarded_feed(f"{NAME} stream")
    def feed(self, event: Body, /) -> Iterator[StreamEvent]:
        """Take one chunk."""
        chat.refuse_error(event)
        if not self._begun:
            self._begun = True
            known = fields.without(event, DEFAULTS)
            yield ReplyStart(known.get("model") or None, known.get("id") or None)
        # What stands beside the choices is the same in each chunk, or is new in the last ones.
        if event.keys() != self._keys or self._finished:
            self._keys = event.keys()
            for key, value in event.items():
                if key not in _TOP and value is not None and DEFAULTS.get(key) != value:
                    self._kept[key] = value
        if (usage := event.get("usage")) is not None:
            self._usage = chat.read_usage(usage, NAME)
        for choice in fields.items(event, "choices"):
            # One reply is read, the first; an index may be missing.
            if not choice.get("index"):
                yield from self._take(choice)

    @guarded_feed(f"{NAME} stream")
    def close(self) -> Iterator[StreamEvent]:
        """End the stream: without a finish reason it was cut, and open calls are not to be run."""
        yield from self._finish(whole=self._finished)
        if not self._finished:
            return
        if self._choice:
            self._kept[CHOICE] = self._choice
        stop = stop_of(self._raw, tuple(self._blocks))
        yield ReplyStop(stop, self._raw, self._usage, fields.ext(NAME, self._kept), fields.ext(NAME, self._message))

    def _take(self, choice: Body) -> Iterator[StreamEvent]:
        delta = fields.sub(choice, "delta")
        if self._field is None and not delta.keys() <= _DELTA:
            self._field = next((field for field in REASONING if delta.get(field)), None)
        if self._field is not None and (thought := delta.get(self._field)):
            yield from self._more(Reasoning(ext={NAME: {FIELD: self._field}}), thought)
        if text := delta.get("content"):
            yield from self._more(Text(""), text)
        if refusal := delta.get("refusal"):
            yield from self._more(Text("", ext={NAME: {REFUSAL: True}}), refusal)
        for entry in fields.items(delta, "tool_calls"):
            yield from self._call(entry)
        if not delta.keys() <= _DELTA:
            grow(self._message, fields.leftover(delta, (*_DELTA, self._field or "role")), strings=True)
        if not choice.keys() <= _CHOICE or choice.get("index"):
            grow(self._choice, fields.leftover(fields.without(choice, {"index": 0}), ("delta", "finish_reason")))
        if raw := choice.get("finish_reason"):
            self._raw, self._finished = raw, True
            yield from self._finish(whole=True)

    def _more(self, block: Text | Reasoning, text: str) -> Iterator[StreamEvent]:
        opened = self._open
        known = opened.block if opened is not None else None
        same = isinstance(known, Text | Reasoning) and type(known) is type(block) and known.ext == block.ext
        if opened is None or not same:
            yield from self._stop()
            opened = self._open = OpenBlock(self._count, block)
            self._count += 1
            yield opened.start()
        yield opened.more(text)

    def _call(self, entry: Body) -> Iterator[StreamEvent]:
        yield from self._stop()
        if entry.get("type") not in (None, "function", "custom") and "function" not in entry:
            stop = BlockStop(self._count, Opaque(NAME, {"tool_calls": fields.rest(entry, "index")}))
            self._count += 1
            self._blocks.append(stop.block)
            yield stop
            return
        yield from self._calls.feed(entry, self._count)
        self._count = max(self._count, self._calls.next_index)

    def _stop(self) -> Iterator[StreamEvent]:
        if self._open is not None:
            stop = self._open.stop(keep=True)
            self._open = None
            self._blocks.append(stop.block)
            yield stop

    def _finish(self, *, whole: bool) -> Iterator[StreamEvent]:
        yield from self._stop()
        for stop in self._calls.finish(whole=whole):
            self._blocks.append(stop.block)
            yield stop


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
