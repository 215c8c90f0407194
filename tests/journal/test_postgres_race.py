"""Two processes at the same run at the same instant: one effect, one answer, one owner."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from postgres_race import ADA, harness, race
from postgres_server import PostgresServer

from counterfoil.journal.postgres import PostgresJournal

pytestmark = pytest.mark.anyio
RUNS = 50


@pytest.fixture
def anyio_backend() -> str:
    """The parent only prepares and counts; of the two processes one runs under each loop."""
    return "asyncio"


async def test_two_processes_approve_and_resume_at_once_and_the_effect_happens_once(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url, effects = postgres.database(), str(tmp_path / "effects")
    journal = PostgresJournal(url)
    ours = harness(journal, effects)
    waiting: list[tuple[str, str]] = []
    for number in range(RUNS):
        run = await ours.run("Send it", ADA, run_id=f"r{number}")
        (confirmation,) = run.confirmations
        waiting.append((run.id, confirmation.id))
    spawn = multiprocessing.get_context("spawn")
    barrier, won = spawn.Barrier(2), spawn.Queue()
    racers = [
        spawn.Process(target=race, args=(url, effects, waiting, backend, barrier, won))
        for backend in ("asyncio", "trio")
    ]
    for racer in racers:
        racer.start()
    winners: list[Any] = [won.get(timeout=40) for _ in range(RUNS)]
    for racer in racers:
        racer.join(40)
        assert racer.exitcode == 0
    assert won.empty()
    assert sorted(winners) == sorted(id for _, id in waiting), "each confirmation was answered once"
    for run_id, _ in waiting:
        run = await ours.resume(run_id)
        assert run.outcome.kind == "answered"
    done = Counter(Path(effects).read_text().split())  # noqa: ASYNC240 everything else is over
    assert len(done) == RUNS
    assert set(done.values()) == {1}
    assert await journal.verify() == []
    await journal.aclose()
