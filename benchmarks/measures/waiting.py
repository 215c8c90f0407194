"""10,000 sessions that wait for a person: what a worker beside them costs, and how soon it goes on with one.

`python -m benchmarks.measures.waiting sqlite|postgres|pgqueuer [COUNT]`. The worker is a process of its own; those who
answer know the journal only. A second worker, beside one waiting session, is what it is compared with.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil  # type: ignore[import-untyped]

from counterfoil import Catalogue, Function, Gate, Harness, Message, Reply, Request, Session, ToolCall, tool
from counterfoil.dispatch import Happening, Scheduler
from counterfoil.dispatch.lookout import is_postgres
from counterfoil.dispatch.queues import queue
from counterfoil.journal.journal import Journal
from counterfoil.journal.opening import open_journal

ROOT = Path(__file__).resolve().parents[2]
WAKES = 200
IDLE = 20.0
"""Seconds over which the CPU of an idle worker is taken."""


@tool(effect="irreversible")
def send(n: int) -> str:
    """Send."""
    return "sent"


def model(request: Request) -> Reply | str:
    """Ask for one call, then be content."""
    if request.messages[-1].role == "tool":
        return "done"
    return Reply(Message("assistant", (ToolCall("", "send", {"n": 1}),)), "tool_calls")


def harness(journal: Journal) -> Harness:
    """Whose confirmations wait for a month."""
    return Harness(Function(model), Catalogue([send]), gate=Gate(confirmations_expire=30 * 86400), journal=journal)


async def work(kind: str, where: str) -> None:
    """Be the worker: say when each run is begun."""

    def tell(happening: Happening) -> None:
        if happening.what == "began":
            os.write(1, f"{happening.run_id} {time.monotonic()}\n".encode())

    journal = open_journal(where)
    feed = queue(kind, journal) if kind == "pgqueuer" and is_postgres(journal) else None
    os.write(1, b"ready\n")
    await Scheduler(harness(journal), feed=feed, watch=tell).run()


async def fill(kind: str, where: str, count: int) -> None:
    """Have so many sessions wait."""
    journal = open_journal(where)
    if kind == "pgqueuer":
        assert is_postgres(journal)
        await queue(kind, journal).install()
    ours = harness(journal)

    async def some(first: int) -> None:
        for n in range(first, count, 20):
            asks = Session(requester=f"person {n % 500}", permissions=frozenset({"*"}))
            await ours.run("Send it", asks, run_id=f"run-{n}")

    async with anyio.create_task_group() as group:
        for first in range(20):
            group.start_soon(some, first)
    await journal.aclose()


@contextmanager
def worker(kind: str, where: str) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """A worker that has come to rest."""
    command = [sys.executable, "-m", "benchmarks.measures.waiting", "work", kind, where]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(5)
        yield process, psutil.Process(process.pid)
    finally:
        process.kill()
        process.communicate()


async def wakes(where: str, process: subprocess.Popen[str]) -> list[float]:
    """Answer sessions; the seconds from each answer to its being gone on with, in order."""
    journal = open_journal(where)
    ours = Harness(None, Catalogue(), journal=journal)
    assert process.stdout is not None
    found: list[float] = []
    for n in range(WAKES):
        (asked,) = await ours.confirmations(f"run-{n}")
        await ours.answer(asked.id, approve=True, by="bob")
        answered = time.monotonic()
        line = await anyio.to_thread.run_sync(process.stdout.readline)
        run_id, began = line.split()
        assert run_id == f"run-{n}"
        found.append(float(began) - answered)
        await anyio.sleep(0.013 * (n % 7))  # at no particular moment of the worker's
    await journal.aclose()
    return sorted(found)


def measure(kind: str, where: str, few: str, count: int, server: Any = None) -> dict[str, float]:
    """The figures of one journal."""
    anyio.run(fill, kind, few, 1)
    with worker(kind, few) as (_, one):
        alone = one.memory_info().rss
    anyio.run(fill, kind, where, count)
    with worker(kind, where) as (process, many):
        rss, threads = many.memory_info().rss, many.num_threads()
        before, served = sum(many.cpu_times()[:2]), _served(server)
        time.sleep(IDLE)
        cpu, serving = sum(many.cpu_times()[:2]) - before, _served(server) - served
        late = anyio.run(wakes, where, process)
    return {
        "count": count,
        "rss_more": rss - alone,
        "rss": rss,
        "threads": threads,
        "cpu": cpu / IDLE,
        "server_cpu": serving / IDLE,
        "wake_p50": late[len(late) // 2],
        "wake_p95": late[len(late) * 95 // 100],
        "wake_max": late[-1],
    }


def _served(server: Any) -> float:
    """CPU seconds that a server has taken, with its children."""
    if server is None:
        return 0.0
    return sum(sum(each.cpu_times()[:2]) for each in [server, *server.children()])


def main(kind: str, count: int) -> dict[str, float]:
    """Measure."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            return measure(kind, f"{folder}/many.db", f"{folder}/one.db", count)
    sys.path.append(str(ROOT / "tests"))  # whose server it is
    from postgres_server import PostgresServer  # type: ignore[import-not-found]  # noqa: PLC0415 - only here

    server: Any = PostgresServer()
    try:
        return measure(kind, server.database(), server.database(), count, psutil.Process(server._process.pid))
    finally:
        server.stop()


if __name__ == "__main__":
    if sys.argv[1] == "work":
        anyio.run(work, sys.argv[2], sys.argv[3])
    else:
        print(json.dumps(main(sys.argv[1], int((sys.argv[2:] or ["10000"])[0]))))
