"""A model that does what the prompt says, and tools that tell somebody outside when they act."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import anyio

from counterfoil import (
    Catalogue,
    Context,
    Function,
    Gate,
    Harness,
    Journal,
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
from counterfoil.journal.journal import Log
from counterfoil.types.entry import Entry, Said
from counterfoil.types.message import Message, user

OFF = Gate(provenance="off")
"""Acts follow one another's replies here. What provenance would ask about is the matter of other tests."""
ADA = Session(requester="ada", permissions=frozenset({"*"}))
QUICK = Limits(timeout=0.05)
"""So that `retry` may be said soon. Nothing here waits, so nothing is cut off by it."""


class Acting(NamedTuple):
    """A call begins to act: that it was started is durable."""

    run: str
    call_id: str
    key: str


def model(request: Request) -> Reply | str:
    """Do what the prompt says: words are tools, called together, and a stroke divides turns."""
    messages = list(request.messages)
    last = max(index for index, message in enumerate(messages) if message.role == "user")
    turns = messages[last].text.split("|")
    at = sum(message.role == "assistant" for message in messages[last:])
    if at == len(turns):
        return "done"
    calls = (ToolCall("", name, {"n": 10 * len(messages) + n}) for n, name in enumerate(turns[at].split()))
    return Reply(Message("assistant", tuple(calls)), "tool_calls")


def harness(journal: Journal, acting: Callable[[Acting], None]) -> Harness:
    """A harness whose tools say when they act."""

    @tool(effect="write", limits=QUICK)
    async def act(n: int, context: Context) -> str:
        """Act."""
        acting(Acting(context.run_id, context.call_id, context.idempotency_key))
        return f"acted {n}"

    @tool(effect="irreversible", limits=QUICK)
    async def send(n: int, context: Context) -> str:
        """Send."""
        acting(Acting(context.run_id, context.call_id, context.idempotency_key))
        return f"sent {n}"

    @tool(effect="read")
    async def look(n: int) -> str:
        """Look: so much that its entry is kept apart."""
        return f"seen {n} " * 3_000

    return Harness(Function(model), Catalogue([act, send, look]), gate=OFF, journal=journal)


async def begin(journal: Journal, run_id: str, entries: Sequence[Entry]) -> Log:
    """Create a run with its first entries."""
    return await journal.create(run_id, "ada", entries)


def said(text: str) -> Said:
    """An entry."""
    return Said(user(text))


async def finish(ours: Harness, run_id: str, prompt: str, acted: Collection[str]) -> Run:
    """Go on with a run until it is done: people say yes, and settle what is in doubt by what was seen to act."""
    try:
        run = await ours.resume(run_id)
    except RunNotFound:  # nothing of it had been written
        run = await ours.run(prompt, ADA, run_id=run_id)
    while run.outcome.kind in ("waiting", "in_doubt"):
        for each in run.confirmations:
            await ours.answer(each.id, approve=True, by="bob")
        for doubt in run.doubts:
            await settle(ours, run_id, doubt.call.id, happened=doubt.key in acted)
        run = await ours.resume(run_id)
    return run


async def settle(ours: Harness, run_id: str, call_id: str, *, happened: bool) -> None:
    """Settle a call in doubt, as soon as one may."""
    while True:
        try:
            await ours.settle(run_id, call_id, "happened" if happened else "retry", by="carol")
            return
        except SettlementError as error:
            if "may still be running" not in str(error):
                raise
            await anyio.sleep(0.01)
