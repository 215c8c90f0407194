"""Streams of Gemini generateContent, both ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

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
from counterfoil.wires._guard import guarded, guarded_feed
from counterfoil.wires._open import OpenBlock, cut
from counterfoil.wires._sequence import Sequencer
from counterfoil.wires.gemini.partial import Pieces
from counterfoil.wires.gemini.parts import NAME, Ear, read_text, server, write_part
from counterfoil.wires.gemini.reply import (
    OURS,
    candidate_of,
    extra_of,
    frame,
    last_candidate,
    read_usage,
    refuse_error,
    searched,
    stop_of,
)
from counterfoil.wires.wire import NO_PLAN, Body, Plan

_replace = msgspec.structs.replace
_SIGNATURE = "thoughtSignature"


class Reader:
    """Reads one stream: whole parts, texts in pieces, and calls whose arguments come in pieces."""

    def __init__(self, plan: Plan = NO_PLAN) -> None:
        self._ear = Ear(plan)
        self._count = 0
        self._text: OpenBlock | None = None
        self._call: _Call | None = None
        self._called = self._started = False
        self._usage: Body | None = None
        self._extra: Body = {}
        self._candidate: Body = {}
        self._seen: Body | None = None
        """The body that said why the reply ended."""
        self._marks: tuple[Opaque, ...] = ()

    def feed(self, event: Body, /) -> Sequence[StreamEvent]:
        """Take one chunk."""
        if self._call is not None:
            try:
                # Nearly all chunks are then one more piece of a text in the arguments.
                (candidate,) = event["candidates"]
                (part,) = candidate["content"]["parts"]
                said = part["functionCall"]
                alone = len(candidate) == 1 or (len(candidate) == 2 and candidate["index"] == 0)
                if alone and len(part) == 1 and len(said) == 2 and said["willContinue"] and OURS.issuperset(event):
                    (piece,) = said["partialArgs"]
                    text = self._call.pieces.unfinished[piece["jsonPath"]]
                    if len(piece) == 3 and piece["willContinue"]:
                        text.append(piece["stringValue"])
                        self._usage = event.get("usageMetadata", self._usage)
                        return ()
            except (LookupError, TypeError, ValueError):
                pass
        return self._feed(event)

    @guarded_feed("a stream of gemini")
    def _feed(self, event: Body, /) -> list[StreamEvent]:
        refuse_error(event)
        events: list[StreamEvent] = []
        if not self._started:
            self._started = True
            events.append(ReplyStart(event.get("modelVersion"), event.get("responseId")))
        candidate, more = candidate_of(event)
        for index, part in enumerate(fields.arr(fields.obj((candidate or {}).get("content")).get("parts"))):
            # A text goes on in the next chunk; within one chunk each part is one of its own.
            events += self._end_text() if index else []
            events += self._part(fields.an_object(part, f"/candidates/0/content/parts/{index}"))
        if "usageMetadata" in event:
            self._usage = fields.obj(event["usageMetadata"])
        self._marks = self._marks or searched(candidate, self._usage)
        extra = extra_of(event, candidate, more)
        self._candidate |= extra.pop("$candidate", {})
        self._extra |= extra
        if (candidate or {}).get("finishReason") or "promptFeedback" in event:
            self._seen = event
        return events

    @guarded("a stream of gemini")
    def close(self) -> Iterable[StreamEvent]:
        """End the stream: it was complete if it said why it ended. Usage may come after that."""
        events = self._end_text()
        if self._call is not None:
            events.append(self._call.cut())
            self._call = None
        events += [BlockStop(self._next(), block) for block in self._marks]
        self._marks = ()
        if self._seen is not None:
            stop, raw = stop_of(self._seen, candidate_of(self._seen)[0], self._called)
            extra = {**self._extra, **({"$candidate": self._candidate} if self._candidate else {})}
            events.append(ReplyStop(stop, raw, read_usage(self._usage), fields.ext(NAME, extra)))
            self._seen = None
        return events

    def _part(self, part: Body) -> list[StreamEvent]:
        if isinstance(part.get("text"), str):
            return self._say(part)
        events = self._end_text()
        if isinstance(part.get("functionCall"), dict):
            return [*events, *self._piece(part)]
        index = self._next()
        return [*events, BlockStop(index, self._ear.part(part, "/parts"))]

    def _next(self) -> int:
        self._count += 1
        return self._count - 1

    def _say(self, part: Body) -> list[StreamEvent]:
        block = read_text(part)
        text: str = part["text"]
        opened = self._text
        events: list[StreamEvent] = []
        if opened is not None and type(opened.block) is not type(block):
            events, opened = self._end_text(), None
        if opened is None:
            if not text and not block.ext.get(NAME) and _SIGNATURE not in part:
                return events
            opened = self._text = OpenBlock(self._next(), _replace(block, text=""))
            events.append(opened.start())
        else:
            opened.block = _signed(opened.block, block)
        if text:
            events.append(opened.more(text))
        # A signature ends the part it belongs to.
        return events + self._end_text() if _SIGNATURE in part else events

    def _end_text(self) -> list[StreamEvent]:
        opened, self._text = self._text, None
        return [opened.stop(keep=False)] if opened is not None else []

    def _piece(self, part: Body) -> list[StreamEvent]:
        said = fields.obj(part["functionCall"])
        going_on = bool(said.get("willContinue"))
        whole = not going_on and "partialArgs" not in said
        events: list[StreamEvent] = []
        if self._call is not None and self._call.is_over(said):
            events.append(self._call.cut())
            self._call = None
        if self._call is None:
            if not said.get("name"):
                # The end of a call that was already complete.
                return events
            call = self._ear.call({**part, "functionCall": fields.rest(said, "partialArgs", "willContinue")}, "/parts")
            self._called = True
            if whole:
                return [*events, *_whole(self._next(), call)]
            self._call = _Call(self._next(), said, call)
            events.append(self._call.block.start())
        self._call.add(part)
        if not going_on:
            events += self._call.stop(self._ear)
            self._call = None
        return events


def _signed(before: Block, after: Text | Reasoning) -> Block:
    """A text that goes on: what its later pieces say beside it counts for all of it."""
    if isinstance(before, Reasoning) and isinstance(after, Reasoning):
        slot = {**fields.own(before.ext, NAME), **fields.own(after.ext, NAME)}
        return _replace(before, signature=after.signature or before.signature, ext={NAME: slot})
    if isinstance(before, Text):
        return _replace(before, ext=fields.ext(NAME, {**fields.own(before.ext, NAME), **fields.own(after.ext, NAME)}))
    return before


def _bare(call: ToolCall) -> ToolCall:
    return _replace(call, arguments=None, raw=None, parse_error=None)


def _whole(index: int, call: ToolCall) -> list[StreamEvent]:
    return [BlockStart(index, _bare(call)), BlockDelta(index, written_arguments(call)), BlockStop(index, call)]


class _Call:
    """A call whose arguments come in pieces."""

    def __init__(self, index: int, said: Body, call: ToolCall) -> None:
        self.call = _bare(call)
        self.block = OpenBlock(index, self.call)
        self._said = said
        self.pieces = Pieces()

    def is_over(self, said: Body) -> bool:
        """Whether another call begins, without a word that this one is complete."""
        id, before = said.get("id"), self._said.get("id")
        return (
            bool(said.get("name") and said["name"] != self._said["name"])
            or bool(id and before and id != before)
            or "args" in said
        )

    def add(self, part: Body) -> None:
        """Take the pieces of a part."""
        for piece in fields.arr(fields.obj(part["functionCall"]).get("partialArgs")):
            self.pieces.add(fields.obj(piece))
        if _SIGNATURE in part:
            slot = {**fields.own(self.call.ext, NAME), _SIGNATURE: part[_SIGNATURE]}
            self.call = _replace(self.call, ext={NAME: slot})

    def stop(self, ear: Ear) -> list[StreamEvent]:
        """Say that the call is complete."""
        arguments, index = self.pieces.arguments(), self.block.index
        if self.pieces.error is not None:
            return [BlockStop(index, cut(self.call, self.pieces.text, self.pieces.error))]
        call = ear.arguments(self.call, arguments)
        return [BlockDelta(index, written_arguments(call)), BlockStop(index, call)]

    def cut(self) -> BlockStop:
        """Say how far the call came."""
        return BlockStop(self.block.index, cut(self.call, self.pieces.text))


def _kind(block: Block) -> Body:
    return {"thought": True} if isinstance(block, Reasoning) else {}


class Writer:
    """Writes one stream: texts in pieces, everything else whole."""

    def __init__(self) -> None:
        self._sequence = Sequencer()
        self._scribe = server()
        self._start = ReplyStart()
        self._block: Block | None = None
        self._sent = False
        self._last: Body = {}
        """The kind of the part that would go on in the next chunk."""

    def feed(self, event: StreamEvent, /) -> Iterator[Body]:
        """Take one event of ours."""
        for each in self._sequence.feed(event):
            match each:
                case ReplyStart():
                    self._start = each
                case BlockStart(_, block):
                    self._block, self._sent = block, False
                case BlockDelta(_, text):
                    if text and isinstance(self._block, Text | Reasoning):
                        yield self._chunk({"text": text, **_kind(self._block)}, first=not self._sent)
                        self._sent = True
                case BlockStop(_, block):
                    yield from self._stop(block)
                case ReplyStop():
                    yield self._end(each)

    def close(self) -> Iterable[Body]:
        """End the stream."""
        return ()

    def _stop(self, block: Block) -> Iterator[Body]:
        sent, self._block, self._sent = self._sent, None, False
        part = write_part(self._scribe, block, "", reply=True)
        if part is None:
            return
        if sent:
            part["text"] = ""
            if part.keys() <= {"text", "thought"}:
                return
        yield self._chunk(part, first=not sent)

    def _chunk(self, part: Body, *, first: bool) -> Body:
        parts = [part]
        kind: Body = {"text": "", **fields.rest(part, *(part.keys() - {"thought"}))} if "text" in part else {}
        if first and kind and kind == self._last:
            # What was said before would go on: another part of the same chunk ends it.
            parts = [kind, part]
        self._last = kind
        body = {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]}
        return frame(body, None, self._start.model, self._start.id)

    def _end(self, event: ReplyStop) -> Body:
        body: Body = {"candidates": [last_candidate([{"text": ""}], event.stop, event.stop_raw, event.ext)]}
        slot = fields.own(event.ext, NAME)
        if fields.obj(slot.get("promptFeedback")) and event.stop == "refused":
            body = {}
        else:
            body["candidates"] += slot.get("$more") or []
        return fields.fill(frame(body, event.usage, self._start.model, self._start.id), slot)
