"""Goes on with ready runs: fairly, so many at a time, in this process."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Literal

import anyio
import anyio.abc
import msgspec

from counterfoil.dispatch.again import Later, Pauses, failures, pause
from counterfoil.dispatch.fair import FairQueue
from counterfoil.dispatch.lookout import Found, lookout
from counterfoil.dispatch.port import Feed
from counterfoil.run.harness import Harness
from counterfoil.run.run import Run
from counterfoil.types.error import CounterfoilError, Fenced, JournalError, RunBusy, RunNotFound

log = logging.getLogger("counterfoil.dispatch")

_GLANCE_SHARE, _LOOK_SHARE = 20, 100
"""A glance takes a twentieth of the time at most, a look a hundredth: the larger the journal, the rarer."""
_SOON = 2.0
"""Seconds between two looks at the least."""
_BUSY = 2.0
"""Seconds until a job is offered again whose run somebody else works on, or has died over."""
_TIDY = 5.0
"""Seconds for the queue to be told what became of its jobs, at the end."""


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """A run was begun, was left as `outcome` says, or could not be worked on (`error`).

    One that another process was faster to take is left as `busy`.
    """

    what: Literal["began", "left", "error"]
    run_id: str
    requester: str
    outcome: str = ""
    detail: str = ""
    seconds: float = 0.0


class _Waiter:
    """A job of a queue's, until its run has been worked on."""

    def __init__(self) -> None:
        self.told = anyio.Event()
        self.again: float | None = None


class Scheduler:
    """Goes on with the runs of a harness's journal that are ready, whoever made them so.

    `async with Scheduler(harness):` works in the background until the block ends; `await scheduler.run()` until
    `drain`. It is made for one of them, once. At most `concurrency` runs at once, at most `per_requester` of one
    person's, the requesters in turn. Runs of other processes are found within `glance_seconds`; those whose process
    died, or that waited until they were due, within `reconcile_seconds`. A run whose model fails is tried again, up to
    `attempts` times in a row, after pauses that begin with `pause_seconds` and double. With `feed`, a queue hands over
    what is ready, and only what it has lost is looked for. What one run raises stops no other.
    """

    def __init__(
        self,
        harness: Harness,
        *,
        concurrency: int = 10,
        per_requester: int = 2,
        attempts: int = 5,
        pause_seconds: float = 2.0,
        glance_seconds: float = 0.15,
        reconcile_seconds: float = 30.0,
        grace: float = 30.0,
        feed: Feed | None = None,
        watch: Callable[[Happening], None] | None = None,
    ) -> None:
        if concurrency < 1 or per_requester < 1:
            raise CounterfoilError("a scheduler needs room for one run at least: concurrency and per_requester from 1")
        self.harness = harness
        self.attempts = attempts
        self.pause_seconds = pause_seconds
        self.glance_seconds = glance_seconds
        self.reconcile_seconds = reconcile_seconds
        self.grace = grace
        self.feed = feed
        self.watch = watch
        self.fair = FairQueue(concurrency, per_requester)
        self._pauses = Pauses()
        self._tried: dict[str, int] = {}
        """How often going on with a run has raised, in this process."""
        self._expected: dict[str, int] = {}
        """Runs to be tried again, and how often their model had failed when that was decided."""
        self._weighed: dict[str, int] = {}
        """Failed runs and the epoch in which it was seen whether they are tried again."""
        self._waiters: dict[str, list[_Waiter]] = {}
        self._nudged = anyio.Event()
        self._asked = False
        self._stopping = anyio.Event()
        self._idle = anyio.Event()
        self._group: anyio.abc.TaskGroup | None = None
        self._work: anyio.abc.TaskGroup | None = None
        self._fed = anyio.CancelScope(shield=True)

    # -- from outside

    async def wake(self, run_id: str) -> None:
        """Look at once for what is ready: that run, or whatever else is."""
        self._asked = True
        self._nudged.set()

    async def offer(self, run_id: str, requester: str) -> float | None:
        """Go on with a run that a queue has handed over, and wait for it. `None`: it was seen to.

        Otherwise it is to be offered again in so many seconds: this process shuts down, the run has just failed, or
        another process works on it and may be dead. Where its requester has as many as one may, it is kept for later
        and not waited for: others' come first.
        """
        if self._stopping.is_set():
            return 0.0
        if (until := self._pauses.until(run_id)) is not None:
            return max(0.0, until - time.monotonic())
        waits = run_id in self.fair.running or self.fair.has_room(requester)
        self.fair.put(run_id, requester)
        if not waits:
            return None
        waiter = _Waiter()
        self._waiters.setdefault(run_id, []).append(waiter)
        self._start()
        await waiter.told.wait()
        return waiter.again

    async def __aenter__(self) -> Scheduler:
        self._group = await anyio.create_task_group().__aenter__()
        self._group.start_soon(self.run)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._group is not None
        self.drain()
        return await self._group.__aexit__(kind, error, trace)

    @property
    def draining(self) -> bool:
        """Whether it was told to stop."""
        return self._stopping.is_set()

    def drain(self) -> None:
        """Take nothing new, stop each run after its present step, and let `run` return; after `grace`, cancel them."""
        self.harness.draining = True
        self._stopping.set()
        self._nudged.set()

    async def run(self) -> None:
        """Work until `drain`."""
        harness = self.harness
        ours = harness.wake is None and self.feed is None
        if ours:
            harness.wake = self.wake
        self._lookout = lookout(harness.journal)
        try:
            async with anyio.create_task_group() as around:
                if self.feed is not None:
                    around.start_soon(self._be_fed, self.feed)
                try:
                    async with anyio.create_task_group() as self._work:
                        await self._go_round()
                        await self._wind_up(self._work)
                finally:
                    self._stopping.set()
                    self._hand_back(set(self._waiters))
                    self._fed.deadline = anyio.current_time() + _TIDY
        finally:
            self._lookout.close()
            harness.draining = False
            if ours:
                harness.wake = None

    async def _wind_up(self, work: anyio.abc.TaskGroup) -> None:
        self.fair.drop()
        self._hand_back(set(self._waiters).difference(self.fair.running))
        with anyio.move_on_after(self.grace) as grace:
            while self.fair.running:
                await self._idle.wait()
        if grace.cancelled_caught:
            log.warning("%d runs did not come to rest in time and are cancelled", len(self.fair.running))
            work.cancel_scope.cancel()

    # -- finding what is ready

    async def _go_round(self) -> None:
        glance = look = 0.0
        while not self._stopping.is_set():
            now = time.monotonic()
            self._nudged = anyio.Event()
            asked, self._asked = self._asked, False
            if now >= look:
                took = await self._find(self._look)
                often = self.reconcile_seconds
                look = now + (often if self.feed is not None else min(often, max(_SOON, _LOOK_SHARE * took)))
            elif asked or now >= glance:
                took = await self._find(self._lookout.glance)
                glance = now + max(self.glance_seconds, _GLANCE_SHARE * took)
            if self.feed is not None:
                glance = look
            for each in self._pauses.over(time.monotonic()):
                if each.failed is not None:
                    self._expected[each.run_id] = each.failed
                self.fair.put(each.run_id, each.requester)
            self._start()
            until = min(glance, look, self._pauses.next() or look)
            with anyio.move_on_after(max(0.0, until - time.monotonic())):
                await self._nudged.wait()

    async def _find(self, how: Callable[[], Awaitable[Found]]) -> float:
        """Queue what is found; how long that took. A journal that is away is asked again."""
        began = time.monotonic()
        try:
            found = await how()
        except CounterfoilError as error:
            log.warning("the journal cannot be asked what is ready: %s", error)
            with anyio.move_on_after(1.0):
                await self._stopping.wait()
            return 0.0
        for run_id, requester in found:
            if run_id not in self._pauses:
                self.fair.put(run_id, requester)
        return time.monotonic() - began

    async def _look(self) -> Found:
        """Find the ready, the dead owners' and the due; and those whose model failed under another process."""
        found = await self._lookout.look()
        failed = await self._lookout.of("failed")
        known, self._weighed = self._weighed, {info.id: info.epoch for info in failed}
        for info in failed:
            if known.get(info.id) != info.epoch and info.id not in self.fair.running:
                with contextlib.suppress(JournalError):  # it cannot be read: whoever asks for it will hear why
                    count = failures(record.entry for record in await self.harness.journal.read(info.id))
                    self._try_again(info.id, info.requester, count, time.time() - info.updated)
        return found

    async def _be_fed(self, feed: Feed) -> None:
        """Take from the queue; when it is away, until it is back. It ends by itself, and tidily, once all are told."""
        with self._fed:
            while not self._stopping.is_set():
                try:
                    await feed.feed(self.offer, self.fair.concurrency, self._stopping)
                except Exception as error:  # whatever the queue raised: what is ready is found without it too
                    log.warning("the queue is away (%s): it is tried again", type(error).__name__)
                    log.debug("the queue", exc_info=error)
                    with anyio.move_on_after(1.0):
                        await self._stopping.wait()

    # -- going on with them

    def _start(self) -> None:
        while self._work is not None and not self._stopping.is_set() and (taken := self.fair.take()) is not None:
            self._work.start_soon(self._go_on, *taken)

    async def _go_on(self, run_id: str, requester: str) -> None:
        again = None
        began = time.monotonic()
        try:
            if await self._worthwhile(run_id):
                self._tell(Happening(what="began", run_id=run_id, requester=requester))
                run = await self.harness.resume(run_id)
                self._left(run, requester, time.monotonic() - began)
        except (RunBusy, RunNotFound, Fenced) as error:
            # Somebody else works on it, and will see what has come. (Fenced: wrongly taken for dead, and no harm done.)
            again = _BUSY if isinstance(error, RunBusy) else None
            took = time.monotonic() - began
            self._tell(Happening(what="left", run_id=run_id, requester=requester, outcome="busy", seconds=took))
        except anyio.get_cancelled_exc_class():
            self._stopping.set()  # what is cancelled is this process's work as a whole: nothing more is begun
            raise
        except Exception as error:  # noqa: BLE001 whatever one run raises, the others go on
            self._failed(run_id, requester, error)
        finally:
            self._done(run_id, again)

    async def _worthwhile(self, run_id: str) -> bool:
        failed = self._expected.pop(run_id, None)
        if failed is None:
            return await self._lookout.worthwhile(run_id)
        # Another process may have tried it in the meantime.
        records = await self.harness.journal.read(run_id)
        return failures(record.entry for record in records) == failed or await self._lookout.worthwhile(run_id)

    def _left(self, run: Run, requester: str, seconds: float) -> None:
        self._tried.pop(run.id, None)
        kind = run.outcome.kind
        if kind == "failed":
            self._try_again(run.id, requester, failures(run.state.entries), 0.0)
        what = run.outcome.which if run.outcome.which == "interrupted" else kind
        self._tell(Happening(what="left", run_id=run.id, requester=requester, outcome=what, seconds=seconds))

    def _try_again(self, run_id: str, requester: str, failed: int, since: float) -> None:
        if 0 < failed < self.attempts:
            wait = pause(failed, self.pause_seconds) - max(0.0, since)
            self._pauses.add(Later(time.monotonic() + max(0.0, wait), run_id, requester, failed))
            self._nudged.set()

    def _failed(self, run_id: str, requester: str, error: Exception) -> None:
        count = self._tried[run_id] = self._tried.get(run_id, 0) + 1
        self._pauses.add(Later(time.monotonic() + pause(count, self.pause_seconds), run_id, requester, None))
        # What an error says may be what the run is about, unless it is ours.
        said = f"{type(error).__name__}{f': {error}' if isinstance(error, CounterfoilError) else ''}"
        log.error("run %s cannot go on: %s", run_id, said)
        log.debug("run %s", run_id, exc_info=error)
        self._tell(Happening(what="error", run_id=run_id, requester=requester, detail=said))

    def _done(self, run_id: str, again: float | None) -> None:
        self.fair.done(run_id, paused=run_id in self._pauses)
        self._tell_waiters(run_id, again)
        if not self.fair.running:
            self._idle.set()
            self._idle = anyio.Event()
        self._start()

    def _hand_back(self, run_ids: set[str]) -> None:
        for run_id in run_ids:
            self._tell_waiters(run_id, 0.0)

    def _tell_waiters(self, run_id: str, again: float | None) -> None:
        for each in self._waiters.pop(run_id, ()):
            each.again = again
            each.told.set()

    def _tell(self, happening: Happening) -> None:
        if self.watch is not None:
            self.watch(happening)
