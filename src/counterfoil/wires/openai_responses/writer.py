"""Streams of OpenAI Responses, said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from counterfoil.types.message import Block, Reasoning, Text, ToolCall
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, ReplyStart, ReplyStop, StreamEvent
from counterfoil.wires import _fields as fields
from counterfoil.wires._sequence import Sequencer
from counterfoil.wires.openai_responses.content import NAME
from counterfoil.wires.openai_responses.items import MORE, write_item
from counterfoil.wires.openai_responses.reply import frame, server
from counterfoil.wires.wire import Body

_replace = msgspec.structs.replace


class Writer:
    """Writes one stream. An item is told when it begins, as it grows, and whole when it is complete."""

    def __init__(self) -> None:
        self._sequence = Sequencer()
        self._scribe = server()
        self._number = 0
        self._start = ReplyStart()
        self._blocks: list[Block] = []
        self._output: list[Body] = []
        self._item: Body | None = None
        """The item that is open; a message stays open for further texts in it."""
        self._block: Block | None = None
        self._text: list[str] = []

    def feed(self, event: StreamEvent, /) -> Iterator[Body]:
        """Take one event of ours."""
        for each in self._sequence.feed(event):
            match each:
                case ReplyStart():
                    self._start = each
                    for kind in ("response.created", "response.in_progress"):
                        yield self._event(kind, response=self._snapshot())
                case BlockStart(_, block):
                    yield from self._begin(block)
                case BlockDelta(_, text):
                    if text and self._block is not None:
                        yield from self._open_late(self._block)
                        self._text.append(text)
                        yield self._delta(text)
                case BlockStop(_, block):
                    yield from self._stop(block)
                case ReplyStop():
                    yield from self._close_message()
                    body = {**frame(self._start, each, self._blocks), "output": self._output}
                    kind = body["status"] if body["status"] in ("completed", "incomplete") else "completed"
                    yield self._event(f"response.{kind}", response=body)

    def close(self) -> Iterable[Body]:
        """End the stream."""
        return ()

    def _event(self, kind: str, **said: object) -> Body:
        self._number += 1
        return {"type": kind, **said, "sequence_number": self._number - 1}

    def _snapshot(self) -> Body:
        body = frame(self._start, ReplyStop("other", "in_progress"), ())
        return {**body, "status": "in_progress"}

    def _place(self) -> Body:
        return {"item_id": (self._item or {}).get("id", ""), "output_index": len(self._output)}

    def _begin(self, block: Block) -> Iterator[Body]:
        self._text = []
        more = isinstance(block, Text) and bool(fields.note(block.ext, NAME, MORE))
        if not (more and self._item is not None):
            yield from self._close_message()
        if not isinstance(block, Text | Reasoning | ToolCall):
            return
        self._block = block
        # Reasoning begins with its first word: if it has none, it may be of a kind that is not said here.
        if not isinstance(block, Reasoning):
            yield from self._open(block)

    def _open_late(self, block: Block) -> Iterator[Body]:
        if isinstance(block, Reasoning) and self._item is None:
            yield from self._open(Reasoning(id=block.id, ext={NAME: {}}))

    def _open(self, block: Text | Reasoning | ToolCall) -> Iterator[Body]:
        if isinstance(block, ToolCall):
            block = _replace(block, raw="", arguments=None)
        item = write_item(self._scribe, block, "")
        if item is None:
            self._block = None
            return
        part = item["content"][0] if isinstance(block, Text) else None
        if self._item is None:
            self._item = item
            fresh = dict(item)
            if part is not None:
                fresh["content"] = []
            if "status" in fresh:
                fresh["status"] = "in_progress"
            yield self._event("response.output_item.added", output_index=len(self._output), item=fresh)
        else:
            self._item["content"].append(part)
        if part is not None:
            at = len(self._item["content"]) - 1
            yield self._event("response.content_part.added", **self._place(), content_index=at, part=part)
        if isinstance(block, Reasoning):
            part = {"type": "summary_text", "text": ""}
            yield self._event("response.reasoning_summary_part.added", **self._place(), summary_index=0, part=part)

    def _delta(self, text: str) -> Body:
        more: Body = {}
        match self._block:
            case Reasoning():
                kind, more["summary_index"] = "response.reasoning_summary_text.delta", 0
            case ToolCall(kind="custom"):
                kind = "response.custom_tool_call_input.delta"
            case ToolCall():
                kind = "response.function_call_arguments.delta"
            case _:
                content = fields.arr((self._item or {}).get("content"))
                more["content_index"] = len(content) - 1
                kind = "response.refusal.delta"
                if content[-1]["type"] != "refusal":
                    kind, more["logprobs"] = "response.output_text.delta", []
        return self._event(kind, **self._place(), **more, delta=text)

    def _stop(self, block: Block) -> Iterator[Body]:
        if self._block is None:
            yield from self._begin(block)
        self._blocks.append(block)
        unsaid = not self._text
        match block:
            case Text(text):
                if text and unsaid:
                    yield self._delta(text)
                yield from self._end_text(block)
            case Reasoning():
                if write_item(self._scribe, block, "") is not None:
                    yield from self._open_late(block)
                    if block.text and unsaid:
                        yield self._delta(block.text)
                    yield from self._end_item(block)
            case ToolCall():
                item = self._finished(block)
                said = item.get("input") if block.kind == "custom" else item.get("arguments")
                if said and unsaid:
                    yield self._delta(str(said))
                yield from self._end_item(block)
            case _:
                self._item = write_item(self._scribe, block, "")
                if self._item is not None:
                    index = len(self._output)
                    yield self._event("response.output_item.added", output_index=index, item=self._item)
                    yield from self._whole(self._item)
        self._block = None

    def _finished(self, block: Block) -> Body:
        """The item, complete; what was told when it began stays."""
        before = self._item or {}
        item = write_item(self._scribe, block, "") or {}
        return {**item, **{key: before[key] for key in ("id", "call_id", "name") if key in before}}

    def _end_text(self, block: Text) -> Iterator[Body]:
        item = write_item(self._scribe, block, "")
        if self._item is None or item is None:
            return
        part = self._item["content"][-1] = item["content"][0]
        place = {**self._place(), "content_index": len(self._item["content"]) - 1}
        if part["type"] == "refusal":
            yield self._event("response.refusal.done", **place, refusal=part["refusal"])
        else:
            yield self._event("response.output_text.done", **place, text=part["text"], logprobs=[])
        yield self._event("response.content_part.done", **place, part=part)

    def _end_item(self, block: Reasoning | ToolCall) -> Iterator[Body]:
        item = self._finished(block)
        place = self._place()
        if isinstance(block, Reasoning):
            part = {"type": "summary_text", "text": block.text}
            yield self._event("response.reasoning_summary_text.done", **place, summary_index=0, text=block.text)
            yield self._event("response.reasoning_summary_part.done", **place, summary_index=0, part=part)
        elif block.kind == "custom":
            yield self._event("response.custom_tool_call_input.done", **place, input=item["input"])
        else:
            done = {"name": item["name"], "arguments": item["arguments"]}
            yield self._event("response.function_call_arguments.done", **place, **done)
        yield from self._whole(item)

    def _whole(self, item: Body) -> Iterator[Body]:
        yield self._event("response.output_item.done", output_index=len(self._output), item=item)
        self._output.append(item)
        self._item = None

    def _close_message(self) -> Iterator[Body]:
        if self._item is not None:
            yield from self._whole(self._item)
