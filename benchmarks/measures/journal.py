"""counterfoil with a journal on the disk and on Postgres: CPU of a step, of a call and of an entry, and syncs."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.measures.child import WORK, adapters, loop, timed
from benchmarks.scenario import Script
from counterfoil import SqliteJournal, Text, ToolResult, open_journal
from counterfoil.types.entry import Finished

SERVERS = Path(__file__).resolve().parents[2] / "tests"
"""Where a Postgres server is started."""
NOTE = "the balance was carried forward " * 9
ENTRY = Finished(ToolResult("17.1", (Text(NOTE),), name="record"), 0.25)
"""About 400 bytes."""


async def steps(ours: Any, bare: Any, journal: SqliteJournal, effect: str, width: int) -> dict[str, float]:
    """One session alone, the bare loop in between."""
    count, rounds = (20, 15) if width == 1 else (3, 15)
    await timed(ours.session(effect, journal), 5, width)
    await timed(bare.session(), 5, width)
    floor: list[float] = []
    took: list[float] = []
    syncs, commits = journal.writer.syncs, journal.writer.commits
    for _ in range(rounds):
        took.append(loop((await timed(ours.session(effect, journal), count, width))[1]))
        floor.append(loop((await timed(bare.session(), count, width))[1]))
    turns = rounds * count
    return {
        "cpu": min(took) / count / width,
        "bare": min(floor) / count / width,
        "syncs": (journal.writer.syncs - syncs) / turns,
        "commits": (journal.writer.commits - commits) / turns,
    }


async def at_once(run: Callable[[Script], Awaitable[str]], sessions: int = 200) -> float:
    """CPU seconds of many sessions with ten steps each, and a model that takes 50 ms."""
    began = time.process_time()
    await asyncio.gather(*[run(Script(10, 1, 0.05)) for _ in range(sessions)])
    return time.process_time() - began


async def many(ours: Any, bare: Any, journal: SqliteJournal, effect: str) -> dict[str, float]:
    """200 sessions of ten steps."""
    floor: list[float] = []
    took: list[float] = []
    syncs = journal.writer.syncs
    for _ in range(3):
        took.append(await at_once(ours.session(effect, journal)))
        floor.append(await at_once(bare.session()))
    return {"cpu": min(took) / 2000, "bare": min(floor) / 2000, "syncs": (journal.writer.syncs - syncs) / 6000}


async def entries(journal: SqliteJournal, *, durable: bool, width: int = 200, each: int = 20) -> dict[str, float]:
    """The journal alone: many runs, one entry at a time each; per entry."""
    best = float("inf")
    syncs, commits = journal.writer.syncs, journal.writer.commits
    for round in range(5):
        logs = [await journal.create(f"{durable}-{width}-{round}-{index}", "clerk", ()) for index in range(width)]

        async def write(log: Any) -> None:
            for _ in range(each):
                await log.commit((ENTRY,))

        began = time.process_time()
        if durable:
            await asyncio.gather(*[write(log) for log in logs])
        else:
            for _ in range(each):
                for log in logs:
                    log.append((ENTRY,))
        await journal.writer.do(lambda db: None, durable=False)
        best = min(best, (time.process_time() - began) / width / each)
        for log in logs:
            await log.release("done")
    written = 5 * width * each
    return {
        "cpu": best,
        "syncs": (journal.writer.syncs - syncs) / written,
        "commits": (journal.writer.commits - commits) / written,
    }


def fdatasync(folder: Path, times: int = 200) -> float:
    """CPU of making one page durable, in a file that does not grow: nothing can do it for less."""
    file = os.open(folder / "page", os.O_CREAT | os.O_RDWR)
    os.pwrite(file, bytes(4096 * 16), 0)
    os.fsync(file)
    began = time.process_time()
    for turn in range(times):
        os.pwrite(file, b"x" * 4096, turn % 16 * 4096)
        os.fdatasync(file)
    took = time.process_time() - began
    os.close(file)
    return took / times


async def on_postgres(ours: Any, bare: Any, where: str) -> dict[str, dict[str, float]]:
    """The same steps with a journal on a server: CPU of this process only."""
    journal: Any = open_journal(where)
    result = {
        "postgres_write": await steps(ours, bare, journal, "write", 1),
        "postgres_read": await steps(ours, bare, journal, "read", 1),
        "postgres_write_200": await many(ours, bare, journal, "write"),
    }
    await journal.aclose()
    return result


async def main(folder: Path) -> None:
    ours, bare = adapters("counterfoil", "bare")
    journal = SqliteJournal(folder / "journal.db")
    result = {
        "write": await steps(ours, bare, journal, "write", 1),
        "read": await steps(ours, bare, journal, "read", 1),
        "write_16": await steps(ours, bare, journal, "write", 16),
        "read_16": await steps(ours, bare, journal, "read", 16),
        "write_200": await many(ours, bare, journal, "write"),
        "read_200": await many(ours, bare, journal, "read"),
        "entry_durable": await entries(journal, durable=True),
        "entry": await entries(journal, durable=False),
        "fdatasync": fdatasync(folder),
    }
    faults = await journal.verify()
    assert not faults, faults[:3]
    await journal.aclose()
    sys.path.insert(0, str(SERVERS))
    from postgres_server import PostgresServer  # noqa: PLC0415 the one that the tests start

    server = PostgresServer()
    try:
        result |= await on_postgres(ours, bare, server.database())
    finally:
        server.stop()
    print(json.dumps(result))


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else WORK / "journal"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    asyncio.run(main(folder))
    shutil.rmtree(folder)
