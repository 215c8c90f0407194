"""Calls inside of prose, `[Calculator(400 / 1400)]` (Schick et al. 2023): generation stops at the arrow behind one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from counterfoil.text.cast import Schemas
from counterfoil.text.grammars.grammar import Grammar, Here, Unwritable, broken, name_error
from counterfoil.text.grammars.react import only_text, single
from counterfoil.text.jsontext import shield
from counterfoil.text.literals import Misread, read_keywords, write_keywords
from counterfoil.text.source import Markers, Wait, markers
from counterfoil.types.message import ToolCall

_HEAD = re.compile(r"\[[^\W\d][\w.\-]{0,100}\(")
_LOOK = 110
_ARROWS = (") ->", ")->", ") →", ")→")
_ENDS = (")]", *_ARROWS)
_OPEN = re.compile(r"\[[^\W\d][\w.\-]{0,100}\((?:(?!\)\]|\) ?->|\) ?→)[^\n])*\)[^\S\n]*\Z")
_TAIL = 1000
_KEYWORD = re.compile(r"\s*(?:[^\W\d][\w\-]*\s*=|\*\*\{|\Z)")


class ToolformerCalls(Grammar, frozen=True, kw_only=True, tag="toolformer"):
    """`[name(text)]`: the text of a tool's only parameter, or keywords with JSON values."""

    def openers(self) -> dict[str, bool]:
        """The markers that begin calls."""
        return {"[": False}

    def misspelt(self) -> dict[str, str]:
        """The other spellings that are understood."""
        return {}

    def marks(self) -> tuple[str, ...]:
        """Every marker."""
        return _ENDS

    def read(self, here: Here, opener: str, exact: bool) -> Wait[str]:
        """Read on behind an opener."""
        src, out = here.src, here.out
        src.at -= 1
        if not (yield from src.ahead(_HEAD, _LOOK)):
            src.at += 1
            return opener
        src.at += 1
        name: list[str] = []
        yield from src.until(markers("("), name.append)
        called = "".join(name)
        inner: list[str] = []
        found = yield from src.until(markers("\n", *_ENDS), inner.append)
        text = "".join(inner)
        if found in (None, "\n"):
            if called not in here.schemas:
                return f"[{called}({text}{found or ''}"
            out.call(called, None, f"{called}({text}{found or ''}", "cut off before the closing )")
            return ""
        self._call(here, called, text)
        if found in _ARROWS:
            invented: list[str] = []
            yield from src.blank(invented.append)
            yield from src.until(markers("]", "\n"), invented.append)
            if "".join(invented).strip():
                out.note(f"a result that nobody gave is not read: {''.join(invented).strip()[:40]!r}")
        return ""

    def _call(self, here: Here, name: str, text: str) -> None:
        raw = f"{name}({text})]"
        if _KEYWORD.match(text):
            try:
                found = read_keywords(text)
            except Misread as wrong:
                if len(here.schemas.properties(name)) != 1:
                    here.out.call(name, None, raw, str(wrong))
                    return
            else:
                known = here.schemas.properties(name)
                if len(known) != 1 or set(found) <= set(known):
                    here.out.values(name, found, raw)
                    return
        single(here, name, text, raw)

    def halts(self) -> tuple[str, ...]:
        """Where generation has to stop."""
        return ("->", "→")

    def halted(self, text: str) -> str:
        """What has to be put back: the arrow behind a call, without which it may be cut off."""
        return "->" if _OPEN.search(text[-_TAIL:].rpartition("\n")[2]) else ""

    def write(self, calls: Sequence[ToolCall], schemas: Schemas, shielded: Markers) -> str:
        """Write the calls of one stretch."""
        return "".join(self._written(call, schemas, shielded) for call in calls)

    def _written(self, call: ToolCall, schemas: Schemas, shielded: Markers) -> str:
        if call.arguments is None:
            return f"[{broken(call)}"
        if name_error(call.name):
            raise Unwritable(f"{call.name!r} cannot be written as a name: choose letters, digits, _ and -")
        held = only_text(call, schemas)
        if (
            held is not None
            and not _KEYWORD.match(held)
            and not shielded.pattern.search(held)
            and not {"\n", ")"} & {*held[-1:], "\n" if "\n" in held else ""}
        ):
            return f"[{call.name}({held})]"
        return f"[{call.name}({shield(write_keywords(call.arguments, json=True), shielded)})]"
