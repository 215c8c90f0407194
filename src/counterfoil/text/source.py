"""Text that is still arriving, and the ways to read on in it.

Readers are generators: they `yield` when they need more text, so each grammar is written as if all of it were there.
Nothing is decided before enough has come to decide it, and what has been decided is not looked at again: every cut of a
text reads the same, and in time linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")
Wait = Generator[None, None, T]
"""A reader that returns `T`, and yields whenever it waits for more text."""
Sink = Callable[[str], object]
"""Where text goes that was read over, piece by piece as it becomes certain."""

_BLANK = re.compile(r"\s*")


class Markers:
    """A set of literals to look for, all at once; the longest of those that begin at a place is the one found."""

    def __init__(self, literals: frozenset[str]) -> None:
        self.literals = literals
        ordered = sorted(literals, key=lambda each: (-len(each), each))
        self.source = "|".join(map(re.escape, ordered)) or r"(?!)"
        self.longest = max(map(len, literals), default=1)
        self.pattern = re.compile(self.source)
        partial = "|".join(filter(None, map(_beginnings, ordered))) or r"(?!)"
        self.partial = re.compile(rf"(?:{partial})\Z")

    def held(self, text: str, at: int) -> int:
        """Where the end of `text` might be the beginning of a marker; its length when it cannot be."""
        found = self.partial.search(text, max(at, len(text) - self.longest + 1))
        return len(text) if found is None else found.start()


def _beginnings(literal: str) -> str:
    """A pattern of all proper beginnings of a literal."""
    pattern = ""
    for character in reversed(literal[:-1]):
        pattern = re.escape(character) + (f"(?:{pattern})?" if pattern else "")
    return pattern


@lru_cache(maxsize=4096)
def markers(*literals: str) -> Markers:
    """Compile a set of markers, once."""
    return Markers(frozenset(literals) - {""})


class Source:
    """The text that has come and has not been read. What was read is let go, so feeding costs what is fed."""

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        self.ended = False

    def feed(self, piece: str) -> None:
        """Take more text."""
        self.text = self.text[self.at :] + piece
        self.at = 0

    def feed_first(self, text: str) -> None:
        """Put text before what comes next."""
        self.text = text + self.text[self.at :]
        self.at = 0

    def until(self, marks: Markers, sink: Sink) -> Wait[str | None]:
        """Read through the next marker and return it, or `None` when the text ends first."""
        while True:
            text, at = self.text, self.at
            found = marks.pattern.search(text, at)
            held = len(text) if self.ended else marks.held(text, at)
            if found is not None and (self.ended or found.start() < held):
                if found.start() > at:
                    sink(text[at : found.start()])
                self.at = found.end()
                return found[0]
            if held > at:
                sink(text[at:held])
            self.at = held
            if self.ended:
                return None
            yield

    def next_of(self, marks: Markers) -> Wait[str | None]:
        """Read a marker if the text goes on with one."""
        while True:
            text, at = self.text, self.at
            found = marks.pattern.match(text, at)
            enough = at < len(text) and (len(text) - at >= marks.longest or marks.partial.match(text, at) is None)
            if enough or self.ended:
                if found is None:
                    return None
                self.at = found.end()
                return found[0]
            yield

    def peek(self) -> Wait[str]:
        """The next character, still unread; empty at the end."""
        while self.at == len(self.text) and not self.ended:
            yield
        return self.text[self.at : self.at + 1]

    def skip(self, pattern: re.Pattern[str], sink: Sink) -> Wait[None]:
        """Read over as much as the pattern, one character class repeated, takes."""
        while True:
            found = pattern.match(self.text, self.at)
            if found is not None and found.end() > self.at:
                sink(found[0])
                self.at = found.end()
            if self.at < len(self.text) or self.ended:
                return
            yield

    def blank(self, sink: Sink = str) -> Wait[None]:
        """Read over white space."""
        return self.skip(_BLANK, sink)

    def ahead(self, pattern: re.Pattern[str], most: int) -> Wait[bool]:
        """Look at most `most` characters ahead whether the text goes on with a pattern. Nothing is read.

        What the pattern matches it must go on matching when more text comes: no anchors, no looking ahead in it.
        """
        while True:
            window = self.text[self.at : self.at + most]
            if pattern.match(window):
                return True
            if len(window) == most or self.ended:
                return False
            yield
