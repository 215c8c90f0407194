"""Worlds in which processes are killed, one life after the other, until one is left in peace and finishes everything.

A process without other threads: each life is a fork of it. Its order: how many kills, of which share of the
moments, on which journal, and which rule is switched off.
"""

from __future__ import annotations

import functools
import logging
import os
from collections import Counter
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import crash_controls
from crash_world import Outside, Prompts, at_time, judge, live, run_on
from lives import ask, end, fork, obey, scratch
from mortal import FATE, make_mortal

from counterfoil import SqliteJournal
from counterfoil.journal.portable import Stored
from counterfoil.journal.postgres import PostgresJournal

SCRIPTS: list[Prompts] = [
    {"a": "look put act|send deny"},
    {"a": "submit:find slip", "b": "call:act"},
    {"a": "send act send"},
    {"a": "act act|find find", "b": "call:send"},
]
BACKENDS = ("asyncio", "trio")


class Place(NamedTuple):
    """Where a world is kept."""

    url: str
    """Of a Postgres server; empty: a file of its own for each world."""
    folder: Path

    def journal(self) -> Stored:
        """Open the world's journal."""
        return PostgresJournal(self.url) if self.url else SqliteJournal(self.folder / "runs.db")

    def outside(self) -> Outside:
        """What has happened in it."""
        return Outside(self.folder / "effects")


def lived(place: Place, number: int, backend: str, prompts: Prompts, at: int, died: Path) -> bool:
    """Live for the so-manieth time, until moment `at`; whether it was reached."""

    def life() -> None:
        at_time(number)
        FATE.last_words = os.open(died, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
        FATE.passed, FATE.at = 0, at
        run_on(backend, place.journal, lambda journal: live(journal, place.outside(), prompts))

    code = end(fork(life))
    if code not in (0, -9):
        raise AssertionError(f"a life ended with {code}, which was not our doing")
    return code != 0


def finished(place: Place, number: int, backend: str, prompts: Prompts, uncut: list[str]) -> Any:
    """Live in peace and look what has become of the world; and how many moments that took."""

    async def rest(journal: Stored) -> Any:
        hashes = await live(journal, place.outside(), prompts)
        passed = FATE.passed
        tally = await judge(journal, place.outside(), prompts, hashes, uncut)
        return tally, tally.said, hashes, passed

    def life() -> Any:
        at_time(number)
        FATE.passed, FATE.at = 0, None
        return run_on(backend, place.journal, rest)

    tally, said, hashes, passed = ask(life)
    return tally, said, (hashes, passed)


class Survey:
    """Kills so often, and adds up what came of it."""

    def __init__(self, order: dict[str, Any], folder: Path) -> None:
        self.kills, self.url, self.folder = order["kills"], order.get("url", ""), folder
        self.shard, self.shards, self.sweep = order["shard"], order["shards"], order["sweep"]
        self.total: Counter[str] = Counter()
        self.said: list[str] = []
        self.died = folder / "died"
        self.worlds = count()
        self.chance = Random(order["shard"])  # noqa: S311

    def world(self, script: Prompts, uncut: list[str], moments: list[int]) -> Any:
        """One world: lives that end at these moments, and one that does not."""
        name = f"{self.shard}w{next(self.worlds)}"
        with scratch() as folder:
            place = Place(self.url, folder)
            prompts = {f"{name}{run_id}": prompt for run_id, prompt in script.items()}
            for life, at in enumerate(moments):
                self.total["kills"] += lived(place, life, self.chance.choice(BACKENDS), prompts, at, self.died)
            tally, said, rest = finished(place, len(moments), self.chance.choice(BACKENDS), prompts, uncut)
        self.total.update(tally)
        self.total["worlds"] += 1
        self.said += [f"{script}, killed at {moments}: {each}" for each in said]
        return rest

    def go(self) -> dict[str, Any]:
        """At every moment of every script, if that is wanted, then at any; some lives after that end early too."""
        plans: list[tuple[Prompts, list[str], int]] = []
        for script in SCRIPTS:
            hashes, passed = self.world(script, [], [])
            plans.append((script, hashes, passed))
        every = [(plan, at) for plan in plans for at in range(1, plan[2] + 1)] if self.sweep else []
        for (script, uncut, passed), at in every[self.shard :: self.shards]:
            self.world(script, uncut, [at, *self.moments(passed, 0.1)])
        while self.total["kills"] < self.kills:
            script, uncut, passed = self.chance.choice(plans)
            self.world(script, uncut, self.moments(passed, 0.6) or [self.chance.randint(1, passed)])
        where = Counter(self.died.read_text().splitlines())
        return {"total": self.total, "said": self.said[:5], "where": where, "moments": sum(plan[2] for plan in plans)}

    def moments(self, passed: int, another: float) -> list[int]:
        """Some moments, each with that chance that there is another."""
        some: list[int] = []
        while self.chance.random() < another:
            some.append(self.chance.randint(1, passed))
        return some


def carry_out(order: dict[str, Any]) -> dict[str, Any]:
    """Kill as ordered."""
    make_mortal()
    if control := order.get("control"):
        functools.partial(getattr(crash_controls, control))()
    logging.disable()  # tools that fail are meant to
    with scratch() as folder:
        for backend in BACKENDS:  # in this process, which then has loaded all that its forks need
            run_on(
                backend,
                Place("", folder).journal,
                lambda journal: live(journal, Place("", folder).outside(), SCRIPTS[0]),
            )
    with scratch() as folder:
        return Survey(order, folder).go()


if __name__ == "__main__":
    obey(carry_out)
