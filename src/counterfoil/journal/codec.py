"""Entries as bytes, and old bytes as today's entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from counterfoil.types.entry import VERSION, Entry
from counterfoil.types.error import JournalCorrupt
from counterfoil.types.grant import Grant

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Entry)

UPCASTERS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""From version n to n + 1, one step each: a journal written by any release can be read by this one."""


def encode(entry: Entry) -> bytes:
    """One entry as JSON."""
    return _encoder.encode(entry)


def decode(body: bytes, v: int) -> Entry:
    """Read one entry, written by this or an older version. Raises `JournalCorrupt`."""
    try:
        if v == VERSION:
            return _decoder.decode(body)
        if v > VERSION:
            raise JournalCorrupt(f"an entry of version {v}: a newer counterfoil wrote it, and is needed to read it")
        raw = msgspec.json.decode(body)
        for version in range(v, VERSION):
            raw = UPCASTERS[version](raw)
        entry: Entry = msgspec.convert(raw, Entry)
        return entry
    except (msgspec.MsgspecError, KeyError) as error:
        raise JournalCorrupt(f"an entry cannot be read: {error}") from error


def decode_grant(data: bytes, revoked_at: float | None, revoked_by: str) -> Grant:
    """Read a standing approval, and what became of it. Raises `JournalCorrupt`."""
    try:
        grant = msgspec.json.decode(data, type=Grant)
    except msgspec.MsgspecError as error:
        raise JournalCorrupt(f"a standing approval cannot be read: {error}") from error
    return grant if revoked_at is None else msgspec.structs.replace(grant, revoked_at=revoked_at, revoked_by=revoked_by)
