"""The same harness without an event loop."""

import counterfoil
from counterfoil import Catalogue, Scripted, Session, ToolCall, tool


@tool(effect="read", permission="orders:read")
def lookup_order(order_id: str) -> str:
    """Find one order by its number."""
    return "It ships today."


model = Scripted([[ToolCall("a", "lookup_order", {"order_id": "ORD-1"})], "ORD-1 ships today."])
with counterfoil.sync.Harness(model, Catalogue([lookup_order])) as harness:
    run = harness.run("Where is ORD-1?", Session(requester="ada", permissions={"orders:read"}))
    print(run.text)
