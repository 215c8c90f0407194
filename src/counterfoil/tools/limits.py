"""How far one tool may go."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Rate(msgspec.Struct, frozen=True):
    """At most `calls` per `seconds`, counted per requester and tool in this process."""

    calls: int
    seconds: float


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The ceilings of one tool. What exceeds one is refused or cut, and the model is told."""

    timeout: float | None = 60.0
    """Seconds until a call is given up. A tool that writes must have one."""
    result_chars: int = 40_000
    """Longer results are cut, and say by how much."""
    rate: Rate | None = None
    calls_per_run: int | None = None
    concurrent: int | None = None
    """At most so many calls at once in one process (one event loop); the others wait, and their time does not run."""
    repeats: int = 3
    """How often a run may ask for the same call with the same arguments."""
    clamps: Mapping[str, tuple[float | None, float | None]] = {}
    """Per top-level argument: the lowest and highest value; beyond them the value is moved, and the model told."""
    sums: Mapping[str, float] = {}
    """Per top-level numeric argument: how much its values may add up to in one run."""
