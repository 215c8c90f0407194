"""Whole runs as they are stored, to be carried from one journal to another: byte for byte, so that the chain holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol

import msgspec

from counterfoil.journal.chain import faults
from counterfoil.journal.erasure import Erased, Erasure
from counterfoil.journal.journal import Journal, Status
from counterfoil.types.error import JournalCorrupt, JournalError

FORMAT = 1


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """One run as it is stored."""

    id: str
    requester: str
    status: Status
    epoch: int
    created: float
    updated: float
    head: int
    hash: str
    rows: list[tuple[Any, ...]]
    """(seq, epoch, at, v, body, digest, hash, kind); an empty body was erased"""
    items: list[tuple[Any, ...]]
    """(n, at, by, kind, ref, data)"""
    erasure: Erasure | None = None

    def check(self) -> None:
        """Check the run against its chain. Raises `JournalCorrupt`."""
        if found := faults(self.id, self.rows, self.head, self.hash, self.erasure):
            raise JournalCorrupt(f"run {self.id}: {found[0]}")

    @property
    def at_rest(self) -> Status:
        """Its status in a journal where nobody works on it."""
        return "ready" if self.status == "running" else self.status


class Stored(Journal, Protocol):
    """A journal that outlives its process: it can be checked, and runs can be carried out of it and into it."""

    async def verify(self, run_id: str | None = None) -> list[str]:
        """Check every record of one run or of all against its chain. Returns one sentence per fault; none: intact."""
        ...

    async def take(self, run_id: str) -> Transcript:
        """Read a run as it is stored. Raises `RunNotFound`."""
        ...

    async def adopt(self, transcript: Transcript) -> None:
        """Keep a run from elsewhere: all of it or nothing, durable when it returns. Raises `JournalError` if taken."""
        ...

    async def erase(self, requester: str, *, by: str) -> Erased:
        """Erase what one requester's runs hold: entries, large bodies of nobody else's, inbox, standing approvals.

        Their chain stays and can be verified; the name is gone from the index; that it was done is recorded, with who
        did it. Raises `JournalError`, having erased nothing, if one of the runs is not done.
        """
        ...

    async def erasures(self, requester: str) -> list[Erasure]:
        """What was erased of that person, one per run, the earliest first."""
        ...

    async def remove(self, run_id: str, hash: str) -> None:
        """Take a run out that is done and still ends in that hash. Raises `RunNotFound`, `JournalError`."""
        ...


class _Head(msgspec.Struct, kw_only=True, tag_field="counterfoil", tag="run", omit_defaults=True):
    format: int
    id: str
    requester: str
    status: Status
    epoch: int
    created: float
    updated: float
    records: int
    items: int
    hash: str
    erasure: Erasure | None = None


class _Row(msgspec.Struct, kw_only=True, tag_field="counterfoil", tag="record"):
    seq: int
    epoch: int
    at: float
    v: int
    kind: str
    digest: str
    hash: str
    entry: msgspec.Raw


class _Item(msgspec.Struct, kw_only=True, tag_field="counterfoil", tag="item"):
    n: int
    at: float
    by: str
    kind: Literal["answer", "settle", "cancel", "result", "declassify"]
    ref: str
    data: msgspec.Raw


_NOTHING = b"null"
"""What stands for a body that was erased."""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Head | _Row | _Item).decode


def to_lines(run: Transcript) -> Iterator[bytes]:
    """Write a run as lines of JSON: its head, its records, its inbox. Raises `JournalCorrupt` if it is not intact."""
    run.check()
    yield _encode(
        _Head(
            format=FORMAT,
            id=run.id,
            requester=run.requester,
            status=run.at_rest,
            epoch=run.epoch,
            created=run.created,
            updated=run.updated,
            records=run.head,
            items=len(run.items),
            hash=run.hash,
            erasure=run.erasure,
        )
    )
    for seq, epoch, at, v, body, digest, hash, kind in run.rows:
        entry = msgspec.Raw(body or _NOTHING)
        yield _encode(_Row(seq=seq, epoch=epoch, at=at, v=v, kind=kind, digest=digest, hash=hash, entry=entry))
    for n, at, by, kind, ref, data in run.items:
        yield _encode(_Item(n=n, at=at, by=by, kind=kind, ref=ref, data=msgspec.Raw(data)))


def from_lines(lines: Iterable[bytes]) -> Iterator[Transcript]:
    """Read runs from lines of JSON, one at a time, each checked. Raises `JournalError`, `JournalCorrupt`."""
    numbered = enumerate(lines, 1)
    for number, line in numbered:
        if not line.strip():
            continue
        head = _read(line, number)
        if not isinstance(head, _Head):
            raise JournalCorrupt(f"line {number}: a run was to begin here, and it is something else")
        if head.format > FORMAT:
            raise JournalError(f"line {number}: a newer counterfoil wrote this file: upgrade counterfoil to read it")
        run = _run(head, numbered)
        run.check()
        yield run


def _run(head: _Head, numbered: Iterator[tuple[int, bytes]]) -> Transcript:
    rows: list[tuple[Any, ...]] = []
    items: list[tuple[Any, ...]] = []
    while len(rows) + len(items) < head.records + head.items:
        number, line = next(numbered, (0, b""))
        if number == 0:
            raise JournalCorrupt(f"the file ends in the middle of run {head.id}")
        match _read(line, number):
            case _Row() as row if len(rows) < head.records:
                body = b"" if bytes(row.entry) == _NOTHING else bytes(row.entry)
                rows.append((row.seq, row.epoch, row.at, row.v, body, row.digest, row.hash, row.kind))
            case _Item() as item if len(rows) == head.records:
                items.append((item.n, item.at, item.by, item.kind, item.ref, bytes(item.data)))
            case _:
                raise JournalCorrupt(f"line {number}: it does not belong here, in the middle of run {head.id}")
    return Transcript(
        id=head.id,
        requester=head.requester,
        status=head.status,
        epoch=head.epoch,
        created=head.created,
        updated=head.updated,
        head=head.records,
        hash=head.hash,
        rows=rows,
        items=items,
        erasure=head.erasure,
    )


def _read(line: bytes, number: int) -> _Head | _Row | _Item:
    try:
        found: _Head | _Row | _Item = _decode(line)
        return found
    except msgspec.MsgspecError as error:
        raise JournalCorrupt(f"line {number} is not one of an exported journal: {error}") from error
