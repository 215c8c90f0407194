"""Calls as JSON objects: each between tags, all in one array behind a prefix, one a line, or bare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from counterfoil.text.cast import Schemas
from counterfoil.text.grammars.grammar import (
    Grammar,
    Here,
    broken,
    json_of,
    pass_tokens,
    spellings,
    tokens,
    written,
)
from counterfoil.text.grammars.json_object import JsonCall, Keys, head_of
from counterfoil.text.source import Markers, Wait, markers
from counterfoil.types.message import ToolCall

_LOOK = 80
"""Characters within which a bare object must look like a call."""


class JsonCalls(Grammar, frozen=True, kw_only=True, tag="json"):
    """JSON objects between `open` and `close`: one in each pair, an `array` of them, or one after the other (`lines`).

    Without `open` they are bare: one that begins a line counts, if it has a call's members and no others.
    """

    open: str = ""
    close: str = ""
    also: tuple[str, ...] = ()
    """Other openers that mean the same."""
    form: Literal["object", "array", "lines"] = "object"
    separator: str = "\n"
    inside: tuple[str, str] = ("[", "]")
    keys: Keys = Keys()

    def openers(self) -> dict[str, bool]:
        """The markers that begin calls."""
        marked = dict.fromkeys((*tokens(self.open)[:1], *self.also), False)
        # Bare objects: the format itself, or one whose wrapper was forgotten.
        return marked | {"{": True} | ({"[": True} if self.form == "array" else {})

    def marks(self) -> tuple[str, ...]:
        """Every marker."""
        return (*tokens(self.open), *tokens(self.close), *self.also)

    def closers(self) -> tuple[str, ...]:
        """The markers that end a call."""
        return tokens(self.close)

    def read(self, here: Here, opener: str, exact: bool) -> Wait[str]:
        """Read on behind an opener."""
        src = here.src
        if opener in ("{", "["):
            src.at -= 1
            return (yield from self._bare(here))
        raw = [opener]
        for part in tokens(self.open)[1:] if opener not in self.also else ():
            yield from src.blank(raw.append)
            if (yield from src.next_of(markers(part))) is None:
                break
            raw.append(part)
        yield from src.blank(raw.append)
        proven = exact and not opener.isalnum()
        if not (proven or (yield from src.ahead(head_of(self.keys, listed=True), _LOOK))):
            return "".join(raw)
        return (yield from self._calls(here, raw, exact, opener))

    def _calls(self, here: Here, raw: list[str], exact: bool, opener: str) -> Wait[str]:
        src, out, ends = here.src, here.out, self.ends(here)
        first = yield from src.peek()
        array = first == "["
        if array:
            src.at += 1
            yield from src.blank()
            first = yield from src.peek()
            if first == "]":
                src.at += 1
                yield from pass_tokens(here, tokens(self.close), raw)
                return ""
        if first != "{":
            held: list[str] = []
            yield from self.drain(here, held.append)
            out.call("", None, "".join(held), f"expected a JSON object after {opener}")
            return ""
        while True:
            call = JsonCall(here, self.keys, ends, live=True)
            yield from call.read()
            if call.how != "whole":
                yield from self.drain(here, call.raw.append)
                call.commit()
                return ""
            call.commit()
            if not exact:
                out.note(f"{opener} for {self.open.strip()}")
            spaces: list[str] = []
            yield from src.blank(spaces.append)
            following = yield from src.peek()
            if array and following in (",", "]"):
                src.at += 1
                if following == "]":
                    return (yield from self._close(here, array))
                yield from src.blank()
                following = yield from src.peek()
            if following != "{" or (self.form == "object" and not array):
                if array:
                    out.note("the closing ] is missing")
                return (yield from self._close(here, array, spaces))

    def _close(self, here: Here, array: bool, spaces: Sequence[str] = ()) -> Wait[str]:
        closing = tokens(self.close)
        passed: list[str] = []
        if closing:
            missing = yield from pass_tokens(here, closing, passed)
            if missing is not None:
                here.out.note(f"the closing {missing} is missing")
                return "".join([*spaces, *passed])
            return ""
        return "".join(spaces)

    def _bare(self, here: Here) -> Wait[str]:
        """Read an object, or an array of them, that no marker stands before."""
        src = here.src
        if not (yield from src.ahead(head_of(self.keys, listed=True), _LOOK)):
            src.at += 1
            return src.text[src.at - 1]
        raw: list[str] = []
        array = src.text[src.at] == "["
        if array:
            raw.append("[")
            src.at += 1
            yield from src.blank(raw.append)
        count = 0
        while True:
            call = JsonCall(here, self.keys, self.ends(here), live=False)
            yield from call.read()
            if not self._counts(here, call) and not count:
                return "".join([*raw, *call.raw])
            if call.how != "whole":
                yield from self.drain(here, call.raw.append)
            call.commit()
            if self.open:
                here.out.note(f"{self.open.strip()} is missing")
            if call.how != "whole":
                return ""
            count, raw = count + 1, []
            if not (yield from self._goes_on(here, array, raw)):
                break
        yield from src.next_of(spellings(*tokens(self.close)))
        return "".join(raw)

    def _counts(self, here: Here, call: JsonCall) -> bool:
        """Whether a bare object is a call: if its wrapper is missing, only one of a tool that there is."""
        known = call.name in here.schemas
        if call.how == "whole":
            return call.is_plain and (known or not self.open)
        return not self.open and (known or bool(call.name and "arguments" in call.members))

    def _goes_on(self, here: Here, array: bool, raw: list[str]) -> Wait[bool]:
        """Whether another object follows."""
        src = here.src
        yield from src.blank(raw.append)
        following = yield from src.peek()
        if array and following in (",", "]"):
            src.at += 1
            raw.clear()
            yield from src.blank(raw.append)
            return following == "," and (yield from src.peek()) == "{"
        if array:
            here.out.note("the closing ] is missing")
        elif following == ";" and not self.open:
            src.at += 1
            yield from src.blank(raw.append)
            if (yield from src.ahead(head_of(self.keys), _LOOK)):
                raw.clear()
                return True
            raw.insert(-1 if raw else 0, ";")
        return False

    def write(self, calls: Sequence[ToolCall], schemas: Schemas, shielded: Markers) -> str:
        """Write the calls of one stretch."""
        parts = [self._object(call, shielded) for call in calls]
        if self.form == "object":
            return self.separator.join(
                self.open + part + ("" if call.arguments is None else self.close)
                for part, call in zip(parts, calls, strict=True)
            )
        begin, end = self.inside if self.form == "array" else ("", "")
        closed = calls[-1].arguments is not None
        return f"{self.open}{begin}{self.separator.join(parts)}" + (f"{end}{self.close}" if closed else "")

    def _object(self, call: ToolCall, shielded: Markers) -> str:
        if call.arguments is None:
            return broken(call)
        values = {
            "name": json_of(call.name, shielded),
            "arguments": written(call, shielded),
            "id": json_of(call.provider_id or call.id, shielded),
        }
        members = [
            f"{json_of(getattr(self.keys, slot), shielded)}: {values[slot]}"
            for slot in self.keys.order
            if getattr(self.keys, slot)
        ]
        return "{" + ", ".join(members) + "}"
