"""A worker to be killed: it says when it holds a run."""

from __future__ import annotations

import os
import sys

import anyio
from dispatch_world import QUICK, Tools, World, feed, obey

from counterfoil import Function, Harness
from counterfoil.dispatch import Scheduler
from counterfoil.journal.opening import open_journal


async def main(kind: str, where: str) -> None:
    """Work until killed."""
    journal = open_journal(where)
    tools = Tools()
    harness = Harness(Function(obey), tools.catalogue, journal=journal)

    async def holds() -> bool:
        return tools.holding > 0

    async with Scheduler(harness, feed=feed(kind, journal), **QUICK):
        await World.when(holds)
        os.write(1, b"holding\n")
        await anyio.sleep(3600)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
