"""What every grammar of calls has: markers, a reader that goes through arriving text, and its inverse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from counterfoil.text.blocks import Blocks
from counterfoil.text.cast import Schemas
from counterfoil.text.jsontext import dumps, shield
from counterfoil.text.source import Markers, Sink, Source, Wait, markers
from counterfoil.types.error import Unwritable as Unwritable
from counterfoil.types.message import ToolCall


class Here(msgspec.Struct):
    """Where a reader is: the text, the blocks it writes, the tools that it knows, the markers a call cannot hold."""

    src: Source
    out: Blocks
    schemas: Schemas
    stops: tuple[str, ...]
    marks: Markers
    """Every marker of the family."""


class Grammar(msgspec.Struct, frozen=True, kw_only=True, tag_field="class", forbid_unknown_fields=True):
    """A way to write calls. Its fields are the markers of a family.

    Markers are given as they are written, white space included; read, that white space may be anything.
    """

    @property
    def reads_all(self) -> bool:
        """Whether the grammar itself reads what is reasoning and what is prose."""
        return False

    def openers(self) -> dict[str, bool]:
        """The markers that begin calls, and whether each counts only at the beginning of a line."""
        raise NotImplementedError

    def misspelt(self) -> dict[str, str]:
        """Other spellings of the openers: what is read behind one counts only when nothing else is wrong with it."""
        found = {wrong: right for right in self.openers() for wrong in misspellings(right)}
        return {wrong: right for wrong, right in found.items() if wrong not in self.openers()}

    def marks(self) -> tuple[str, ...]:
        """Every marker: what may not stand in a JSON string as it is."""
        raise NotImplementedError

    def closers(self) -> tuple[str, ...]:
        """The markers that end a call, or all calls of a turn."""
        raise NotImplementedError

    def ends(self, here: Here) -> Markers:
        """What a call cannot go on behind: what ends it, what begins another, what ends the reply."""
        closing = self.closers()
        wrong = [each for part in closing for each in misspellings(part)]
        return markers(*closing, *wrong, *(each for each in self.openers() if len(each) > 1), *here.stops)

    def drain(self, here: Here, sink: Sink) -> Wait[None]:
        """A call is broken: what was written up to its end is a part of it, and what begins another is not."""
        found = yield from here.src.until(self.ends(here), sink)
        if found is not None and found in spellings(*self.closers()).literals:
            sink(found)
        elif found is not None:
            here.src.at -= len(found)

    def start(self, here: Here) -> Wait[None]:
        """Put right how a reply begins, where the prompt has already written its first words."""
        yield from ()

    def read(self, here: Here, opener: str, exact: bool) -> Wait[str]:
        """Read on behind an opener. Returns what was read and is no call, to be prose; `exact`: it is spelt right."""
        raise NotImplementedError

    def prose(self, text: str, answer: tuple[str, str], after: str, last: bool) -> str:
        """Write prose, which stands behind a block of kind `after`, and at the end of the reply if it is the `last`."""
        return f"{answer[0]}{text}{answer[1]}"

    def write(self, calls: Sequence[ToolCall], schemas: Schemas, shielded: Markers) -> str:
        """Write the calls of one stretch. Raises `Unwritable`."""
        raise NotImplementedError

    def halts(self) -> tuple[str, ...]:
        """Where generation has to stop while calls may be written: the model would go on with a result of its own."""
        return ()

    def halted(self, text: str) -> str:
        """What has to be put back behind a reply that a halt may have ended, for its call to be whole."""
        return ""


@lru_cache(maxsize=4096)
def tokens(literal: str) -> tuple[str, ...]:
    """The parts of a marker between which white space may differ."""
    return tuple(part for part in (each.strip() for each in _TOKENS.findall(literal)) if part)


_TOKENS = re.compile(r"<[^<>\n]*>?|[^<>\n]+>?|>+")


def name_error(name: str) -> str | None:
    """What is wrong with a name that was read between markers: a space or a bracket in it means that it is none."""
    if _NAME.fullmatch(name):
        return None
    return f"expected the name of a tool, found {name[:40]!r}"


_NAME = re.compile(r"""[^\s"'`<>{}()\[\]=,;]+""")


@lru_cache(maxsize=4096)
def misspellings(marker: str) -> tuple[str, ...]:
    """How a model might misspell a marker: its case, its underscores."""
    if not re.search("[A-Za-z]{3}", marker):
        return ()
    found = {marker.lower(), marker.upper(), marker.replace("_", ""), marker.replace("_", "-")}
    return tuple(sorted(found - {marker}))


@lru_cache(maxsize=4096)
def spellings(*literals: str) -> Markers:
    """Markers with their misspellings."""
    return markers(*literals, *(wrong for each in literals for wrong in misspellings(each)))


def pass_tokens(here: Here, parts: Sequence[str], raw: list[str]) -> Wait[str | None]:
    """Read marker parts in a row, white space between them; returns the one that is missing."""
    for part in parts:
        yield from here.src.blank(raw.append)
        found = yield from here.src.next_of(spellings(part))
        if found is None:
            return part
        raw.append(found)
        if found != part:
            here.out.note(f"{found} for {part}")
    return None


def broken(call: ToolCall) -> str:
    """What a model wrote of a call that could not be read; its name comes first where that is not a part of it."""
    raw = call.raw or ""
    return raw if call.name in raw else f"{call.name} {raw}"


def written(call: ToolCall, shielded: Markers, *, compact: bool = False) -> str:
    """A call's arguments as JSON with every marker in it escaped."""
    return json_of(call.arguments, shielded, compact=compact)


def json_of(value: Any, shielded: Markers, *, compact: bool = False) -> str:
    """A value as JSON with every marker in it escaped."""
    return shield(dumps(value, compact=compact), shielded)
