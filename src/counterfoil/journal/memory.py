"""A journal that forgets at exit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from counterfoil.journal.journal import Item, RunInfo, Status
from counterfoil.types.entry import Entry, Record
from counterfoil.types.error import Fenced, JournalError, RunBusy, RunNotFound
from counterfoil.types.grant import Grant


class _Run:
    __slots__ = ("created", "due", "entries", "epoch", "held", "inbox", "requester", "status", "updated")

    def __init__(self, requester: str) -> None:
        self.requester = requester
        self.created = self.updated = time.time()
        self.entries: list[tuple[int, float, Entry]] = []
        self.inbox: list[Item] = []
        self.epoch = 1
        self.status: Status = "running"
        self.due: float | None = None
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

    async def release(self, status: Status, *, seen: int | None = None, due: float | None = None) -> bool:
        """Give the run up, unless something has come after item `seen`."""
        run = self._run
        if run.epoch == self.epoch:
            if seen is not None and len(run.inbox) > seen:
                return False
            run.held, run.status, run.due, run.updated = False, status, due, time.time()
        elif seen is not None:
            raise Fenced(f"run {self.run_id} has another owner by now")
        self._run = _NOBODYS
        return True


class MemoryJournal:
    """Keeps runs in this process: for tests, and for work that need not outlive it."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}
        self._grants: dict[str, Grant] = {}

    def _get(self, run_id: str) -> _Run:
        run = self._runs.get(run_id)
        if run is None:
            raise RunNotFound(f"there is no run {run_id!r} in this journal")
        return run

    async def create(self, run_id: str, requester: str, entries: Sequence[Entry]) -> MemoryLog:
        """Begin a run with its first entries."""
        if run_id in self._runs:
            raise JournalError(f"there is a run {run_id!r} already")
        run = self._runs[run_id] = _Run(requester)
        log = MemoryLog(run_id, run)
        log.append(entries)
        return log

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
        run = self._get(run_id)
        for item in run.inbox:
            if item.kind == kind and item.ref == ref:
                return item
        run.inbox.append(Item(n=len(run.inbox) + 1, at=time.time(), by=by, kind=cast("Any", kind), ref=ref, data=data))
        if run.status in ("waiting", "doubt", "failed"):
            run.status = "ready"
        return None

    async def inbox(self, run_id: str) -> list[Item]:
        """What came for a run from outside, in order."""
        return list(self._get(run_id).inbox)

    async def runs(
        self,
        *,
        status: Status | None = None,
        requester: str | None = None,
        since: float | None = None,
        before: float | None = None,
        limit: int = 100,
    ) -> list[RunInfo]:
        """List runs, the latest first. One that has waited until it was due is `ready`."""
        now = time.time()
        found: list[RunInfo] = []
        for run_id, run in reversed(self._runs.items()):
            due = run.status == "waiting" and run.due is not None and run.due <= now
            stands: Status = "ready" if due else run.status
            within = (since is None or run.updated >= since) and (before is None or run.updated < before)
            if within and status in (None, stands) and requester in (None, run.requester) and len(found) < limit:
                found.append(
                    RunInfo(
                        id=run_id,
                        status=stands,
                        requester=run.requester,
                        epoch=run.epoch,
                        created=run.created,
                        updated=run.updated,
                        wake=len(run.inbox),
                    )
                )
        return found

    async def grant(self, grant: Grant) -> None:
        """Keep a standing approval."""
        self._grants[grant.id] = grant

    async def grants(self, requester: str | None = None) -> list[Grant]:
        """The standing approvals of one requester or of all, the latest first."""
        return [each for each in reversed(self._grants.values()) if requester in (None, each.requester)]

    async def revoke(self, grant_id: str, by: str, at: float) -> None:
        """Take a standing approval back."""
        found = self._grants.get(grant_id)
        if found is not None and found.revoked_at is None:
            self._grants[grant_id] = msgspec.structs.replace(found, revoked_at=at, revoked_by=by)

    async def aclose(self) -> None:
        """Nothing to let go of."""
