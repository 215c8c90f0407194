"""From what is read to stream events: blocks with their index, calls with an id."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from counterfoil.text.jsontext import dumps
from counterfoil.types.json import canonical, read_object
from counterfoil.types.message import Ext, Reasoning, Text, ToolCall
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, StreamEvent

NOTES = "$recovered"
"""The note in a call's `ext["text"]` that lists what was misspelt around it and understood nevertheless."""


class Blocks:
    """Writes the blocks of one reply. `take` gives the events since it was last asked.

    White space alone is no text. `gap` is what the family writes between text and a call: it belongs to neither.
    """

    def __init__(self, gap: str) -> None:
        self.calls = 0
        self.line_blank = True
        """Whether only spaces have come since the last line break: where a fence or a label may stand."""
        self.last = ""
        """The last character of text."""
        self._gap = gap
        self._events: list[StreamEvent] = []
        self._index = -1
        self._open: type[Text] | type[Reasoning] | None = None
        self._fresh: list[str] = []
        self._said: list[str] = []
        self._blank: list[str] = []
        self._after_call = False
        self._call: ToolCall | None = None
        self._notes: list[str] = []
        self._streamed = False

    def take(self) -> list[StreamEvent]:
        """The events since it was last asked."""
        self._flush()
        events, self._events = self._events, []
        return events

    def apart(self) -> None:
        """A marker was read: what comes is not right behind a call, and white space at its beginning is its own."""
        self._blank.clear()
        self._after_call = False
        self.line_blank, self.last = True, ""

    def text(self, text: str) -> None:
        """Say some prose."""
        _, broke, line = text.rpartition("\n")
        self.line_blank = (bool(broke) or self.line_blank) and not line.strip(" ")
        self.last = text[-1:] or self.last
        self._say(Text, text)

    def reasoning(self, text: str) -> None:
        """Say some reasoning."""
        self._say(Reasoning, text)

    def _say(self, kind: type[Text] | type[Reasoning], text: str) -> None:
        if self._open not in (None, kind):
            self.end_said()
        if not text.strip():
            self._blank.append(text)
            return
        text = "".join([*self._blank, text])
        if self._open is None:
            self.settle()
            if self._after_call and kind is Text:
                text = text.removeprefix(self._gap)
            self._after_call = False
            self._open = kind
            self._index += 1
            self._events.append(BlockStart(self._index, kind("")))
        body = text.rstrip()
        self._fresh.append(body)
        self._blank = [text[len(body) :]]

    def _flush(self) -> None:
        if self._fresh:
            fresh = "".join(self._fresh)
            self._said.append(fresh)
            self._fresh.clear()
            self._events.append(BlockDelta(self._index, fresh))

    def end_said(self, trim: str = "") -> None:
        """Complete the text or reasoning that is open, without the `trim` it may end in."""
        kind, blank = self._open, "".join(self._blank)
        self._blank.clear()
        if kind is None:
            return
        if trim and blank.endswith(trim):
            blank = blank[: -len(trim)]
        if blank:
            self._fresh.append(blank)
        self._flush()
        self._open = None
        self._events.append(BlockStop(self._index, kind("".join(self._said))))
        self._said.clear()

    def begin(self, name: str, call_id: str | None = None) -> None:
        """A call begins: its name is known."""
        self.end_said(self._gap)
        self.settle()
        self.calls += 1
        self._index += 1
        self._call = ToolCall(call_id or f"call_{self.calls}", name)
        self._streamed = False
        self._events.append(BlockStart(self._index, self._call))

    def delta(self, text: str) -> None:
        """More of the call's arguments, as JSON."""
        if text:
            self._streamed = True
            self._events.append(BlockDelta(self._index, text))

    def end(self, arguments: dict[str, Any] | None, raw: str, error: str | None = None) -> None:
        """The call's arguments are complete; `raw` is kept if they could not be read."""
        assert self._call is not None
        if arguments is not None and not self._streamed:
            self.delta(canonical(arguments).decode())
        wrong = None if arguments is not None else error or "it could not be read"
        self._call = ToolCall(self._call.id, self._call.name, arguments, raw if wrong else None, wrong)
        self._after_call = True
        self.line_blank, self.last = True, ""

    def note(self, note: str) -> None:
        """Say of the call that has just been read what was misspelt around it."""
        self._notes.append(note)

    def settle(self) -> None:
        """There is no more to be said of the last call."""
        if self._call is None:
            return
        ext: Ext = {"text": {NOTES: self._notes}} if self._notes else {}
        self._events.append(BlockStop(self._index, structs.replace(self._call, ext=ext)))
        self._call, self._notes = None, []

    def call(self, name: str, arguments: dict[str, Any] | None, raw: str = "", error: str | None = None) -> None:
        """A whole call."""
        self.begin(name)
        self.end(arguments, raw, error)

    def values(self, name: str, arguments: dict[str, Any], raw: str, error: str | None = None) -> None:
        """A whole call whose values were read one by one: they are held to the rules of JSON arguments."""
        checked: dict[str, Any] | None = None
        if error is None:
            try:
                checked, error = read_object(dumps(arguments))
            except (ValueError, RecursionError) as wrong:
                error = str(wrong)
        self.call(name, checked, raw, error)
