"""Calls as `call:name{key:value}` with strings between tokens of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from counterfoil.text.cast import ANY, Schemas, Types, cast
from counterfoil.text.grammars.grammar import (
    Grammar,
    Here,
    broken,
    json_of,
    name_error,
    pass_tokens,
)
from counterfoil.text.jsontext import How, dumps, read_value, value
from counterfoil.text.literals import Misread
from counterfoil.text.source import Markers, Sink, Source, Wait, markers
from counterfoil.types.json import MAX_DEPTH, is_array, is_object
from counterfoil.types.message import ToolCall

_KEY = re.compile(r"[^\s:,{}\[\]\"<>|]+")
_BARE = re.compile(r"[^,{}\[\]]*")
_BLANK = re.compile(r"\s*")


class BraceCalls(Grammar, frozen=True, kw_only=True, tag="braces"):
    """`open` `call:` name `{` keys and values `}` `close`; strings stand between two `quote`s, and nothing is escaped.

    A string with a marker in it is written in JSON's quotes instead, which are read as well.
    """

    open: str
    close: str
    label: str = "call:"
    quote: str

    def openers(self) -> dict[str, bool]:
        """The markers that begin calls."""
        return {self.open: False}

    def marks(self) -> tuple[str, ...]:
        """Every marker."""
        return (self.open, self.close, self.quote)

    def closers(self) -> tuple[str, ...]:
        """The marker that ends a call."""
        return (self.close,)

    def read(self, here: Here, opener: str, exact: bool) -> Wait[str]:
        """Read on behind an opener."""
        src, out, raw = here.src, here.out, [opener]
        ends = self.ends(here)
        yield from src.blank(raw.append)
        if (yield from src.next_of(markers(self.label))) is None:
            if not exact:
                return "".join(raw)
            held: list[str] = []
            yield from self.drain(here, held.append)
            out.call("", None, "".join(held), f"expected {self.label} behind {opener}")
            return ""
        name: list[str] = []
        found = yield from src.until(markers("{", *ends.literals), name.append)
        called = "".join(name).strip()
        error = name_error(called)
        inner: list[str] = []
        if found != "{":
            if found is not None:
                src.at -= len(found)
                yield from self.drain(here, inner.append)
            out.call(called if error is None else "", None, "".join([self.label, *name, *inner]), "expected { there")
            return ""
        inner.append("{")
        how = yield from self._body(src, ends, inner.append)
        if error is None and how != "whole":
            error = "cut off before the closing }" if how == "end" else "the closing } is missing"
        if error is not None:
            if how != "whole" or name_error(called) is not None:
                yield from self.drain(here, inner.append)
            out.call(called if name_error(called) is None else "", None, "".join([self.label, *name, *inner]), error)
            return ""
        self._finish(here, called, "".join(inner), "".join([self.label, *name, *inner]))
        missing = yield from pass_tokens(here, (self.close,), [])
        if missing is not None:
            out.note(f"the closing {missing} is missing")
        if not exact:
            out.note(f"{opener} for {self.open}")
        return ""

    def _finish(self, here: Here, name: str, text: str, raw: str) -> None:
        def types(key: str) -> Types:
            return here.schemas.types(name, key) if name in here.schemas else ANY

        try:
            here.out.values(name, _Values(text, self.quote).members(types, 0), raw)
        except Misread as wrong:
            here.out.call(name, None, raw, str(wrong))

    def _body(self, src: Source, ends: Markers, sink: Sink) -> Wait[How]:
        """Read through the brace that closes the one before."""
        depth = 1
        marks = _inside(self.quote, ends)
        while depth:
            found = yield from src.until(marks, sink)
            if found is None:
                return "end"
            if found in ends.literals:
                src.at -= len(found)
                return "stop"
            if found == '"':
                src.at -= 1
                how = yield from value(src, markers(), sink)
                if how != "whole":
                    return how
                continue
            sink(found)
            if found == self.quote:
                if (yield from src.until(markers(self.quote), sink)) is None:
                    return "end"
                sink(self.quote)
            else:
                depth += 1 if found in "{[" else -1
        return "whole"

    def write(self, calls: Sequence[ToolCall], schemas: Schemas, shielded: Markers) -> str:
        """Write the calls of one stretch."""
        return "".join(
            f"{self.open}{broken(call)}"
            if call.arguments is None
            else f"{self.open}{self.label}{call.name}{self._members(call.arguments, shielded)}{self.close}"
            for call in calls
        )

    def _members(self, held: dict[str, Any], shielded: Markers) -> str:
        parts = [
            f"{key if _KEY.fullmatch(key) else json_of(key, shielded)}:{self.written(each, shielded)}"
            for key, each in held.items()
        ]
        return "{" + ",".join(parts) + "}"

    def written(self, held: Any, shielded: Markers) -> str:
        """One value."""
        if isinstance(held, str):
            broken = self.quote in held or shielded.pattern.search(held)
            return json_of(held, shielded) if broken else f"{self.quote}{held}{self.quote}"
        if is_object(held):
            return self._members(held, shielded)
        if is_array(held):
            return "[" + ",".join(self.written(each, shielded) for each in held) + "]"
        return dumps(held)


@lru_cache(maxsize=256)
def _inside(quote: str, ends: Markers) -> Markers:
    return markers(quote, "{", "}", "[", "]", '"', *ends.literals)


class _Values:
    """Reads the whole text of a body."""

    def __init__(self, text: str, quote: str) -> None:
        self.text, self.quote = text, quote
        self.at = 0

    def members(self, types: Any, depth: int) -> dict[str, Any]:
        """Read an object; `types` says of a key at this level what it may be."""
        if depth > MAX_DEPTH:
            raise Misread(f"nested more than {MAX_DEPTH} levels deep")
        found: dict[str, Any] = {}
        self._expect("{")
        while not self._take("}"):
            if found:
                self._expect(",")
            key = self._key()
            self._expect(":")
            if key in found:
                raise Misread(f"the key {key!r} is written twice in one object: write it once")
            found[key] = self._value(types(key) if types is not None else ANY, depth)
        return found

    def _key(self) -> str:
        self._blank()
        if self._looking_at('"'):
            found = self._json_string()
        elif self._looking_at(self.quote):
            found = self._quoted()
        else:
            match = _KEY.match(self.text, self.at)
            if match is None:
                raise Misread(f"expected a key, found {self.text[self.at : self.at + 20]!r}")
            self.at = match.end()
            found = match[0]
        return found

    def _value(self, types: Types, depth: int) -> Any:
        self._blank()
        if self._looking_at(self.quote):
            return self._quoted()
        if self._looking_at('"'):
            return self._json_string()
        if self._looking_at("{"):
            return self.members(None, depth + 1)
        if self._take("["):
            found: list[Any] = []
            if depth > MAX_DEPTH:
                raise Misread(f"nested more than {MAX_DEPTH} levels deep")
            while not self._take("]"):
                if found:
                    self._expect(",")
                found.append(self._value(ANY, depth + 1))
            return found
        match = _BARE.match(self.text, self.at)
        bare = match[0].strip() if match else ""
        if not bare:
            raise Misread(f"expected a value, found {self.text[self.at : self.at + 20]!r}")
        self.at += len(match[0]) if match else 0
        return cast(bare, types)

    def _quoted(self) -> str:
        start = self.at + len(self.quote)
        end = self.text.find(self.quote, start)
        self.at = end + len(self.quote)
        return self.text[start:end]

    def _json_string(self) -> str:
        match = _JSON_STRING.match(self.text, self.at)
        found, error = read_value(match[0]) if match else (None, "a string that does not end")
        if match is None or not isinstance(found, str):
            raise Misread(f"not a string: {error}")
        self.at = match.end()
        return found

    def _blank(self) -> None:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _looking_at(self, sign: str) -> bool:
        return self.text.startswith(sign, self.at)

    def _take(self, sign: str) -> bool:
        self._blank()
        if not self._looking_at(sign):
            return False
        self.at += len(sign)
        return True

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise Misread(f"expected {sign}, found {self.text[self.at : self.at + 20]!r}")


_JSON_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
