"""A journal of worlds that are simulated: a disk, the threads that write to it, and processes that all of it serves.

Nothing happens by itself: a writer commits when it is told to, and says that it has when it is told to. What was not
committed dies with its process, what was not synced may be gone after a power cut. The rows, the chain and the logs
that take nothing more once they have failed are those of the real journals.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Protocol, cast

import msgspec

from counterfoil import JournalError, MemoryJournal, RunBusy, RunNotFound
from counterfoil.journal.chain import faults, gaps, origin
from counterfoil.journal.codec import decode
from counterfoil.journal.group import Job
from counterfoil.journal.journal import Item, RunInfo, Status
from counterfoil.journal.log import Batch, ChainedLog, Rest, lost
from counterfoil.types.entry import Entry, Record


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """All there is of a run."""

    requester: str
    status: Status
    owner: str
    epoch: int
    head: int
    hash: str
    rows: tuple[tuple[Any, ...], ...]
    inbox: tuple[Item, ...] = ()
    due: float | None = None
    created: float = 0.0

    @property
    def records(self) -> list[Record]:
        """Its entries, read."""
        found = [
            Record(run, seq, epoch, at, decode(body, v), v, hash)
            for run, seq, epoch, at, v, _, body, _, hash in self.rows
        ]
        if problems := gaps(found):
            raise AssertionError(problems[0])
        return found

    def faults(self, run_id: str) -> list[str]:
        """What is wrong with its chain."""
        stored = [
            (seq, epoch, at, v, body, digest, hash, kind)
            for _, seq, epoch, at, v, kind, body, digest, hash in self.rows
        ]
        return faults(run_id, stored, self.head, self.hash)


Runs = dict[str, Row]
replace = msgspec.structs.replace


class Disk:
    """What is committed, and what of it is synced."""

    def __init__(self) -> None:
        self.runs: Runs = {}
        self.synced: Runs = {}
        self._since: list[Runs] = []
        """What each transaction since the last sync has changed."""

    def commit(self, changed: Runs, *, sync: bool) -> None:
        """Keep what a transaction has changed."""
        self.runs |= changed
        self._since.append(changed)
        if sync:
            self.synced = dict(self.runs)
            self._since.clear()

    def cut(self, chance: Random) -> None:
        """The power goes: of what was not synced, what came first may have reached the disk, because it is a log."""
        self.runs = dict(self.synced)
        for changed in self._since[: chance.randint(0, len(self._since))]:
            self.runs |= changed
        self.synced = dict(self.runs)
        self._since.clear()


class Dead(BaseException):
    """This process is no more: whatever it still tries, nothing comes of it."""


class Place(Protocol):
    """What a journal must know of the process that it is in."""

    name: str
    dead: bool

    async def pause(self) -> None:
        """Take a while."""
        ...

    def believes_alive(self, owner: str) -> bool:
        """Whether it takes another one for alive; it may be wrong."""
        ...


class Writer:
    """What in a real journal is a thread: it commits what has gathered in one transaction."""

    def __init__(self, disk: Disk, place: Place) -> None:
        self.disk = disk
        self._place = place
        self.jobs: deque[Job] = deque()
        self.committed: deque[list[Job]] = deque()
        """Of these nobody has been told."""

    def put(self, job: Job) -> None:
        """Queue a job."""
        if self._place.dead:
            raise Dead
        self.jobs.append(job)

    async def ask(self, job: Job) -> Any:
        """Queue a job and wait until it is committed and said to be."""
        job.prepare()
        self.put(job)
        return await job.wait()

    def commit(self) -> None:
        """Commit what has gathered."""
        group, changed = list(self.jobs), Runs()
        self.jobs.clear()
        for job in group:
            trial = {**self.disk.runs, **changed}
            before = dict(trial)
            try:
                if isinstance(job.about, Batch) and job.about.log.failed is not None:
                    raise job.about.log.failed
                job.result = job.do(trial, job.about)
            except JournalError as error:
                job.fail(error)
            else:
                changed |= {run_id: row for run_id, row in trial.items() if before.get(run_id) is not row}
        self.disk.commit(changed, sync=any(job.durable for job in group))
        self.committed.append(group)

    def tell(self) -> None:
        """Wake those who wait for the first group that was committed."""
        for job in self.committed.popleft():
            if job.soon is not None:
                job.wake()


class Log(ChainedLog):
    """The right to write one run."""

    def __init__(self, journal: SimulatedJournal, run_id: str, epoch: int, seq: int, head: str) -> None:
        super().__init__(
            cast("Any", journal.writer), cast("Any", journal.append), journal.held, run_id, epoch, seq, head
        )
        self._journal = journal

    def explained(self, error: BaseException) -> JournalError:
        if isinstance(error, JournalError):
            return error
        raise error

    async def inbox(self, after: int = 0) -> list[Item]:
        await self._journal.place.pause()
        return [item for item in self._journal.row(self.run_id).inbox if item.n > after]

    async def give_up(self, rest: Rest) -> bool:
        done: bool = await self._journal.writer.ask(Job(cast("Any", self._journal.rest), rest))
        return done


class SimulatedJournal(MemoryJournal):
    """One process's way to the disk. (It inherits what it keeps of standing approvals: nothing.)"""

    def __init__(self, disk: Disk, place: Place) -> None:
        super().__init__()
        self.disk = disk
        self.place = place
        self.writer = Writer(disk, place)
        self.held: set[str] = set()

    def row(self, run_id: str) -> Row:
        """A run as it is committed now."""
        if run_id not in self.disk.runs:
            raise RunNotFound(f"there is no run {run_id!r}")
        return self.disk.runs[run_id]

    def log(self, run_id: str, epoch: int, seq: int, head: str) -> Log:
        """The right to write one run from there on."""
        return Log(self, run_id, epoch, seq, head)

    # -- the port

    async def create(self, run_id: str, requester: str, entries: Sequence[Entry]) -> Any:
        log = self.log(run_id, 1, 0, origin(run_id))
        batch = log.batch(entries)

        def do(runs: Runs, _: Any) -> None:
            if run_id in runs:
                raise JournalError(f"there is a run {run_id!r} already")
            runs[run_id] = Row(
                requester=requester,
                status="running",
                owner=self.place.name,
                epoch=1,
                head=batch.head,
                hash=batch.hash,
                rows=tuple(batch.rows),
                created=batch.at,
            )

        await self.writer.ask(Job(cast("Any", do)))
        self.held.add(run_id)
        return log

    async def claim(self, run_id: str) -> tuple[Any, list[Record]]:
        if run_id in self.held:
            raise RunBusy(f"run {run_id} is being worked on in this process")

        def do(runs: Runs, _: Any) -> tuple[int, int, str]:
            row = runs.get(run_id)
            if row is None:
                raise RunNotFound(f"there is no run {run_id!r}")
            if row.status == "running" and row.owner != self.place.name and self.place.believes_alive(row.owner):
                raise RunBusy(f"run {run_id} is being worked on by {row.owner}")
            runs[run_id] = replace(row, status="running", owner=self.place.name, epoch=row.epoch + 1)
            return row.epoch + 1, row.head, row.hash

        self.held.add(run_id)
        try:
            epoch, head, hash = await self.writer.ask(Job(cast("Any", do), durable=True))
            records = await self.read(run_id)
        except BaseException:
            self.held.discard(run_id)
            raise
        return self.log(run_id, epoch, head, hash), records

    async def read(self, run_id: str) -> list[Record]:
        await self.place.pause()
        return self.row(run_id).records

    async def post(self, run_id: str, kind: str, ref: str, by: str, data: Mapping[str, Any]) -> Item | None:
        stored = msgspec.json.decode(msgspec.json.encode(data))
        sent = Item(n=0, at=time.time(), by=by, kind=cast("Any", kind), ref=ref, data=stored)
        earlier: Item | None = await self.writer.ask(Job(cast("Any", self.put), (run_id, sent), durable=True))
        return earlier

    async def inbox(self, run_id: str) -> list[Item]:
        await self.place.pause()
        return list(self.row(run_id).inbox)

    async def runs(self, *, status: Status | None = None, **_: Any) -> list[RunInfo]:
        await self.place.pause()
        found: list[RunInfo] = []
        for run_id, row in self.disk.runs.items():
            gone = row.status == "running" and not self.place.believes_alive(row.owner)
            due = row.status == "waiting" and row.due is not None and row.due <= time.time()
            stands: Status = "ready" if gone or due else row.status
            if status in (None, stands):
                found.append(
                    RunInfo(
                        id=run_id,
                        status=stands,
                        requester=row.requester,
                        epoch=row.epoch,
                        created=row.created,
                        updated=0,
                    )
                )
        return found

    # -- what is done in a transaction

    def append(self, runs: Runs, batch: Batch) -> None:
        """Add entries, if this process still owns the run and all that was before is there."""
        row = runs.get(batch.log.run_id)
        if row is None or row.epoch != batch.log.epoch or row.head != batch.first:
            raise lost(batch.log.run_id)
        runs[batch.log.run_id] = replace(row, head=batch.head, hash=batch.hash, rows=(*row.rows, *batch.rows))

    def rest(self, runs: Runs, rest: Rest) -> bool:
        """Give a run up, if nothing has come for it."""
        row = runs.get(rest.run_id)
        if row is None or row.epoch != rest.epoch:
            raise lost(rest.run_id)
        if self.overlooks(row, rest.seen):
            return False
        runs[rest.run_id] = replace(row, status=rest.status, owner="", due=rest.due)
        return True

    def overlooks(self, row: Row, seen: int | None) -> bool:
        """Whether something has come that was not taken up."""
        return seen is not None and len(row.inbox) > seen

    def put(self, runs: Runs, about: tuple[str, Item]) -> Item | None:
        """Leave something in an inbox, or find what stands there already."""
        run_id, sent = about
        row = runs.get(run_id)
        if row is None:
            raise RunNotFound(f"there is no run {run_id!r}")
        earlier = self.earlier(row, sent)
        if earlier is None:
            rested = row.status in ("waiting", "doubt", "failed")
            inbox = (*row.inbox, replace(sent, n=len(row.inbox) + 1))
            runs[run_id] = replace(row, inbox=inbox, status="ready" if rested else row.status)
        return earlier

    def earlier(self, row: Row, sent: Item) -> Item | None:
        """What has come under the same name."""
        return next((item for item in row.inbox if (item.kind, item.ref) == (sent.kind, sent.ref)), None)
