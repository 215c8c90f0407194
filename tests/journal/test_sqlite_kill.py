"""kill -9 at random moments: another process takes over, and no effect is lost or done twice."""

from __future__ import annotations

import fcntl
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import anyio
import pytest

from counterfoil import RunBusy, SqliteJournal

WORKER = Path(__file__).with_name("journal_worker.py")
KILLS = 20


def start(*arguments: object) -> subprocess.Popen[str]:
    script = [sys.executable, str(WORKER), *map(str, arguments)]
    worker = subprocess.Popen(script, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    if hasattr(fcntl, "F_SETPIPE_SZ"):  # so that it cannot run far ahead of who reads its progress
        fcntl.fcntl(worker.stdout, fcntl.F_SETPIPE_SZ, 4096)
    return worker


def test_twenty_kills_lose_and_repeat_nothing(tmp_path: Path) -> None:
    chance = random.Random(20261130)  # noqa: S311
    database, effects = tmp_path / "runs.db", tmp_path / "effects"
    effects.touch()
    for number in range(KILLS):
        worker = start("work", database, effects, number)
        assert worker.stdout is not None
        assert worker.stdout.readline().strip() == "ready"
        # Not sleep: so many lines of progress, so that a slow box kills it as deep in its work as a fast one.
        for _ in range(chance.randrange(40)):
            worker.stdout.readline()
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        worker.stdout.close()
    finish = start("finish", database, effects)
    report, _ = finish.communicate(timeout=60)
    assert finish.returncode == 0
    done = Counter(effects.read_text().split())
    assert [key for key, times in done.items() if times > 1] == [], "an effect was repeated"
    said = dict(line.split() for line in report.splitlines() if line.startswith(("ok:", "no:")))
    claimed = {key.removeprefix("ok:") for key in said if key.startswith("ok:")}
    assert claimed == set(done), "what the journal says was done is what was done"
    assert len(claimed) >= KILLS
    assert "faults 0" in report
    assert "unfinished 0" in report


@pytest.mark.anyio
async def test_a_living_owner_keeps_its_run_and_a_dead_one_loses_it(tmp_path: Path) -> None:
    database = tmp_path / "runs.db"
    owner = start("hold", database, tmp_path / "effects")
    assert owner.stdout is not None
    assert owner.stdout.readline().strip() == "ready"
    journal = SqliteJournal(database)
    with pytest.raises(RunBusy, match=f"by process {owner.pid}"):
        await journal.claim("held")
    assert [info.status for info in await journal.runs()] == ["running"]
    owner.send_signal(signal.SIGSTOP)  # asleep is not dead
    with pytest.raises(RunBusy):
        await journal.claim("held")
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    assert [info.status for info in await journal.runs(status="ready")] == ["ready"]
    with anyio.fail_after(10):
        log, records = await journal.claim("held")
    assert log.epoch == 2
    assert [type(record.entry).__name__ for record in records] == ["Opened", "Said", "Said", "Judged", "Started"]
    await log.release("ready")
    await journal.aclose()
