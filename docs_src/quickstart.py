import asyncio

from counterfoil import Catalogue, Harness, Scripted, Session, ToolCall, tool

ORDERS = {"ORD-1": {"customer": "ada", "status": "ships today"}, "ORD-2": {"customer": "bob", "status": "shipped"}}


def own_order(session: Session, arguments: dict) -> str | None:
    order = ORDERS.get(arguments["order_id"])
    return None if order and order["customer"] == session.requester else "That is not an order of theirs."


@tool(effect="read", permission="orders:read", authorize=own_order)
async def lookup_order(order_id: str) -> dict:
    """Find one order by its number. Returns its status."""
    return ORDERS[order_id]


model = Scripted([[ToolCall("a", "lookup_order", {"order_id": "ORD-2"})], "I may not see ORD-2."])
harness = Harness(model, Catalogue([lookup_order]))


async def main() -> None:
    run = await harness.run("Where is ORD-2?", Session(requester="ada", permissions={"orders:read"}))
    print(run.outcome.kind, "|", run.text)
    for call_id, result in run.results.items():
        print(call_id, result.code, "|", result.text)


asyncio.run(main())
