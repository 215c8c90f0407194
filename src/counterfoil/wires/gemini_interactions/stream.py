"""Streams of Gemini Interactions, both ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from counterfoil.types.error import ModelError
from counterfoil.types.message import Block, Media, Reasoning, Text, ToolCall
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
from counterfoil.wires._open import OpenBlock, cut
from counterfoil.wires._sequence import Sequencer
from counterfoil.wires.gemini_interactions.reply import STOPS, end_of, frame, settle
from counterfoil.wires.gemini_interactions.steps import KINDS, MORE, NAME, Ear, noted, read_content, server, write_step
from counterfoil.wires.wire import NO_PLAN, Body, Plan

_replace = msgspec.structs.replace


class _Step:
    """A step on its way."""

    def __init__(self, body: Body) -> None:
        self.body = dict(body)
        self.extra: Body = {}
        self.block: OpenBlock | None = None
        self.contents = 0
        self.annotations: list[Any] = []
        self.summary: list[Any] = []


class Reader:
    """Reads one stream."""

    def __init__(self, plan: Plan = NO_PLAN) -> None:
        self._ear = Ear(plan)
        self._steps: dict[int, _Step] = {}
        self._count = 0
        self._called = self._ended = False
        self._status: str | None = None
        # The last call waits for the end, which says whether its arguments were cut off.
        self._held: BlockStop | None = None

    @guarded_feed("a stream of gemini-interactions")
    def feed(self, event: Body, /) -> Iterable[StreamEvent]:
        """Take one event."""
        match event.get("event_type"):
            case "step.delta":
                return self._delta(event)
            case "step.start":
                return self._start(event)
            case "step.stop":
                return self._stop(event)
            case "interaction.created":
                said = fields.obj(event.get("interaction"))
                return [ReplyStart(said.get("model") or None, said.get("id") or None)]
            case "interaction.status_update":
                self._status = event.get("status")
                return ()
            case "interaction.completed":
                return self._end(fields.obj(event.get("interaction")))
            case "error":
                error = fields.obj(event.get("error"))
                raise ModelError(f"the host reports {error.get('code') or 'an error'}: {error.get('message')}")
            case _:
                return ()

    @guarded("a stream of gemini-interactions")
    def close(self) -> Iterable[StreamEvent]:
        """End the stream: without a last word of the host's it was cut, and open calls are not to be run."""
        if self._ended:
            return []
        if self._status in STOPS and self._status not in ("in_progress", "queued"):
            return self._end({"status": self._status})
        return [*self._release(), *self._cut()]

    def _next(self) -> int:
        self._count += 1
        return self._count - 1

    def _place(self, event: Body) -> int:
        index = event.get("index", event.get("step_index"))
        return index if isinstance(index, int) else max(self._steps, default=0)

    def _start(self, event: Body) -> list[StreamEvent]:
        body = fields.need(event, "step", dict, "step.start")
        step = self._steps[self._place(event)] = _Step(body)
        events: list[StreamEvent] = self._release()
        match body.get("type"):
            case "function_call":
                call = self._ear.call(body, "step.start")
                self._called = True
                step.block = OpenBlock(self._next(), _replace(call, arguments=None, raw=None, parse_error=None))
                return [*events, step.block.start()]
            case "thought":
                step.block = OpenBlock(self._next(), Reasoning(ext={NAME: {}}))
                return [*events, step.block.start()]
            case "model_output":
                for content in fields.arr(body.get("content")):
                    events += self._content(step, fields.obj(content))
                return events
            case _:
                return events

    def _delta(self, event: Body) -> list[StreamEvent]:
        place = self._place(event)
        if place not in self._steps:
            self._steps[place] = _Step({"type": "model_output"})
        step, delta = self._steps[place], fields.obj(event.get("delta"))
        kind = delta.get("type")
        match step.body.get("type"):
            case "model_output":
                return self._content(step, delta)
            case "thought":
                return self._thought(step, delta)
            case "function_call" if step.block is not None:
                text = delta.get("arguments") if kind == "arguments_delta" else None
                if len(delta) > 2:
                    step.extra |= fields.rest(delta, "type", "arguments")
                return [step.block.more(text)] if isinstance(text, str) and text else []
            case _:
                step.body = {**step.body, **fields.rest(delta, "type")}
                return []

    def _content(self, step: _Step, delta: Body) -> list[StreamEvent]:
        kind = delta.get("type")
        if kind == "text":
            events: list[StreamEvent] = []
            if step.block is None:
                step.block = OpenBlock(self._next(), self._noted(step, Text("")))
                events.append(step.block.start())
            if len(delta) > 2:
                more = fields.rest(delta, "type", "text")
                step.annotations += fields.arr(more.pop("annotations", None))
                step.extra |= more
            return [*events, step.block.more(delta["text"])] if delta.get("text") else events
        if kind == "text_annotation_delta":
            step.annotations += fields.arr(delta.get("annotations"))
            return []
        if kind in KINDS:
            events = self._end_text(step)
            block = self._noted(step, read_content(delta, "step.delta"))
            return [*events, BlockStop(self._next(), block)]
        return []

    def _noted(self, step: _Step, block: Any) -> Block:
        step.contents += 1
        return noted(block, MORE) if step.contents > 1 else block

    def _end_text(self, step: _Step) -> list[StreamEvent]:
        opened, step.block = step.block, None
        if opened is None:
            return []
        stop = opened.stop(keep=False)
        said: Body = {"annotations": step.annotations} if step.annotations else {}
        if (said or step.extra) and isinstance(stop.block, Text):
            slot = {**fields.own(stop.block.ext, NAME), **said, **step.extra}
            stop = BlockStop(stop.index, cited(_replace(stop.block, ext={NAME: slot}), NAME, "annotations"))
            step.annotations, step.extra = [], {}
        return [stop]

    def _thought(self, step: _Step, delta: Body) -> list[StreamEvent]:
        if step.block is None:
            return []
        match delta.get("type"):
            case "thought_signature":
                step.body["signature"] = (step.body.get("signature") or "") + (delta.get("signature") or "")
                return []
            case "thought_summary":
                content = fields.obj(delta.get("content"))
            case _:
                content = delta
        if content.get("type") == "text" and isinstance(content.get("text"), str):
            return [step.block.more(content["text"])]
        step.summary.append(content)
        return []

    def _stop(self, event: Body) -> list[StreamEvent]:
        step = self._steps.pop(self._place(event), None)
        if step is None:
            return []
        events = self._release()
        match step.body.get("type"):
            case "model_output":
                return [*events, *self._end_text(step)]
            case "thought" if step.block is not None:
                said = {**step.body}
                if step.block.text:
                    said["summary"] = [{"type": "text", "text": step.block.text}, *step.summary]
                return [*events, BlockStop(step.block.index, *self._ear.step(said, "step"))]
            case "function_call" if step.block is not None:
                call = self._call(step, step.block)
                if step.extra and isinstance(call, ToolCall):
                    call = _replace(call, ext={NAME: {**fields.own(call.ext, NAME), **step.extra}})
                self._held = BlockStop(step.block.index, call)
                return events
            case _:
                return [*events, BlockStop(self._next(), *self._ear.step(step.body, "step"))]

    def _call(self, step: _Step, opened: OpenBlock) -> Block:
        call = opened.block if opened.text else None
        if not isinstance(call, ToolCall):
            # All arguments came with the start, or there are none.
            bare = opened.block
            return self._ear.arguments(bare, step.body.get("arguments", {})) if isinstance(bare, ToolCall) else bare
        whole = opened.stop(keep=False).block
        if isinstance(whole, ToolCall) and whole.arguments is not None:
            return self._ear.arguments(whole, whole.arguments)
        return whole

    def _release(self) -> list[StreamEvent]:
        held, self._held = self._held, None
        return [held] if held is not None else []

    def _cut(self) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for step in self._steps.values():
            if step.block is not None and isinstance(step.block.block, ToolCall):
                events.append(BlockStop(step.block.index, cut(step.block.block, step.block.text)))
            else:
                events += self._end_text(step)
        self._steps = {}
        return events

    def _end(self, body: Body) -> list[StreamEvent]:
        self._ended = True
        end = end_of(body, calls=self._called)
        held, self._held = self._held, None
        events = [BlockStop(held.index, settle(held.block, end.stop))] if held is not None else []
        return [*events, *self._cut(), end]


class Writer:
    """Writes one stream. A model's output stays open for further contents of the same step."""

    def __init__(self) -> None:
        self._sequence = Sequencer()
        self._scribe = server()
        self._start = ReplyStart()
        self._index = -1
        self._output = False
        self._block: Block | None = None
        self._sent = False

    def feed(self, event: StreamEvent, /) -> Iterator[Body]:
        """Take one event of ours."""
        for each in self._sequence.feed(event):
            match each:
                case ReplyStart():
                    self._start = each
                    said = frame(each, ReplyStop("other", "in_progress"))
                    yield {"event_type": "interaction.created", "interaction": said}
                    update = {"interaction_id": said["id"], "status": "in_progress"}
                    yield {"event_type": "interaction.status_update", **update}
                case BlockStart(_, block):
                    yield from self._begin(block)
                case BlockDelta(_, text):
                    yield from self._more(text)
                case BlockStop(_, block):
                    yield from self._stop(block)
                case ReplyStop():
                    yield from self._close_output()
                    yield {"event_type": "interaction.completed", "interaction": frame(self._start, each)}

    def close(self) -> Iterable[Body]:
        """End the stream."""
        return ()

    def _close_output(self) -> Iterator[Body]:
        if self._output:
            self._output = False
            yield {"event_type": "step.stop", "index": self._index}

    def _open(self, step: Body) -> Body:
        self._index += 1
        return {"event_type": "step.start", "index": self._index, "step": step}

    def _think(self) -> Iterator[Body]:
        """Begin a thought: late, because only its first word shows that it is of a kind that is said here."""
        if not self._sent:
            self._sent = True
            yield self._open({"type": "thought"})

    def _say(self, delta: Body) -> Body:
        self._sent = True
        return {"event_type": "step.delta", "index": self._index, "delta": delta}

    def _begin(self, block: Block) -> Iterator[Body]:
        self._block, self._sent = block, False
        if isinstance(block, Text | Media):
            if not (self._output and fields.note(block.ext, NAME, MORE)):
                yield from self._close_output()
                yield self._open({"type": "model_output"})
                self._output = True
            return
        yield from self._close_output()
        if isinstance(block, ToolCall):
            yield self._open(
                {
                    "type": "function_call",
                    "id": self._scribe.id.add(block.id, block.provider_id),
                    "name": self._scribe.name(block.name),
                    "arguments": {},
                }
            )

    def _more(self, text: str) -> Iterator[Body]:
        match self._block:
            case Text() if text:
                yield self._say({"type": "text", "text": text})
            case Reasoning() if text:
                yield from self._think()
                yield self._say({"type": "thought_summary", "content": {"type": "text", "text": text}})
            case ToolCall(kind="function") if text:
                yield self._say({"type": "arguments_delta", "arguments": text})
            case _:
                # Free text becomes JSON: it is said when it is complete.
                pass

    def _stop(self, block: Block) -> Iterator[Body]:
        if self._block is None:
            yield from self._begin(block)
        match block:
            case Text(text):
                if not self._sent:
                    yield from self._more(text)
                extra = fields.said(block.ext, NAME)
                if annotations := extra.pop("annotations", None):
                    yield self._say({"type": "text_annotation_delta", "annotations": annotations})
                if extra:
                    yield self._say({"type": "text", "text": "", **extra})
            case Media():
                said = write_step(self._scribe, block, "") or {}
                for content in fields.arr(said.get("content")):
                    yield self._say(content)
            case Reasoning():
                if write_step(self._scribe, block, "") is None:
                    self._block = None
                    return
                if not self._sent:
                    yield from self._more(block.text)
                yield from self._think()
                if block.signature is not None:
                    yield self._say({"type": "thought_signature", "signature": block.signature})
            case ToolCall():
                # Nothing would be read as a call that takes no arguments.
                if block.kind == "custom" or (block.arguments is None and not block.raw):
                    text = msgspec.json.encode(wrap_arguments(block)).decode()
                    yield self._say({"type": "arguments_delta", "arguments": text})
                elif not self._sent:
                    yield from self._more(written_arguments(block))
                if extra := fields.said(block.ext, NAME):
                    yield self._say({"type": "arguments_delta", "arguments": "", **extra})
            case _:
                if (step := write_step(self._scribe, block, "")) is not None:
                    yield self._open(step)
                    yield {"event_type": "step.stop", "index": self._index}
        if isinstance(block, ToolCall | Reasoning):
            yield {"event_type": "step.stop", "index": self._index}
        self._block = None
