"""The one thread that writes a SQLite journal: it commits whatever has gathered, in one transaction."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel

from counterfoil.types.error import JournalError


class Job:
    """Something to do inside the next transaction.

    `failed` is told at once, in the writer's thread, when it came to nothing; what it returns is what a waiter gets.
    """

    __slots__ = ("_event", "_soon", "do", "durable", "error", "failed", "result")

    def __init__(
        self,
        do: Callable[[sqlite3.Connection], Any],
        durable: bool,
        failed: Callable[[BaseException], BaseException] | None = None,
    ) -> None:
        self.do = do
        self.durable = durable
        self.failed = failed
        self.error: BaseException | None = None
        self.result: Any = None
        self._event: anyio.Event | None = None
        self._soon: Callable[..., Any] | None = None

    def prepare(self) -> None:
        """Get ready to be waited for, in the event loop that will wait."""
        native: Any = anyio.lowlevel.current_token().native_token
        # asyncio's loop and trio's token each have one thread-safe way in.
        self._soon = getattr(native, "call_soon_threadsafe", None) or native.run_sync_soon
        self._event = anyio.Event()

    async def wait(self) -> Any:
        """Wait until the transaction has been committed. Raises what it came to."""
        assert self._event is not None
        await self._event.wait()
        if self.error is not None:
            raise self.error
        return self.result

    def fail(self, error: BaseException) -> None:
        """Called by the writer's thread when the job, or its whole group, came to nothing."""
        self.error = self.error or (error if self.failed is None else self.failed(error))

    def finish(self, error: BaseException | None) -> None:
        """Called by the writer's thread, once."""
        if error is not None:
            self.fail(error)
        if self._soon is not None and self._event is not None:
            with contextlib.suppress(RuntimeError):  # the loop that waited may have gone
                self._soon(self._event.set)


class Writer:
    """Takes jobs from any thread and commits them in groups. Jobs of one group share one fsync at most.

    A group with a durable job commits with `synchronous=FULL`; one without commits with NORMAL: it outlives the
    process, and becomes power-cut-proof with the next durable group, because the log is written in order.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._jobs: deque[Job] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self.commits = self.syncs = 0
        """How many transactions, and how many of them waited for the disk: what the benchmarks count."""
        self._thread = threading.Thread(target=self._work, name="counterfoil-journal", daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        """Queue a job. Jobs are done in the order in which they were put."""
        with self._wake:
            if self._closing:
                raise JournalError("the journal is closed")
            self._jobs.append(job)
            if len(self._jobs) == 1:
                self._wake.notify()

    async def do(self, do: Callable[[sqlite3.Connection], Any], *, durable: bool) -> Any:
        """Queue something and wait until it is committed."""
        job = Job(do, durable)
        job.prepare()
        self.put(job)
        return await job.wait()

    def close(self) -> None:
        """Commit what is queued and end the thread. Blocks."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()

    def _work(self) -> None:
        try:
            db = self._connect()
        except BaseException as error:  # noqa: BLE001 whoever waits must hear of it, whatever it was
            self._refuse(error)
            return
        level = ""
        while True:
            with self._wake:
                while not self._jobs and not self._closing:
                    self._wake.wait()
                group = list(self._jobs)
                self._jobs.clear()
            if not group:
                break
            wanted = "FULL" if any(job.durable for job in group) else "NORMAL"
            if wanted != level:
                db.execute(f"PRAGMA synchronous={wanted}")
                level = wanted
            self._commit(db, group, wanted == "FULL")
        db.close()

    def _refuse(self, error: BaseException) -> None:
        while True:
            with self._wake:
                while not self._jobs and not self._closing:
                    self._wake.wait()
                group = list(self._jobs)
                self._jobs.clear()
                if not group:
                    return
            for job in group:
                job.finish(error)

    def _commit(self, db: sqlite3.Connection, group: list[Job], durable: bool) -> None:
        failure: BaseException | None = None
        try:
            db.execute("BEGIN IMMEDIATE")
            for job in group:
                self._one(db, job)
            db.execute("COMMIT")
            self.commits += 1
            self.syncs += durable
        except BaseException as error:  # noqa: BLE001 each job of the group failed with it, and each of its waiters must hear so
            failure = error
            if db.in_transaction:
                db.execute("ROLLBACK")
        for job in group:
            job.finish(failure)

    @staticmethod
    def _one(db: sqlite3.Connection, job: Job) -> None:
        """Do one job; if it refuses (it is fenced, its run exists already), undo it alone."""
        db.execute("SAVEPOINT job")
        try:
            job.result = job.do(db)
        except (JournalError, sqlite3.IntegrityError) as error:
            db.execute("ROLLBACK TO job")
            job.fail(error)
        db.execute("RELEASE job")
