"""One thread that does what has gathered in one go: how a journal commits in groups."""

from __future__ import annotations

import contextlib
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel

from counterfoil.types.error import JournalError

Do = Callable[[Any, Sequence[Any]], Any]
"""Does the work of some jobs on a connection, given what each of them is about. It may be tried again."""

LINGER = 0.005
"""Seconds for which jobs that nobody waits for may gather: the entries of one turn then share a transaction."""


class Job:
    """Something to do inside the next transaction. Neighbours in the queue that share one `do` are done in one go.

    `failed` is told at once, in the worker's thread, when it came to nothing; what it returns is what a waiter gets.
    """

    __slots__ = ("_waits_on", "about", "do", "durable", "error", "failed", "result", "soon", "wake")

    def __init__(
        self,
        do: Do,
        about: Any = None,
        *,
        durable: bool = False,
        failed: Callable[[BaseException], BaseException] | None = None,
    ) -> None:
        self.do = do
        self.about = about
        self.durable = durable
        self.failed = failed
        self.error: BaseException | None = None
        self.result: Any = None
        self.soon: Callable[..., Any] | None = None
        """The thread-safe way into the event loop that waits, if one does."""
        self.wake: Callable[[], None] = _nobody

    def prepare(self) -> None:
        """Get ready to be waited for, in the event loop that will wait."""
        asyncio: Any = sys.modules.get("asyncio")
        loop: Any = asyncio._get_running_loop() if asyncio is not None else None
        if loop is not None:  # a bare future costs a tenth of an anyio event
            future = loop.create_future()
            self._waits_on, self.soon = future, loop.call_soon_threadsafe
            self.wake = lambda: future.done() or future.set_result(None)
        else:
            event = anyio.Event()
            native: Any = anyio.lowlevel.current_token().native_token
            self._waits_on, self.soon, self.wake = event, native.run_sync_soon, event.set

    async def wait(self) -> Any:
        """Wait until the transaction has been committed. Raises what it came to."""
        on = self._waits_on
        await (on.wait() if isinstance(on, anyio.Event) else on)
        if self.error is not None:
            raise self.error
        return self.result

    def fail(self, error: BaseException) -> None:
        """Called by the worker's thread when the job, or its whole group, came to nothing."""
        self.error = self.error or (error if self.failed is None else self.failed(error))


class Worker(ABC):
    """Takes jobs from any thread and does them in groups, in a thread of its own."""

    beat: float | None = None
    """After how many idle seconds to look after the connection, if at all."""

    def __init__(self, name: str) -> None:
        self._jobs: deque[Job] = deque()
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._pressing = False
        """Whether somebody waits for a queued job."""
        self._asleep = False
        """Whether the thread sleeps until it is called; it looks by itself for a while after each job."""
        self._closing = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    @abstractmethod
    def open(self) -> None:
        """Get ready, in the thread. What it raises is what every job comes to."""

    @abstractmethod
    def carry_out(self, group: list[Job]) -> None:
        """Do a group of jobs: set their results, `fail` some; what it raises is what all of them came to."""

    @abstractmethod
    def shut(self) -> None:
        """Let go of the connection, in the thread."""

    def put(self, job: Job) -> None:
        """Queue a job. Jobs are done in the order in which they were put."""
        with self._lock:
            if self._closing:
                raise JournalError("the journal is closed")
            self._jobs.append(job)
            pressing = job.soon is not None
            if (pressing and not self._pressing) or self._asleep:
                self._wake.notify()
            self._pressing |= pressing

    async def ask(self, job: Job) -> Any:
        """Queue a job and wait until it is committed. Raises what it came to."""
        job.prepare()
        self.put(job)
        return await job.wait()

    def close(self) -> None:
        """Do what is queued and end the thread. Blocks."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()

    def _work(self) -> None:
        try:
            self.open()
        except BaseException as error:  # noqa: BLE001 whoever waits must hear of it, whatever it was
            while group := self._gather():
                _finish(group, error)
            return
        while group := self._gather():
            failure: BaseException | None = None
            try:
                self.carry_out(group)
            except BaseException as error:  # noqa: BLE001 each job of the group failed with it, and each of its waiters must hear so
                failure = error
            _finish(group, failure)
        self.shut()

    def _gather(self) -> list[Job]:
        """Sleep until there is something to do; all of it. Nothing: the journal is closed."""
        with self._wake:
            while not self._pressing and not self._closing:
                self._wake.wait(LINGER)
                if self._jobs or self._closing:
                    break
                self._asleep = True
                called = self._wake.wait(self.beat)
                self._asleep = False
                if not called and not self._jobs:
                    self._jobs.append(Job(nothing))
                    break
            group = list(self._jobs)
            self._jobs.clear()
            self._pressing = False
        return group


def nothing(_: Any, abouts: Sequence[Any]) -> list[None]:
    """A `Do` that only wants the connection to be there."""
    return [None] * len(abouts)


def _finish(group: list[Job], failure: BaseException | None) -> None:
    """Say what came of jobs, and wake those who wait: one call into each event loop, not one per job."""
    waking: dict[Callable[..., Any], list[Job]] = {}
    for job in group:
        if failure is not None:
            job.fail(failure)
        if job.soon is not None:
            waking.setdefault(job.soon, []).append(job)
    for soon, jobs in waking.items():
        with contextlib.suppress(RuntimeError):  # the loop that waited may have gone
            soon(_wake_all, jobs)


def _wake_all(jobs: list[Job]) -> None:
    for job in jobs:
        job.wake()


def _nobody() -> None:
    pass
