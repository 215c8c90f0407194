"""The right to write one run of a journal that keeps hash-chained rows."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, get_args

from counterfoil.journal.chain import body_digest, link
from counterfoil.journal.codec import encode
from counterfoil.journal.group import Do, Job, Worker
from counterfoil.journal.journal import Item, Status
from counterfoil.types.entry import VERSION, Entry
from counterfoil.types.error import Fenced, JournalError

BLOB_BYTES = 16_384
"""Bodies larger than this are kept once, under their digest."""

_KINDS: dict[type[Entry], str] = {kind: str(kind.__struct_config__.tag) for kind in get_args(Entry)}


class Batch(NamedTuple):
    """Entries to append to one run, as rows, and where its end is before and after them."""

    log: ChainedLog
    rows: list[tuple[Any, ...]]
    """(run, seq, epoch, at, v, kind, body or None for one in `blobs`, digest, hash)"""
    blobs: list[tuple[str, bytes]]
    at: float
    first: int
    head: int
    hash: str


def lost(run_id: str) -> Fenced:
    """Say that the right to write a run is gone."""
    return Fenced(
        f"run {run_id} has another owner by now, or its end is not where this process left it: "
        "it may not be written here any more; claim it again"
    )


@contextmanager
def holding(held: set[str], run_id: str) -> Generator[None]:
    """Count a run among those that this process works on, before the storage says that it does, unless it fails."""
    new = run_id not in held
    held.add(run_id)
    try:
        yield
    except BaseException:
        if new:
            held.discard(run_id)
        raise


class Rest(NamedTuple):
    """How a run is given up."""

    run_id: str
    epoch: int
    status: Status
    seen: int | None
    """The last item of its inbox that was taken up, if it matters."""
    due: float | None
    at: float


class ChainedLog(ABC):
    """Makes rows of entries and hands them to the writer's thread; one failure, and it takes nothing more."""

    def __init__(
        self, writer: Worker, append: Do, held: set[str], run_id: str, epoch: int, seq: int, head: str
    ) -> None:
        self.run_id = run_id
        self.epoch = epoch
        self.failed: JournalError | None = None
        """Why nothing more is taken, once an append has failed."""
        self._writer = writer
        self._append = append
        self._held = held
        self._seq = seq
        self._hash = head
        self._released = False

    @abstractmethod
    def explained(self, error: BaseException) -> JournalError:
        """Say what a failure of the storage means, and what to do."""

    @abstractmethod
    async def give_up(self, rest: Rest) -> bool:
        """Write that nobody owns the run any more; `False`: something has come. Raises `Fenced` if another does."""

    @abstractmethod
    async def inbox(self, after: int = 0) -> list[Item]:
        """What came from outside since item `after`."""

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries; the writer's thread commits them soon."""
        self._put(Job(self._append, self.batch(entries), failed=self._fail))

    async def commit(self, entries: Sequence[Entry]) -> None:
        """Add entries and wait for the disk."""
        job = Job(self._append, self.batch(entries), durable=True, failed=self._fail)
        job.prepare()
        self._put(job)
        await job.wait()

    async def release(self, status: Status, *, seen: int | None = None, due: float | None = None) -> bool:
        """Give the run up, all entries written, unless something has come after item `seen`."""
        if self._released:
            return True
        if self.failed is None:
            try:
                if not await self.give_up(Rest(self.run_id, self.epoch, status, seen, due, time.time())):
                    return False
            except Exception as error:  # noqa: BLE001 whatever the storage raises is explained
                self._fail(error)
        self._released = True
        self._held.discard(self.run_id)
        # Who gives up in haste need not hear that the run was lost already.
        if self.failed is not None and (seen is not None or not isinstance(self.failed, Fenced)):
            raise self.failed
        return True

    def batch(self, entries: Sequence[Entry]) -> Batch:
        """Make rows of entries, the next of the run."""
        self._check()
        at, run_id, epoch, first, hash = time.time(), self.run_id, self.epoch, self._seq, self._hash
        rows: list[tuple[Any, ...]] = []
        blobs: list[tuple[str, bytes]] = []
        for seq, entry in enumerate(entries, first):
            body = encode(entry)
            digest = body_digest(body)
            hash = link(hash, seq, epoch, at, VERSION, digest)
            stored: bytes | None = body
            if len(body) > BLOB_BYTES:
                blobs.append((digest, body))
                stored = None
            rows.append((run_id, seq, epoch, at, VERSION, _KINDS[type(entry)], stored, digest, hash))
        self._seq, self._hash = first + len(rows), hash
        return Batch(self, rows, blobs, at, first, self._seq, hash)

    def _put(self, job: Job) -> None:
        try:
            self._writer.put(job)
        except JournalError as error:
            self._fail(error)
            raise

    def _fail(self, error: BaseException) -> JournalError:
        """One failed append poisons the log: nothing more is taken. Called in the writer's thread too."""
        self.failed = self.failed or self.explained(error)
        return self.failed

    def _check(self) -> None:
        if self.failed is not None:
            raise self.failed
        if self._released:
            raise JournalError(f"run {self.run_id} was released: claim it again to write it")
