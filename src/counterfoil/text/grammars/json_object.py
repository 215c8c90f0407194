"""One call as a JSON object: `{"name": ..., "arguments": {...}}`, read member by member as it arrives."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from counterfoil.text.grammars.grammar import Here
from counterfoil.text.jsontext import How, read_value, value
from counterfoil.text.source import Markers, Wait
from counterfoil.types.json import read_object

ARGUMENTS = ("arguments", "parameters")
"""What the arguments are called by one family or another: a model that mixes them up is understood."""


class Keys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a family calls the members of a call; `order` is how it writes them."""

    name: str = "name"
    arguments: str = "arguments"
    id: str = ""
    order: tuple[str, ...] = ("name", "arguments", "id")

    def slot(self, key: str) -> str:
        """Which member a key is: `name`, `arguments`, `id`, or else the key itself behind a `+`."""
        if key == self.name:
            return "name"
        if key == self.id:
            return "id"
        return "arguments" if key == self.arguments or key in ARGUMENTS else f"+{key}"


class JsonCall:
    """Reads one object. With `live`, the call begins as soon as its name is known, and its arguments are streamed.

    Without, nothing is said before `commit`, so that an object may turn out to be no call.
    """

    def __init__(self, here: Here, keys: Keys, stops: Markers, live: bool) -> None:
        self.here, self.keys, self.stops, self.live = here, keys, stops, live
        self.how: How = "end"
        self.raw: list[str] = []
        self.members: dict[str, str] = {}
        self.twice: str | None = None
        self._begun = False

    @property
    def name(self) -> str:
        """The name as it is known so far."""
        found, _ = read_value(self.members.get("name", '""'))
        return found if isinstance(found, str) else ""

    @property
    def is_plain(self) -> bool:
        """Whether the object is whole, with a name and arguments and nothing that a call has no place for."""
        extra = {key for key in self.members if key.startswith("+")} - {"+type", "+id", "+thought"}
        kind = self.members.get("+type", '"function"')
        return (
            self.how == "whole"
            and not extra
            and bool(self.name)
            and "arguments" in self.members
            and kind == '"function"'
        )

    def read(self) -> Wait[None]:
        """Read the object, which begins right here."""
        src, raw = self.here.src, self.raw
        raw.append("{")
        src.at += 1
        while True:
            yield from src.blank(raw.append)
            character = yield from src.peek()
            if character == "}":
                raw.append("}")
                src.at += 1
                self.how = "whole"
                return
            if self.members:
                if character != ",":
                    self.how = "broken" if character else "end"
                    return
                raw.append(",")
                src.at += 1
                yield from src.blank(raw.append)
                character = yield from src.peek()
            if character != '"':
                self.how = "broken" if character else "end"
                return
            self.how = yield from self._member()
            if self.how != "whole":
                return

    def _member(self) -> Wait[How]:
        src, raw = self.here.src, self.raw
        key: list[str] = []
        how = yield from value(src, self.stops, key.append)
        raw.extend(key)
        if how != "whole":
            return how
        yield from src.blank(raw.append)
        colon = yield from src.peek()
        if colon != ":":
            return "broken" if colon else "end"
        src.at += 1
        raw.append(":")
        yield from src.blank(raw.append)
        found, _ = read_value("".join(key))
        slot = self.keys.slot(found if isinstance(found, str) else "".join(key))
        first = yield from src.peek()
        parts: list[str] = []
        sink: Any = parts.append
        if slot == "arguments" and first == "{" and slot not in self.members and self._may_begin():
            sink = _Both(parts.append, self.here.out.delta)
        how = yield from value(src, self.stops, sink)
        raw.extend(parts)
        if slot in self.members:
            self.twice = slot.removeprefix("+")
        self.members[slot] = "".join(parts)
        return how

    def _may_begin(self) -> bool:
        if not self.live or not self.name or (self.keys.id and "id" not in self.members):
            return False
        self._begin()
        return True

    def _begin(self) -> None:
        if not self._begun:
            given, _ = read_value(self.members.get("id", "null"))
            self.here.out.begin(self.name, given if isinstance(given, str) and given else None)
            self._begun = True

    def commit(self) -> None:
        """Say the call."""
        text, out = "".join(self.raw), self.here.out
        self._begin()
        written = self.members.get("arguments")
        if self.how != "whole":
            _, error = read_object(text)
            out.end(None, text, error or "the object is broken")
        elif self.twice is not None:
            out.end(None, text, f"the key {self.twice!r} is written twice in one object: write it once")
        elif not self.name:
            out.end(None, text, f"there is no {self.keys.name!r}: expected the name of the tool, a string")
        elif written is None:
            out.end(None, text, f"there is no {self.keys.arguments!r}: write {{}} when there is nothing to say")
        else:
            self._arguments(written, text)

    def _arguments(self, written: str, text: str) -> None:
        out = self.here.out
        arguments, error = read_object(written)
        if error is not None and written[:1] == '"':
            inner, _ = read_value(written)
            unpacked, wrong = read_object(inner if isinstance(inner, str) else "")
            if wrong is None:
                out.end(unpacked, text)
                out.note("the arguments were JSON inside a string")
                return
        out.end(arguments, text, error)
        for key in self.members:
            if key.startswith("+") and key != "+type":
                out.note(f"the member {key[1:]!r} beside the arguments is not read")


class _Both:
    def __init__(self, *sinks: Any) -> None:
        self._sinks = sinks

    def __call__(self, text: str) -> None:
        for sink in self._sinks:
            sink(text)


@lru_cache(maxsize=64)
def head_of(keys: Keys, *, listed: bool = False) -> re.Pattern[str]:
    """A pattern of how an object that might be a call begins, or with `listed` an array of them."""
    known = {keys.name, keys.arguments, keys.id, *ARGUMENTS, "type"} - {""}
    members = "|".join(sorted(map(re.escape, known)))
    return re.compile((r"\[?\s*" if listed else "") + rf'\{{\s*"(?:{members})"\s*:')
