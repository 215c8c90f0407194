"""A process whose clock is wrong. It does what it is told, a line of JSON at a time, and says what came of it."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup
from durable_world import ADA, model

from counterfoil import Catalogue, Context, CounterfoilError, Function, Gate, Harness, Limits, Run, SqliteJournal, tool
from counterfoil.journal.liveness import Presence
from counterfoil.journal.opening import open_journal
from counterfoil.journal.portable import Stored

DEADLINE = 5.0
"""Seconds that `act` may take."""


class Clock:
    """`time.time`, and how far it is off."""

    def __init__(self) -> None:
        self._time = time.time
        self.off = 0.0

    def __call__(self) -> float:
        return self._time() + self.off


class _Guess(Presence):
    """Believes dead who has not written for 30 seconds, as this process counts them."""

    def __init__(self, folder: Path, updated: Callable[[str], float]) -> None:
        super().__init__(folder)
        self._updated = updated

    def alive(self, owner: str) -> bool:
        return owner == self.owner or time.time() - self._updated(owner) < 30


class ByClock(SqliteJournal):
    """A journal that tells the living from the dead by the clock."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._presence = _Guess(Path(f"{path}.owners"), self._updated)

    def _updated(self, owner: str) -> float:
        return float(self._query("SELECT max(updated) FROM session WHERE owner = ?", (owner,))[0][0])


class Worker:
    """Carries out orders on a journal."""

    def __init__(self, journal: Stored, effects: Path, expire: float, clock: Clock, group: TaskGroup) -> None:
        self.journal = journal
        self._effects = effects
        self._clock = clock
        self._group = group
        self._holding = anyio.Event()
        gate = Gate(provenance="off", confirmations_expire=expire)
        self.harness = Harness(Function(model), Catalogue(self._tools()), gate=gate, journal=journal)

    def _tools(self) -> list[Any]:
        @tool(effect="write", limits=Limits(timeout=DEADLINE))
        async def act(n: int, context: Context) -> str:
            """Act."""
            with self._effects.open("a") as file:
                file.write(f"{context.idempotency_key}\n")
            return "acted"

        @tool(effect="irreversible")
        async def send(n: int, context: Context) -> str:
            """Send."""
            return str(await act.invoke({"n": n}, context))

        @tool(effect="write", limits=Limits(timeout=3_600))
        async def hold(n: int) -> str:
            """Hold the run."""
            self._holding.set()
            await anyio.sleep(3_600)
            return "never"

        return [act, send, hold]

    async def off(self, seconds: float) -> None:
        """Set the clock."""
        self._clock.off = seconds

    async def run(self, run_id: str, prompt: str) -> Any:
        """Run a prompt."""
        return _how(await self.harness.run(prompt, ADA, run_id=run_id))

    async def hold(self, run_id: str) -> None:
        """Begin a run that does not end."""
        self._holding = anyio.Event()
        self._group.start_soon(self.run, run_id, "hold")
        with anyio.fail_after(60):
            await self._holding.wait()

    async def resume(self, run_id: str) -> Any:
        """Go on with a run."""
        return _how(await self.harness.resume(run_id))

    async def answer(self, run_id: str) -> int:
        """Approve what waits; how much that was."""
        waiting = await self.harness.confirmations(run_id)
        for each in waiting:
            await self.harness.answer(each.id, approve=True, by="bob")
        return len(waiting)

    async def settle(self, run_id: str, how: Any) -> None:
        """Settle a run's first call."""
        await self.harness.settle(run_id, "1.1", how, by="carol", result="it did" if how == "happened" else None)

    async def statuses(self) -> dict[str, str]:
        """Where runs stand."""
        return {info.id: info.status for info in await self.journal.runs()}

    async def entries(self, run_id: str) -> Any:
        """A run's entries, without what says when."""
        return [
            (record.seq, record.epoch, type(record.entry).__name__, getattr(record.entry, "by", ""))
            for record in await self.journal.read(run_id)
        ]

    async def prompts(self, run_id: str) -> list[str]:
        """What a run's requester has said."""
        return [message.text for message in (await self.harness.read(run_id)).messages if message.role == "user"]

    async def verify(self) -> list[str]:
        """What is wrong."""
        return await self.journal.verify()


def _how(run: Run) -> Any:
    results = [(id, result.code, result.text) for id, result in run.results.items()]
    return [run.outcome.kind, run.text, results]


async def main(spec: str, effects: str, off: str, expire: str) -> None:
    """Obey until there is nothing more to do."""
    clock = Clock()
    clock.off = float(off)
    time.time = clock
    journal = ByClock(spec.removeprefix("by clock:")) if spec.startswith("by clock:") else open_journal(spec)
    async with anyio.create_task_group() as group:
        worker = Worker(journal, Path(effects), float(expire), clock, group)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            what, *arguments = msgspec.json.decode(line)
            try:
                said = await getattr(worker, what)(*arguments)
            except CounterfoilError as error:
                said = f"{type(error).__name__}: {error}"
            sys.stdout.write(msgspec.json.encode(said).decode() + "\n")
            sys.stdout.flush()
        group.cancel_scope.cancel()
    await journal.aclose()


if __name__ == "__main__":
    anyio.run(functools.partial(main, *sys.argv[2:]), backend=sys.argv[1])
