"""The one thread that writes a SQLite journal: it commits whatever has gathered, in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from itertools import groupby
from operator import attrgetter
from typing import Any

from counterfoil.journal.group import Job, Worker
from counterfoil.types.error import JournalError

_do_of = attrgetter("do")


class Writer(Worker):
    """Takes jobs from any thread and commits them in groups. Jobs of one group share one fsync at most.

    A group with a durable job commits with `synchronous=FULL`; one without commits with NORMAL: it outlives the
    process, and becomes power-cut-proof with the next durable group, because the log is written in order.
    """

    _db: sqlite3.Connection

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._level = ""
        self.commits = self.syncs = 0
        """How many transactions, and how many of them waited for the disk: what the benchmarks count."""
        super().__init__("counterfoil-journal")

    async def do(self, do: Callable[[sqlite3.Connection], Any], *, durable: bool) -> Any:
        """Queue something and wait until it is committed."""
        return await self.ask(Job(lambda db, _: do(db), durable=durable))

    def open(self) -> None:
        """Connect."""
        self._db = self._connect()

    def shut(self) -> None:
        """Disconnect."""
        self._db.close()

    def carry_out(self, group: list[Job]) -> None:
        """Commit a group; if a job of it refuses, all the others."""
        wanted = "FULL" if any(job.durable for job in group) else "NORMAL"
        if wanted != self._level:
            self._db.execute(f"PRAGMA synchronous={wanted}")
            self._level = wanted
        before = self._db.total_changes
        try:
            self._transact(self._db, group, _together)
        except (JournalError, sqlite3.IntegrityError):
            self._transact(self._db, group, _one_by_one)
        self.commits += 1
        self.syncs += wanted == "FULL" and self._db.total_changes != before

    @staticmethod
    def _transact(
        db: sqlite3.Connection, group: list[Job], carry_out: Callable[[sqlite3.Connection, list[Job]], None]
    ) -> None:
        try:
            db.execute("BEGIN IMMEDIATE")
            carry_out(db, group)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def _together(db: sqlite3.Connection, group: list[Job]) -> None:
    """Do neighbours with the same `do` in one go. If one refuses, all of it is to be undone."""
    for do, neighbours in groupby(group, _do_of):
        jobs = list(neighbours)
        result = do(db, [job.about for job in jobs])
        for job in jobs:
            job.result = result


def _one_by_one(db: sqlite3.Connection, group: list[Job]) -> None:
    """Do job by job; if one refuses (it is fenced, its run exists already), undo it alone."""
    for job in group:
        db.execute("SAVEPOINT job")
        try:
            job.result = job.do(db, [job.about])
        except (JournalError, sqlite3.IntegrityError) as error:
            db.execute("ROLLBACK TO job")
            job.fail(error)
        db.execute("RELEASE job")
