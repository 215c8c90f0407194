"""Calls as Python writes them: `[f(a=1), g()]`, or one a line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from counterfoil.text.cast import Schemas
from counterfoil.text.grammars.grammar import (
    Grammar,
    Here,
    broken,
    name_error,
    pass_tokens,
    spellings,
    tokens,
)
from counterfoil.text.jsontext import How, shield
from counterfoil.text.literals import Misread, read_keywords, write_keywords
from counterfoil.text.source import Markers, Sink, Source, Wait
from counterfoil.types.message import ToolCall

_NAME = re.compile(r"[^\W\d][\w.\-]*")
_NAMES = re.compile(r"[\w.\-]*")
_HEAD = re.compile(r"\[\s*[^\W\d][\w.\-]*\(\s*(?:\)|\*\*\{|[^\W\d][\w\-]*\s*=)")
_LOOK = 240
"""Characters within which a bare list must look like a call."""
_QUOTED = {quote: re.compile(rf"[^{quote}\\\r\n]*+(?:\\.[^{quote}\\\r\n]*+)*+", re.DOTALL) for quote in "\"'"}


class PythonicCalls(Grammar, frozen=True, kw_only=True, tag="pythonic"):
    """Calls in a list (`form="list"`) or one a line, between `open` and `close` or bare.

    A bare list counts where it begins a line. Values are Python literals or, with `literals="json"`, JSON.
    """

    open: str = ""
    close: str = ""
    form: Literal["list", "lines"] = "list"
    literals: Literal["python", "json"] = "python"
    also: tuple[str, ...] = ()

    def openers(self) -> dict[str, bool]:
        """The markers that begin calls."""
        bare = {} if self.form == "lines" else {"[": True}
        return dict.fromkeys((*tokens(self.open), *self.also), False) | bare

    def marks(self) -> tuple[str, ...]:
        """Every marker."""
        return (*tokens(self.open), *tokens(self.close), *self.also)

    def closers(self) -> tuple[str, ...]:
        """The markers that end all calls of a turn."""
        return tokens(self.close)

    def read(self, here: Here, opener: str, exact: bool) -> Wait[str]:
        """Read on behind an opener."""
        src, out, raw = here.src, here.out, [opener]
        bare = opener == "["
        if bare:
            src.at -= 1
            if not (yield from src.ahead(_HEAD, _LOOK)) or (self.open and not (yield from self._known(here))):
                src.at += 1
                return opener
        else:
            yield from src.blank(raw.append)
            if not exact and not (yield from src.ahead(re.compile(r"\[?\s*[^\W\d][\w.\-]*\("), _LOOK)):
                return "".join(raw)
        listed = (yield from src.peek()) == "["
        if listed:
            src.at += 1
        ends, count = self.ends(here), 0
        while True:
            yield from src.blank()
            following = yield from src.peek()
            if following == "]" and listed:
                src.at += 1
                listed = False
                break
            if count and listed and following == ",":
                src.at += 1
                yield from src.blank()
            elif count and not _NAME.match(following):
                break
            if not (yield from self._call(here, ends)):
                return ""
            count += 1
            if not exact:
                out.note(f"{opener} for {self.open.strip()}")
            if bare and self.open:
                out.note(f"{self.open.strip()} is missing")
        if listed:
            out.note("the closing ] is missing")
        return (yield from self._close(here, bare))

    def _known(self, here: Here) -> Wait[bool]:
        names = "|".join(map(re.escape, here.schemas)) or "(?!)"
        return (yield from here.src.ahead(re.compile(rf"\[\s*(?:{names})\("), _LOOK))

    def _close(self, here: Here, bare: bool) -> Wait[str]:
        closing = tokens(self.close)
        if bare:
            yield from here.src.next_of(spellings(*closing))
            return ""
        passed: list[str] = []
        missing = yield from pass_tokens(here, closing, passed)
        if missing is not None:
            here.out.note(f"the closing {missing} is missing")
        return "" if missing is None else "".join(passed)

    def _call(self, here: Here, ends: Markers) -> Wait[bool]:
        """Read one call; whether it ended where a call ends."""
        src, out = here.src, here.out
        name: list[str] = []
        yield from src.skip(_NAMES, name.append)
        called = "".join(name)
        inner: list[str] = []
        error = name_error(called)
        if error is None and (yield from src.peek()) != "(":
            error = f"expected ( behind {called}"
        if error is None:
            how = yield from balanced(src, ends, inner.append)
            if how != "whole":
                error = "cut off before the closing )" if how == "end" else "the closing ) is missing"
        if error is not None:
            raw = [called, *inner]
            yield from self.drain(here, raw.append)
            out.call(called if name_error(called) is None else "", None, "".join(raw), error)
            return False
        text = "".join(inner)
        try:
            out.values(called, read_keywords(text[1:-1]), called + text)
        except Misread as wrong:
            out.call(called, None, called + text, str(wrong))
        return True

    def write(self, calls: Sequence[ToolCall], schemas: Schemas, shielded: Markers) -> str:
        """Write the calls of one stretch."""
        parts = [self._written(call, shielded) for call in calls]
        closed = calls[-1].arguments is not None or (calls[-1].raw or "").endswith(")")
        begin, between, end = ("[", ", ", "]") if self.form == "list" else ("", "\n", "")
        return f"{self.open}{begin}{between.join(parts)}" + (f"{end}{self.close}" if closed else "")

    def _written(self, call: ToolCall, shielded: Markers) -> str:
        if call.arguments is None:
            return broken(call)
        text = write_keywords(call.arguments, json=self.literals == "json")
        return f"{call.name}({shield(text, shielded)})"


@lru_cache(maxsize=1024)
def _structure(stops: Markers) -> re.Pattern[str]:
    return re.compile(rf"[()\[\]{{}}\"']|{stops.source}")


def balanced(src: Source, stops: Markers, sink: Sink) -> Wait[How]:
    """Read from one bracket through the one that closes it; what is in quotes does not count.

    A quoted string ends with its line at the latest, and then nothing after it is shielded from markers any more.
    """
    pattern = _structure(stops)
    depth = 0
    while True:
        text, at = src.text, src.at
        found, position = pattern.search(text, at), at
        while found is not None and found[0] not in "\"'":
            if len(found[0]) > 1:
                sink(text[at : found.start()])
                src.at = found.start()
                return "stop"
            depth += 1 if found[0] in "([{" else -1
            position = found.end()
            if depth <= 0:
                sink(text[at:position])
                src.at = position
                return "whole"
            found = pattern.search(text, position)
        if found is not None:
            sink(text[at : found.end()])
            src.at = found.end()
            how = yield from _quoted(src, found[0], sink)
            if how != "whole":
                return how
            continue
        src.at = len(text) if src.ended else max(position, stops.held(text, position))
        sink(text[at : src.at])
        if src.ended:
            return "end"
        yield


def _quoted(src: Source, quote: str, sink: Sink) -> Wait[How]:
    pattern = _QUOTED[quote]
    while True:
        text, at = src.text, src.at
        found = pattern.match(text, at)
        src.at = at if found is None else found.end()
        sink(text[at : src.at])
        following = text[src.at : src.at + 1]
        if following and following != "\\":
            if following != quote:
                return "broken"
            src.at += 1
            sink(quote)
            return "whole"
        if src.ended:
            sink(text[src.at :])
            src.at = len(text)
            return "end"
        yield
