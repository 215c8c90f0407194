"""Two processes say yes to the same call at the same instant: one of them is taken at its word, and it happens once."""

from __future__ import annotations

from collections import Counter

from figures import report
from lives import answers
from postgres_server import PostgresServer
from scale import shows, times

ON_SQLITE = times(1_000, 10_000)
ON_POSTGRES = times(200, 2_000)


def race(often: int, *, url: str = "", control: str = "") -> Counter[str]:
    """Have two processes answer, and go on with, so many runs."""
    (found,) = answers("approver_worker.py", {"times": often, "url": url, "control": control})
    return Counter(found)


def happened_once(found: Counter[str], often: int) -> None:
    assert found["confirmations"] == often
    assert (found["first"] + found["second"], found["both"]) == (often, 0), "each was answered once"
    assert (found["answers"], found["effects"]) == (often, often)
    assert (found["repeated"], found["unfinished"], found["faults"]) == (0, 0, 0)
    assert min(found["first"], found["second"]) > 0, "one of them was always first: that was no race"


def test_of_two_approvals_in_one_file_one_counts() -> None:
    found = race(ON_SQLITE)
    report("two approvers, SQLite", **found)
    happened_once(found, ON_SQLITE)


def test_of_two_approvals_on_one_server_one_counts(postgres: PostgresServer) -> None:
    found = race(ON_POSTGRES, url=postgres.database())
    report("two approvers, Postgres", **found)
    happened_once(found, ON_POSTGRES)


def test_where_anything_may_come_twice_both_are_told_that_theirs_counts() -> None:
    assert shows(lambda: race(50, control="told")["both"] > 10), "the tests above would not see it"


def test_where_a_run_may_have_two_owners_it_happens_twice() -> None:
    assert shows(lambda: race(100, control="unfenced")["repeated"] > 0), "the tests above would not see it"
