"""Miriam asks to be forgotten: what her runs held is gone, that they ran can still be verified."""

import asyncio
import tempfile
from pathlib import Path

from counterfoil import Catalogue, Harness, JournalError, RunErased, Scripted, Session, SqliteJournal, ToolCall, tool


@tool(effect="irreversible", permission="accounts:close")
async def close_account(account: str) -> str:
    """Close an account for good."""
    return f"{account} is closed"


async def main() -> None:
    path = Path(tempfile.mkdtemp()) / "runs.db"
    journal = SqliteJournal(path)
    model = Scripted([[ToolCall("a", "close_account", {"account": "K-17"})], "It is closed."])
    harness = Harness(model, Catalogue([close_account]), journal=journal)
    run = await harness.run("Close K-17", Session(requester="miriam", permissions={"accounts:close"}), run_id="r1")
    try:
        await journal.erase("miriam", by="bob")
    except JournalError as error:
        print(error)
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    await harness.resume(run.id)

    erased = await journal.erase("miriam", by="bob")
    print(f"erased: {erased.records} records of {len(erased.runs)} run")
    try:
        await harness.read("r1")
    except RunErased as error:
        print(str(error).partition(" on ")[0])
    print("in the file:", [word for word in (b"miriam", b"K-17") if word in path.read_bytes()])
    print("faults:", await journal.verify())
    await journal.aclose()


asyncio.run(main())
