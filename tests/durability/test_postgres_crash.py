"""The server is killed in the middle of commits and of its recovery: what it has acknowledged is there, once."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import anyio
import anyio.to_thread
import psycopg
import pytest
from crash_world import Outside, harness, persuade, wanted
from durable_world import ADA, begin, said
from figures import report
from lives import scratch
from postgres_server import PASSWORD, PostgresServer
from scale import ATTEMPTS, times

from counterfoil import CounterfoilError, Harness, JournalError, Limits, RunNotFound
from counterfoil.journal.journal import Status
from counterfoil.journal.log import ChainedLog
from counterfoil.journal.postgres import PostgresJournal, worker
from counterfoil.types.entry import Entry, Said

pytestmark = pytest.mark.anyio
KILLS = times(50, 500)
WRITERS = 4
PROMPT = "act look|send act"


@pytest.fixture
def anyio_backend() -> str:
    """One event loop, for a journal that has threads and lives through all of it."""
    return "trio"


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """What is in doubt because the server was killed is said often enough."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


class Load:
    """Work on one journal that goes on whatever happens to its server."""

    def __init__(self, journal: PostgresJournal, folder: Path) -> None:
        self.journal = journal
        self.outside = Outside(folder / "effects")
        self.harness: Harness = harness(journal, self.outside, Limits(timeout=0.1))
        self.acknowledged: list[tuple[str, str]] = []
        self.errors: list[str] = []
        self.prompts: dict[str, str] = {}
        self.waiting = 0
        """How many wait for a commit now."""
        self.over = False

    async def write(self, run_id: str) -> None:
        """Commit entry after entry, each once, and note which the server has acknowledged."""
        log: Any = None
        number = 0
        while not self.over:
            number += 1
            try:
                log = log or await self._log(run_id)
                if number % 3 == 0:
                    log.append([said(f"{number} for nobody")])
                self.waiting += 1
                try:
                    await log.commit([said(str(number))])
                finally:
                    self.waiting -= 1
                self.acknowledged.append((run_id, str(number)))
            except JournalError as error:
                self.errors.append(str(error))
                await self._let_go(log, "ready")
                log = None
        await self._let_go(log, "done")

    async def _let_go(self, log: Any, status: Status) -> None:
        if log is not None:
            with suppress(JournalError):
                await log.release(status)

    async def _log(self, run_id: str) -> Any:
        try:
            return (await self.journal.claim(run_id))[0]
        except RunNotFound:
            return await begin(self.journal, run_id, [said("0")])

    async def work(self, name: str) -> None:
        """Run after run, each until it is done."""
        number = 0
        while not self.over:
            number += 1
            run_id = f"{name}{number}"
            self.prompts[run_id] = PROMPT
            while not await self._done(run_id):  # noqa: ASYNC110 nobody tells when
                await anyio.sleep(0.001)

    async def _done(self, run_id: str) -> bool:
        try:
            try:
                run = await self.harness.resume(run_id)
            except RunNotFound:
                run = await self.harness.run(PROMPT, ADA, run_id=run_id)
            return (await persuade(self.harness, run, self.outside)).outcome.kind == "answered"
        except CounterfoilError as error:
            self.errors.append(str(error))
            return False

    async def lost(self) -> tuple[int, int, list[str]]:
        """How many entries that were acknowledged are not there, how many are there twice, and what else is wrong."""
        lost = twice = 0
        for run_id in {run_id for run_id, _ in self.acknowledged}:
            entries: list[Entry] = []
            with suppress(RunNotFound):
                entries = [record.entry for record in await self.journal.read(run_id)]
            there = Counter(entry.message.text for entry in entries if isinstance(entry, Said))
            lost += sum(not there[text] for run, text in self.acknowledged if run == run_id)
            twice += sum(often > 1 for often in there.values())
        return lost, twice, await self.journal.verify()


class Killer:
    """Kills the server, and starts it."""

    def __init__(self, server: PostgresServer, chance: Random) -> None:
        self.server = server
        self.chance = chance
        self.kills = self.committing = self.recovering = 0

    async def go(self, load: Load, kills: int) -> None:
        """Kill so often; the work goes on in between."""
        try:
            while self.kills < kills:
                before = len(load.acknowledged)
                with anyio.fail_after(60):
                    while len(load.acknowledged) < before + 5:  # noqa: ASYNC110 a server decides
                        await anyio.sleep(0.002)
                await anyio.sleep(self.chance.random() * 0.03)
                self.committing += load.waiting > 0
                await anyio.to_thread.run_sync(self._kill, kills)
        finally:
            load.over = True

    def _kill(self, kills: int) -> None:
        self.server.kill()
        self.kills += 1
        while self.kills < kills and self.chance.random() < 0.5:
            self.server.start(wait=False)
            self.recovering += self._recovers()
            self.server.kill()
            self.kills += 1
        self.server.start()

    def _recovers(self) -> bool:
        """Wait until the server says that it is recovering, or lets somebody in because it has."""
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                self.server.sql("SELECT 1")
                return False
            except psycopg.OperationalError as error:
                if "starting up" in str(error) or "recovery" in str(error):
                    return True
        return False


async def survey(server: PostgresServer, kills: int) -> tuple[Load, Killer, tuple[int, int, list[str]]]:
    """Work while the server is killed so often, and look what is left."""
    with scratch() as folder:
        journal = PostgresJournal(server.database(), wait=30)
        load = Load(journal, folder)
        killer = Killer(server, Random(kills))  # noqa: S311
        async with anyio.create_task_group() as group:
            for number in range(WRITERS):
                group.start_soon(load.write, f"log{number}")
            for name in "ab":
                group.start_soon(load.work, name)
            group.start_soon(killer.go, load, kills)
        found = await load.lost()
        done = load.outside.done()
        once, _ = wanted(load.prompts)
        found[2].extend(f"{key} happened {done[key]} times" for key in once | set(done) if done[key] != (key in once))
        await journal.aclose()
    return load, killer, found


async def test_what_was_acknowledged_is_there_and_the_journal_reconnects(postgres: PostgresServer) -> None:
    load, killer, (lost, twice, wrong) = await survey(postgres, KILLS)
    figures = {"committing": killer.committing, "recovering": killer.recovering, "runs": len(load.prompts)}
    report(
        "Postgres kill -9", kills=killer.kills, acknowledged=len(load.acknowledged), lost=lost, twice=twice, **figures
    )
    assert killer.kills == KILLS
    assert killer.committing > KILLS / 5, "so few were in the middle of a commit that this says little"
    assert killer.recovering > KILLS / 20, "so few were in the middle of a recovery that this says little"
    assert (lost, twice) == (0, 0)
    assert wrong == []
    assert len(load.prompts) > 2
    clear = ("the connection was lost", "cannot connect to", "has another owner by now, or its end is not where")
    assert [error for error in load.errors if not any(words in error for words in clear)] == []
    assert not any(PASSWORD in error for error in load.errors)


async def _loses(postgres: PostgresServer) -> bool:
    """Whether acknowledged entries get lost: a kill may miss the moment, so it is looked for again."""
    for _ in range(ATTEMPTS):
        _, _, (lost, _, _) = await survey(postgres, times(5, 20))
        if lost:
            return True
    return False


async def test_who_acknowledges_before_the_commit_loses_entries(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def commit(self: ChainedLog, entries: Sequence[Entry]) -> None:
        self.append(entries)
        await anyio.sleep(0.001)

    monkeypatch.setattr(ChainedLog, "commit", commit)
    assert await _loses(postgres), "the test above would not see it"


async def test_who_does_not_wait_for_the_servers_log_loses_entries(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "durable_level", lambda _: "off")
    assert await _loses(postgres), "the test above would not see it"
