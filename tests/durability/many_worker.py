"""Workers on a queue, killed at random; people who ask, approve and settle; and one who counts what was done."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import anyio
import msgspec
from crash_controls import commit_does_not_wait
from lives import end, fork, obey

from counterfoil import (
    Catalogue,
    ConfirmationError,
    Context,
    Function,
    Gate,
    Harness,
    Limits,
    Reply,
    Request,
    Session,
    SettlementError,
    ToolCall,
    tool,
)
from counterfoil.dispatch import Scheduler
from counterfoil.dispatch.lookout import is_postgres
from counterfoil.dispatch.pgqueuer import PgQueuerFeed
from counterfoil.journal.opening import open_journal
from counterfoil.types.message import Message

OFF = Gate(provenance="off")
"""Acts follow one another's replies here. What provenance would ask about is the matter of other tests."""
PROMPT = "act look act|send act"
EFFECTS = 4
"""Of one session."""
OPEN = 40
"""Sessions that are under way at a time."""
WORKERS = 4


class Order(msgspec.Struct):
    """How often to kill, for how many sessions at the least; and which rule to switch off, if any."""

    url: str
    folder: str
    kills: int
    sessions: int
    control: str = ""

    @property
    def effects(self) -> Path:
        """Where each effect is one line."""
        return Path(self.folder) / "effects"

    @property
    def enough(self) -> Path:
        """Is there when enough have been killed."""
        return Path(self.folder) / "enough"


def model(request: Request) -> Reply | str:
    """Do what the prompt says: words are tools, called together, and a stroke divides turns."""
    turns = PROMPT.split("|")
    at = sum(message.role == "assistant" for message in request.messages)
    if at == len(turns):
        return "done"
    calls = (ToolCall("", name, {"n": 10 * at + n}) for n, name in enumerate(turns[at].split()))
    return Reply(Message("assistant", tuple(calls)), "tool_calls")


def tools(order: Order) -> Catalogue:
    """Tools that act on the world outside, which takes a moment before and after."""
    file = os.open(order.effects, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    effect: Any = "idempotent" if order.control == "resume_runs_again" else "write"

    async def done(context: Context) -> str:
        await anyio.sleep(0.002)
        os.write(file, f"{context.idempotency_key}\n".encode())
        await anyio.sleep(0.002)
        return "done"

    @tool(effect=effect, limits=Limits(timeout=0.5))
    async def act(n: int, context: Context) -> str:
        """Act."""
        return await done(context)

    @tool(effect="irreversible", limits=Limits(timeout=0.5))
    async def send(n: int, context: Context) -> str:
        """Send."""
        return await done(context)

    @tool(effect="read")
    async def look(n: int) -> str:
        """Look."""
        await anyio.sleep(0.002)
        return "seen"

    return Catalogue([act, send, look])


# -- the processes


async def work(order: Order) -> None:
    """A worker: until it is killed, or told to stop."""
    if order.control == "commit_does_not_wait":
        commit_does_not_wait()
    journal = open_journal(order.url)
    assert is_postgres(journal)
    harness = Harness(Function(model), tools(order), gate=OFF, journal=journal)
    scheduler = Scheduler(
        harness, feed=PgQueuerFeed(journal, heartbeat=1.5), concurrency=6, reconcile_seconds=3.0, pause_seconds=0.1
    )

    async def listen() -> None:
        with anyio.open_signal_receiver(signal.SIGTERM) as signals:
            async for _ in signals:
                scheduler.drain()
                return

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await scheduler.run()
        group.cancel_scope.cancel()
    await journal.aclose()


async def attend(order: Order) -> dict[str, Any]:
    """People: they ask for more until there is enough, say yes, settle what is in doubt by what was seen to happen."""
    journal = open_journal(order.url)
    harness = Harness(Function(model), tools(order), gate=OFF, journal=journal)
    started = settled = 0
    until = time.monotonic() + 60 + 2 * order.kills
    while time.monotonic() < until:
        under_way = [info for info in await journal.runs(limit=1_000_000) if info.status != "done"]
        more = not order.enough.exists() or started < order.sessions
        if not under_way and not more:
            break
        for _ in range(OPEN - len(under_way) if more else 0):
            asks = Session(requester=f"person {started % 7}", permissions=frozenset({"*"}))
            await harness.submit(PROMPT, asks, run_id=f"run {started}")
            started += 1
        for each in await harness.confirmations():
            with suppress(ConfirmationError):
                await harness.answer(each.id, approve=True, by="bob")
        for doubt in await harness.doubts():
            # It says how it ended before that is looked at: nothing of it happens any more.
            seen = doubt.key in order.effects.read_text().split()
            with suppress(SettlementError):  # it may still be running, or somebody was faster
                await harness.settle(doubt.run_id, doubt.call.id, "happened" if seen else "retry", by="carol")
                settled += 1
        await anyio.sleep(0.03)
    found = await count(order, harness)
    await journal.aclose()
    return {**found, "sessions": started, "settled": settled}


async def count(order: Order, harness: Harness) -> dict[str, Any]:
    """What was done, by the file outside; and what the journal says of it."""
    acted = Counter(order.effects.read_text().split())
    expected: set[str] = set()
    unfinished = 0
    infos = await harness.journal.runs(limit=1_000_000)
    for info in infos:
        run = await harness.read(info.id)
        unfinished += run.outcome.kind != "answered"
        expected |= {call.started.key for call in run.state.calls.values() if call.started and call.started.key}
    journal: Any = harness.journal
    return {
        "repeated": sum(times - 1 for times in acted.values()),
        "lost": EFFECTS * len(infos) - len(acted),
        "unknown": len(set(acted) - expected),
        "unfinished": unfinished,
        "doubts": len(await harness.doubts()),
        "faults": len(await journal.verify()),
    }


# -- who kills them


def kill_and_count(said: Any) -> dict[str, Any]:
    """Have workers work, kill them at random and start others, until there is enough; then count."""
    order = msgspec.convert(said, Order)
    chance = Random(order.kills)  # noqa: S311 so that a failure can be looked at again
    anyio.run(prepare, order)
    report = Path(order.folder) / "report"

    def attending() -> None:
        report.write_bytes(msgspec.json.encode(anyio.run(attend, order)))

    people = fork(attending)
    workers = [start(order) for _ in range(WORKERS)]
    for _ in range(order.kills):
        time.sleep(chance.uniform(0.05, 0.35))
        victim = chance.randrange(WORKERS)
        os.kill(workers[victim], signal.SIGKILL)
        assert end(workers[victim]) == -signal.SIGKILL, "a worker ended by itself"
        workers[victim] = start(order)
    order.enough.touch()
    assert end(people) == 0
    for each in workers:
        os.kill(each, signal.SIGTERM)
    ended = [end(each) for each in workers]
    return {**msgspec.json.decode(report.read_bytes()), "kills": order.kills, "ended": ended}


def start(order: Order) -> int:
    """Start a worker; its pid. It can be killed from its first moment on, but not yet be told to stop."""
    body: Callable[[], object] = lambda: anyio.run(work, order)  # noqa: E731 a body for a fork
    return fork(body)


async def prepare(order: Order) -> None:
    """Set the queue up."""
    order.effects.touch()
    journal = open_journal(order.url)
    assert is_postgres(journal)
    await PgQueuerFeed(journal).install()
    await journal.aclose()


if __name__ == "__main__":
    obey(kill_and_count)
