"""Calls that follow each other between markers of their own, all within two more where a family has them."""

from __future__ import annotations

from counterfoil.text.grammars.grammar import Grammar, Here, misspellings, spellings, tokens
from counterfoil.text.source import Wait, markers


class GroupedCalls(Grammar, frozen=True, kw_only=True):
    """Calls from `open` to `close`, a turn's within `begin` and `end`. What is in one, its grammar says in `one`."""

    begin: str = ""
    end: str = ""
    open: str
    close: str

    def openers(self) -> dict[str, bool]:
        """The markers that begin calls."""
        return {(tokens(self.begin) or tokens(self.open))[0]: False, tokens(self.open)[0]: False}

    def closers(self) -> tuple[str, ...]:
        """The markers that end a call, or all calls of a turn."""
        # The last part counts whatever stands before it: the fence of a fenced call closes nothing by itself.
        return tokens(self.close)[-1:] + tokens(self.end)

    def misspelt(self) -> dict[str, str]:
        """The other spellings that are understood."""
        # Only behind these does a marker follow that proves what was meant.
        return {wrong: part for part in tokens(self.begin)[:1] for wrong in misspellings(part)}

    def read(self, here: Here, opener: str, exact: bool) -> Wait[str]:
        """Read on behind an opener."""
        src, raw = here.src, [opener]
        first = tokens(self.open)[0]
        grouped = opener != first
        if grouped:
            yield from src.blank(raw.append)
            if (yield from src.next_of(markers(first))) is None:
                if not exact:
                    return "".join(raw)
                if (yield from src.next_of(spellings(*tokens(self.end)))) is None:
                    yield from self.lost(here, f"{first} behind {opener}", [])
                return ""
        more, rest = True, ""
        while more:
            here.out.settle()
            yield from self.one(here)
            if not exact:
                here.out.note(f"{opener} for {self.begin.strip()}")
            if not self.begin:
                return ""
            spaces: list[str] = []
            yield from src.blank(spaces.append)
            more = (yield from src.next_of(markers(first))) is not None
            rest = "" if more else "".join(spaces)
        if not grouped:
            here.out.note(f"{self.begin.strip()} is missing")
        if (yield from src.next_of(spellings(*tokens(self.end)))) is not None:
            return ""
        here.out.note(f"the closing {self.end.strip()} is missing")
        return rest

    def lost(self, here: Here, expected: str, raw: list[str], name: str = "") -> Wait[None]:
        """Say of a call that it is broken: what was expected instead of what comes."""
        yield from self.drain(here, raw.append)
        here.out.call(name, None, "".join(raw), f"expected {expected}")

    def one(self, here: Here) -> Wait[None]:
        """Read a call behind the first part of `open`."""
        raise NotImplementedError
