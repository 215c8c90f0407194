"""What every adapter shares: one trivial tool, and the plan of what the scripted model says."""

from __future__ import annotations

import time
from collections.abc import Callable

NAME = "record"
DESCRIPTION = "Record a note against a path."
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where the note belongs."},
        "note": {"type": "string", "description": "The note itself."},
        "count": {"type": "integer", "description": "How many times."},
    },
    "required": ["path", "note", "count"],
    "additionalProperties": False,
}
SYSTEM = "You are a careful clerk."
PROMPT = "Please record the notes."
FINAL = "All recorded."
ARGUMENTS = '{"path": "/srv/ledger/2024/entry.txt", "note": "balance carried forward to the next page", "count": 3}'

ran = 0
"""How many times the tool really ran, in this process."""


def record_now(path: str, note: str, count: int) -> str:
    """Record a note against a path.

    Args:
        path: Where the note belongs.
        note: The note itself.
        count: How many times.
    """
    global ran
    ran += 1
    return f"recorded {count} at {path}"


async def record(path: str, note: str, count: int) -> str:
    """Record a note against a path.

    Args:
        path: Where the note belongs.
        note: The note itself.
        count: How many times.
    """
    global ran
    ran += 1
    return f"recorded {count} at {path}"


class Script:
    """Stands in for the language model: an adapter's fake model asks `turn` what to say.

    It stamps the clock at every turn, which gives the time of each step without touching the harness.
    """

    __slots__ = ("clock", "done", "sleep", "stamps", "steps", "width")

    def __init__(
        self, steps: int, width: int = 1, sleep: float = 0.0, clock: Callable[[], float] = time.process_time
    ) -> None:
        self.steps, self.width, self.sleep, self.clock = steps, width, sleep, clock
        self.done = 0
        self.stamps: list[float] = []

    def turn(self) -> list[tuple[str, str, str]] | None:
        """The calls to ask for, as (id, tool, arguments in JSON); `None`: say the final text and stop."""
        self.stamps.append(self.clock())
        step = self.done
        if step >= self.steps:
            return None
        self.done = step + 1
        return [(f"call_{step}_{index}", NAME, ARGUMENTS) for index in range(self.width)]
