"""SIGSTOP for longer than a worker may be silent, then CONT: it is fenced, and what it had begun is known still."""

from __future__ import annotations

from collections import Counter
from typing import Any

from figures import report
from lives import answers
from postgres_server import PostgresServer
from scale import shows, times

ZOMBIES = times(20, 200)


def survey(url: str, zombies: int, *where: str, control: str = "") -> tuple[Counter[str], list[str]]:
    """Make so many, that stop at moments that begin like that."""
    order: dict[str, Any] = {"url": url, "zombies": zombies, "where": where, "control": control}
    (found,) = answers("zombie_worker.py", order)
    return Counter(found["total"]), found["said"]


def test_a_worker_that_stood_still_writes_nothing_more_and_its_result_comes_late(postgres: PostgresServer) -> None:
    kinds: list[tuple[str, ...]] = [(), ("before an effect", "after an effect"), ("before COMMIT",)]
    shares = (ZOMBIES * 2 // 5, ZOMBIES * 2 // 5, ZOMBIES - 2 * (ZOMBIES * 2 // 5))
    found = [survey(postgres.database(), share, *kind) for share, kind in zip(shares, kinds, strict=True)]
    total: Counter[str] = Counter()
    for each, _ in found:
        total.update(each)
    wrong = [said for _, some in found for said in some]
    report("SIGSTOP past liveness, then CONT", **total)
    assert total["zombies"] == ZOMBIES
    assert (total["lost"], total["repeated"]) == (0, 0), wrong
    assert total["wrong"] == 0, wrong
    acting, _ = found[1]
    assert acting["fenced"] == acting["zombies"]
    assert acting["late"] > 0
    assert total["fenced"] + total["cut off"] > ZOMBIES * 0.6


def test_without_the_fence_it_does_again_what_was_done(postgres: PostgresServer) -> None:
    def repeats() -> bool:
        total, _ = survey(postgres.database(), times(4, 40), "before ChainedLog.commit", control="unfenced")
        return total["repeated"] > 0

    assert shows(repeats), "the test above would not see it"
