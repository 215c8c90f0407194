"""Streams of Ollama's chat: one JSON object a line, read and written decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from counterfoil.types.message import Block, Reasoning, Text, ToolCall
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, ReplyStart, ReplyStop, StreamEvent
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires._guard import guarded, guarded_feed
from counterfoil.wires._ids import Calls
from counterfoil.wires._open import OpenBlock
from counterfoil.wires._sequence import Sequencer
from counterfoil.wires._stops import derive
from counterfoil.wires.ollama.messages import NAME, read_call
from counterfoil.wires.ollama.reply import DEFAULTS, REPLY, STOPS, last, line, read_usage, write_reply_call
from counterfoil.wires.wire import NO_PLAN, Body, Plan


class Reader:
    """Reads one stream."""

    def __init__(self, plan: Plan = NO_PLAN) -> None:
        self._plan = plan
        self._calls = Calls()
        self._open: OpenBlock | None = None
        self._count = 0
        self._begun = False
        self._called = False
        self._message: dict[str, Any] = {}

    @guarded_feed(f"{NAME} stream")
    def feed(self, event: Body, /) -> list[StreamEvent]:
        """Take one line."""
        chat.refuse_error(event)
        events: list[StreamEvent] = []
        if not self._begun:
            self._begun = True
            events.append(ReplyStart(event.get("model") or None))
        message = fields.sub(event, "message")
        if thought := message.get("thinking"):
            self._more(Reasoning(ext={NAME: {}}), thought, events)
        if text := message.get("content"):
            self._more(Text(""), text, events)
        for call in fields.items(message, "tool_calls"):
            events += self._stop()
            self._called = True
            whole = read_call(call, f"{NAME} stream/tool_calls", self._calls, self._plan)
            events.append(BlockStop(self._count, whole))
            self._count += 1
        self._message |= fields.leftover(message, ("role", "content", "thinking", "tool_calls"))
        if event.get("done"):
            events += [*self._stop(), self._end(event)]
        return events

    @guarded(f"{NAME} stream")
    def close(self) -> list[StreamEvent]:
        """End the stream. Calls come whole, so none can be cut."""
        return self._stop()

    def _more(self, block: Text | Reasoning, text: str, events: list[StreamEvent]) -> None:
        if self._open is None or type(self._open.block) is not type(block):
            events += self._stop()
            self._open = OpenBlock(self._count, block)
            self._count += 1
            events.append(self._open.start())
        events.append(self._open.more(text))

    def _stop(self) -> list[StreamEvent]:
        opened, self._open = self._open, None
        return [opened.stop(keep=True)] if opened is not None else []

    def _end(self, event: Body) -> ReplyStop:
        raw = event.get("done_reason")
        event = fields.without(event, DEFAULTS)
        kept = fields.ext(NAME, fields.leftover(event, REPLY))
        stop = derive(STOPS, raw, self._called)
        return ReplyStop(stop, raw, read_usage(event), kept, fields.ext(NAME, self._message))


class Writer:
    """Writes one stream."""

    def __init__(self) -> None:
        self._model: str | None = None
        self._sequence = Sequencer()
        self._block: Block | None = None
        self._said = False

    def feed(self, event: StreamEvent, /) -> Iterator[Body]:
        """Take one event of ours."""
        for each in self._sequence.feed(event):
            match each:
                case ReplyStart(model):
                    self._model = model
                case BlockStart(_, block):
                    self._block, self._said = block, False
                case BlockDelta(_, text) if text and isinstance(self._block, Text | Reasoning):
                    self._said = True
                    yield self._part(self._block, text)
                case BlockStop(_, block):
                    if isinstance(block, ToolCall):
                        yield self._say({"content": "", "tool_calls": [write_reply_call(block)]})
                    elif not self._said and isinstance(block, Text | Reasoning) and block.text:
                        yield self._part(block, block.text)
                    self._block, self._said = None, False
                case ReplyStop():
                    message = fields.fill({"role": "assistant", "content": ""}, chat.slot(each.message_ext, NAME))
                    yield line(self._model, message) | last(each)
                case _:
                    pass

    def close(self) -> Iterable[Body]:
        """End the stream."""
        return ()

    def _part(self, block: Block, text: str) -> Body:
        return self._say({"content": "", "thinking": text} if isinstance(block, Reasoning) else {"content": text})

    def _say(self, message: Body) -> Body:
        return {**line(self._model, {"role": "assistant", **message}), "done": False}
