"""When a request that failed is sent again, and how long to wait before."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

import anyio
import msgspec

RETRIED = frozenset({408, 409, 429})
"""Statuses worth another attempt, besides all of 500 and above: timeout, conflict, too many requests."""


class Retry(msgspec.Struct, frozen=True):
    """How often and how patiently. Waits grow from `first` by `factor` to `longest` seconds, each scattered by half.

    A host's `Retry-After` counts for more. No wait is begun that would take all waits of a request beyond `patience`
    seconds: the request then fails, and says how long the host wants to be left alone.
    """

    attempts: int = 4
    """All in all, the first one included; 1 never tries again."""
    first: float = 0.5
    factor: float = 2.0
    longest: float = 20.0
    patience: float = 60.0

    def delay(self, failures: int, after: float | None, chance: float) -> float:
        """Seconds to wait after so many failures; `chance` is a random number from 0 to 1."""
        backoff = min(self.first * self.factor ** (failures - 1), self.longest) * (1 - chance / 2)
        if after is None:
            return backoff
        # Everyone who was sent away with the same number should not come back in the same moment.
        return after + min(backoff, 1.0) * chance


class Clock:
    """Time as the HTTP model sees it: a test has its own."""

    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970, for dates."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)

    def chance(self) -> float:
        """A random number from 0 to 1."""
        return random.random()  # noqa: S311 - scatters waits, protects nothing


CLOCK = Clock()


def is_retried(status: int, headers: Mapping[str, str]) -> bool:
    """Whether a status is worth another attempt. `x-should-retry` is the host's own word on it."""
    said = headers.get("x-should-retry")
    if said in ("true", "false"):
        return said == "true"
    return status in RETRIED or status >= 500


def retry_after(headers: Mapping[str, str], wall: Callable[[], float]) -> float | None:
    """How many seconds a host asks to be left alone: `Retry-After` in seconds or as a date (RFC 9110, 10.2.3).

    `retry-after-ms` (OpenAI, Azure) is the same, finer. `None` if it says nothing that can be read.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        # NaN and infinity can be written, too.
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        date = parsedate_to_datetime(headers["retry-after"])
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - wall())
    except (KeyError, ValueError, OverflowError):
        return None
