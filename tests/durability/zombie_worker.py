"""Worlds in which a worker stops without dying, is taken for dead, and goes on when another has its run.

A process without other threads: each worker is a fork of it. Its order: how many zombies, on which server, where they
are to stop, and whether the fence is switched off.
"""

from __future__ import annotations

import logging
import os
import signal
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any

import unfenced
from crash_world import Outside, Prompts, go_on, harness, judge, live, persuade, run_on
from lives import Asked, ask, obey, scratch
from mortal import FATE, make_mortal

from counterfoil import Fenced, JournalError, Run, RunBusy
from counterfoil.journal.portable import Stored
from counterfoil.journal.postgres import PostgresJournal

PROMPTS = ("look act|send act", "act act send|put", "slip act|look put")
BACKENDS = ("asyncio", "trio")
LEASE = 0.4
AT_ONCE = 4


class World:
    """One world, of one run."""

    def __init__(
        self, url: str, folder: Path, run_id: str, prompt: str, where: tuple[str, ...], chance: Random
    ) -> None:
        self.url = url
        self.folder = folder
        self.run_id = run_id
        self.where = where
        self.prompts: Prompts = {run_id: prompt}
        self.backend, self.other = chance.sample(BACKENDS, 2)

    def journal(self) -> Stored:
        return PostgresJournal(self.url, lease=LEASE)

    def outside(self) -> Outside:
        return Outside(self.folder / "effects")

    def zombie(self, at: int) -> str:
        """Work on the run, and stop at that moment. Says how it ended when it was let go on."""

        async def work(journal: Stored) -> str:
            try:
                await live(journal, self.outside(), self.prompts)
            except Fenced:
                return "fenced"
            except RunBusy:
                return "busy"
            except JournalError as error:
                if "connection was lost" not in str(error):
                    raise
                return "cut off"
            return "done"

        FATE.passed, FATE.at, FATE.signal, FATE.only = 0, at, signal.SIGSTOP, self.where
        said: str = run_on(self.backend, self.journal, work)
        return said

    def taker(self) -> list[int]:
        """Take the run over when the time has come and go on as far as one can; how much each owner has written."""

        async def work(journal: Stored) -> list[int]:
            ours = harness(journal, self.outside())
            outside = self.outside()
            run: Run = await persuade(ours, await go_on(ours, self.run_id), outside, patient=False)
            assert run.outcome.kind in ("answered", "in_doubt")
            return await self.written(journal)

        FATE.at = None
        said: list[int] = run_on(self.other, self.journal, work)
        return said

    def last(self, before: list[int]) -> Any:
        """Finish the run; what is wrong."""

        async def work(journal: Stored) -> Any:
            hashes = await live(journal, self.outside(), self.prompts)
            tally = await judge(journal, self.outside(), self.prompts, hashes, [])
            after = await self.written(journal)
            if before and after[0] != before[0]:
                tally.wrong(f"the zombie has written: {after[0]} entries, {before[0]} before")
            late = sum(item.kind == "result" for item in await journal.inbox(self.run_id))
            return tally, tally.said, late

        FATE.at = None
        return run_on(self.other, self.journal, work)

    async def written(self, journal: Stored) -> list[int]:
        """How many entries of each owner there are, the first one's first."""
        counts = Counter(record.epoch for record in await journal.read(self.run_id))
        return [counts[epoch] for epoch in sorted(counts)]

    def play(self, at: int) -> Any:
        """Play it."""
        zombie = Asked(partial(self.zombie, at))
        _, status = os.waitpid(zombie.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):  # its moments were fewer than those of the life they were counted in
            assert status == 0, f"the process at {at} ended with {status}"
            tally, said, late = ask(partial(self.last, []))
            return tally, said, TOO_SOON, late
        try:
            before = ask(self.taker)
        except BaseException:
            os.kill(zombie.pid, signal.SIGKILL)
            raise
        os.kill(zombie.pid, signal.SIGCONT)
        how = zombie.answer()
        tally, said, late = ask(partial(self.last, before))
        return tally, said, how, late


TOO_SOON = "ended too soon"
"""Of a life that was over before its moment: there was no zombie, and another is made."""


def carry_out(order: dict[str, Any]) -> Any:
    """Make zombies as ordered."""
    logging.disable()
    make_mortal()
    if order.get("control"):
        unfenced.unfence_postgres()
    chance = Random(order["zombies"])  # noqa: S311
    total: Counter[str] = Counter()
    said: list[str] = []
    only = tuple(order["where"])
    with scratch() as folder:
        plans = [(prompt, moments(order["url"], folder, prompt, only)) for prompt in PROMPTS]
        left, numbers = order["zombies"], count()
        while left > 0:
            some: list[tuple[str, int, Asked]] = []
            for number in islice(numbers, min(left, AT_ONCE)):
                prompt, places = plans[number % len(plans)]
                at = chance.choice(places)
                where = folder / str(number)
                where.mkdir()
                world = World(order["url"], where, f"z{number}-{order.get('control', '')}", prompt, only, chance)
                some.append((prompt, at, Asked(partial(world.play, at))))
            for prompt, at, asked in some:
                tally, wrong, how, late = asked.answer()
                total.update(tally)
                said += [f"{prompt}, stopped at {at}: {each}" for each in wrong]
                if how != TOO_SOON:
                    left -= 1
                    total.update({"zombies": 1, how: 1, "late": late})
    return {"total": total, "said": said[:5]}


def moments(url: str, folder: Path, prompt: str, only: tuple[str, ...]) -> Sequence[int]:
    """The moments of a life, from when its run is in the journal until it is all but done; of some kinds, or of all."""

    def life() -> list[str]:
        FATE.passed, FATE.at, FATE.seen = 0, None, []
        outside = Outside(folder / "dry")
        run_on(
            "asyncio", lambda: PostgresJournal(url), lambda journal: live(journal, outside, {f"dry {prompt}": prompt})
        )
        return FATE.seen

    seen: list[str] = ask(life)
    counted = [at for at, where in enumerate(seen) if not only or where.startswith(only)]
    first, last = seen.index("after PostgresJournal.create"), len(seen) - 20
    return [number for number, at in enumerate(counted, 1) if first <= at < last]


if __name__ == "__main__":
    obey(carry_out)
