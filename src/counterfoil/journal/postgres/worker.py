"""The threads that talk to a Postgres server for a journal: one writes in groups, one reads."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from typing import Any

from psycopg import errors, pq

from counterfoil.journal.group import Do, Job, Worker, nothing
from counterfoil.journal.postgres.server import Connection, DatabaseError, Server, durable_level, usable
from counterfoil.journal.postgres.statements import Sending, append, claim, create, post, release
from counterfoil.types.error import JournalError

_do_of = attrgetter("do")
_BEAT = """
INSERT INTO counterfoil.owner (lock, seen) VALUES (%s, clock_timestamp())
ON CONFLICT (lock) DO UPDATE SET seen = clock_timestamp()
RETURNING set_config('synchronous_commit', 'off', true)"""
_ORDER: dict[Do, int] = {create: 0, append: 1, release: 2, claim: 3, post: 4}
"""The order within a group. Whoever waits for one of them has not put the next of the same run, so none overtakes its
own; and neighbours share a statement."""
_AGAIN = (errors.DeadlockDetected, errors.SerializationFailure, errors.IntegrityError, errors.DataError)
"""What one job of a group may cause and the others need not suffer."""


class _Line(Worker):
    """A thread with a connection that is made anew when the server has hung up."""

    def __init__(self, name: str, server: Server, connection: Connection) -> None:
        self.server = server
        self._db: Connection | None = connection
        super().__init__(name)

    def open(self) -> None:
        """Nothing to do: the connection was made where its errors are seen."""

    def shut(self) -> None:
        """Disconnect."""
        self._hang_up()

    def greet(self, db: Connection) -> None:
        """Say what is to be said first on a new connection."""

    def connection(self) -> Connection:
        """A connection that stands, as far as one can tell without asking. Raises `JournalError`."""
        if self._db is None or not usable(self._db):
            self._hang_up()
            db = self.server.connect(again=True)
            try:
                self.greet(db)
            except BaseException as error:
                db.close()
                raise self.server.explained(error) from error
            self._db = db
        return self._db

    def _hang_up(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with suppress(DatabaseError):
                db.close()


class Reader(_Line):
    """Reads. What it is asked at once it answers one after the other; a lost connection is tried once more."""

    async def read(self, do: Callable[[Connection], Any]) -> Any:
        """Do something on the connection, in the thread. Raises `JournalError`."""
        return await self.ask(Job(lambda db, _: do(db)))

    def carry_out(self, group: list[Job]) -> None:
        """Read for each job; neighbours that share a `do` are read for in one go."""
        for do, neighbours in groupby(group, _do_of):
            jobs = list(neighbours)
            try:
                result = self._read(do, [job.about for job in jobs])
            except Exception as error:  # noqa: BLE001 whoever waits must hear of it, whatever it was
                for job in jobs:
                    job.fail(self.server.explained(error))
            else:
                for job in jobs:
                    job.result = result

    def _read(self, do: Do, abouts: Sequence[Any]) -> Any:
        try:
            return do(self.connection(), abouts)
        except DatabaseError:
            if self._db is not None and not self._db.broken:
                raise
        return do(self.connection(), abouts)


class Writer(_Line):
    """Commits what has gathered. Its connection holds this process's lock: while it stands, the process is alive.

    A transaction with a durable job commits with `synchronous_commit=on`, one without with `off`: it outlives this
    process, and a crash of the server too once a later durable one is acknowledged. A connection lost in the middle
    fails the jobs of that moment; whether the server kept them only it knows.
    """

    def __init__(self, server: Server, connection: Connection, *, lease: float) -> None:
        self.beat = self._often = min(2.0, lease / 5)
        self._seen = -self._often
        self._lease = lease
        self.key = secrets.randbits(63)
        host = socket.gethostname().replace(":", "-")
        self.owner = f"{host}:{os.getpid()}:{self.key}"
        self.commits = self.syncs = 0
        """How many transactions, and how many of them waited for the server's disk."""
        self.level = "on"
        """What `synchronous_commit` a durable transaction asks for."""
        self.greet(connection)
        super().__init__("counterfoil-journal", server, connection)

    def greet(self, db: Connection) -> None:
        """Take this process's lock. One that an earlier connection still holds is taken away: it is dead to us."""
        self.level = durable_level(db)
        # One that stops in the middle of a transaction must not keep its runs locked for longer than it may be silent.
        with suppress(DatabaseError):  # since Postgres 17
            db.execute(b"SET transaction_timeout TO %d" % max(1, self._lease * 1000))
        # Nobody else ever holds this key but for a look (shared), so whoever has it exclusively is our own past.
        db.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' AND granted "
            "AND classid::bigint = %s AND objid::bigint = %s AND objsubid = 1 AND mode = 'ExclusiveLock' "
            "AND pid <> pg_backend_pid() "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            (self.key >> 32, self.key & 0xFFFFFFFF),
        )
        db.execute("SELECT pg_advisory_lock(%s)", (self.key,))
        with suppress(DatabaseError):  # it may have no right to; then they stay, a few bytes each
            db.execute("DELETE FROM counterfoil.owner WHERE seen < clock_timestamp() - interval '1 day'")
        self._be_seen(db)

    def _be_seen(self, db: Connection) -> None:
        """Say that this process lives: a lock alone outlasts one that has stopped without dying."""
        if time.monotonic() - self._seen >= 0.9 * self._often:
            with suppress(DatabaseError):  # whoever has something to do on that connection will say it better
                db.execute(_BEAT, (self.key,), prepare=True)
                self._seen = time.monotonic()

    def carry_out(self, group: list[Job]) -> None:
        """Commit a group: its runs' entries first, then what takes runs over, then what came from outside.

        They are transactions of their own, so that no two writers wait for each other in a circle.
        """
        self._be_seen(self.connection())
        if group[0].do is nothing:
            return
        group.sort(key=lambda job: _ORDER.get(job.do, 5))
        for _, jobs in groupby(group, lambda job: max(2, _ORDER.get(job.do, 5))):
            self._settle(list(jobs))

    def _settle(self, jobs: list[Job]) -> None:
        try:
            try:
                self._transact(jobs)
            except (*_AGAIN, UnicodeError):
                if len(jobs) == 1:
                    raise
                for job in jobs:
                    self._settle([job])
        except Exception as error:  # noqa: BLE001 whoever waits must hear of it, whatever it was
            failure = self.server.explained(error)
            for job in jobs:
                job.fail(failure)

    def _transact(self, jobs: list[Job]) -> None:
        durable = any(job.durable for job in jobs)
        to = Sending(self.connection(), self.level if durable else "off")
        parts = [(do, list(each)) for do, each in groupby(jobs, _do_of)]
        try:
            if len(parts) == 1 and jobs[0].do is append and not any(job.about.blobs for job in jobs):
                collected = [append(to, [job.about for job in jobs])()]  # one statement is a transaction by itself
            else:
                with to.db.pipeline():
                    to.db.execute("BEGIN")
                    to.db.execute("SELECT set_config('synchronous_commit', %s, true)", (to.level,))
                    collects = [do(to, [job.about for job in each]) for do, each in parts]
                    to.db.execute("COMMIT")
                collected = [collect() for collect in collects]
        except BaseException:
            self._roll_back(to.db)
            raise
        written = False
        for (_, each), outcomes in zip(parts, collected, strict=True):
            for job, outcome in zip(each, outcomes, strict=True):
                if isinstance(outcome, JournalError):
                    job.fail(outcome)
                else:
                    job.result = outcome
                    written = True
        self.commits += 1
        self.syncs += durable and written

    def _roll_back(self, db: Connection) -> None:
        if not db.broken and db.info.transaction_status == pq.TransactionStatus.IDLE:
            return
        try:
            db.execute("ROLLBACK")
        except DatabaseError:
            self._hang_up()
