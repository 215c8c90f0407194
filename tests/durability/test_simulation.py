"""Thousands of worlds of crashes, takeovers, power cuts, wrong clocks and impatient people: each ends as it must."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from figures import report
from scale import times
from simulated_journal import Log, Row, Runs, SimulatedJournal
from simulated_world import Given, is_jumpy, play
from unfenced import Unfenced

from counterfoil import Gate
from counterfoil.gate.attempt import Attempt
from counterfoil.journal.journal import Item
from counterfoil.types.entry import Entry
from counterfoil.types.verdict import ALLOWED, Confirm, Verdict

WORLDS = times(2_000, 50_000)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Tools that fail are meant to."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def test_no_world_loses_or_repeats_anything_and_each_comes_to_an_end() -> None:
    total: Counter[str] = Counter()
    for seed in range(WORLDS):
        problems, world = play(seed, Given(jumpy=is_jumpy(seed)))
        assert problems == [], f"world {seed}: python tests/durability/simulated_world.py {seed}"
        total.update(world.events)
        total["moves"] += world.moves
        total["effects"] += world.done.total()
        total["takeovers"] += sum(row.epoch - 1 for row in world.disk.runs.values())
    report("seeded simulation", worlds=WORLDS, failures=0, **total)
    assert total["takeovers"] > WORLDS
    assert total["effects"] > WORLDS
    for event in ("dead", "stopped", "given_up", "cut", "cancel", "off"):
        assert total[event] > WORLDS / 20, f"so few worlds had that ({event}) that this says little"


# -- controls: each has a rule less, and some of its worlds must fail


class Hasty(SimulatedJournal):
    """Says that entries are durable before they are."""

    def log(self, run_id: str, epoch: int, seq: int, head: str) -> Log:
        return HastyLog(self, run_id, epoch, seq, head)


class HastyLog(Log):
    async def commit(self, entries: Sequence[Entry]) -> None:
        self.append(entries)


class Overlooking(SimulatedJournal):
    """Lets a run rest without looking whether something has come for it."""

    def overlooks(self, row: Row, seen: int | None) -> bool:
        return False


class Repeating(SimulatedJournal):
    """Takes as many answers to a question as come."""

    def earlier(self, row: Row, sent: Item) -> Item | None:
        return None


class Deaf(SimulatedJournal):
    """Drops what comes for a run that rests."""

    def put(self, runs: Runs, about: tuple[str, Item]) -> Item | None:
        run_id, _ = about
        before = runs[run_id]
        answer = super().put(runs, about)
        if before.status != "running":
            runs[run_id] = before
        return answer


class Trusting(Gate):
    """Asks nobody."""

    async def judge(self, attempt: Attempt) -> Verdict:
        verdict = await super().judge(attempt)
        return ALLOWED if isinstance(verdict, Confirm) else verdict


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Given(journal=Unfenced), "happened again"),
        (Given(journal=Overlooking), "does not end"),
        (Given(journal=Deaf), "does not end"),
        (Given(journal=Repeating), "was answered by"),
        (Given(journal=Hasty), "a power cut would leave nothing"),
        (Given(gate=Trusting), "nobody has approved"),
    ],
)
def test_with_a_rule_less_a_world_fails(given: Given, said: str) -> None:
    found: list[str] = []
    for seed in range(1, 400):
        problems, _ = play(seed, given)
        found += problems
        if any(said in problem for problem in problems):
            return
    raise AssertionError(f"no world was found in which it {said!r}: {found[:3]}")
