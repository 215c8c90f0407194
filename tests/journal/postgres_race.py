"""Two processes that answer the same confirmations and take up the same runs at the same instant."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.synchronize import Barrier
from typing import Any

import anyio

from counterfoil import (
    Catalogue,
    ConfirmationError,
    Context,
    Function,
    Harness,
    Reply,
    Request,
    RunBusy,
    Session,
    ToolCall,
    tool,
)
from counterfoil.journal.postgres import PostgresJournal
from counterfoil.types.message import Message

ADA = Session(requester="ada", permissions=frozenset({"*"}))


def model(request: Request) -> Reply | str:
    """Ask for one irreversible call, then be content."""
    if any(message.role == "assistant" for message in request.messages):
        return "done"
    return Reply(Message("assistant", (ToolCall("", "send", {}),)), "tool_calls")


def harness(journal: PostgresJournal, effects: str) -> Harness:
    """A harness whose effect is a line in a file outside."""
    file = os.open(effects, os.O_APPEND | os.O_CREAT | os.O_WRONLY)

    @tool(effect="irreversible")
    async def send(context: Context) -> str:
        """Send."""
        os.write(file, f"{context.idempotency_key}\n".encode())
        return "sent"

    return Harness(Function(model), Catalogue([send]), journal=journal)


def race(url: str, effects: str, waiting: Sequence[tuple[str, str]], backend: Any, barrier: Barrier, won: Any) -> None:
    """Answer each confirmation and resume its run when the other process does the same."""

    async def main() -> None:
        journal = PostgresJournal(url)
        ours = harness(journal, effects)
        for run_id, confirmation_id in waiting:
            barrier.wait(30)
            with suppress(ConfirmationError):
                await ours.answer(confirmation_id, approve=True, by=f"the one on {backend}")
                won.put(confirmation_id)
            with suppress(RunBusy):
                await ours.resume(run_id)
        await journal.aclose()

    anyio.run(main, backend=backend)
