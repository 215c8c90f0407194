"""Streams of OpenAI Responses, understood."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from counterfoil.types.error import ModelError
from counterfoil.types.message import Block, Opaque, Reasoning, Text, ToolCall
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, ReplyStart, ReplyStop, StreamEvent
from counterfoil.wires import _fields as fields
from counterfoil.wires._guard import guarded, guarded_feed
from counterfoil.wires._lookups import cited
from counterfoil.wires._open import OpenBlock
from counterfoil.wires.openai_responses.content import NAME, REFUSAL
from counterfoil.wires.openai_responses.items import ITEM, MORE, Ear, said_of
from counterfoil.wires.openai_responses.reply import extra_of, read_usage, refuse_error, settle, stop_of
from counterfoil.wires.wire import NO_PLAN, Body, Plan

_DELTAS = {
    "response.output_text.delta",
    "response.refusal.delta",
    "response.function_call_arguments.delta",
    "response.custom_tool_call_input.delta",
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.delta",
}
_ENDS = ("response.completed", "response.incomplete", "response.cancelled")


class _Item:
    """An item on its way: its blocks, by the place of their part."""

    def __init__(self, body: Body) -> None:
        self.body = dict(body)
        self.blocks: dict[int, OpenBlock] = {}
        self.started = False
        self.cited: set[int] = set()
        """The places of the texts of which an event said that they cite something: some hosts say it nowhere else."""
        self.done = False


class Reader:
    """Reads one stream. What an item is in the end its `done` event says; the deltas only tell how far it has come."""

    def __init__(self, plan: Plan = NO_PLAN) -> None:
        self._ear = Ear(plan)
        self._items: dict[str, _Item] = {}
        self._places: dict[int, str] = {}
        self._count = 0
        self._blocks: list[Block] = []
        # The last call waits for the end, which says whether its arguments were cut off.
        self._held: BlockStop | None = None
        self._ended = False

    @guarded_feed("a stream of openai-responses")
    def feed(self, event: Body, /) -> Iterable[StreamEvent]:
        """Take one event."""
        kind = event.get("type")
        if kind in _DELTAS:
            return self._delta(event)
        match kind:
            case "response.output_item.added":
                return self._added(event)
            case "response.content_part.added":
                return self._part(event)
            case "response.reasoning_summary_part.added":
                return self._delta({**event, "delta": "\n\n"}) if event.get("summary_index") else ()
            case "response.output_text.annotation.added":
                if (item := self._find(event)) is not None:
                    item.cited.add(event.get("content_index") or 0)
                return ()
            case "response.output_item.done":
                return self._done(event)
            case "response.created":
                said = fields.obj(event.get("response"))
                return [ReplyStart(said.get("model") or None, said.get("id") or None)]
            case "response.failed":
                refuse_error({"status": "failed", **fields.obj(event.get("response"))})
                raise ModelError("the host reports that the reply failed")
            case "error":
                raise ModelError(f"the host reports {event.get('code') or 'an error'}: {event.get('message')}")
            case _ if kind in _ENDS:
                return self._end(fields.obj(event.get("response")))
            case _:
                return ()

    @guarded("a stream of openai-responses")
    def close(self) -> Iterable[StreamEvent]:
        """End the stream: without a last word of the host's it was cut, and open calls are not to be run."""
        events: list[StreamEvent] = self._release()
        if not self._ended:
            for item in self._items.values():
                if not item.done:
                    events += self._cut(item)
        return events

    def _find(self, event: Body) -> _Item | None:
        # The id of the item says more than its place; hosts leave out the one or the other.
        if (found := self._items.get(event.get("item_id") or "")) is not None:
            return found
        key = event.get("item_id") or fields.obj(event.get("item")).get("id")
        place = event.get("output_index")
        if key is None or key not in self._items:
            key = self._places.get(place) if isinstance(place, int) else next(reversed(self._items), None)
        return self._items.get(key) if key is not None else None

    def _next(self) -> int:
        self._count += 1
        return self._count - 1

    def _added(self, event: Body) -> list[StreamEvent]:
        body = fields.obj(event.get("item"))
        place = event.get("output_index")
        key = body.get("id") or f"#{place if isinstance(place, int) else len(self._items)}"
        if key in self._items:
            key = f"{key}#{len(self._items)}"
        item = self._items[key] = _Item(body)
        if isinstance(place, int):
            self._places[place] = key
        events = self._release()
        match body.get("type"):
            case "function_call" | "custom_tool_call" if body.get("name"):
                call = self._ear.call({**body, "status": "in_progress"}, "item")
                block: Block = msgspec.structs.replace(call, arguments=None, raw=None, parse_error=None)
            case "reasoning":
                block = Reasoning(id=body.get("id"), ext={NAME: {}})
            case _:
                return events
        return [*events, self._open(item, 0, block)]

    def _open(self, item: _Item, place: int, block: Block) -> BlockStart:
        opened = item.blocks[place] = OpenBlock(self._next(), block)
        return opened.start()

    def _part(self, event: Body) -> list[StreamEvent]:
        item = self._find(event)
        if item is None or item.body.get("type", "message") != "message":
            return []
        place = event.get("content_index") or 0
        # A writer of this wire needs to know at once which item the text is of.
        slot: Body = {MORE: True} if place else {ITEM: said_of({**item.body, "status": "completed"}, "role", "content")}
        if fields.obj(event.get("part")).get("type") == "refusal":
            slot[REFUSAL] = True
        return [self._open(item, place, Text("", ext={NAME: slot}))]

    def _delta(self, event: Body) -> list[StreamEvent]:
        item, text = self._find(event), event.get("delta")
        if item is None or not isinstance(text, str) or item.done:
            return []
        kind = item.body.get("type", "message")
        place = (event.get("content_index") or 0) if kind == "message" else 0
        events: list[StreamEvent] = []
        if place not in item.blocks:
            if kind != "message":
                # A call whose name is not yet known: it begins when it is.
                item.body.setdefault("$text", []).append(text)
                return []
            events.append(self._open(item, place, Text("")))
        return [*events, item.blocks[place].more(text)]

    def _done(self, event: Body) -> list[StreamEvent]:
        item = self._find(event)
        body = fields.obj(event.get("item"))
        if item is None:
            return [*self._added(event), *self._done(event)] if body else []
        if item.done:
            return []
        return [*self._release(), *self._finish(item, body)]

    def _finish(self, item: _Item, body: Body) -> list[StreamEvent]:
        item.done = True
        first = item.blocks.get(0)
        events: list[StreamEvent] = []
        if first is not None and isinstance(first.block, ToolCall):
            # Its id was told when it began, and stays what it was.
            said = {**body, "call_id": first.block.id, "name": body.get("name") or item.body["name"]}
            whole = self._ear.call(said, "item")
            if not first.parts and whole.raw:
                events.append(first.more(whole.raw))
            self._blocks.append(whole)
            self._held = BlockStop(first.index, whole)
            return events
        for place, each in enumerate(self._ear.item(body, "item")):
            block = cited(each, NAME, "annotations", told=place in item.cited)
            opened = item.blocks.get(place)
            if opened is None and not isinstance(block, Opaque):
                bare = msgspec.structs.replace(block, text="") if isinstance(block, Text | Reasoning) else block
                if isinstance(bare, ToolCall):
                    bare = msgspec.structs.replace(bare, arguments=None, raw=None, parse_error=None)
                events.append(self._open(item, place, bare))
                opened = item.blocks[place]
                text = "".join(item.body.get("$text") or ()) or (block.text if isinstance(block, Text) else "")
                if text:
                    events.append(BlockDelta(opened.index, text))
            self._blocks.append(block)
            events.append(BlockStop(opened.index if opened is not None else self._next(), block))
        return events

    def _release(self) -> list[StreamEvent]:
        held, self._held = self._held, None
        return [held] if held is not None else []

    def _cut(self, item: _Item) -> list[StreamEvent]:
        item.done = True
        return [opened.cut() for _, opened in sorted(item.blocks.items())]

    def _end(self, body: Body) -> list[StreamEvent]:
        self._ended = True
        events: list[StreamEvent] = []
        # Some hosts tell only here what became of an item, or that there is one.
        for place, each in enumerate(fields.arr(body.get("output"))):
            said = fields.obj(each)
            item = self._items.get(said.get("id") or "") or self._items.get(self._places.get(place, ""))
            if item is None or not item.done:
                events += self._release()
                events += self._done({"item": said, "output_index": place})
        for item in self._items.values():
            if not item.done:
                events += self._cut(item)
        stop, raw = stop_of(body, self._blocks)
        if self._held is not None:
            settled = settle([self._held.block], stop)
            events.append(BlockStop(self._held.index, settled[0]))
            self._held = None
        usage = read_usage(fields.maybe(body, "usage", dict, ""))
        return [*events, ReplyStop(stop, raw, usage, fields.ext(NAME, extra_of(body)))]
