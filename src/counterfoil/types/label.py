"""Where a text came from and who may read it. The field exists everywhere; the gate's provenance check reads it."""

from __future__ import annotations

from typing import Literal

import msgspec

Integrity = Literal["user", "config", "system", "typed", "untrusted"]
"""From most to least trustworthy: who could have chosen this text?"""

_ORDER: tuple[Integrity, ...] = ("user", "config", "system", "typed", "untrusted")


class Label(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The origin of a block: its integrity, its source in words, who may read it (`None`: anybody), and secrecy."""

    integrity: Integrity = "untrusted"
    source: str = ""
    readers: frozenset[str] | None = None
    secret: bool = False


def join(first: Label, second: Label) -> Label:
    """Label a text made of two: the lowest integrity, the readers of both, secret if either is."""
    lowest = _ORDER[max(_ORDER.index(first.integrity), _ORDER.index(second.integrity))]
    if first.readers is None or second.readers is None:
        readers = second.readers if first.readers is None else first.readers
    else:
        readers = first.readers & second.readers
    sources = dict.fromkeys(source for source in (*first.source.split("; "), *second.source.split("; ")) if source)
    return Label(lowest, "; ".join(sorted(sources)), readers, first.secret or second.secret)
