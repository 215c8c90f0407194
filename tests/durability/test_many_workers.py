"""Several processes on PgQueuer and Postgres, killed at random: no effect is lost, none happens twice."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from figures import report
from lives import answers
from postgres_server import PostgresServer
from scale import shows, times

KILLS = times(100, 2_000)
SESSIONS = times(100, 1_000)


def survey(url: str, folder: Path, *, kills: int, sessions: int, control: str = "") -> dict[str, Any]:
    order = {"url": url, "folder": str(folder), "kills": kills, "sessions": sessions, "control": control}
    (found,) = answers("many_worker.py", order)
    return dict(found)


def test_kills_of_workers_on_a_queue_lose_and_repeat_nothing(postgres: PostgresServer, tmp_path: Path) -> None:
    found = survey(postgres.database(), tmp_path, kills=KILLS, sessions=SESSIONS)
    report("several processes on PgQueuer, random SIGKILL", **{k: v for k, v in found.items() if k != "ended"})
    assert (found["lost"], found["repeated"]) == (0, 0), found
    assert (found["unfinished"], found["doubts"], found["unknown"], found["faults"]) == (0, 0, 0, 0), found
    assert found["sessions"] >= SESSIONS
    assert found["settled"] > 0, "nobody was killed while it acted"
    assert found["ended"] == [0] * 4, "a worker that is told to stop ends in order"


@pytest.mark.parametrize("control", ["commit_does_not_wait", "resume_runs_again"])
def test_without_the_rule_effects_are_repeated_or_lost(postgres: PostgresServer, tmp_path: Path, control: str) -> None:
    def goes_wrong() -> bool:
        folder = Path(mkdtemp(dir=tmp_path))
        found = survey(postgres.database(), folder, kills=times(40, 400), sessions=20, control=control)
        return bool(found["repeated"] + found["lost"] + found["unknown"])

    assert shows(goes_wrong), "the test above would not see it"
