"""What a record holds for its replay: what came from outside, what the harness wrote in between, what calls came to."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence

import msgspec

from counterfoil.models.replay import recorded_turn
from counterfoil.run.step import NUDGER
from counterfoil.types.entry import (
    Answered,
    Declassified,
    Doubted,
    Ended,
    Entry,
    Finished,
    Judged,
    Loaded,
    Opened,
    Planned,
    Record,
    Said,
    Settled,
    Started,
)
from counterfoil.types.verdict import Allowed


def inputs(entries: Sequence[Entry], late: Collection[int]) -> Iterator[Entry]:
    """The entries that the harness does not make by itself, in order: of people, of crashes, and of the model."""
    outside = False
    for entry in entries:
        match entry:
            case Opened():
                outside = entry.outside
                yield entry
            case Loaded() | Answered() | Doubted() | Settled() | Planned() | Declassified():
                yield entry
            case Finished() if id(entry) in late:
                yield entry
            case Said(message) if message.name != NUDGER and (message.role != "assistant" or outside):
                yield entry
            case Said() | Ended() if recorded_turn(entry) is not None:
                yield entry
            case Ended(outcome) if outcome.kind == "cancelled" or outcome.which == "seconds":
                yield entry
            case _:
                pass


def came_late(records: Sequence[Record]) -> set[int]:
    """The results that came when their call was not running any more, from a look-up or a worker that had lost the run.

    Each by the `id()` of its entry. A call was in doubt by then, or another process that may not simply run it again.
    """
    found: set[int] = set()
    running: dict[str, int | None] = {}
    for record in records:
        match record.entry:
            case Started(call_id, effect):
                running[call_id] = record.epoch if effect in ("write", "irreversible") else None
            case Doubted(call_id):
                running[call_id] = -1
            case Finished(result) as entry if running.get(result.call_id) not in (None, record.epoch):
                found.add(id(entry))
            case _:
                pass
    return found


class Awaited:
    """What the harness itself wrote before the next thing that came from outside, and has not written today."""

    def __init__(self, entries: Sequence[Entry], outside: set[int]) -> None:
        self._stretches: deque[list[tuple[str, str]]] = deque([[]])
        """What it wrote from one thing that came from outside to the next."""
        for entry in entries:
            if id(entry) in outside:
                self._stretches.append([])
            else:
                self._stretches[-1].append(_key(entry))
        self._owed: Counter[tuple[str, str]] = Counter()
        """Less than nothing of what came early."""
        self._missing = 0
        self.passed()

    @property
    def nothing(self) -> bool:
        """Whether all of it is written."""
        return self._missing == 0

    def passed(self) -> None:
        """Something came from outside: await what was written after it."""
        for key in self._stretches.popleft():
            self._owed[key] += 1
            self._missing += self._owed[key] > 0

    def came(self, entry: Entry) -> None:
        """Take up what was written today."""
        key = _key(entry)
        self._missing -= self._owed[key] > 0
        self._owed[key] -= 1


def _key(entry: Entry) -> tuple[str, str]:
    call_id: str = entry.result.call_id if isinstance(entry, Finished) else getattr(entry, "call_id", "")
    return type(entry).__name__, call_id


def outcomes(entries: Sequence[Entry], late: Collection[int]) -> dict[str, list[Finished | None]]:
    """Per call that was started: what each start came to, `None` where it came to nothing that is known."""
    found: dict[str, list[Finished | None]] = {}
    notes: dict[str, int] = {}
    for entry in entries:
        match entry:
            case Finished() if id(entry) in late:
                pass
            case Started(call_id):
                found.setdefault(call_id, []).append(None)
            case Judged(call_id, Allowed(told)):
                notes[call_id] = bool(told)
            case Finished(result):
                if notes.get(result.call_id) and not result.is_error:
                    # The gate's notes are put before the result again.
                    result = msgspec.structs.replace(result, content=result.content[1:])
                starts = found.setdefault(result.call_id, [None])
                starts[-1] = msgspec.structs.replace(entry, result=result)
            case _:
                pass
    return found
