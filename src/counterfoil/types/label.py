"""Where a text came from and who may read it. The field exists everywhere; the gate's provenance check reads it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from functools import reduce
from typing import Any, Literal

import msgspec

Integrity = Literal["user", "config", "system", "typed", "untrusted"]
"""From most to least trustworthy: who could have chosen this text?

`user` the requester, `config` the application, `system` the service alone (ids, sizes), `typed` an outsider, but it is
a number, a date, a flag or one word and cannot carry orders, `untrusted` an outsider.
"""
User: Integrity = "user"
Config: Integrity = "config"
System: Integrity = "system"
Typed: Integrity = "typed"
Untrusted: Integrity = "untrusted"

_ORDER: tuple[Integrity, ...] = ("user", "config", "system", "typed", "untrusted")
_RANK = {integrity: rank for rank, integrity in enumerate(_ORDER)}


def lowest(first: Integrity, second: Integrity) -> Integrity:
    """The less trustworthy of two."""
    return first if _RANK[first] >= _RANK[second] else second


class Label(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The origin of a block: its integrity, its source in words, who may read it (`None`: anybody), and secrecy.

    Sources that were joined are separated by "; ", sorted. Raises `ValueError` for an integrity that there is not, and
    `TypeError` for readers that are no frozenset.
    """

    integrity: Integrity = "untrusted"
    source: str = ""
    readers: frozenset[str] | None = None
    secret: bool = False

    def __post_init__(self) -> None:
        if self.integrity not in _ORDER:
            raise ValueError(f"a label's integrity must be one of {', '.join(_ORDER)}, not {self.integrity!r}")
        if self.readers is not None and type(self.readers) is not frozenset:
            raise TypeError(f"a label's readers must be a frozenset of names, or None for anybody: {self.readers!r}")
        if "; " in self.source:
            sources = sorted({source for source in self.source.split("; ") if source})
            msgspec.structs.force_setattr(self, "source", "; ".join(sources))


NEUTRAL = Label("user")
"""Joined with any label it gives that label: what a text made of nothing has."""


def join(first: Label, second: Label) -> Label:
    """Label a text made of two: the lowest integrity, the readers of both, secret if either is."""
    if first == second:
        return first
    if first.readers is None or second.readers is None:
        readers = second.readers if first.readers is None else first.readers
    else:
        readers = first.readers & second.readers
    sources = {source for source in (*first.source.split("; "), *second.source.split("; ")) if source}
    integrity = lowest(first.integrity, second.integrity)
    return Label(integrity, "; ".join(sorted(sources)), readers, first.secret or second.secret)


def join_all(labels: Iterable[Label]) -> Label:
    """Label a text made of many; of none: `NEUTRAL`."""
    return reduce(join, labels, NEUTRAL)


class Leaves(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The labels inside one structured result.

    A result is one record or a list of them. `fields` maps a path inside a record (`body`, `owner.name`, `*` for any
    key; lists are transparent) to the integrity of all that is under it, the longest path counting; `default` is that
    of the rest. In the records numbered in `own` the requester wrote what is otherwise `typed` or `untrusted`.
    `lowered` are exact places (`3.title`) that repeat an input, and are no better than that. Values under `secret`
    never leave without a person.
    """

    default: Integrity = "untrusted"
    fields: dict[str, Integrity] = {}
    secret: tuple[str, ...] = ()
    own: tuple[int, ...] = ()
    lowered: dict[str, Integrity] = {}
    text: bool = False
    """Whether the result was a string. What is in it, JSON or not, is then one leaf."""
    keys: tuple[str, ...] = ()
    """The arguments by which the call looked a record up."""
    made: bool = False
    """Whether the call changed something, so that its one record is what it made."""


class Origin(IntEnum):
    """Where an argument's value came from, from most to least trustworthy."""

    USER = 0
    """Literally in the requester's own words, or approved by a person in that place."""
    CONFIG = 1
    """In the application's configuration."""
    KEYED = 2
    """Service-assigned, in the one record that the requester's words singled out, or of an object made in this run."""
    PLANNED = 3
    """Fixed by the plan before anything untrusted was read: the value, or the rule that takes it from what is read."""
    SYSTEM = 4
    """Service-assigned, in some record: a real value, but who picked it is unknown."""
    CLEAN = 5
    """Written by the model before anything untrusted was read."""
    TYPED = 6
    """The same, but it is a `typed` value that was read, or may be worked out from one: outsiders choose those."""
    MODEL = 7
    """Written by the model after it."""
    OUTSIDE = 8
    """Written by an outsider, and handed on without being shown to the model."""


class Traced(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One argument as a person is shown it: where its worst part came from, and whether that will do there."""

    argument: str
    value: Any
    """The part that is the matter; the whole argument where nothing is."""
    origin: str
    """The name of its `Origin`; empty where the plan has the argument and the call has not."""
    role: str
    source: str = ""
    """What it was found in, in words, where it was found in something."""
    trusted: bool = True
    planned: Any = None
    """What the plan has there, when the call is off the plan by it."""
    unplanned: bool = False
    """Whether the call is off the plan by it, and the plan has nothing there."""
