"""kill -9 of workers on Postgres at random moments: another takes over, and no effect is lost or done twice."""

from __future__ import annotations

import random
import signal
from collections import Counter
from pathlib import Path

import anyio
import pytest
from postgres_server import PostgresServer
from test_sqlite_kill import start

from counterfoil import RunBusy
from counterfoil.journal.postgres import PostgresJournal

KILLS = 10


def test_ten_kills_lose_and_repeat_nothing(postgres: PostgresServer, tmp_path: Path) -> None:
    chance = random.Random(20261130)  # noqa: S311
    url, effects = postgres.database(), tmp_path / "effects"
    effects.touch()
    for number in range(KILLS):
        worker = start("work", url, effects, number)
        assert worker.stdout is not None
        assert worker.stdout.readline().strip() == "ready"
        for _ in range(chance.randrange(40)):
            worker.stdout.readline()
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        worker.stdout.close()
    finish = start("finish", url, effects)
    report, _ = finish.communicate(timeout=60)
    assert finish.returncode == 0
    done = Counter(effects.read_text().split())
    assert len(done) >= KILLS
    assert [key for key, times in done.items() if times > 1] == [], "an effect was repeated"
    claimed = {line.split()[0].removeprefix("ok:") for line in report.splitlines() if line.startswith("ok:")}
    assert claimed == set(done), "what the journal says was done is what was done"
    assert "faults 0" in report
    assert "unfinished 0" in report


@pytest.mark.anyio
async def test_a_living_owner_keeps_its_run_and_a_dead_one_loses_it(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.database()
    owner = start("hold", url, tmp_path / "effects")
    assert owner.stdout is not None
    assert owner.stdout.readline().strip() == "ready"
    journal = PostgresJournal(url)
    with pytest.raises(RunBusy, match=f"by process {owner.pid} on "):
        await journal.claim("held")
    assert [info.status for info in await journal.runs()] == ["running"]
    owner.send_signal(signal.SIGSTOP)  # asleep is not dead
    with pytest.raises(RunBusy):
        await journal.claim("held")
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    with anyio.fail_after(10):
        while [info.status for info in await journal.runs()] != ["ready"]:  # noqa: ASYNC110 a server decides
            await anyio.sleep(0.02)
    log, records = await journal.claim("held")
    assert log.epoch == 2
    assert [type(record.entry).__name__ for record in records] == ["Opened", "Said", "Said", "Judged", "Started"]
    await log.release("ready")
    await journal.aclose()
