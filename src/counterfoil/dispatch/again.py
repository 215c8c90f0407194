"""When is a run tried again whose model has failed? Read off its entries, so that no restart forgets."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import NamedTuple

from counterfoil.types.entry import Ended, Entry, Opened

LONGEST = 300.0
"""Seconds: no pause is longer."""


def failures(entries: Iterable[Entry]) -> int:
    """How often in a row the model has failed, up to the end of a run."""
    count = 0
    for entry in entries:
        if isinstance(entry, Ended) and entry.outcome.kind == "failed":
            count += 1
        elif not isinstance(entry, Opened):
            count = 0
    return count


def pause(failed: int, first: float) -> float:
    """Seconds to wait after so many failures: `first`, then twice as long each time."""
    return min(LONGEST, first * 2.0 ** min(failed - 1, 30))


class Later(NamedTuple):
    """A run to be tried again, not before `at`."""

    at: float
    run_id: str
    requester: str
    failed: int | None
    """How often its model had failed by then; `None`: it was something else that failed."""


class Pauses:
    """Runs that are left alone for a while."""

    def __init__(self) -> None:
        self._heap: list[Later] = []
        self._held: dict[str, float] = {}

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._held

    def until(self, run_id: str) -> float | None:
        """When a run's pause is over; `None`: it has none."""
        return self._held.get(run_id)

    def add(self, later: Later) -> None:
        """Leave a run alone until then."""
        if later.run_id not in self._held:
            self._held[later.run_id] = later.at
            heapq.heappush(self._heap, later)

    def over(self, now: float) -> list[Later]:
        """Those whose pause is over; they are forgotten."""
        found: list[Later] = []
        while self._heap and self._heap[0].at <= now:
            found.append(heapq.heappop(self._heap))
            del self._held[found[-1].run_id]
        return found

    def next(self) -> float | None:
        """When the next pause is over."""
        return self._heap[0].at if self._heap else None
