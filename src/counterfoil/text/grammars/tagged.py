"""Calls whose every argument stands between tags of its own, as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterfoil.text.cast import ANY, Schemas, Types, cast, spell
from counterfoil.text.grammars.grammar import (
    Here,
    Unwritable,
    broken,
    json_of,
    misspellings,
    name_error,
    pass_tokens,
    spellings,
    tokens,
)
from counterfoil.text.grammars.grouped import GroupedCalls
from counterfoil.text.jsontext import read_value
from counterfoil.text.source import Markers, Wait, markers
from counterfoil.types.message import ToolCall


class TaggedCalls(GroupedCalls, frozen=True, kw_only=True, tag="tagged"):
    """`open` name `named`, then for each argument `key` name `value` text `end_value`, then `close`.

    What a text is, the tool's schema says; `json_value` is what stands for `value` before a JSON value where a family
    marks those. `pad` is stripped once from both sides of a text, and written there.
    """

    grouped: bool = True
    """Whether all calls of a turn share one `begin` and `end`."""
    named: str
    key: str
    value: str
    json_value: str = ""
    end_value: str
    pad: str = ""
    separator: str = "\n"

    def marks(self) -> tuple[str, ...]:
        """Every marker."""
        literals = (self.begin, self.open, self.key, self.end_value, self.close, self.end)
        return tuple(part for each in literals for part in tokens(each))

    def one(self, here: Here) -> Wait[None]:
        """Read a call behind the first part of `open`."""
        yield from _TaggedCall(self, here).read()

    def write(self, calls: Sequence[ToolCall], schemas: Schemas, shielded: Markers) -> str:
        """Write the calls of one stretch."""
        parts = [self._call(call, schemas, shielded) for call in calls]
        if self.grouped:
            return self.begin + self.separator.join(parts) + self.end
        return self.separator.join(self.begin + part + self.end for part in parts)

    def _call(self, call: ToolCall, schemas: Schemas, shielded: Markers) -> str:
        if call.arguments is None:
            return f"{self.open}{broken(call)}"
        body = "".join(
            self._argument(call.name, key, held, schemas.types(call.name, key), shielded)
            for key, held in call.arguments.items()
        )
        return f"{self.open}{call.name}{self.named}{body}{self.close}"

    def _argument(self, name: str, key: str, held: Any, types: Types, shielded: Markers) -> str:
        value = self.value
        if isinstance(held, str) and shielded.pattern.search(held):
            # Text with a marker in it would end too early: as a JSON string it can have the marker escaped.
            text, value = json_of(held, shielded), self.json_value or self.value
        elif self.json_value:
            text = held if isinstance(held, str) else json_of(held, shielded)
            value = self.value if isinstance(held, str) else self.json_value
        else:
            written = json_of(held, shielded)
            spelt = spell(held, types)
            if spelt is None:
                raise Unwritable(
                    f"the argument {key!r} of {name} would be read as another type: put the narrower type first in its "
                    "schema"
                )
            text = spelt if spelt == held else written
        return f"{self.key}{key}{value}{self.pad}{text}{self.pad}{self.end_value}"


class _TaggedCall:
    """Reads one call, behind the first part of its opener."""

    def __init__(self, grammar: TaggedCalls, here: Here) -> None:
        self.grammar, self.here = grammar, here
        self.raw: list[str] = []
        self.name = ""
        self.values: dict[str, Any] = {}
        self.error: str | None = None
        self.close = tokens(grammar.close)
        self.key = tokens(grammar.key)[0]
        self.next = spellings(self.key, self.close[0])

    def read(self) -> Wait[None]:
        """Read on behind an opener."""
        grammar, here = self.grammar, self.here
        lost = yield from pass_tokens(here, tokens(grammar.open)[1:], self.raw)
        if lost is not None:
            yield from grammar.lost(here, lost, self.raw)
            return
        following = yield from self._name()
        if following is None:
            return
        while following != self.close[0]:
            following = yield from self._argument()
            if following is None:
                return
        closed: list[str] = []
        missing = yield from pass_tokens(here, self.close[1:], closed)
        here.out.values(self.name, self.values, "".join([*self.raw, *closed]), self.error)
        if missing is not None:
            here.out.note(f"{missing} is missing")

    def _following(self) -> Wait[str | None]:
        """What comes next in a call: another key, or its end (as they are spelt right)."""
        yield from self.here.src.blank(self.raw.append)
        found = yield from self.here.src.next_of(self.next)
        if found is None:
            yield from self.grammar.lost(self.here, f"{self.key} or {self.close[0]}", self.raw, self.name)
            return None
        self.raw.append(found)
        return self._right(found)

    def _right(self, found: str) -> str:
        return (
            found
            if found in (self.key, self.close[0])
            else next(each for each in (self.key, self.close[0]) if found in misspellings(each))
        )

    def _name(self) -> Wait[str | None]:
        named = tokens(self.grammar.named)
        parts: list[str] = []
        stop = markers(*named[:1], self.key, *self.close, *self.here.stops)
        found = yield from self.here.src.until(stop, parts.append)
        self.raw.extend(parts)
        self.name = "".join(parts).strip()
        self.error = name_error(self.name)
        if found is not None and found in (named[:1] or (self.key, self.close[0])):
            self.raw.append(found)
            return (yield from self._following()) if named else found
        if found is not None:
            self.here.src.at -= len(found)
        wanted = named[0] if named else self.close[0]
        yield from self.grammar.lost(self.here, f"{wanted} behind the name of the tool", self.raw)
        return None

    def _argument(self) -> Wait[str | None]:
        """Read one argument, behind the first part of its key."""
        grammar, src = self.grammar, self.here.src
        typed, plain = tokens(grammar.json_value), tokens(grammar.value)
        key: list[str] = []
        end = tokens(grammar.end_value)[0]
        found = yield from src.until(markers(*plain[:1], *typed[:1], end, *self.close), key.append)
        self.raw.extend([*key, found or ""])
        if found not in (plain[0], *typed[:1]):
            self._wrong(f"expected {plain[0]} behind the name of an argument")
            if found is None:
                self.here.out.call(self.name, None, "".join(self.raw), self.error)
                return None
            return found if found == self.close[0] else (yield from self._following())
        if found == plain[0] and (lost := (yield from pass_tokens(self.here, plain[1:], self.raw))):
            self._wrong(f"expected {lost} behind the name of an argument")
        text: list[str] = []
        following = yield from self._text(end, text)
        if following is None:
            return None
        self._keep("".join(key).strip(), "".join(text), bool(typed), bool(typed) and found == typed[0])
        return following

    def _text(self, end: str, text: list[str]) -> Wait[str | None]:
        """Read an argument's text. Its closing tag counts only where the call goes on or ends behind it."""
        src = self.here.src
        within = markers(end, self.key, *misspellings(end))
        while True:
            found = yield from src.until(within, text.append)
            if found is None:
                self.raw.extend(text)
                self.here.out.call(
                    self.name, None, "".join(self.raw), f"cut off in an argument: there is no {end} to close it"
                )
                return None
            if found == self.key:
                self._wrong(f"{self.key} inside an argument: a closing {end} is missing")
                text.append(found)
                continue
            spaces: list[str] = []
            yield from src.blank(spaces.append)
            following = yield from src.next_of(self.next)
            if following is not None or not (yield from src.peek()):
                self.raw.extend([*text, found, *spaces, following or ""])
                if following is None:
                    self.here.out.call(
                        self.name, None, "".join(self.raw), f"cut off: there is no {self.close[0]} to end the call"
                    )
                    return None
                return self._right(following)
            text.extend([found, *spaces])

    def _keep(self, key: str, text: str, typed: bool, as_json: bool) -> None:
        pad = self.grammar.pad
        if pad:
            text = text.removeprefix(pad).removesuffix(pad)
        if key in self.values:
            self._wrong(f"the argument {key!r} is written twice: write it once")
        if as_json:
            self.values[key], error = read_value(text)
            if error is not None:
                self._wrong(f"the argument {key!r}: {error}")
        elif typed:
            self.values[key] = text
        else:
            escaped = self._escaped(text)
            types = self.here.schemas.types(self.name, key) if self.name in self.here.schemas else ANY
            self.values[key] = cast(text, types) if escaped is None else escaped

    def _escaped(self, text: str) -> str | None:
        """A JSON string in which a marker of the family is escaped is the string that it says, whatever the schema."""
        if text[:1] != '"' or "\\u" not in text:
            return None
        found, _ = read_value(text)
        return found if isinstance(found, str) and self.here.marks.pattern.search(found) else None

    def _wrong(self, error: str) -> None:
        self.error = self.error or error
