"""Calls as a name between sentinel tokens, and its arguments as JSON behind it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from counterfoil.text.cast import Schemas
from counterfoil.text.grammars.grammar import (
    Here,
    Unwritable,
    broken,
    name_error,
    pass_tokens,
    tokens,
    written,
)
from counterfoil.text.grammars.grouped import GroupedCalls
from counterfoil.text.jsontext import value
from counterfoil.text.source import Markers, Wait, markers
from counterfoil.types.json import read_object
from counterfoil.types.message import ToolCall

_LONGEST = 200
"""Characters of a name with which a reply may begin."""


class NamedCalls(GroupedCalls, frozen=True, kw_only=True, tag="named"):
    """`open` name `middle` arguments `close`; a turn's calls are within `begin` and `end` where a family has them."""

    close: str = ""
    id: str = ""
    """What stands before a call's id, where it has one between name and `middle`."""
    middle: str
    separator: str = ""
    label: str = "{name}"
    """How the name is written: `functions.{name}:{index}` is a call's id at the same time."""
    prefilled: tuple[str, ...] = ()
    """Names behind which a reply is prose, where the prompt has already written `open`: then the name comes first."""

    def marks(self) -> tuple[str, ...]:
        """Every marker."""
        parts = [tokens(each) for each in (self.begin, self.open, self.id, self.middle, self.close, self.end)]
        return tuple(part for each in parts for part in each)

    def start(self, here: Here) -> Wait[None]:
        """Put right how a reply begins."""
        if self.prefilled:
            names = [f"{re.escape(each)}{self.middle}" for each in (*self.prefilled, *here.schemas)]
            names.append(rf"[\w.\-]+{self.middle}\s*\{{")
            if (yield from here.src.ahead(re.compile("|".join(names)), _LONGEST)):
                here.src.feed_first(self.open)

    def one(self, here: Here) -> Wait[None]:
        """Read a call behind the first part of `open`."""
        src, out = here.src, here.out
        raw: list[str] = []
        for part in tokens(self.open)[1:]:
            yield from src.blank(raw.append)
            found = yield from src.next_of(markers(part))
            if found is None:
                yield from self.lost(here, part, raw)
                return
            raw.append(found)
        middle, ends = tokens(self.middle), self.ends(here)
        first = middle[0] if middle else self.middle
        name: list[str] = []
        identity: list[str] = []
        found = yield from src.until(_with(ends, first, self.id), name.append)
        if self.id and found == self.id:
            found = yield from src.until(_with(ends, first), identity.append)
        raw.extend([*name, *([self.id, *identity] if identity else [])])
        if found != first:
            if found is not None:
                src.at -= len(found)
                yield from self.drain(here, raw.append)
            here.out.call("", None, "".join(raw), f"there is a name and no {first.strip() or 'line'} behind it")
            return
        raw.append(first)
        label = "".join(name).strip()
        called, given = self._unlabel(label)
        wrong = name_error(called)
        if wrong is not None:
            yield from self.drain(here, raw.append)
            out.call("", None, "".join(raw), wrong)
            return
        out.begin(called, "".join(identity).strip() or given)
        yield from pass_tokens(here, middle[1:], raw)
        yield from self._arguments(here, raw, ends)

    def _arguments(self, here: Here, raw: list[str], ends: Markers) -> Wait[None]:
        src, out = here.src, here.out
        yield from src.blank(raw.append)
        parts: list[str] = []
        streamed = (yield from src.peek()) == "{"

        def take(text: str) -> None:
            parts.append(text)
            if streamed:
                out.delta(text)

        how = yield from value(src, ends, take)
        if not streamed:
            how = "broken"
        written = "".join(parts)
        raw.append(written)
        if how != "whole":
            # Without a marker of its own to end it, what is no JSON goes on to the next marker there is.
            yield from self.drain(here, raw.append)
            whole = "".join(raw)
            out.end(None, whole, read_object(whole[whole.rfind(written) :])[1] or "the arguments are broken")
            return
        arguments, error = read_object(written)
        closed: list[str] = []
        missing = yield from pass_tokens(here, tokens(self.close), closed)
        out.end(arguments, "".join([*raw, *closed]), error)
        if missing is not None:
            out.note(f"the closing {missing} is missing")

    def _unlabel(self, label: str) -> tuple[str, str | None]:
        if self.label == "{name}":
            return label, None
        pattern = re.escape(self.label).replace(r"\{name\}", "(?P<name>.*)").replace(r"\{index\}", r"\d+")
        found = re.fullmatch(pattern, label, re.DOTALL)
        if found is None:  # a model that leaves the index out
            prefix = self.label.partition("{name}")[0]
            return label.removeprefix(prefix), label
        return found["name"], label

    def write(self, calls: Sequence[ToolCall], schemas: Schemas, shielded: Markers) -> str:
        """Write the calls of one stretch."""
        parts: list[str] = []
        for index, call in enumerate(calls):
            if call.arguments is None:
                parts.append(f"{self.open}{broken(call)}")
                continue
            own = call.provider_id or call.id
            label = self.label.format(name=call.name, index=index)
            if self.label != "{name}" and self._unlabel(own) == (call.name, own) and own != call.name:
                label = own
            if shielded.pattern.search(label) or label != label.strip():
                raise Unwritable(f"{call.name!r} cannot be written as a name: choose letters, digits, _ and -")
            identity = f"{self.id}{own}" if self.id else ""
            parts.append(f"{self.open}{label}{identity}{self.middle}{written(call, shielded)}{self.close}")
        return self.begin + self.separator.join(parts) + self.end


def _with(ends: Markers, *more: str) -> Markers:
    return markers(*sorted(ends.literals), *more)
