"""A journal on a Postgres server, for as many processes and machines as like to share it."""

from __future__ import annotations

import atexit
import time
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from counterfoil.journal.chain import faults, gaps, origin
from counterfoil.journal.codec import decode, decode_grant
from counterfoil.journal.erasure import Erased, Erasure, is_of, stand_in, was_erased
from counterfoil.journal.group import Job
from counterfoil.journal.journal import Item, RunInfo, Status
from counterfoil.journal.log import ChainedLog, Rest, holding
from counterfoil.journal.portable import Transcript
from counterfoil.journal.postgres import statements
from counterfoil.journal.postgres.copy import adopt, take
from counterfoil.journal.postgres.erase import Forget, erase, erasure_of, remove
from counterfoil.journal.postgres.schema import ensure
from counterfoil.journal.postgres.server import Connection, Server
from counterfoil.journal.postgres.statements import (
    ROWS,
    SEEN,
    Claim,
    Creation,
    Post,
    append,
    claim,
    create,
    post,
    release,
)
from counterfoil.journal.postgres.worker import Reader, Writer
from counterfoil.types.entry import Entry, Record
from counterfoil.types.error import JournalCorrupt, JournalError, RunBusy, RunErased, RunNotFound
from counterfoil.types.grant import Grant

_ITEMS = """
SELECT i.session, i.n, i.at, i.by, i.kind, i.ref, i.data FROM unnest(%b::text[], %b::int8[]) AS u(session, after)
JOIN counterfoil.inbox i ON i.session = u.session AND i.n > u.after ORDER BY i.session, i.n"""

_RUNS = """
SELECT id, status, requester, epoch, created, updated, wake,
       CASE WHEN status = 'waiting' THEN coalesce(due <= %b, false)
            WHEN status <> 'running' THEN false WHEN owner = %b THEN NULL WHEN owner = '' THEN true
            ELSE pg_try_advisory_xact_lock_shared(split_part(owner, ':', 3)::bigint) OR NOT {seen} END AS ready
FROM (
    SELECT * FROM counterfoil.session
    WHERE (%b::text IS NULL OR requester = %b)
    AND (%b::float8 IS NULL OR updated >= %b) AND (%b::float8 IS NULL OR updated < %b)
    AND (%b::text IS NULL OR status = %b OR (%b = 'ready' AND (status = 'running' OR status = 'waiting' AND due <= %b)))
    ORDER BY created DESC, n DESC LIMIT %b
) s ORDER BY created DESC, n DESC""".replace("{seen}", SEEN)


class PostgresLog(ChainedLog):
    """The right to write one run of a `PostgresJournal`."""

    def __init__(self, journal: PostgresJournal, run_id: str, epoch: int, seq: int, head: str) -> None:
        super().__init__(journal.writer, append, journal.held, run_id, epoch, seq, head)
        self._journal = journal

    def explained(self, error: BaseException) -> JournalError:
        """Say what a failure of the server means."""
        return self._journal.server.explained(error)

    async def inbox(self, after: int = 0) -> list[Item]:
        """What came from outside since item `after`."""
        return await self._journal.items(self.run_id, after)

    async def give_up(self, rest: Rest) -> bool:
        """Write that nobody owns the run any more; `False`: something has come."""
        done: bool = await self._journal.writer.ask(Job(release, rest))
        return done


class PostgresJournal:
    """Keeps runs on a Postgres server: append-only, hash-chained, durable before any effect.

    Opening connects (it blocks, at most about `wait` seconds) and creates the tables where there are none, unless
    `create` is false; older tables are left to `counterfoil journal migrate`. A process that has not been seen for
    `lease` seconds, by the server's clock, loses its runs to whoever claims them, as one does that died; should it
    come back, it can write nothing more to them. Raises `JournalError` with what to do, never with the password.
    """

    def __init__(self, url: str, *, wait: float = 10.0, create: bool = True, lease: float = 15.0) -> None:
        self.server = Server(url, wait)
        self.lease = lease
        self.held: set[str] = set()
        """The runs that this process works on now."""
        connections = [self.server.connect()]
        try:
            ensure(connections[0], self.server, create=create)
            self.server.warn_if_unsafe(connections[0])
            connections.append(self.server.connect())
            self.writer = Writer(self.server, connections[0], lease=lease)
        except BaseException as error:
            for each in connections:
                each.close()
            raise self.server.explained(error) from error
        self.reader = Reader("counterfoil-journal-reader", self.server, connections[1])
        # A journal that nobody closed still writes what it has taken.
        self._finalizer = weakref.finalize(self, _close, self.writer, self.reader)
        atexit.register(self._finalizer)

    def __repr__(self) -> str:
        return f"PostgresJournal({self.server.name!r})"

    async def create(self, run_id: str, requester: str, entries: Sequence[Entry]) -> PostgresLog:
        """Begin a run with its first entries."""
        log = PostgresLog(self, run_id, 1, 0, origin(run_id))
        with holding(self.held, run_id):
            await self.writer.ask(Job(create, Creation(requester, self.writer.owner, log.batch(entries))))
        return log

    async def claim(self, run_id: str) -> tuple[PostgresLog, list[Record]]:
        """Become a run's owner and read it."""
        if run_id in self.held:
            raise RunBusy(f"run {run_id} is being worked on in this process")
        with holding(self.held, run_id):
            job = Job(claim, Claim(run_id, self.writer.owner, time.time(), self.lease), durable=True)
            try:
                epoch, head, hash = await self.writer.ask(job)
            except RunErased:
                await self.read(run_id)  # it says when, and by whom
                raise
            records = await self.read(run_id)
        return PostgresLog(self, run_id, epoch, head, hash), records

    async def read(self, run_id: str) -> list[Record]:
        """Read a run without owning it."""
        rows = await self.reader.read(lambda db: _rows(db, run_id))
        if rows and rows[0][4] == b"" and (found := await self._erasure(run_id)) is not None:
            raise was_erased(run_id, found.at, found.by)
        records: list[Record] = []
        for seq, epoch, at, v, body, _, hash, _ in rows:
            if body is None:
                raise JournalCorrupt(f"run {run_id}: the body of record {seq} is missing: restore it from a backup")
            records.append(Record(run_id, seq, epoch, at, decode(body, v), v, hash))
        if problems := gaps(records):
            raise JournalCorrupt(f"run {run_id}: {problems[0]}")
        return records

    async def post(self, run_id: str, kind: str, ref: str, by: str, data: Mapping[str, Any]) -> Item | None:
        """Leave something in a run's inbox."""
        about = Post(run_id, time.time(), by, kind, ref, msgspec.json.encode(data))
        taken, row = await self.writer.ask(Job(post, about, durable=True))
        return None if taken else _item(*row)

    async def items(self, run_id: str, after: int) -> list[Item]:
        """What came for a run from outside since item `after`."""
        found: dict[str, list[Item]] = await self.reader.ask(Job(_items, (run_id, after)))
        # Several may have asked for the same run, after different items.
        return [item for item in found.get(run_id, ()) if item.n > after]

    async def inbox(self, run_id: str) -> list[Item]:
        """What came for a run from outside, in order."""
        return await self.items(run_id, 0)

    async def runs(
        self,
        *,
        status: Status | None = None,
        requester: str | None = None,
        since: float | None = None,
        before: float | None = None,
        limit: int = 100,
    ) -> list[RunInfo]:
        """List runs, the latest first. One that nobody works on although it says so, or that is due, is `ready`."""
        owner, at, ours = self.writer.owner, time.time(), set(self.held)
        narrowing = (requester, requester, since, since, before, before, status, status, status, at)
        given = (at, owner, self.lease, *narrowing, limit)
        rows = await self.reader.read(lambda db: db.execute(_RUNS, given, binary=True).fetchall())
        found: list[RunInfo] = []
        for id, stored, who, epoch, created, updated, wake, ready in rows:
            if ready is None:  # ours: unless we work on it, it was left behind by something that failed
                ready = id not in ours and id not in self.held
            now: Status = "ready" if ready else stored
            if status in (None, now):
                found.append(
                    RunInfo(id=id, status=now, requester=who, epoch=epoch, created=created, updated=updated, wake=wake)
                )
        return found

    async def grant(self, grant: Grant) -> None:
        """Keep a standing approval."""
        await self.writer.ask(Job(statements.grant, grant, durable=True))

    async def grants(self, requester: str | None = None) -> list[Grant]:
        """The standing approvals of one requester or of all, the latest first."""
        ask = (
            "SELECT data, revoked, by FROM counterfoil.granted WHERE %s::text IS NULL OR requester = %s ORDER BY n DESC"
        )
        rows = await self.reader.read(lambda db: db.execute(ask, (requester, requester), binary=True).fetchall())
        return [decode_grant(*row) for row in rows]

    async def revoke(self, grant_id: str, by: str, at: float) -> None:
        """Take a standing approval back."""
        await self.writer.ask(Job(statements.revoke, (at, by, grant_id), durable=True))

    async def verify(self, run_id: str | None = None) -> list[str]:
        """Check every record of one run or of all against its chain. Returns one sentence per fault; none: intact."""
        ask = "SELECT id FROM counterfoil.session WHERE %s::text IS NULL OR id = %s ORDER BY n"
        ids = await self.reader.read(lambda db: db.execute(ask, (run_id, run_id)).fetchall())
        if run_id is not None and not ids:
            raise RunNotFound(f"there is no run {run_id!r} in this journal")
        found: list[str] = []
        for (id,) in ids:
            # One run at a time: others may read in between, and only one is in memory.
            found.extend(f"run {id}: {fault}" for fault in await self.reader.read(partial(_faults, run_id=id)))
        return found

    async def _erasure(self, run_id: str) -> Erasure | None:
        found: Erasure | None = await self.reader.read(partial(erasure_of, run_id=run_id))
        return found

    async def erase(self, requester: str, *, by: str) -> Erased:
        """Erase what one requester's runs hold. The server itself keeps dead rows until it vacuums."""
        if not by:
            raise JournalError("an erasure needs a name: by='...'")
        found: Erased = await self.writer.ask(
            Job(erase, Forget(requester, by, time.time(), stand_in(requester)), durable=True)
        )
        return found

    async def erasures(self, requester: str) -> list[Erasure]:
        """What was erased of that person, one per run."""
        ask = "SELECT session, who FROM counterfoil.erasure ORDER BY at"
        rows = await self.reader.read(lambda db: db.execute(ask).fetchall())
        theirs = {who for who in {who for _, who in rows} if is_of(who, requester)}
        return [found for id, who in rows if who in theirs and (found := await self._erasure(id)) is not None]

    async def remove(self, run_id: str, hash: str) -> None:
        """Take a run out that is done and still ends in that hash."""
        await self.writer.ask(Job(remove, (run_id, hash), durable=True))

    async def take(self, run_id: str) -> Transcript:
        """Read a run as it is stored."""
        run: Transcript = await self.reader.read(partial(take, run_id=run_id))
        return run

    async def adopt(self, transcript: Transcript) -> None:
        """Keep a run from elsewhere."""
        transcript.check()
        await self.writer.ask(Job(adopt, transcript, durable=True))

    async def aclose(self) -> None:
        """Write what is left and let go of the server."""
        self._finalizer()
        atexit.unregister(self._finalizer)


def _rows(db: Connection, run_id: str) -> list[tuple[Any, ...]]:
    rows = db.execute(ROWS, (run_id,), prepare=True, binary=True).fetchall()
    if not rows and db.execute("SELECT 1 FROM counterfoil.session WHERE id = %s", (run_id,)).fetchone() is None:
        raise RunNotFound(f"there is no run {run_id!r} in this journal")
    return rows


def _faults(db: Connection, run_id: str) -> list[str]:
    # One snapshot for both: the run may be growing.
    with db.transaction():
        db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        end = db.execute("SELECT head, hash FROM counterfoil.session WHERE id = %s", (run_id,)).fetchone()
        rows = db.execute(ROWS, (run_id,), prepare=True, binary=True).fetchall()
        erasure = erasure_of(db, run_id)
    return faults(run_id, rows, end[0], end[1], erasure) if end else []


def _items(db: Connection, asked: Sequence[tuple[str, int]]) -> dict[str, list[Item]]:
    first: dict[str, int] = {}
    for run_id, after in asked:
        first[run_id] = min(after, first.get(run_id, after))
    rows = db.execute(_ITEMS, (list(first), list(first.values())), prepare=True, binary=True).fetchall()
    found: dict[str, list[Item]] = {}
    for run_id, *row in rows:
        found.setdefault(run_id, []).append(_item(*row))
    return found


def _item(n: int, at: float, by: str, kind: Any, ref: str, data: bytes) -> Item:
    return Item(n=n, at=at, by=by, kind=kind, ref=ref, data=msgspec.json.decode(data))


def _close(writer: Writer, reader: Reader) -> None:
    writer.close()
    reader.close()
