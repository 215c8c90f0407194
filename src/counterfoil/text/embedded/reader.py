"""Read decoded text piece by piece: prose, or calls in any of a family's marker styles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

import msgspec

from counterfoil.text.embedded.family import TAIL, Family


class Read(msgspec.Struct, frozen=True):
    """One thing read: some `prose`; the name of a `call` that begins; some `arguments` of it; its `end`."""

    kind: Literal["prose", "call", "arguments", "end"]
    text: str = ""


_OPENING = '{"name": '
_MIDDLE = ', "arguments": '


class CallReader:
    """Splits a growing text. `feed` gives what is certain so far, so pieces may be cut anywhere.

    It expects the spacing that `grammar.catalogue_grammar` enforces. `open` says whether a call is unfinished.
    """

    def __init__(self, family: Family) -> None:
        self._heads = sorted({opening + _OPENING for opening, _ in family.markers}, key=len, reverse=True)
        self._gaps = {closing + family.separator for _, closing in family.markers} | {""}
        self._buffer = ""
        self._mode: Literal["start", "prose", "name", "arguments", "after"] = "start"
        self._scan = _Scan()

    @property
    def open(self) -> bool:
        """Whether the text so far ends inside a call."""
        return self._mode in ("name", "arguments")

    def feed(self, piece: str) -> Iterator[Read]:
        """Take more text."""
        self._buffer += piece
        while True:
            step = {
                "start": self._start,
                "prose": self._prose,
                "name": self._name,
                "arguments": self._arguments,
                "after": self._after,
            }[self._mode]
            found = step()
            if found is None:
                return
            if found.text or found.kind == "end":
                yield found

    def finish(self) -> Iterator[Read]:
        """Say that no more text comes: what was held back as a possible beginning of a call is prose after all."""
        if self._mode == "start" and self._buffer:
            yield Read("prose", self._buffer)
        self._buffer = ""

    def _start(self) -> Read | None:
        for opening in self._heads:
            if self._buffer.startswith(opening):
                self._buffer = self._buffer[len(opening) :]
                self._mode = "name"
                return Read("prose")
        if any(opening.startswith(self._buffer) for opening in self._heads):
            return None
        self._mode = "prose"
        return Read("prose")

    def _prose(self) -> Read | None:
        if not self._buffer:
            return None
        text, self._buffer = self._buffer, ""
        return Read("prose", text)

    def _name(self) -> Read | None:
        at = self._buffer.find(_MIDDLE)
        if at < 0:
            return None
        name, self._buffer = json.loads(self._buffer[:at]), self._buffer[at + len(_MIDDLE) :]
        self._mode, self._scan = "arguments", _Scan()
        return Read("call", name)

    def _arguments(self) -> Read | None:
        if not self._buffer:
            return None
        if self._scan.done:
            # The object is complete; its call ends with the tail.
            if not self._buffer.startswith(TAIL):
                return None
            self._buffer, self._mode = self._buffer[len(TAIL) :], "after"
            return Read("end")
        length = self._scan.through(self._buffer)
        text, self._buffer = self._buffer[:length], self._buffer[length:]
        return Read("arguments", text)

    def _after(self) -> Read | None:
        for gap in sorted(self._gaps, key=len, reverse=True):
            for opening in self._heads:
                if self._buffer.startswith(gap + opening):
                    self._buffer, self._mode = self._buffer[len(gap + opening) :], "name"
                    return Read("prose")
        return None


class _Scan:
    """Finds where one JSON value ends."""

    def __init__(self) -> None:
        self.done = False
        self._depth = 0
        self._string = self._escaped = False

    def through(self, text: str) -> int:
        """Take characters until the value is complete; say how many were taken."""
        for index, character in enumerate(text):
            if self._escaped:
                self._escaped = False
            elif self._string:
                self._escaped = character == "\\"
                self._string = character != '"'
            elif character == '"':
                self._string = True
            elif character in "{[":
                self._depth += 1
            elif character in "}]":
                self._depth -= 1
                if self._depth == 0:
                    self.done = True
                    return index + 1
        return len(text)
