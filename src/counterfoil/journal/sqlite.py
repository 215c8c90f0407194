"""A journal in one SQLite file, for as many processes of one machine as like to share it."""

from __future__ import annotations

import atexit
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec

from counterfoil.journal.chain import faults, gaps, origin
from counterfoil.journal.codec import decode, decode_grant
from counterfoil.journal.erasure import Erased, Erasure, is_of, stand_in, was_erased
from counterfoil.journal.journal import Item, RunInfo, Status
from counterfoil.journal.liveness import Presence
from counterfoil.journal.log import Batch, ChainedLog, Rest, holding, lost
from counterfoil.journal.portable import Transcript
from counterfoil.journal.sqlite_copy import adopt, take
from counterfoil.journal.sqlite_erase import erase, erasure_of, remove, truncate_log
from counterfoil.journal.sqlite_faults import explained
from counterfoil.journal.sqlite_schema import bring_up
from counterfoil.journal.writer import Writer
from counterfoil.types.entry import Entry, Record
from counterfoil.types.error import JournalCorrupt, JournalError, RunBusy, RunNotFound
from counterfoil.types.grant import Grant


def _insert(db: sqlite3.Connection, batches: Sequence[Batch]) -> None:
    """Add the rows of batches whose place is made."""
    if blobs := [blob for each in batches for blob in each.blobs]:
        db.executemany("INSERT OR IGNORE INTO blob VALUES (?, ?)", blobs)
    db.executemany(
        "INSERT INTO event (session, seq, epoch, at, v, kind, data, digest, hash) VALUES (?,?,?,?,?,?,?,?,?)",
        [row for each in batches for row in each.rows],
    )


def _append(db: sqlite3.Connection, batches: Sequence[Batch]) -> None:
    """Append to runs, each if this process still owns it and everything before is there: a log has no gaps."""
    ends: dict[ChainedLog, tuple[Any, ...]] = {}
    for log, _, _, at, first, head, hash in batches:
        if log.failed is not None:
            raise log.failed
        if earlier := ends.get(log):
            first = earlier[-1]
        ends[log] = (head, hash, at, log.run_id, log.epoch, first)
    moved = db.executemany(
        "UPDATE session SET head = ?, hash = ?, updated = ? WHERE id = ? AND epoch = ? AND head = ?", ends.values()
    )
    if moved.rowcount != len(ends):
        raise lost(batches[0].log.run_id)
    _insert(db, batches)


class SqliteLog(ChainedLog):
    """The right to write one run of a `SqliteJournal`."""

    def __init__(self, journal: SqliteJournal, run_id: str, epoch: int, seq: int, head: str) -> None:
        super().__init__(journal.writer, _append, journal.held, run_id, epoch, seq, head)
        self._journal = journal

    def explained(self, error: BaseException) -> JournalError:
        """Say what a failure of the file means."""
        return explained(error, self._journal.path)

    async def inbox(self, after: int = 0) -> list[Item]:
        """What came from outside since item `after`."""
        return self._journal.items(self.run_id, after)

    async def give_up(self, rest: Rest) -> bool:
        """Write that nobody owns the run any more; `False`: something has come."""
        done: bool = await self._journal.writer.do(partial(_rest, rest=rest), durable=False)
        return done


def _list(values: Iterable[str]) -> str:
    return msgspec.json.encode(list(values)).decode()


def _rest(db: sqlite3.Connection, rest: Rest) -> bool:
    """Give a run up. Whoever claims and whoever posts comes before this or after it, never in between."""
    row = db.execute("SELECT wake FROM session WHERE id = ? AND epoch = ?", (rest.run_id, rest.epoch)).fetchone()
    if row is None:
        raise lost(rest.run_id)
    if rest.seen is not None and row[0] > rest.seen:
        return False
    db.execute(
        "UPDATE session SET status = ?, owner = '', due = ?, updated = ? WHERE id = ?",
        (rest.status, rest.due, rest.at, rest.run_id),
    )
    return True


class SqliteJournal:
    """Keeps runs in one SQLite file: append-only, hash-chained, durable before any effect.

    WAL mode; what must outlive a power cut is committed with `synchronous=FULL`, everything else outlives the process.
    Several processes may share the file: each run has one owner at a time. Raises `JournalError` with what to do when
    the file is no journal, is locked, or belongs to a newer version.
    """

    def __init__(self, path: str | Path, *, busy_seconds: float = 10.0) -> None:
        self.path = Path(path)
        self._busy = busy_seconds
        self.held: set[str] = set()
        """The runs that this process works on now."""
        try:
            self._prepare()
            self._reader = self._connect()
            self._presence = Presence(self.path.with_name(self.path.name + ".owners"))
        except (sqlite3.Error, OSError) as error:
            raise explained(error, self.path) from error
        self._lock = threading.Lock()
        self.writer = Writer(self._connect)
        # A journal that nobody closed still writes what it has taken.
        self._finalizer = weakref.finalize(self, _close, self.writer, self._presence)
        atexit.register(self._finalizer)

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=self._busy, isolation_level=None, check_same_thread=False)
        # From the first write on: pages that are split leave copies, which a later erasure would not find.
        db.execute("PRAGMA secure_delete=ON")
        return db

    def _prepare(self) -> None:
        if not self.path.parent.is_dir():
            raise JournalError(f"the folder {self.path.parent} does not exist: create it, or choose another path")
        db = self._connect()
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("BEGIN IMMEDIATE")
            bring_up(db, self.path)
            db.execute("COMMIT")
        finally:
            db.close()

    def _query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        try:
            with self._lock:
                return self._reader.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise explained(error, self.path) from error

    async def _write(self, do: Callable[[sqlite3.Connection], Any], *, durable: bool = True) -> Any:
        try:
            return await self.writer.do(do, durable=durable)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise explained(error, self.path) from error

    async def create(self, run_id: str, requester: str, entries: Sequence[Entry]) -> SqliteLog:
        """Begin a run with its first entries."""
        log = SqliteLog(self, run_id, 1, 0, origin(run_id))
        batch, owner = log.batch(entries), self._presence.owner

        def do(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO session (id, requester, status, owner, epoch, created, updated, head, hash) "
                "VALUES (?, ?, 'running', ?, 1, ?, ?, ?, ?)",
                (run_id, requester, owner, batch.at, batch.at, batch.head, batch.hash),
            )
            _insert(db, [batch])

        with holding(self.held, run_id):
            try:
                await self._write(do, durable=False)
            except sqlite3.IntegrityError as error:
                raise JournalError(f"there is a run {run_id!r} already") from error
        return log

    async def claim(self, run_id: str) -> tuple[SqliteLog, list[Record]]:
        """Become a run's owner and read it."""
        if run_id in self.held:
            raise RunBusy(f"run {run_id} is being worked on in this process")
        presence = self._presence

        def do(db: sqlite3.Connection) -> tuple[int, int, str]:
            row = db.execute("SELECT status, owner, epoch, head, hash FROM session WHERE id = ?", (run_id,)).fetchone()
            if row is None:
                raise RunNotFound(f"there is no run {run_id!r} in {self.path}")
            status, owner, epoch, head, hash = row
            if status == "erased":
                raise self._erased(run_id)
            if status == "running" and owner != presence.owner and presence.alive(owner):
                raise RunBusy(f"run {run_id} is being worked on by process {owner.split('-')[0]}")
            db.execute(
                "UPDATE session SET status = 'running', owner = ?, epoch = ?, updated = ? WHERE id = ?",
                (presence.owner, epoch + 1, time.time(), run_id),
            )
            return epoch + 1, head, hash

        with holding(self.held, run_id):
            epoch, head, hash = await self._write(do)
            records = await self.read(run_id)
        return SqliteLog(self, run_id, epoch, head, hash), records

    async def read(self, run_id: str) -> list[Record]:
        """Read a run without owning it."""
        if not (found := self._query("SELECT status FROM session WHERE id = ?", (run_id,))):
            raise RunNotFound(f"there is no run {run_id!r} in {self.path}")
        if found[0][0] == "erased":
            raise self._erased(run_id)
        rows = self._query(
            "SELECT seq, epoch, at, v, coalesce(data, (SELECT bytes FROM blob WHERE sha256 = digest)), hash "
            "FROM event WHERE session = ? ORDER BY seq",
            (run_id,),
        )
        records: list[Record] = []
        for seq, epoch, at, v, body, hash in rows:
            if body is None:
                raise JournalCorrupt(f"run {run_id}: the body of record {seq} is missing: restore it from a backup")
            records.append(Record(run_id, seq, epoch, at, decode(body, v), v, hash))
        if problems := gaps(records):
            raise JournalCorrupt(f"run {run_id}: {problems[0]}")
        return records

    async def post(self, run_id: str, kind: str, ref: str, by: str, data: Mapping[str, Any]) -> Item | None:
        """Leave something in a run's inbox."""
        body, now = msgspec.json.encode(data), time.time()

        def do(db: sqlite3.Connection) -> bool:
            if db.execute("SELECT 1 FROM session WHERE id = ?", (run_id,)).fetchone() is None:
                raise RunNotFound(f"there is no run {run_id!r} in {self.path}")
            taken = db.execute(
                "INSERT INTO inbox SELECT ?, coalesce(max(n), 0) + 1, ?, ?, ?, ?, ? FROM inbox WHERE session = ? "
                "ON CONFLICT(session, kind, ref) DO NOTHING",
                (run_id, now, by, kind, ref, body, run_id),
            )
            if taken.rowcount != 1:
                return False
            db.execute(
                "UPDATE session SET wake = wake + 1, "
                "status = CASE WHEN status IN ('waiting', 'doubt', 'failed') THEN 'ready' ELSE status END WHERE id = ?",
                (run_id,),
            )
            return True

        if await self._write(do):
            return None
        return next(item for item in self.items(run_id, 0) if item.kind == kind and item.ref == ref)

    def items(self, run_id: str, after: int) -> list[Item]:
        """What came for a run from outside since item `after`."""
        rows = self._query(
            "SELECT n, at, by, kind, ref, data FROM inbox WHERE session = ? AND n > ? ORDER BY n", (run_id, after)
        )
        return [
            Item(n=n, at=at, by=by, kind=kind, ref=ref, data=msgspec.json.decode(data))
            for n, at, by, kind, ref, data in rows
        ]

    async def inbox(self, run_id: str) -> list[Item]:
        """What came for a run from outside, in order."""
        return self.items(run_id, 0)

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
        owners = self._query("SELECT DISTINCT owner FROM session WHERE status = 'running'")
        dead = [owner for (owner,) in owners if not self._presence.alive(owner)]
        rows = self._query(
            "SELECT id, CASE WHEN status = 'running' AND owner IN (SELECT value FROM json_each(?1)) THEN 'ready' "
            "WHEN status = 'running' AND owner = ?8 AND id NOT IN (SELECT value FROM json_each(?9)) THEN 'ready' "
            "WHEN status = 'waiting' AND due <= ?5 THEN 'ready' "
            "ELSE status END AS now, requester, epoch, created, updated, wake FROM session "
            "WHERE (?2 IS NULL OR requester = ?2) AND (?3 IS NULL OR now = ?3) "
            "AND (?6 IS NULL OR updated >= ?6) AND (?7 IS NULL OR updated < ?7) "
            "ORDER BY created DESC, rowid DESC LIMIT ?4",
            (_list(dead), requester, status, limit, time.time(), since, before, self._presence.owner, _list(self.held)),
        )
        return [
            RunInfo(id=id, status=now, requester=who, epoch=epoch, created=created, updated=updated, wake=wake)
            for id, now, who, epoch, created, updated, wake in rows
        ]

    async def grant(self, grant: Grant) -> None:
        """Keep a standing approval."""
        row = (grant.id, grant.requester, msgspec.json.encode(grant))
        await self._write(lambda db: db.execute("INSERT INTO granted (id, requester, data) VALUES (?, ?, ?)", row))

    async def grants(self, requester: str | None = None) -> list[Grant]:
        """The standing approvals of one requester or of all, the latest first."""
        ask = "SELECT data, revoked, by FROM granted WHERE ?1 IS NULL OR requester = ?1 ORDER BY rowid DESC"
        return [decode_grant(*row) for row in self._query(ask, (requester,))]

    async def revoke(self, grant_id: str, by: str, at: float) -> None:
        """Take a standing approval back."""
        ask = "UPDATE granted SET revoked = ?, by = ? WHERE id = ? AND revoked IS NULL"
        await self._write(lambda db: db.execute(ask, (at, by, grant_id)))

    async def verify(self, run_id: str | None = None) -> list[str]:
        """Check every record of one run or of all against its chain. Returns one sentence per fault; none: intact."""
        found: list[str] = []
        sessions = self._query("SELECT id, head, hash FROM session WHERE ?1 IS NULL OR id = ?1", (run_id,))
        if run_id is not None and not sessions:
            raise RunNotFound(f"there is no run {run_id!r} in {self.path}")
        for id, head, hash in sessions:
            found.extend(f"run {id}: {fault}" for fault in self._verify(id, head, hash))
        return found

    def _verify(self, run_id: str, head: int, head_hash: str) -> list[str]:
        rows = self._query(
            "SELECT seq, epoch, at, v, coalesce(data, (SELECT bytes FROM blob WHERE sha256 = digest)), digest, hash, "
            "kind FROM event WHERE session = ? ORDER BY seq",
            (run_id,),
        )
        return faults(run_id, rows, head, head_hash, self._erasure(run_id))

    def _erasure(self, run_id: str) -> Erasure | None:
        try:
            with self._lock:
                return erasure_of(self._reader, run_id)
        except sqlite3.Error as error:
            raise explained(error, self.path) from error

    def _erased(self, run_id: str) -> JournalError:
        found = self._erasure(run_id)
        return was_erased(run_id, found.at, found.by) if found else JournalCorrupt(f"run {run_id} holds nothing")

    async def erase(self, requester: str, *, by: str) -> Erased:
        """Erase what one requester's runs hold. When it returns, no byte of it is in the file or its log."""
        if not by:
            raise JournalError("an erasure needs a name: by='...'")
        at, who = time.time(), stand_in(requester)
        found: Erased = await self._write(lambda db: erase(db, requester, by, at, who))
        await anyio.to_thread.run_sync(self._empty_log)
        return found

    async def erasures(self, requester: str) -> list[Erasure]:
        """What was erased of that person, one per run."""
        rows = self._query("SELECT session, who FROM erasure ORDER BY at")
        theirs = {who for who in {who for _, who in rows} if is_of(who, requester)}
        return [found for id, who in rows if who in theirs and (found := self._erasure(id)) is not None]

    async def remove(self, run_id: str, hash: str) -> None:
        """Take a run out that is done and still ends in that hash."""
        await self._write(lambda db: remove(db, run_id, hash))

    def _empty_log(self) -> None:
        db = self._connect()
        try:
            truncate_log(db)
        finally:
            db.close()

    async def take(self, run_id: str) -> Transcript:
        """Read a run as it is stored."""
        run: Transcript = await self._write(partial(take, run_id=run_id), durable=False)
        return run

    async def adopt(self, transcript: Transcript) -> None:
        """Keep a run from elsewhere."""
        transcript.check()
        await self._write(partial(adopt, run=transcript))

    async def aclose(self) -> None:
        """Write what is left and let go of the file."""
        self._finalizer()
        atexit.unregister(self._finalizer)
        with self._lock:
            self._reader.close()


def _close(writer: Writer, presence: Presence) -> None:
    writer.close()
    presence.close()
