"""Streams of Mistral's chat completions, read and written as decoded chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from counterfoil.types.message import Block, Opaque, Reasoning, Text, ToolCall
from counterfoil.types.request import Usage
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, ReplyStart, ReplyStop, StreamEvent
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires._chatstream import CallPieces, ChunkReader, grow
from counterfoil.wires._guard import guarded, guarded_feed
from counterfoil.wires._ids import Calls
from counterfoil.wires._open import OpenBlock
from counterfoil.wires._sequence import Sequencer
from counterfoil.wires._stops import derive, word
from counterfoil.wires.mistral.messages import NAME, THINKING, read_chunk, slot, thought_of, write_call
from counterfoil.wires.mistral.reply import CHOICE, DEFAULTS, STOPS, is_open
from counterfoil.wires.wire import NO_PLAN, Body, Plan

_TOP = ("id", "object", "model", "choices", "usage")


class Reader(ChunkReader):
    """Reads one stream."""

    def __init__(self, plan: Plan = NO_PLAN) -> None:
        # The SDK says `null`, in letters, where there is no id.
        super().__init__(CallPieces(NAME, plan, Calls(), blank="null"))
        self._count = 0
        self._called = False
        self._raw: str | None = None
        self._usage: Usage | None = None
        self._kept: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._message: dict[str, Any] = {}

    @guarded_feed(f"{NAME} stream")
    def _feed(self, event: Body, /) -> list[StreamEvent]:
        chat.refuse_error(event)
        events: list[StreamEvent] = []
        if self._keys is None:
            known = fields.without(event, DEFAULTS)
            events.append(ReplyStart(known.get("model") or None, known.get("id") or None))
        self._keys = list(event)
        grow(self._kept, fields.leftover(fields.without(event, DEFAULTS), _TOP))
        if (usage := event.get("usage")) is not None:
            self._usage = chat.read_usage(usage, NAME)
        for choice in fields.items(event, "choices"):
            if not choice.get("index"):
                self._take(choice, events)
        return events

    @guarded(f"{NAME} stream")
    def close(self) -> list[StreamEvent]:
        """End the stream: without a finish reason it was cut, and open calls are not to be run."""
        events: list[StreamEvent] = []
        self._finish(events, whole=self._raw is not None)
        if self._raw is not None:
            if self._choice:
                self._kept[CHOICE] = self._choice
            stop, held = derive(STOPS, self._raw, self._called), fields.ext(NAME, self._message)
            events.append(ReplyStop(stop, self._raw, self._usage, fields.ext(NAME, self._kept), held))
        return events

    def _take(self, choice: Body, events: list[StreamEvent]) -> None:
        delta = fields.sub(choice, "delta")
        content = delta.get("content")
        if isinstance(content, str) and content:
            self._more(Text(""), content, events)
        for each in fields.as_array(content) or ():
            self._chunk(each, events)
        for entry in fields.items(delta, "tool_calls"):
            self._stop(events)
            self._called = True
            events += self._calls.feed(entry, self._count)
            self._count = max(self._count, self._calls.next_index)
        grow(self._message, fields.leftover(delta, ("role", "content", "tool_calls", "index")))
        grow(self._choice, fields.leftover(fields.without(choice, {"index": 0}), ("delta", "finish_reason")))
        if raw := choice.get("finish_reason"):
            self._raw = raw
            self._finish(events, whole=True)

    def _chunk(self, body: Body, events: list[StreamEvent]) -> None:
        block = read_chunk(body, f"{NAME} stream/content")
        match block:
            case Text(text) if block.ext:
                # A text with fields of its own is a block of its own.
                self._stop(events)
                self._more(msgspec.structs.replace(block, text=""), text, events)
                self._stop(events)
            case Text(text):
                self._more(Text(""), text, events)
            case Reasoning():
                self._thought(block, events)
            case _:
                self._stop(events)
                events.append(BlockStop(self._count, block))
                self._count += 1

    def _thought(self, block: Reasoning, events: list[StreamEvent]) -> None:
        self._more(Reasoning(ext={NAME: {}}), block.text, events)
        opened = self._open
        if opened is None or not isinstance(opened.block, Reasoning):
            return
        before = slot(opened.block)
        held = {**before, **slot(block)}
        if THINKING in slot(block):
            held[THINKING] = [*before.get(THINKING, ()), *slot(block)[THINKING]]
        signature = block.signature or opened.block.signature
        opened.block = whole = msgspec.structs.replace(opened.block, signature=signature, ext={NAME: held})
        if not is_open(whole):
            self._stop(events)

    def _more(self, block: Text | Reasoning, text: str, events: list[StreamEvent]) -> None:
        opened = self._open
        match opened, block:
            case OpenBlock(block=Text(ext=ext)), Text():
                same = ext == block.ext
            case OpenBlock(block=Reasoning()), Reasoning():
                same = True
            case _:
                same = False
        if opened is None or not same:
            self._stop(events)
            opened = self._open = OpenBlock(self._count, block)
            self._count += 1
            events.append(opened.start())
        if text:
            events.append(opened.more(text))

    def _stop(self, events: list[StreamEvent]) -> None:
        if self._open is not None:
            events.append(self._open.stop(keep=True))
            self._open = None

    def _finish(self, events: list[StreamEvent], *, whole: bool) -> None:
        self._stop(events)
        events += self._calls.finish(whole=whole)


class Writer:
    """Writes one stream. Calls are sent whole, as this provider sends them."""

    def __init__(self) -> None:
        self._sequence = Sequencer()
        self._base: Body = {"id": DEFAULTS["id"], "object": "chat.completion.chunk", "created": 0, "model": ""}
        self._block: Block | None = None
        self._said = ""
        self._calls = 0

    def feed(self, event: StreamEvent, /) -> Iterator[Body]:
        """Take one event of ours."""
        for each in self._sequence.feed(event):
            match each:
                case ReplyStart(model, id):
                    self._base |= {"id": id or DEFAULTS["id"], "model": model or DEFAULTS["model"]}
                    yield self._chunk({"role": "assistant", "content": ""})
                case BlockStart(_, block):
                    self._block, self._said = block, ""
                case BlockDelta(_, text) if text:
                    yield from self._delta(text)
                case BlockStop(_, block):
                    yield from self._stop(block)
                case ReplyStop():
                    yield self._end(each)
                case _:
                    pass

    def close(self) -> Iterable[Body]:
        """End the stream."""
        return ()

    def _chunk(self, delta: Body) -> Body:
        return {**self._base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    def _delta(self, text: str) -> Iterator[Body]:
        match self._block:
            case Text(ext=ext) if not ext.get(NAME):
                yield self._chunk({"content": text})
            case Reasoning() as block if THINKING not in slot(block):
                piece = {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
                yield self._chunk({"content": [piece]})
            case _:
                return
        self._said += text

    def _stop(self, block: Block) -> Iterator[Body]:
        rest = getattr(block, "text", "")[len(self._said) :]
        match block:
            case Text() if not slot(block):
                if rest:
                    yield self._chunk({"content": rest})
            case Text():
                yield self._chunk({"content": [fields.fill({"type": "text", "text": block.text}, slot(block))]})
            case Reasoning(redacted=None):
                yield from self._end_thought(block, rest)
            case ToolCall():
                yield self._chunk({"tool_calls": [{**write_call(None, block, ""), "index": self._calls}]})
                self._calls += 1
            case Opaque(wire, data) if wire == NAME:
                yield self._chunk({"content": [data]})
            case _:
                pass
        self._block, self._said = None, ""

    def _end_thought(self, block: Reasoning, rest: str) -> Iterator[Body]:
        held = slot(block)
        pieces = [{"type": "text", "text": rest}] if rest else []
        if not self._said and THINKING in held and thought_of(held[THINKING]) == block.text:
            pieces = held[THINKING]
        body: Body = {"type": "thinking", "thinking": pieces}
        if block.signature is not None:
            body["signature"] = block.signature
        fields.fill(body, held)
        if pieces or len(body) > 2 or not self._said:
            yield self._chunk({"content": [body]})

    def _end(self, event: ReplyStop) -> Body:
        held = chat.slot(event.ext, NAME)
        fields.fill(self._base, {key: value for key, value in held.items() if key != "created"})
        self._base["created"] = held.get("created", DEFAULTS["created"])
        choice: Body = {
            "index": 0,
            "delta": fields.fill({"content": ""}, chat.slot(event.message_ext, NAME)),
            "finish_reason": word(STOPS, event.stop, event.stop_raw),
        }
        usage = chat.write_usage(event.usage or Usage(), NAME)
        return {**self._base, "choices": [fields.fill(choice, fields.sub(held, CHOICE))], "usage": usage}
