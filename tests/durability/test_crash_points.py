"""kill -9 before and after everything that a process does: no effect is lost, none happens twice."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import pytest
from figures import report
from lives import answers
from postgres_server import PostgresServer
from scale import shows, times

KILLS = times(1_000, 10_000)
ON_POSTGRES = times(100, 1_000)
SHARDS = 2


class Found(NamedTuple):
    """What came of so many kills."""

    total: Counter[str]
    where: Counter[str]
    moments: int
    said: str

    @property
    def effects(self) -> tuple[int, int]:
        return self.total["lost"], self.total["repeated"]


def survey(kills: int, *, sweep: bool = False, url: str = "", control: str = "") -> Found:
    """Kill so often, in two processes."""
    order = {"kills": kills // SHARDS, "shards": SHARDS, "sweep": sweep, "url": url, "control": control}
    total: Counter[str] = Counter()
    where: Counter[str] = Counter()
    said: list[Any] = []
    moments = 0
    for each in answers("crash_worker.py", *({**order, "shard": shard} for shard in range(SHARDS))):
        total.update(each["total"])
        where.update(each["where"])
        said += each["said"]
        moments = each["moments"]
    return Found(total, where, moments, "\n".join(said))


def test_a_kill_at_every_moment_loses_and_repeats_nothing() -> None:
    found = survey(KILLS, sweep=True)
    report("SIGKILL at every crash point, SQLite", moments=found.moments, kinds=len(found.where), **found.total)
    assert found.total["kills"] >= max(KILLS, found.moments * 0.95), "moments may differ a little from life to life"
    assert found.effects == (0, 0), found.said
    assert found.total["wrong"] == 0, found.said
    for moment in ("an effect", "COMMIT", "Worker.put", "Writer.carry_out", "ChainedLog.commit", "SqliteJournal.claim",
                   "SqliteJournal.post", "Harness.answer", "Harness.settle", "ChainedLog.release"):  # fmt: skip
        assert found.where[f"before {moment}"], "nobody died there"
        assert found.where[f"after {moment}"], "nobody died there"


def test_kills_of_workers_on_postgres_lose_and_repeat_nothing(postgres: PostgresServer) -> None:
    found = survey(ON_POSTGRES, url=postgres.database())
    report("SIGKILL at every crash point, Postgres", kinds=len(found.where), **found.total)
    assert found.total["kills"] >= ON_POSTGRES
    assert found.effects == (0, 0), found.said
    assert found.total["wrong"] == 0, found.said


@pytest.mark.parametrize("control", ["commit_does_not_wait", "resume_runs_again"])
def test_without_the_rule_effects_are_repeated(control: str) -> None:
    assert shows(lambda: survey(times(80, 1_000), control=control).total["repeated"] > 1), (
        "the tests above would not see it"
    )


def test_who_believes_that_a_call_has_happened_loses_effects() -> None:
    assert shows(lambda: survey(times(120, 1_000), control="resume_believes").total["lost"] > 0), (
        "the tests above would not see it"
    )
