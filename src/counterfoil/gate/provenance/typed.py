"""The typed values that were read: they carry no orders, but outsiders chose them."""

from __future__ import annotations

import re
from typing import Any, Protocol

from counterfoil.gate.provenance.words import fold, key, links
from counterfoil.tools.trust import RoleName

_CLOSE = 4
"""Shorter values are not looked for inside others: they are everywhere."""
_WORD = re.compile(r"[\w.:+@/#-]{1,64}")


class Source(Protocol):
    """What was read."""

    @property
    def source(self) -> str:
        """What it is, in words."""
        ...


class Typed:
    """Which typed values were read, and where."""

    def __init__(self) -> None:
        self._values: dict[str, Source] = {}
        self._joined: str | None = None
        self._sizes: set[int] = set()
        """How long those are that are looked for inside others."""
        self._any = False
        self._numbers = False
        """Whether there is one that another number can be worked out from."""
        self._blind = False
        """Whether there may be others: a result that was cut cannot be taken apart."""

    def add(self, value: Any, read: Source) -> None:
        """Take up one value."""
        self._any = True
        name = key(value)
        if not isinstance(value, bool):
            self._numbers = self._numbers or any(each.isdigit() for each in name)
            if name:
                self._values.setdefault(name, read)
                self._joined = None
                if len(name) >= _CLOSE:
                    self._sizes.add(len(name))

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
        if key(value) in self._values:
            return True
        acted_on = critical or role in ("target", "resource")
        return acted_on and not exists and (self._blind or self.near(value) is not None)

    def links(self, text: str) -> bool:
        """Whether a text has a link, an address or an account number in it that an outsider chose."""
        return any(self._blind or self.near(each) is not None for each in links(text))

    def near(self, value: Any) -> Source | None:
        """Where a value was read that has this one in it, or that is in this one."""
        name = fold(value) if isinstance(value, str) else key(value)
        found = self._values.get(name)
        if found is not None or len(name) < _CLOSE:
            return found
        if self._joined is None:
            self._joined = "\0".join(self._values)
        if name in self._joined:
            return next((read for each, read in self._values.items() if name in each), None)
        return self._inside(name)

    def _inside(self, name: str) -> Source | None:
        """Where a value was read that is in this one. However many were: no more is looked at than it has parts."""
        sizes = [size for size in self._sizes if size < len(name)]
        if len(self._values) <= len(name) * len(sizes):
            return next((read for each, read in self._values.items() if len(each) >= _CLOSE and each in name), None)
        for size in sizes:
            for at in range(len(name) - size + 1):
                if (read := self._values.get(name[at : at + size])) is not None:
                    return read
        return None
