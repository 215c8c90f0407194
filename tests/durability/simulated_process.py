"""A process of a simulated world: its harness, its tools and its clock. At every step it waits for its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any

from crash_world import think
from simulated_journal import Dead

from counterfoil import (
    Catalogue,
    ConfirmationError,
    Context,
    CounterfoilError,
    Fenced,
    Function,
    Harness,
    Limits,
    NotApplied,
    Reply,
    Request,
    RunBusy,
    RunNotFound,
    SettlementError,
    tool,
)

if TYPE_CHECKING:
    from simulated_world import World

PROCESS: ContextVar[Process] = ContextVar("process")
"""Whose code it is that runs."""


class Process:
    """A process with a harness and a journal of its own."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.dead = self.stopped = self.given_up = False
        """Given up: it was stopped for so long that others take it for dead."""
        self.off = 0.0
        """By how much its clock is wrong."""
        self.journal = world.given.journal(world.disk, self)
        gate = world.given.gate(provenance="off", confirmations_expire=300)
        self.harness = Harness(Function(_think), CATALOGUE, gate=gate, journal=self.journal, wake=self._wake)
        self.tasks: list[asyncio.Task[None]] = []

    @property
    def runs(self) -> bool:
        """Whether it does anything."""
        return not self.dead and not self.stopped

    async def pause(self) -> None:
        """Take until it is this one's turn."""
        if self.dead:
            raise Dead
        turn = self.world.loop.create_future()
        self.world.waiting.append((self, turn))
        await turn
        if self.dead:
            raise Dead

    def believes_alive(self, owner: str) -> bool:
        """What it takes another one for."""
        other = self.world.by_name.get(owner)
        if other is None or other.dead or other.given_up:
            return False
        return self.world.chance.random() >= self.world.suspicion

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Do something in this process."""
        context = copy_context()
        context.run(PROCESS.set, self)
        self.tasks.append(self.world.loop.create_task(self._guarded(work), context=context))

    async def _guarded(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except (RunBusy, RunNotFound, Fenced, ConfirmationError, SettlementError, Dead):
            pass
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 whatever it is, it is what we look for
            if not (isinstance(error, CounterfoilError) and "there is a run" in str(error)):
                self.world.problem(f"{type(error).__name__}: {error}")

    async def _wake(self, run_id: str) -> None:
        await self.pause()
        self.world.queue.append(run_id)


# -- what the harness serves


async def _think(request: Request) -> Reply | str:
    await PROCESS.get().pause()
    return think(request)


async def _act(name: str, n: int, context: Context) -> str:
    me = PROCESS.get()
    began = me.world.moves
    await me.pause()
    me.world.act(name, n, context, began)
    await me.pause()
    return f"{name} {n}"


def _tools() -> Catalogue:
    limits = Limits(timeout=10)

    @tool(effect="read", limits=limits)
    async def look(n: int) -> str:
        await PROCESS.get().pause()
        return f"look {n}"

    @tool(effect="idempotent", limits=limits)
    async def put(n: int, context: Context) -> str:
        return await _act("put", n, context)

    @tool(effect="write", limits=limits)
    async def act(n: int, context: Context) -> str:
        return await _act("act", n, context)

    async def lookup(key: str) -> str | None:
        await PROCESS.get().pause()
        return "found" if PROCESS.get().world.done[key] else None

    @tool(effect="write", limits=limits, lookup=lookup)
    async def find(n: int, context: Context) -> str:
        await _act("find", n, context)
        return "found"

    @tool(effect="write", limits=limits)
    async def slip(n: int, context: Context) -> str:
        await _act("slip", n, context)
        raise ConnectionResetError

    @tool(effect="write", limits=limits)
    async def deny(n: int) -> str:
        await PROCESS.get().pause()
        raise NotApplied("not today")

    @tool(effect="irreversible", limits=limits)
    async def send(n: int, context: Context) -> str:
        return await _act("send", n, context)

    return Catalogue([look, put, act, find, slip, deny, send])


CATALOGUE = _tools()
