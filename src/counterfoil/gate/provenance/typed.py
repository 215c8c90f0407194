"""The typed values that were read: they carry no orders, but outsiders chose them."""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Protocol

from counterfoil.gate.provenance.spelt import links, plain
from counterfoil.gate.provenance.words import fold, key, moments
from counterfoil.tools.trust import RoleName

_CLOSE = 4
"""Shorter values are not looked for inside others: they are everywhere."""
_DATED = 400
"""Dates and times are looked for in what is no longer than that."""
_DAYS = re.compile(r"(?<![\w.])(\d\d?)([./-]) ?(\d\d?)(?:\2 ?\d\d(?:\d\d)?(?![\w-])|\.(?!\S))")
"""Days in figures alone: whether the month is first is not said."""
_ABROAD, _TAIL = 8, 7
"""From how many figures on a number is known by how many of its last: the first may dial a country, or none."""
_WORD = re.compile(r"[\w.:+@/#-]{1,64}")


class Source(Protocol):
    """What was read."""

    @property
    def source(self) -> str:
        """What it is, in words."""
        ...


class _Index:
    """Values in one spelling, and where each was read. A look-up costs the same however many there are."""

    def __init__(self) -> None:
        self.values: dict[str, Source] = {}
        self._joined: str | None = None
        self._sizes: set[int] = set()
        """How long those are that are looked for inside others."""

    def add(self, name: str, read: Source) -> None:
        """Take up one value."""
        if name:
            self.values.setdefault(name, read)
            self._joined = None
            if len(name) >= _CLOSE:
                self._sizes.add(len(name))

    def near(self, name: str) -> Source | None:
        """Where a value was read that has this one in it, or that is in this one."""
        found = self.values.get(name)
        if found is not None or len(name) < _CLOSE:
            return found
        if self._joined is None:
            self._joined = "\0".join(self.values)
        if name in self._joined:
            return next((read for each, read in self.values.items() if name in each), None)
        return self._inside(name)

    def _inside(self, name: str) -> Source | None:
        """Where a value was read that is in this one. However many were: no more is looked at than it has parts."""
        sizes = [size for size in self._sizes if size < len(name)]
        if len(self.values) <= len(name) * len(sizes):
            return next((read for each, read in self.values.items() if len(each) >= _CLOSE and each in name), None)
        for size in sizes:
            for at in range(len(name) - size + 1):
                if (read := self.values.get(name[at : at + size])) is not None:
                    return read
        return None


class Typed:
    """Which typed values were read, and where."""

    def __init__(self) -> None:
        self._values = _Index()
        self._bare = _Index()
        """The same without what parts their letters and figures: an honest model spells them as it is used to."""
        self._tails: dict[str, Source] = {}
        self._moments: dict[tuple[int, int], Source] = {}
        self._any = False
        self._numbers = False
        """Whether there is one that another number can be worked out from."""
        self._blind = False
        """Whether there may be others: a result that was cut cannot be taken apart."""

    def add(self, value: Any, read: Source) -> None:
        """Take up one value."""
        self._any = True
        if isinstance(value, bool):
            return
        name = key(value)
        self._numbers = self._numbers or any(each.isdigit() for each in name)
        self._values.add(name, read)
        bare = bared(name)
        self._bare.add(bare, read)
        if (tail := _tail(bare)) is not None:
            self._tails.setdefault(tail, read)
        if isinstance(value, str):
            for moment in _moments(value):
                self._moments.setdefault(moment, read)

    def add_text(self, text: str, read: Source) -> None:
        """Take up a text that somebody labelled typed as a whole: it, and each word of it."""
        for each in {text, *_WORD.findall(text)}:
            self.add(each, read)

    def lost(self) -> None:
        """Take up that something was read of which nobody can say what was typed in it."""
        self._any = self._numbers = self._blind = True

    def chose(self, value: Any, role: RoleName, *, exists: bool = False) -> bool:
        """Whether a leaf of an argument may be what an outsider chose.

        What is acted on may not be like a typed value, or part of one, unless it `exists` as a value of the service's;
        and an amount, or a flag that changes the stakes, may have been worked out from any.
        """
        critical = role == "critical"
        if critical and isinstance(value, bool):
            return self._any
        if critical and isinstance(value, int | float):
            return self._numbers
        if key(value) in self._values.values:
            return True
        if critical and not exists and isinstance(value, str) and any(map(str.isdigit, value)):
            return self._numbers  # an amount with its currency, a day: worked out like any number
        acted_on = critical or role in ("target", "resource")
        return acted_on and not exists and (self._blind or self.near(value) is not None)

    def links(self, text: str) -> bool:
        """Whether a text has a link, an address or an account number in it that an outsider chose."""
        return any(self._blind or self.near(each) is not None for each in links(text))

    def near(self, value: Any) -> Source | None:
        """Where a value was read that has this one in it, or that is in this one."""
        name = fold(value) if isinstance(value, str) else key(value)
        bare = bared(name)
        found = self._values.near(name) or self._bare.near(bare)
        if found is None and (tail := _tail(bare)) is not None:
            found = self._tails.get(tail)
        if found is None and self._moments and isinstance(value, str):
            found = next((read for each in _moments(value) if (read := self._moments.get(each))), None)
        return found


def bared(text: str) -> str:
    """The letters and figures of a text alone, without accents."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", plain(text)).casefold()
    return "".join(filter(str.isalnum, text.lower()))


def _tail(bare: str) -> str | None:
    return bare[-_TAIL:] if len(bare) >= _ABROAD and bare.isdigit() else None


def _moments(text: str) -> set[tuple[int, int]]:
    """The days of a year in a text, and the times of a day as hours after the months: in each way to read them."""
    if len(text) > _DATED or not any(map(str.isdigit, text)):
        return set()
    found, rest = moments(text)
    read = {(when.month, when.day) for when in found if when.month is not None and when.day is not None}
    read |= {(100 + when.clock[0], when.clock[1]) for when in found if when.clock is not None}
    for one, _, other in _DAYS.findall(rest):
        read |= {(int(one), int(other)), (int(other), int(one))}
    return read
