"""A process that answers requests and goes on with runs in the background, too."""

import asyncio
import tempfile
from pathlib import Path

from counterfoil import Catalogue, Harness, Scripted, Session, SqliteJournal, ToolCall, tool
from counterfoil.dispatch import Happening, Scheduler


@tool(effect="irreversible", permission="orders:cancel")
def cancel_order(order_id: str) -> str:
    """Cancel an order for good."""
    return f"{order_id} is cancelled."


async def main(path: Path) -> None:
    told: asyncio.Queue[Happening] = asyncio.Queue()
    journal = SqliteJournal(path)
    model = Scripted([[ToolCall("a", "cancel_order", {"order_id": "ORD-1"})], "It is cancelled."])
    harness = Harness(model, Catalogue([cancel_order]), journal=journal)
    async with Scheduler(harness, concurrency=10, per_requester=2, watch=told.put_nowait):
        run_id = await harness.submit("Cancel ORD-1", Session(requester="ada", permissions={"orders:cancel"}))
        print((await told.get()).what, (await told.get()).outcome)
        (waiting,) = await harness.confirmations(run_id)
        await harness.answer(waiting.id, approve=True, by="bob")  # from this process or any other
        print((await told.get()).what, (await told.get()).outcome)
    print((await harness.read(run_id)).text)
    await journal.aclose()


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder) / "runs.db"))
