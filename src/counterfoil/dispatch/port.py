"""The ports: how a run is woken, and how an engine that knows of ready runs hands them to this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

Work = Callable[[str, str], Awaitable[float | None]]
"""Goes on with a run, given its id and its requester. `None`: it was seen to; else: offer it again in so many seconds,
here or elsewhere."""


class Dispatcher(Protocol):
    """Has somebody go on with runs. The journal says which are ready, so a wake may be lost, and may come twice."""

    async def wake(self, run_id: str) -> None:
        """Have somebody go on with a run soon."""
        ...


class Feed(Protocol):
    """A queue shared by processes. It decides who is dead; the journal's epoch makes a wrong decision harmless."""

    async def feed(self, work: Work, concurrency: int, stopping: anyio.Event) -> None:
        """Hand over runs as they are queued, so many at a time, until `stopping`; raises when the queue is away."""
        ...
