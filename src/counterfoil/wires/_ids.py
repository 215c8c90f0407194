"""Names and ids as a wire allows them: bijective maps, the same for the same history however far it has grown."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What nearly every wire takes for the name of a tool."""
ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What nearly every wire takes for the id of a call."""

_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")


def cleaned(text: str, limit: int = 64, *, salt: int = 0) -> str:
    """A text with foreign letters replaced; too long, empty or salted, it ends in a hash of the whole."""
    clean = _FOREIGN.sub("_", text)
    if clean and not (clean[0].isalpha() or clean[0] == "_"):
        clean = f"_{clean}"
    if clean and len(clean) <= limit and not salt:
        return clean
    digest = hashlib.sha256(f"{salt}:{text}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{clean[: limit - 9]}_{digest}"


def cleaned_id(text: str, *, salt: int = 0) -> str:
    """`cleaned`, where an id may well begin with a digit."""
    clean = _FOREIGN.sub("_", text)
    if 0 < len(clean) <= 64 and not salt:
        return clean
    digest = hashlib.sha256(f"{salt}:{text}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{clean[:55]}_{digest}"


class Names:
    """What a wire calls our tools.

    A name that the wire takes stays what it is; another is cleaned, and ends in a hash where it would collide. The
    catalogue is named first, so that a model's invented name in the history never takes the place of a tool's.
    """

    def __init__(self, catalogue: Iterable[str], valid: re.Pattern[str] = NAME, limit: int = 64) -> None:
        self._valid = valid
        self._limit = limit
        self._theirs: dict[str, str] = {}
        self._taken: set[str] = set()
        self.changed: dict[str, str] = {}
        """Theirs to ours, where they differ."""
        catalogue = list(catalogue)
        for name in catalogue:
            if valid.fullmatch(name):
                self._add(name, name)
        for name in catalogue:
            self(name)

    def __call__(self, name: str) -> str:
        """The wire's name of a tool of ours."""
        known = self._theirs.get(name)
        if known is not None:
            return known
        theirs, salt = name if self._valid.fullmatch(name) else cleaned(name, self._limit), 0
        while theirs in self._taken:
            salt += 1
            theirs = cleaned(name, self._limit, salt=salt)
        self._add(name, theirs)
        return theirs

    def _add(self, ours: str, theirs: str) -> None:
        self._theirs[ours] = theirs
        self._taken.add(theirs)
        if ours != theirs:
            self.changed[theirs] = ours


class Ids:
    """What a wire calls our calls: the provider's id where the wire takes it and it is not yet used, else one made."""

    def __init__(self, valid: re.Pattern[str] = ID, make: Callable[..., str] = cleaned_id) -> None:
        self._valid = valid
        self._make = make
        self._theirs: dict[str, str] = {}
        self._taken: set[str] = set()
        self.changed: dict[str, str] = {}
        """Theirs to ours, where they differ."""

    def add(self, call_id: str, provider_id: str | None = None) -> str:
        """The wire's id of a call that is new in the history."""
        for wanted in (provider_id, call_id):
            if wanted and wanted not in self._taken and self._valid.fullmatch(wanted):
                theirs = wanted
                break
        else:
            theirs, salt = self._make(call_id), 0
            while theirs in self._taken:
                salt += 1
                theirs = self._make(call_id, salt=salt)
        self._theirs[call_id] = theirs
        self._taken.add(theirs)
        if theirs != call_id:
            self.changed[theirs] = call_id
        return theirs

    def __call__(self, call_id: str) -> str:
        """The wire's id of a call that has been added."""
        theirs = self._theirs.get(call_id)
        return self.add(call_id) if theirs is None else theirs


class Calls:
    """The calls of a history that is being read, for the results that answer them by id, by name or by order."""

    def __init__(self, ids: Mapping[str, str] | None = None) -> None:
        self._ids = ids or {}
        self._given: set[str] = set()
        self._names: dict[str, str] = {}
        self._open: dict[str, str] = {}

    def call(self, theirs: str | None, name: str) -> str:
        """Our id of a call: the wire's, or one of ours where the wire has none."""
        ours = self._ids.get(theirs, theirs) if theirs else self._fresh()
        self._given.add(ours)
        self._names[ours] = name
        self._open[ours] = name
        return ours

    def result(self, theirs: str | None, name: str | None = None) -> tuple[str, str | None]:
        """Which call a result answers, and the name of its tool."""
        if theirs:
            ours = self._ids.get(theirs, theirs)
        else:
            waiting = [call for call, called in self._open.items() if name is None or called == name]
            ours = next(iter(waiting or self._open), "")
        self._open.pop(ours, None)
        return ours, self._names.get(ours, name)

    def _fresh(self) -> str:
        number = len(self._given) + 1
        while f"h{number}" in self._given:
            number += 1
        return f"h{number}"
