"""Runs in every state in which a process may leave them, written as a journal for later versions to read.

`python tests/journal/fixture.py FILE` writes one with the code that is installed, and the hash of each run's state
beside it. A fixture that was committed is never written again: it is what a user of that version has.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio

from counterfoil import (
    Budget,
    Catalogue,
    Context,
    Gate,
    Harness,
    Limits,
    Message,
    NotApplied,
    Scripted,
    Session,
    SqliteJournal,
    Text,
    ToolCall,
    ToolError,
    tool,
)
from counterfoil.models.scripted import Turn
from counterfoil.types.message import Block, user

ADA = Session(requester="ada", permissions=frozenset({"*"}), attributes={"tenant": 7}, budget=Budget(turns=6))


@tool(effect="read")
def look(order: str) -> dict[str, object]:
    """Look at an order."""
    if order == "ORD-0":
        raise ToolError("no order with that id: check the format ORD-0000")
    return {"order": order, "total": 12.5, "note": "çà et là 👍"}


@tool(effect="write", limits=Limits(timeout=5))
def note(order: str, text: str, context: Context) -> str:
    """Note something on an order."""
    if text == "unsure":
        raise RuntimeError("the line broke")
    if text == "refused":
        raise NotApplied("the desk is closed")
    return f"noted on {order} under {context.idempotency_key[:8]}"


@tool(effect="irreversible", limits=Limits(timeout=5))
def refund(order: str, amount: float) -> str:
    """Pay an order back."""
    return f"{amount} paid back for {order}"


CATALOGUE = Catalogue([look, note, refund])
PATIENT = Gate(confirmations_expire=100 * 365 * 86400)


def call(id: str, name: str, **arguments: object) -> ToolCall:
    """A call as a model writes it."""
    return ToolCall(id, name, arguments)


async def write(path: Path) -> dict[str, str]:
    """Write every kind of run; their ids and the hashes of their states."""
    journal = SqliteJournal(path)

    def harness(*turns: Turn) -> Harness:
        return Harness(Scripted(list(turns)), CATALOGUE, gate=PATIENT, journal=journal, instructions="Be brief.")

    both: list[Block] = [Text("I look first."), call("a", "look", order="ORD-1"), call("a", "look", order="ORD-0")]
    await harness(both, [call("b", "note", order="ORD-1", text="refused")], "All is well.").run(
        "How is ORD-1?", ADA, run_id="answered", history=[user("Hello"), Message("assistant", (Text("Good day."),))]
    )
    await harness([call("a", "nope", x=1), call("b", "look", order=7)], "I cannot.").run("?", ADA, run_id="refused")
    waits = harness([call("a", "look", order="ORD-2"), call("b", "refund", order="ORD-2", amount=12.5)], "Paid.")
    await waits.run("Pay ORD-2 back", ADA, run_id="waiting")
    answered = harness([call("a", "refund", order="ORD-3", amount=1.0)])
    run = await answered.run("Pay ORD-3 back", ADA, run_id="approved")
    await answered.answer(run.confirmations[0].id, approve=True, by="bob")
    await harness([call("a", "note", order="ORD-4", text="unsure")], "Noted.").run("Note it", ADA, run_id="doubtful")
    settled = harness([call("a", "note", order="ORD-5", text="unsure")])
    run = await settled.run("Note it", ADA, run_id="settled")
    await settled.settle("settled", run.doubts[0].call.id, "happened", by="bob", result="it is there")
    await harness([call("a", "look", order="ORD-6")]).run("?", ADA, run_id="unanswered")  # the model fails
    await harness([call("a", "look", order="ORD-7")], [call("a", "look", order="ORD-7")]).run(
        "?", Session(requester="eve", permissions=frozenset({"look"}), budget=Budget(turns=2)), run_id="limited"
    )
    await waits.run("Pay ORD-8 back", ADA, run_id="large", history=[user("x" * 40_000)])
    outside = Harness(None, CATALOGUE, journal=journal)
    await outside.call(call("x", "look", order="ORD-9"), ADA, run_id="outside")
    cancelled = harness([call("a", "refund", order="ORD-10", amount=2.0)])
    await cancelled.run("Pay", ADA, run_id="cancelled")
    await cancelled.cancel("cancelled", by="bob", reason="not now")
    hashes = {info.id: (await outside.read(info.id)).state.hash for info in await journal.runs()}
    assert await journal.verify() == []
    await journal.aclose()
    return dict(sorted(hashes.items()))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.with_suffix(".hashes.json").write_text(json.dumps(anyio.run(write, target), indent=1) + "\n")
