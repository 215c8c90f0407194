"""Calls that arrive in pieces, the way OpenAI's chat format and its many imitations send them."""

from __future__ import annotations

import abc
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from counterfoil.types.json import read_object
from counterfoil.types.message import Block, ToolCall
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, StreamEvent
from counterfoil.wires import _fields as fields
from counterfoil.wires._chat import OBJECT
from counterfoil.wires._envelope import as_custom, unwrap_arguments
from counterfoil.wires._ids import Calls
from counterfoil.wires._open import OpenBlock, cut, with_text
from counterfoil.wires.wire import Body, Plan

LONGER = (LookupError, TypeError, ValueError)
"""What the short way of a piece raises where the long way is to be taken."""
_MARKS = re.compile(r"""\\.|["\\{}\[\]]""", re.DOTALL)
_ENTRY = frozenset({"index", "id", "type", "function", "custom"})
_SAID = frozenset({"name", "arguments", "input"})


class _Piecewise:
    """One call on its way. It is announced when its name is known."""

    def __init__(self) -> None:
        self.index = -1
        self.id = ""
        self.ours: str | None = None
        self.name = ""
        self.kind = "function"
        self.parts: list[str] = []
        self.whole: dict[str, Any] | None = None
        self.place: int | None = None
        self.kept: dict[str, Any] = {}
        # How far its brackets are counted, what was found so far, and half an escape at the end of it.
        self._counted = self._depth = 0
        self._quoted = self._closed = self._parses = False
        self._half = ""

    @property
    def complete(self) -> bool:
        """Whether its arguments are one whole JSON object, so that nothing can be added to them."""
        while self._counted < len(self.parts):
            self._count(self.parts[self._counted])
            self._counted += 1
        return self.whole is not None or self._parses

    def _count(self, text: str) -> None:
        """Count brackets: where the outermost closes, and only there, the text may be whole. Linear, in any pieces."""
        marks = _MARKS.findall(self._half + text)
        self._half = marks.pop() if marks and marks[-1] == "\\" else ""
        for mark in marks:
            if mark == '"':
                self._quoted = not self._quoted
            elif not self._quoted and mark in "{}[]":
                self._depth += 1 if mark in "{[" else -1
                if self._depth == 0 and not self._closed:
                    self._closed = True
                    self._parses = read_object("".join(self.parts))[0] is not None


class CallPieces:
    """Puts the pieces of calls together.

    The id tells calls apart; where it is missing or blank, the index; where that is missing too, the last call goes
    on. A name is set once, since some hosts repeat it with each piece; but a name that comes after whole arguments
    begins another call, since some hosts give every call the same index, or the same id. `blank` is what else stands
    for a missing id.
    """

    def __init__(self, wire: str, plan: Plan, calls: Calls, blank: str = "") -> None:
        self._blank = blank
        self._wire = wire
        self._plan = plan
        self._calls = calls
        self._all: list[_Piecewise] = []
        self._by_id: dict[str, _Piecewise] = {}
        self._by_place: dict[int, _Piecewise] = {}
        self.next_index = 0
        """The index after that of the newest call."""

    def feed(self, entry: Body, next_index: int) -> list[StreamEvent]:
        """Take one entry of a `tool_calls` delta. A call that it begins becomes block `next_index`."""
        events: list[StreamEvent] = []
        kind = "custom" if "custom" in entry else "function"
        said = fields.sub(entry, kind)
        id, place = entry.get("id") or "", entry.get("index")
        if id == self._blank:
            id = ""
        name = self._plan.name(said.get("name") or "")
        arguments = said.get("input" if kind == "custom" else "arguments")
        call = self._find(id, place, name, bool(arguments))
        if call is None:
            call = _Piecewise()
            call.kind, call.index, call.place = kind, next_index, place
            self._all.append(call)
            self.next_index = next_index + 1
        if id and not call.id:
            call.id = id
            self._by_id[id] = call
        if place is not None:
            self._by_place[place] = call
        if not entry.keys() <= _ENTRY:
            call.kept.update(fields.leftover(entry, ("index", "id", "type", kind)))
        if not said.keys() <= _SAID:
            call.kept["$function"] = {**call.kept.get("$function", {}), **fields.rest(said, *_SAID)}
        if name and not call.name:
            call.name = name
            events.append(self._announce(call))
            events += [BlockDelta(call.index, text) for text in call.parts]
        if isinstance(arguments, dict):
            call.whole = arguments
        elif arguments:
            call.parts.append(arguments)
            if call.name:
                events.append(BlockDelta(call.index, arguments))
        return events

    def more(self, place: int, entry: Body, said: Body) -> BlockDelta:
        """The short way for an entry that only brings more arguments of a known call, as nearly all do.

        `said` is its function. An entry that is more than that raises one of `LONGER`, and has then changed nothing.
        """
        call, text = self._by_place[place], said["arguments"]
        if not call.name or not text or text.__class__ is not str:
            raise LookupError
        if (len(said) > 1 and (len(said) > 2 or said["name"])) or (len(entry) > 2 and not self._same(call, entry)):
            raise LookupError
        call.parts.append(text)
        return BlockDelta(call.index, text)

    def _same(self, call: _Piecewise, entry: Body) -> bool:
        """Whether an entry says nothing new beside its function."""
        id = entry.get("id")
        known = len(entry) == 2 + ("id" in entry) + ("type" in entry)
        return known and (not id or id == call.id or id == self._blank)

    def _find(self, id: str, place: int | None, name: str, more: bool) -> _Piecewise | None:
        call = self._by_id.get(id) if id else None
        if call is None:
            at = self._by_place.get(place) if place is not None else (self._all[-1] if self._all else None)
            if at is not None and (not id or not at.id):
                call = at
        if call is None or not name or not call.name:
            return call
        if name != call.name:
            return None
        again = more or (place is not None and place != call.place)
        return None if again and call.complete else call

    def _announce(self, call: _Piecewise) -> BlockStart:
        call.ours = self._calls.call(call.id, call.name)
        return BlockStart(call.index, self._known(call))

    def _known(self, call: _Piecewise) -> ToolCall:
        ext = fields.ext(self._wire, call.kept)
        return ToolCall(call.ours or "", call.name, kind="custom" if call.kind == "custom" else "function", ext=ext)

    def finish(self, *, whole: bool) -> list[BlockStop]:
        """End all calls: `whole`, or cut off, and then never to be run."""
        stops: list[BlockStop] = []
        for call in self._all:
            if call.ours is None:
                call.ours = self._calls.call(call.id, call.name)
            elif call.id:
                call.ours = call.id
            stops.append(BlockStop(call.index, self._finished(call, whole)))
        self._all.clear()
        return stops

    def _finished(self, call: _Piecewise, whole: bool) -> Block:
        if call.whole is not None:
            call.kept[OBJECT] = True
            known = msgspec.structs.replace(self._known(call), arguments=call.whole)
            return unwrap_arguments(known, self._plan.custom)
        known, text = self._known(call), "".join(call.parts)
        if not whole:
            return cut(known, text)
        found = with_text(known, text, keep=True)
        return as_custom(found) if call.name in self._plan.custom else found


class ChunkReader(abc.ABC):
    """A reader of chunks with `choices`, of which it takes the first. What stands beside them changes seldom."""

    def __init__(self, calls: CallPieces) -> None:
        self._calls = calls
        self._open: OpenBlock | None = None
        self._keys: list[str] | None = None
        """The fields of the chunk before."""

    def feed(self, event: Body, /) -> Sequence[StreamEvent]:
        """Take one chunk."""
        try:
            # Nearly all chunks are one piece of a call's arguments, and the same beside it as in the chunk before.
            if self._open is None and list(event) == self._keys:
                (choice,) = event["choices"]
                delta = choice["delta"]
                (entry,) = delta["tool_calls"]
                alone = len(delta) == 1 and (len(choice) == 3 or (len(choice) == 4 and choice["logprobs"] is None))
                if alone and not (choice["finish_reason"] or choice["index"] or event.get("usage")):
                    return (self._calls.more(entry["index"], entry, entry["function"]),)
        except LONGER:
            pass
        return self._feed(event)

    @abc.abstractmethod
    def _feed(self, event: Body, /) -> list[StreamEvent]:
        """Take one chunk, the long way."""


def grow(held: dict[str, Any], more: dict[str, Any], *, strings: bool = False) -> None:
    """Add what a later chunk says to what earlier ones said: lists go on, objects fill, others are replaced."""
    for key, value in more.items():
        known = held.get(key)
        if (before := fields.as_array(known)) is not None and (after := fields.as_array(value)) is not None:
            held[key] = [*before, *after]
        elif (inner := fields.as_object(value)) is not None:
            # Into an object of our own: the chunk is not ours to change.
            held[key] = dict(fields.as_object(known) or {})
            grow(held[key], inner, strings=strings)
        elif strings and isinstance(known, str) and isinstance(value, str):
            held[key] = known + value
        elif value is not None or key not in held:
            held[key] = value
