"""How often to do what is done many times."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LONG = os.environ.get("DURABILITY") == "long"
ATTEMPTS = 5
"""How often a fault that is there is looked for, where it shows by chance."""


def shows(look: Callable[[], bool]) -> bool:
    """Whether a fault that is there is seen: on a busy machine every kill may miss the moment, so again."""
    return any(look() for _ in range(ATTEMPTS))


def times(ci: T, long: T) -> T:
    """The figure for CI, or with `DURABILITY=long` in the environment the one that takes its time."""
    return long if LONG else ci
