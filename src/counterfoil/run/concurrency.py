"""Bound a call in time, and run several at once: on any event loop, and with next to no overhead on asyncio's.

asyncio is looked up, not imported: where it runs us it is there, and elsewhere its fifty modules are not wanted.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterable
from contextlib import asynccontextmanager
from types import coroutine
from typing import Any, TypeVar, cast

import anyio

T = TypeVar("T")

OnWait = Callable[[], None]
"""Called when a piece of work has to wait for the first time."""

Job = Callable[[OnWait], Coroutine[Any, Any, None]]


@asynccontextmanager
async def closing(events: AsyncIterator[T]) -> AsyncGenerator[AsyncIterator[T], None]:
    """Close a generator with its consumer, not when it is collected: a socket may hang on it."""
    try:
        yield events
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()


class EventLoop:
    """The event loop that runs this code: make one inside it."""

    def __init__(self) -> None:
        asyncio: Any = sys.modules.get("asyncio")
        self._asyncio = asyncio if asyncio is not None and asyncio._get_running_loop() is not None else None

    async def within(self, seconds: float | None, work: Coroutine[Any, Any, T], on_wait: OnWait | None = None) -> T:
        """Await `work`, for so many seconds at most. Raises `TimeoutError`."""
        if self._asyncio is None:
            with anyio.fail_after(seconds):
                return await _noticing(work, on_wait)
        # Work that never waits needs no timer. Only at its first wait is one set, in this same task; unlike an anyio
        # scope, asyncio's timeout does not mind being entered after scopes that the work has opened by then.
        try:
            waiting_for = work.send(None)
        except StopIteration as done:
            result: T = done.value
            return result
        if on_wait is not None:
            on_wait()
        async with self._asyncio.timeout(seconds):
            return await _rest(work, waiting_for)

    def is_stray(self, error: BaseException) -> bool:
        """Whether it says "cancelled", but nobody cancelled us: it was a task of the tool's own that was."""
        if self._asyncio is None or not isinstance(error, self._asyncio.CancelledError):
            return False
        return not self._asyncio.current_task().cancelling()

    async def together(self, jobs: Iterable[Job]) -> None:
        """Run jobs concurrently and wait for all of them. If one raises, the others are cancelled, and that is raised.

        One worker takes job after job; when one has to wait, another worker goes on with the queue. So each job runs
        in one task from its start to its end, and jobs that never wait cost none.
        """
        queue = deque(jobs)
        spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], Any]

        async def work() -> None:
            def hand_over() -> None:
                if queue:
                    spawn(work)

            while queue:
                await queue.popleft()(hand_over)

        try:
            if self._asyncio is None:
                async with anyio.create_task_group() as group:
                    spawn = group.start_soon
                    await work()
            else:
                async with self._asyncio.TaskGroup() as tasks:
                    create = tasks.create_task
                    spawn = lambda worker: create(worker())  # noqa: E731 one name, two loops
                    await work()
        except BaseExceptionGroup as several:
            first: BaseException = several
            while isinstance(first, BaseExceptionGroup):
                first = cast("BaseException", first.exceptions[0])
            raise first from several


async def _noticing(work: Coroutine[Any, Any, T], on_wait: OnWait | None) -> T:
    """Await work, and say when it waits for the first time."""
    try:
        waiting_for = work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    if on_wait is not None:
        on_wait()
    return await _rest(work, waiting_for)


@coroutine
def _rest(work: Coroutine[Any, Any, T], waiting_for: Any) -> Generator[Any, Any, T]:
    """Go on with a coroutine that has been started and waits for something."""
    try:
        while True:
            try:
                sent = yield waiting_for
            except BaseException as error:  # noqa: BLE001 whatever comes is for the work to handle: a cancel above all
                waiting_for = work.throw(error)
            else:
                waiting_for = work.send(sent)
    except StopIteration as done:
        result: T = done.value
        return result
