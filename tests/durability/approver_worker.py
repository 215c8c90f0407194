"""Two processes that answer the same confirmations at the same instant, and at the next go on with the same runs.

A process without other threads: both are forks of it. Its order: how often, on which journal, and which rule is off.
"""

from __future__ import annotations

import logging
import mmap
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import unfenced
from crash_world import Outside, harness, run_on
from durable_world import ADA
from lives import Asked, ask, obey, scratch

from counterfoil import ConfirmationError, CounterfoilError, SqliteJournal
from counterfoil.journal.journal import Item
from counterfoil.journal.portable import Stored
from counterfoil.journal.postgres import PostgresJournal
from counterfoil.types.entry import Answered


class Barrier:
    """Two processes meet here, and go on at once: within so little time that each is first now and then."""

    def __init__(self) -> None:
        self._chance = Random(1)  # noqa: S311
        self._steps = memoryview(mmap.mmap(-1, 16)).cast("q")

    def meet(self, me: int, step: int) -> None:
        """Wait until the other has come as far."""
        self._steps[me] = step
        until = time.monotonic() + 60
        while self._steps[1 - me] < step:
            os.sched_yield()
            assert time.monotonic() < until, "the other one is gone"
        # Of two event loops one is quicker. In turn each is late by less than an answer takes.
        until = time.monotonic() + self._chance.random() * 0.0005 * (step // 2 % 2 == me)
        while time.monotonic() < until:
            pass


class Place(NamedTuple):
    """Where the runs are."""

    url: str
    folder: Path

    def journal(self) -> Stored:
        return PostgresJournal(self.url) if self.url else SqliteJournal(self.folder / "runs.db")

    def outside(self) -> Outside:
        return Outside(self.folder / "effects")


def prepare(place: Place, often: int) -> list[tuple[str, str]]:
    """Begin runs that wait; each with its confirmation."""

    async def work(journal: Stored) -> list[tuple[str, str]]:
        ours = harness(journal, place.outside())
        found: list[tuple[str, str]] = []
        for number in range(often):
            run = await ours.run("send", ADA, run_id=f"r{number}")
            found += [(run.id, each.id) for each in run.confirmations]
        return found

    found: list[tuple[str, str]] = run_on("asyncio", place.journal, work)
    return found


def race(place: Place, me: int, barrier: Barrier, waiting: list[tuple[str, str]]) -> list[str]:
    """Answer each when the other does, then go on with its run; which answers were taken."""

    async def work(journal: Stored) -> list[str]:
        ours = harness(journal, place.outside())
        taken: list[str] = []
        for step, (run_id, confirmation_id) in enumerate(waiting, 1):
            barrier.meet(me, 2 * step)
            with suppress(ConfirmationError):  # the other one was first
                await ours.answer(confirmation_id, approve=True, by=("bob", "bea")[me])
                taken.append(confirmation_id)
            barrier.meet(me, 2 * step + 1)
            with suppress(CounterfoilError):  # the other one has it
                await ours.resume(run_id)
        return taken

    said: list[str] = run_on(("asyncio", "trio")[me], place.journal, work)
    return said


def look(place: Place, waiting: list[tuple[str, str]]) -> dict[str, int]:
    """Finish what is unfinished and count."""

    async def work(journal: Stored) -> dict[str, int]:
        ours = harness(journal, place.outside())
        answered = unfinished = 0
        for run_id, _ in waiting:
            run = await ours.resume(run_id)
            answered += sum(isinstance(entry, Answered) for entry in run.entries)
            unfinished += run.outcome.kind != "answered"
        done = place.outside().done()
        repeated = sum(times > 1 for times in done.values())
        faults = len(await journal.verify())
        return {
            "answers": answered,
            "unfinished": unfinished,
            "effects": len(done),
            "repeated": repeated,
            "faults": faults,
        }

    found: dict[str, int] = run_on("asyncio", place.journal, work)
    return found


def everybody_is_told_yes() -> None:
    """The rule that an answer can be given once is off."""
    for journal in (SqliteJournal, PostgresJournal):
        original: Any = journal.post

        async def post(
            self: Any, run_id: str, kind: str, ref: str, by: str, data: Mapping[str, Any], *, original: Any = original
        ) -> Item | None:
            await original(self, run_id, kind, ref, by, data)
            return None

        journal.post = post  # type: ignore[method-assign]


def carry_out(order: dict[str, Any]) -> dict[str, int]:
    """Race as ordered."""
    logging.disable()
    if order.get("control") == "told":
        everybody_is_told_yes()
    elif order.get("control") == "unfenced":
        unfenced.unfence_sqlite()
    with scratch() as folder:
        place = Place(order.get("url", ""), folder)
        waiting = [(run, id) for run, id in ask(partial(prepare, place, order["times"]))]
        barrier = Barrier()
        racers = [Asked(partial(race, place, me, barrier, waiting)) for me in (0, 1)]
        taken = [racer.answer() for racer in racers]
        found: dict[str, int] = {} if order.get("control") == "unfenced" else ask(partial(look, place, waiting))
        done = place.outside().done()
        found |= {
            "confirmations": len(waiting),
            "first": len(taken[0]),
            "second": len(taken[1]),
            "both": len(set(taken[0]) & set(taken[1])),
            "repeated": sum(times > 1 for times in done.values()),
        }
        return found


if __name__ == "__main__":
    obey(carry_out)
