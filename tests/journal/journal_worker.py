"""A process to be killed: it works on runs whose effects are counted in a file outside."""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

import anyio

from counterfoil import (
    Catalogue,
    Context,
    Function,
    Gate,
    Harness,
    Limits,
    Reply,
    Request,
    Run,
    RunNotFound,
    Session,
    SettlementError,
    ToolCall,
    tool,
)
from counterfoil.journal.opening import open_journal
from counterfoil.journal.portable import Stored
from counterfoil.types.message import Message

OFF = Gate(provenance="off")
"""Acts follow one another's replies here. What provenance would ask about is the matter of other tests."""
ADA = Session(requester="ada", permissions=frozenset({"*"}))


def model(request: Request) -> Reply | str:
    """Ask for two writes and a read, three times over: what the history says is next."""
    turn = sum(message.role == "assistant" for message in request.messages)
    if turn == 3:
        return "done"
    calls = tuple(ToolCall("", name, {"n": n}) for n, name in enumerate(["act", "look", "act"], 10 * turn))
    return Reply(Message("assistant", calls), "tool_calls")


def say(text: str) -> None:
    """Tell the parent, at once; in long lines, so that few fit into the pipe."""
    os.write(1, f"{text:<100}\n".encode())


def tools(effects: int) -> Catalogue:
    """A write whose effect is one line in a file, and a read."""

    @tool(effect="write", limits=Limits(timeout=0.05))
    async def act(n: int, context: Context) -> str:
        """Act."""
        say("acting")
        os.write(effects, f"{context.idempotency_key}\n".encode())
        say("acted")
        return f"acted {n}"

    @tool(effect="read")
    async def look(n: int) -> str:
        """Look."""
        say("looking")
        return f"seen {n}"

    @tool(effect="write")
    async def hold() -> str:
        """Hold the run."""
        say("ready")
        await anyio.sleep(3600)
        return "never"

    return Catalogue([act, look, hold])


async def settle(harness: Harness, run: Run, effects: str) -> Run:
    """Settle doubts as the file says, and go on."""
    while run.outcome.kind == "in_doubt":
        done = (await anyio.Path(effects).read_text()).split()
        for doubt in run.doubts:
            how: Any = "happened" if doubt.key in done else "retry"
            while True:
                try:
                    await harness.settle(run.id, doubt.call.id, how, by="the parent", result="acted")
                    break
                except SettlementError as error:
                    if "may still be running" not in str(error):
                        break  # settled already, by a process that was killed before it went on
                    await anyio.sleep(0.01)
        run = await harness.resume(run.id)
    return run


async def main(what: str, database: str, effects: str, number: str = "") -> None:
    """Work until killed, or finish everything and report."""
    journal = open_journal(database)
    file = os.open(effects, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    harness = Harness(Function(model), tools(file), gate=OFF, journal=journal)
    if what == "hold":
        harness = Harness(
            Function(lambda _: Reply(Message("assistant", (ToolCall("", "hold", {}),)))),
            tools(file),
            gate=OFF,
            journal=journal,
        )
        await harness.run("x", ADA, run_id="held")
    if what == "work":
        say("ready")
    for info in await journal.runs(limit=10_000):
        if info.status != "done":
            try:
                run = await harness.resume(info.id)
            except RunNotFound:  # killed before it had written anything
                run = await harness.run("x", ADA, run_id=info.id)
            await settle(harness, run, effects)
    if what == "work":
        for attempt in range(1_000_000):
            await harness.run("x", ADA, run_id=f"{number}-{attempt}")
    await report(harness, journal)


async def report(harness: Harness, journal: Stored) -> None:
    """Say what the journal believes was done."""
    unfinished = 0
    infos = await journal.runs(limit=10_000)
    for info in infos:
        run = await harness.read(info.id)
        unfinished += run.outcome.kind != "answered"
        for call in run.state.calls.values():
            if call.call.name == "act" and call.started is not None and call.result is not None:
                say(f"{'no' if call.result.is_error else 'ok'}:{call.started.key} .")
    say(f"unfinished {unfinished}")
    say(f"faults {len(await journal.verify())}")
    say(f"runs {len(infos)}")


if __name__ == "__main__":
    anyio.run(functools.partial(main, *sys.argv[1:]))
