"""The model's words as they come, and the journal's entries as they are written."""

import asyncio

from counterfoil import Catalogue, Harness, Run, Scripted, Session, ToolCall, tool
from counterfoil.types.entry import Finished, Started
from counterfoil.types.stream import BlockDelta


@tool(effect="read", permission="orders:read")
async def lookup_order(order_id: str) -> str:
    """Find one order by its number."""
    return "It ships today."


async def main() -> None:
    model = Scripted([[ToolCall("a", "lookup_order", {"order_id": "ORD-1"})], "ORD-1 ships today."])
    harness = Harness(model, Catalogue([lookup_order]))
    ada = Session(requester="ada", permissions={"orders:read"})
    async for event in harness.stream("Where is ORD-1?", ada):
        match event:
            case BlockDelta(text=text):
                print(text, end="")
            case Started(call_id):
                print(f"\n[{call_id} runs]")
            case Finished(result):
                print(f"[{result.call_id}: {result.text}]")
            case Run():
                print(f"\n{event.outcome.kind}")


asyncio.run(main())
