"""Run several calls at once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import anyio


async def together(jobs: Sequence[Callable[[], Coroutine[Any, Any, None]]]) -> None:
    """Run jobs concurrently and wait for all of them."""
    async with anyio.create_task_group() as group:
        for job in jobs:
            group.start_soon(job)
