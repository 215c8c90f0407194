"""Two processes' worth of journal on one store, a queue if there is one, and tools that say what they do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from counterfoil import (
    Catalogue,
    Function,
    Harness,
    Journal,
    Limits,
    MemoryJournal,
    Message,
    Model,
    Reply,
    Request,
    Session,
    ToolCall,
    Trust,
    tool,
)
from counterfoil.dispatch import Feed, Scheduler
from counterfoil.dispatch.lookout import is_postgres
from counterfoil.dispatch.queues import queue
from counterfoil.journal.opening import open_journal

QUICK: dict[str, Any] = {"reconcile_seconds": 0.3, "pause_seconds": 0.02, "glance_seconds": 0.02}


def person(name: str) -> Session:
    """Somebody who may do anything."""
    return Session(requester=name, permissions=frozenset({"*"}))


def obey(request: Request) -> Reply | str:
    """Do what the prompt says: words are tools, called together, and a stroke divides turns."""
    prompt = next(message.text for message in request.messages if message.role == "user")
    turns = prompt.split("|")
    at = sum(message.role == "assistant" for message in request.messages)
    if at == len(turns):
        return "done"
    calls = (ToolCall("", name, {"n": 10 * at + n}) for n, name in enumerate(turns[at].split()))
    return Reply(Message("assistant", tuple(calls)), "tool_calls")


class Tools:
    """A write, an irreversible one, and one that waits until it is let go."""

    def __init__(self) -> None:
        self.acted: list[str] = []
        self.holding = 0
        self.let_go = anyio.Event()

        @tool(effect="write", limits=Limits(timeout=20), trust=Trust(returns="system"))
        async def act(n: int) -> str:
            """Act."""
            self.acted.append("act")
            return "acted"

        @tool(effect="irreversible", limits=Limits(timeout=20), trust=Trust(returns="system"))
        async def send(n: int) -> str:
            """Send."""
            self.acted.append("send")
            return "sent"

        @tool(effect="idempotent", limits=Limits(timeout=60), trust=Trust(returns="system"))
        async def hold(n: int) -> str:
            """Hold."""
            self.holding += 1
            await self.let_go.wait()
            return "held"

        self.catalogue = Catalogue([act, send, hold])


class World:
    """A store that a worker and another process share. `kind` is a journal or a queue; `memory` has one process."""

    def __init__(self, kind: str, where: str) -> None:
        self.kind = kind
        self.ours: Journal = MemoryJournal() if kind == "memory" else open_journal(where)
        self.theirs: Journal = self.ours if kind == "memory" else open_journal(where)
        self.where = where
        self.tools = Tools()
        self.scheduler: Scheduler | None = None

    @property
    def feed(self) -> Feed | None:
        """The queue that hands runs over; one whose worker is silent for a second is taken for dead."""
        return feed(self.kind, self.ours)

    async def install(self) -> None:
        """Set the queue up."""
        if self.kind in ("pgqueuer", "procrastinate"):
            assert is_postgres(self.ours)
            await queue(self.kind, self.ours).install()

    def harness(self, model: Model | None = None, **more: Any) -> Harness:
        """A worker's harness."""
        return Harness(model or Function(obey), self.tools.catalogue, journal=self.ours, **more)

    def other(self, **more: Any) -> Harness:
        """Another process's: it submits, answers, settles, and works on nothing. It knows of no queue."""
        return Harness(Function(obey), self.tools.catalogue, journal=self.theirs, wake=self._wake(), **more)

    def _wake(self) -> Callable[[str], Awaitable[None]] | None:
        async def wake(run_id: str) -> None:
            if self.scheduler is not None:
                await self.scheduler.wake(run_id)

        return wake if self.kind == "memory" else None

    @asynccontextmanager
    async def working(self, harness: Harness | None = None, **options: Any) -> AsyncIterator[Scheduler]:
        """A scheduler at work."""
        given = {**QUICK, **options}
        async with Scheduler(harness or self.harness(), feed=self.feed, **given) as scheduler:
            self.scheduler = scheduler
            yield scheduler

    async def until(self, run_id: str, kind: str, seconds: float = 30) -> None:
        """Wait until a run stands like that."""
        await self.when(lambda: self._stands(run_id, kind), seconds)

    async def _stands(self, run_id: str, kind: str) -> bool:
        run = await self.other().read(run_id)
        return run.outcome.kind == kind

    @staticmethod
    async def when(is_so: Callable[[], Awaitable[bool]], seconds: float = 30) -> None:
        """Wait until something is so."""
        with anyio.fail_after(seconds):
            while not await is_so():  # noqa: ASYNC110 another process decides
                await anyio.sleep(0.01)

    async def close(self) -> None:
        """Let go of the store."""
        await self.ours.aclose()
        if self.theirs is not self.ours:
            await self.theirs.aclose()


def feed(kind: str, journal: Journal) -> Feed | None:
    """The queue of that kind, that takes a worker for dead that is silent for a second."""
    if kind in ("pgqueuer", "procrastinate"):
        assert is_postgres(journal)
        found: Any = queue(kind, journal)
        return type(found)(journal, heartbeat=1.0)  # type: ignore[no-any-return]
    return None


def folder(path: Path) -> str:
    """Where a file journal is."""
    return str(path / "runs.db")
