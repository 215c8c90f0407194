"""Laws of the queue in which requesters take turns."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from counterfoil.dispatch.again import LONGEST, Later, Pauses, failures, pause
from counterfoil.dispatch.fair import FairQueue
from counterfoil.types.entry import Ended, Entry, Opened, Said
from counterfoil.types.message import user
from counterfoil.types.outcome import Outcome
from counterfoil.types.session import Session

CONCURRENCY, PER_REQUESTER = 4, 2


class Turns(RuleBasedStateMachine):
    """Whatever is put, taken and done in whatever order."""

    def __init__(self) -> None:
        super().__init__()
        self.fair = FairQueue(CONCURRENCY, PER_REQUESTER)
        self.waiting: dict[str, str] = {}
        self.again: set[str] = set()
        self.number = 0

    @rule(requester=st.sampled_from("abc"))
    def put_new(self, requester: str) -> None:
        self.number += 1
        self.fair.put(f"{self.number}", requester)
        self.waiting[f"{self.number}"] = requester

    @precondition(lambda self: self.waiting or self.fair.running)
    @rule(data=st.data())
    def put_again(self, data: st.DataObject) -> None:
        everyone = {**self.waiting, **self.fair.running}
        run_id = data.draw(st.sampled_from(sorted(everyone)))
        self.fair.put(run_id, everyone[run_id])
        if run_id in self.fair.running:
            self.again.add(run_id)

    @rule()
    def take(self) -> None:
        running = Counter(self.fair.running.values())
        may = {name for name in self.waiting.values() if running[name] < PER_REQUESTER}
        taken = self.fair.take()
        if taken is None:
            assert not may or len(self.fair.running) == CONCURRENCY, "nobody who may is kept waiting"
            return
        run_id, requester = taken
        assert self.waiting.pop(run_id) == requester
        assert requester in may

    @precondition(lambda self: self.fair.running)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from(sorted(self.fair.running)))
        requester = self.fair.running[run_id]
        self.fair.done(run_id)
        if run_id in self.again:
            self.again.discard(run_id)
            self.waiting[run_id] = requester

    @invariant()
    def ceilings_hold(self) -> None:
        assert len(self.fair.running) <= CONCURRENCY
        assert all(count <= PER_REQUESTER for count in Counter(self.fair.running.values()).values())
        assert len(self.fair) == len(self.waiting)


TestTurns = Turns.TestCase


def test_a_crowd_of_one_person_does_not_go_before_the_one_run_of_another() -> None:
    fair = FairQueue(1, 1)
    for n in range(1000):
        fair.put(f"a{n}", "ada")
    fair.put("b", "bob")
    first = fair.take()
    fair.done("a0")
    assert (first, fair.take()) == (("a0", "ada"), ("b", "bob"))


def test_consecutive_failures_are_counted_from_the_end() -> None:
    failed, opened = Ended(Outcome("failed", "ModelError", "x")), Opened(Session(requester="ada"))
    said: list[Entry] = [opened, Said(user("Hello"))]
    assert failures(said) == 0
    assert failures([*said, failed, opened, failed]) == 2
    assert failures([*said, failed, Said(user("Again")), failed]) == 1
    assert failures([*said, failed, Said(user("Again"))]) == 0


def test_pauses_double_up_to_five_minutes_and_are_kept_once() -> None:
    assert [pause(failed, 2.0) for failed in (1, 2, 3, 9, 500)] == [2, 4, 8, LONGEST, LONGEST]
    pauses = Pauses()
    for at in (5.0, 1.0):
        pauses.add(Later(at, "r", "ada", 1))
    pauses.add(Later(3.0, "s", "ada", None))
    assert (pauses.next(), "r" in pauses) == (3.0, True)
    assert [each.run_id for each in pauses.over(4.0)] == ["s"]
    assert [each.at for each in pauses.over(9.0)] == [5.0]
    assert (pauses.next(), "r" in pauses) == (None, False)


def test_what_is_to_be_left_alone_is_not_begun_again_for_what_came_meanwhile() -> None:
    fair = FairQueue(10, 2)
    fair.put("a", "ada")
    assert fair.take() == ("a", "ada")
    fair.put("a", "ada")
    fair.done("a", paused=True)
    assert fair.take() is None
    fair.put("a", "ada")
    assert fair.take() == ("a", "ada")
