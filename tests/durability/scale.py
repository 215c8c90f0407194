"""How often to do what is done many times."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")
LONG = os.environ.get("DURABILITY") == "long"


def times(ci: T, long: T) -> T:
    """The figure for CI, or with `DURABILITY=long` in the environment the one that takes its time."""
    return long if LONG else ci
