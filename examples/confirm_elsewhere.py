"""An irreversible call waits in one process, is approved in a second, and is done in a third: once.

Run it: python examples/confirm_elsewhere.py
The parts are real processes that share nothing but the journal's file.
"""

# ruff: noqa: T201 - an example says what it does

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from counterfoil import Catalogue, Harness, Scripted, Session, SqliteJournal, ToolCall, tool


@tool(effect="irreversible", permission="orders:cancel")
async def cancel_order(order_id: str) -> str:
    """Cancel an order for good."""
    return f"{order_id} is cancelled"


async def ask(journal: SqliteJournal) -> None:
    """First process: ada's model asks for something that cannot be taken back, and the run ends as waiting."""
    model = Scripted([[ToolCall("a", "cancel_order", {"order_id": "ORD-1"})]])
    ada = Session(requester="ada", permissions=frozenset({"orders:cancel"}))
    run = await Harness(model, Catalogue([cancel_order]), journal=journal).run("Cancel ORD-1", ada, run_id="run-1")
    waiting = run.confirmations[0]
    print(f"ask: {run.outcome.kind}: {waiting.call.name} {waiting.call.arguments}, because {waiting.reason}")


async def approve(journal: SqliteJournal) -> None:
    """Second process: bob approves these very arguments. It needs no model and no tools."""
    harness = Harness(None, Catalogue(), journal=journal)
    for waiting in await harness.confirmations():
        await harness.answer(waiting.id, approve=True, by="bob", digest=waiting.digest)
        print(f"approve: {waiting.call.name} {waiting.call.arguments} for {waiting.requester}")


async def go_on(journal: SqliteJournal) -> None:
    """Third process: the run goes on where it was. Resumed again, it does nothing twice."""
    model = Scripted(["ORD-1 is cancelled."])
    harness = Harness(model, Catalogue([cancel_order]), journal=journal)
    for _ in range(2):
        run = await harness.resume("run-1")
        print(f"go_on: {run.outcome.kind}: {run.results['1.1'].text} | {run.text}")


PARTS = {"ask": ask, "approve": approve, "go_on": go_on}


async def part(name: str, path: str) -> None:
    """Do one part."""
    journal = SqliteJournal(path)
    try:
        await PARTS[name](journal)
    finally:
        await journal.aclose()


def main() -> None:
    """Do one part, or each in a process of its own."""
    if len(sys.argv) == 3:
        asyncio.run(part(*sys.argv[1:]))
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in PARTS:
            command = [sys.executable, __file__, name, str(Path(folder) / "runs.db")]
            subprocess.run(command, check=True)  # noqa: S603 - this very file


if __name__ == "__main__":
    main()
