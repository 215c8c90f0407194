"""An irreversible call waits, another process approves it, and it happens once."""

import asyncio
import tempfile
from pathlib import Path

from counterfoil import Catalogue, Harness, Scripted, Session, SqliteJournal, ToolCall, tool

cancelled: list[str] = []


@tool(effect="irreversible", permission="orders:cancel")
def cancel_order(order_id: str, reason: str) -> str:
    """Cancel an order for good."""
    cancelled.append(order_id)
    return f"{order_id} is cancelled."


catalogue = Catalogue([cancel_order])
asks = [ToolCall("a", "cancel_order", {"order_id": "ORD-1", "reason": "bought twice"})]


async def main(path: Path) -> None:
    ada = Session(requester="ada", permissions={"orders:cancel"})
    journal = SqliteJournal(path)
    run = await Harness(Scripted([asks]), catalogue, journal=journal).run("Cancel ORD-1, I bought it twice.", ada)
    print(run.outcome.kind, cancelled)
    await journal.aclose()  # this process may end here: waiting costs a row

    journal = SqliteJournal(path)  # another process, another day
    harness = Harness(Scripted(["ORD-1 is cancelled."]), catalogue, journal=journal)
    for waiting in await harness.confirmations():
        print(waiting.requester, waiting.call.name, waiting.call.arguments, "-", waiting.reason)
        await harness.answer(waiting.id, approve=True, by="bob")
    run = await harness.resume(run.id)
    print(run.outcome.kind, cancelled, run.text)
    await journal.aclose()


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder) / "runs.db"))
