"""A journal that forgets at exit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from counterfoil.journal.journal import Item, RunInfo, Status
from counterfoil.types.entry import Entry, Record
from counterfoil.types.error import Fenced, JournalError, RunBusy, RunNotFound


class _Run:
    __slots__ = ("created", "entries", "epoch", "held", "inbox", "requester", "status", "updated")

    def __init__(self, requester: str) -> None:
        self.requester = requester
        self.created = self.updated = time.time()
        self.entries: list[tuple[int, float, Entry]] = []
        self.inbox: list[Item] = []
        self.epoch = 1
        self.status: Status = "running"
        self.held = True


_NOBODYS = _Run("")
_NOBODYS.epoch = 0
"""What a log writes that was released: nothing."""


class MemoryLog:
    """The right to write one run of a `MemoryJournal`."""

    __slots__ = ("_run", "epoch", "run_id")

    def __init__(self, run_id: str, run: _Run) -> None:
        self.run_id = run_id
        self.epoch = run.epoch
        self._run = run

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries."""
        run = self._run
        if run.epoch != self.epoch:
            raise Fenced(f"run {self.run_id} was given up, or has another owner by now: claim it again to write it")
        now = time.time()
        epoch, add = self.epoch, run.entries.append
        for entry in entries:
            add((epoch, now, entry))

    async def commit(self, entries: Sequence[Entry]) -> None:
        """Add entries. Memory is as durable as it gets at once."""
        self.append(entries)

    async def inbox(self, after: int = 0) -> list[Item]:
        """What came from outside since item `after`."""
        return self._run.inbox[after:]

    async def release(self, status: Status) -> None:
        """Give the run up."""
        run, self._run = self._run, _NOBODYS
        if run.epoch == self.epoch:
            run.held, run.status, run.updated = False, status, time.time()


class MemoryJournal:
    """Keeps runs in this process: for tests, and for work that need not outlive it."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}

    def _get(self, run_id: str) -> _Run:
        run = self._runs.get(run_id)
        if run is None:
            raise RunNotFound(f"there is no run {run_id!r} in this journal")
        return run

    async def create(self, run_id: str, requester: str) -> MemoryLog:
        """Begin a run."""
        if run_id in self._runs:
            raise JournalError(f"there is a run {run_id!r} already")
        run = self._runs[run_id] = _Run(requester)
        return MemoryLog(run_id, run)

    async def claim(self, run_id: str) -> tuple[MemoryLog, list[Record]]:
        """Become a run's owner and read it."""
        run = self._get(run_id)
        if run.held:
            raise RunBusy(f"run {run_id} is being worked on")
        run.held, run.status = True, "running"
        run.epoch += 1
        return MemoryLog(run_id, run), await self.read(run_id)

    async def read(self, run_id: str) -> list[Record]:
        """Read a run without owning it."""
        entries = self._get(run_id).entries
        return [Record(run_id, seq, epoch, at, entry) for seq, (epoch, at, entry) in enumerate(entries)]

    async def post(self, run_id: str, kind: str, ref: str, by: str, data: Mapping[str, Any]) -> Item | None:
        """Leave something in a run's inbox."""
        inbox = self._get(run_id).inbox
        for item in inbox:
            if item.kind == kind and item.ref == ref:
                return item
        inbox.append(Item(n=len(inbox) + 1, at=time.time(), by=by, kind=cast("Any", kind), ref=ref, data=data))
        return None

    async def inbox(self, run_id: str) -> list[Item]:
        """What came for a run from outside, in order."""
        return list(self._get(run_id).inbox)

    async def runs(
        self, *, status: Status | None = None, requester: str | None = None, limit: int = 100
    ) -> list[RunInfo]:
        """List runs, the latest first."""
        found = [
            RunInfo(
                id=run_id,
                status=run.status,
                requester=run.requester,
                epoch=run.epoch,
                created=run.created,
                updated=run.updated,
            )
            for run_id, run in reversed(self._runs.items())
            if status in (None, run.status) and requester in (None, run.requester)
        ]
        return found[:limit]

    async def aclose(self) -> None:
        """Nothing to let go of."""
