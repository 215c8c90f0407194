"""Tamper evidence: each record's hash covers its predecessor's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from counterfoil.journal.erasure import Erasure, seal
from counterfoil.types.entry import Record


def origin(run_id: str) -> str:
    """The hash before a run's first record."""
    return hashlib.sha256(f"counterfoil run {run_id}".encode()).hexdigest()


def link(previous: str, seq: int, epoch: int, at: float, v: int, body_digest: str) -> str:
    """The hash of a record. It covers the digest of the body, so a body can be erased and the chain still hold."""
    return hashlib.sha256(f"{previous}|{seq}|{epoch}|{at!r}|{v}|{body_digest}".encode()).hexdigest()


def body_digest(body: bytes) -> str:
    """SHA-256 of an encoded entry."""
    return hashlib.sha256(body).hexdigest()


def gaps(records: Iterable[Record]) -> list[str]:
    """What is wrong with the order of a run's records: a missing number, an epoch that goes back."""
    found: list[str] = []
    epoch = 0
    for expected, record in enumerate(records):
        if record.seq != expected:
            found.append(f"record {expected} is missing: the next one is {record.seq}")
            break
        if record.epoch < epoch:
            found.append(f"record {record.seq} was written by owner {record.epoch}, after owner {epoch} had taken over")
        epoch = max(epoch, record.epoch)
    return found


def faults(
    run_id: str, rows: Iterable[tuple[Any, ...]], head: int, head_hash: str, erasure: Erasure | None = None
) -> list[str]:
    """What is wrong with a run's stored rows (seq, epoch, at, v, body, digest, hash, kind), in order; nothing: intact.

    `head` and `head_hash` are where the run's end is said to be. An empty body was erased: all are, or none, and only
    where an `erasure` is recorded.
    """
    previous = origin(run_id)
    expected = -1
    for expected, (seq, epoch, at, v, body, digest, hash, kind) in enumerate(rows):
        if seq != expected:
            return [f"record {expected} is missing: the next one is {seq}"]
        if (wrong := _wrong(seq, body, digest, kind, erased=erasure is not None)) is not None:
            return [wrong]
        if link(previous, seq, epoch, at, v, digest) != hash:
            return [f"record {seq} does not follow from the one before: it or its place was changed"]
        previous = hash
    if expected + 1 != head or previous != head_hash:
        return [f"the end is missing: {head} records were written, {expected + 1} are there"]
    if erasure is not None and (erasure.records != head or erasure.hash != _seal(head_hash, erasure)):
        return ["what is recorded of its erasure was changed"]
    return []


def _wrong(seq: int, body: bytes | None, digest: str, kind: str, *, erased: bool) -> str | None:
    if body is None:
        return f"the body of record {seq} is missing"
    if erased:
        return f"the body of record {seq} is there, and was erased" if body else None
    if not body:
        return f"the body of record {seq} was erased, and no erasure is recorded"
    if body_digest(body) != digest:
        return f"the body of record {seq} was changed"
    if not body.startswith(b'{"entry":"%s"' % kind.encode()):
        return f"record {seq} is said to be {kind}, but its body is something else"
    return None


def _seal(head: str, erasure: Erasure) -> str:
    return seal(head, erasure.at, erasure.by, erasure.who, erasure.records, erasure.items)
