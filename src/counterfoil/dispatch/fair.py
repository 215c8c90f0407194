"""Whose turn is it? Runs that wait to be worked on, round robin among requesters."""

from __future__ import annotations

from collections import deque


class FairQueue:
    """Runs by requester: each requester in turn, with a ceiling on each and on all. Knows no time and does no I/O."""

    def __init__(self, concurrency: int, per_requester: int) -> None:
        self.concurrency = concurrency
        self.per_requester = per_requester
        self.running: dict[str, str] = {}
        """The runs that are worked on, and for whom."""
        self._waiting: dict[str, deque[str]] = {}
        self._queued: set[str] = set()
        self._again: set[str] = set()
        self._turns: deque[str] = deque()
        """The requesters who may have one started, in order."""
        self._counts: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._queued)

    def put(self, run_id: str, requester: str) -> None:
        """Have a run worked on. One that waits already is not queued twice; one that is worked on comes once more."""
        if run_id in self.running:
            self._again.add(run_id)
        elif run_id not in self._queued:
            self._queued.add(run_id)
            waiting = self._waiting.setdefault(requester, deque())
            waiting.append(run_id)
            if len(waiting) == 1 and self.has_room(requester):
                self._turns.append(requester)

    def has_room(self, requester: str) -> bool:
        """Whether one more run of that person's may be worked on, as far as their own ceiling goes."""
        return self._counts.get(requester, 0) < self.per_requester

    def take(self) -> tuple[str, str] | None:
        """The next run that may be started, and its requester; it counts as running."""
        if not self._turns or len(self.running) >= self.concurrency:
            return None
        requester = self._turns.popleft()
        waiting = self._waiting[requester]
        run_id = waiting.popleft()
        self._queued.discard(run_id)
        self.running[run_id] = requester
        self._counts[requester] = self._counts.get(requester, 0) + 1
        if not waiting:
            del self._waiting[requester]
        elif self.has_room(requester):
            self._turns.append(requester)
        return run_id, requester

    def done(self, run_id: str, *, paused: bool = False) -> None:
        """It is no longer worked on; if it is to be left alone, neither for what was put meanwhile."""
        requester = self.running.pop(run_id)
        had_room = self.has_room(requester)
        self._counts[requester] -= 1
        if not self._counts[requester]:
            del self._counts[requester]
        if not had_room and requester in self._waiting:
            self._turns.append(requester)
        if run_id in self._again:
            self._again.discard(run_id)
            if not paused:
                self.put(run_id, requester)

    def drop(self) -> None:
        """Forget what waits: this process starts nothing more."""
        for each in (self._waiting, self._queued, self._again, self._turns):
            each.clear()
