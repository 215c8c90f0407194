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
from counterfoil.wires._chatstream import CallPieces, grow
from counterfoil.wires._guard import guarded_feed
from counterfoil.wires._ids import Calls
from counterfoil.wires._open import OpenBlock
from counterfoil.wires._sequence import Sequencer
from counterfoil.wires._stops import derive, word
from counterfoil.wires.mistral.messages import NAME, THINKING, read_chunk, slot, thought_of, write_call
from counterfoil.wires.mistral.reply import CHOICE, DEFAULTS, STOPS, is_open
from counterfoil.wires.wire import NO_PLAN, Body, Plan

_TOP = ("id", "object", "model", "choices", "usage")


class Reader:
    """Reads one stream."""

    def __init__(self, plan: Plan = NO_PLAN) -> None:
        self._calls = CallPieces(NAME, plan, Calls())
        self._open: OpenBlock | None = None
        self._count = 0
        self._begun = False
        self._called = False
        self._raw: str | None = None
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
        grow(self._kept, fields.leftover(fields.without(event, DEFAULTS), _TOP))
        if (usage := event.get("usage")) is not None:
            self._usage = chat.read_usage(usage, NAME)
        for choice in fields.items(event, "choices"):
            if not choice.get("index"):
                yield from self._take(choice)

    @guarded_feed(f"{NAME} stream")
    def close(self) -> Iterator[StreamEvent]:
        """End the stream: without a finish reason it was cut, and open calls are not to be run."""
        yield from self._finish(whole=self._raw is not None)
        if self._raw is None:
            return
        if self._choice:
            self._kept[CHOICE] = self._choice
        stop = derive(STOPS, self._raw, self._called)
        yield ReplyStop(stop, self._raw, self._usage, fields.ext(NAME, self._kept), fields.ext(NAME, self._message))

    def _take(self, choice: Body) -> Iterator[StreamEvent]:
        delta = fields.sub(choice, "delta")
        content = delta.get("content")
        if isinstance(content, str) and content:
            yield from self._more(Text(""), content)
        for each in fields.as_array(content) or ():
            yield from self._chunk(each)
        for entry in fields.items(delta, "tool_calls"):
            yield from self._stop()
            self._called = True
            # The SDK says `null`, in letters, where there is no id.
            said = fields.rest(entry, "id") if entry.get("id") == "null" else entry
            yield from self._calls.feed(said, self._count)
            self._count = max(self._count, self._calls.next_index)
        grow(self._message, fields.leftover(delta, ("role", "content", "tool_calls", "index")))
        grow(self._choice, fields.leftover(fields.without(choice, {"index": 0}), ("delta", "finish_reason")))
        if raw := choice.get("finish_reason"):
            self._raw = raw
            yield from self._finish(whole=True)

    def _chunk(self, body: Body) -> Iterator[StreamEvent]:
        block = read_chunk(body, f"{NAME} stream/content")
        match block:
            case Text(text) if block.ext:
                # A text with fields of its own is a block of its own.
                yield from self._stop()
                yield from self._more(msgspec.structs.replace(block, text=""), text)
                yield from self._stop()
            case Text(text):
                yield from self._more(Text(""), text)
            case Reasoning():
                yield from self._thought(block)
            case _:
                yield from self._stop()
                yield BlockStop(self._count, block)
                self._count += 1

    def _thought(self, block: Reasoning) -> Iterator[StreamEvent]:
        yield from self._more(Reasoning(ext={NAME: {}}), block.text)
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
            yield from self._stop()

    def _more(self, block: Text | Reasoning, text: str) -> Iterator[StreamEvent]:
        opened = self._open
        match opened, block:
            case OpenBlock(block=Text(ext=ext)), Text():
                same = ext == block.ext
            case OpenBlock(block=Reasoning()), Reasoning():
                same = True
            case _:
                same = False
        if opened is None or not same:
            yield from self._stop()
            opened = self._open = OpenBlock(self._count, block)
            self._count += 1
            yield opened.start()
        if text:
            yield opened.more(text)

    def _stop(self) -> Iterator[StreamEvent]:
        if self._open is not None:
            stop = self._open.stop(keep=True)
            self._open = None
            yield stop

    def _finish(self, *, whole: bool) -> Iterator[StreamEvent]:
        yield from self._stop()
        yield from self._calls.finish(whole=whole)


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
