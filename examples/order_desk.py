"""An order desk with a scripted model: a read, a refusal that teaches, and somebody else's order.

Run it: python examples/order_desk.py
"""

# ruff: noqa: T201 - an example says what it does

from __future__ import annotations

import asyncio
from typing import Any

from counterfoil import Catalogue, Harness, Scripted, Session, ToolCall, ToolError, tool

ORDERS = {"ORD-1": ("ada", "ships today"), "ORD-2": ("cleo", "on its way")}


def may_see(session: Session, arguments: dict[str, Any]) -> str | None:
    """May this requester see this very order? None: yes; a string: no, and why."""
    owner = ORDERS.get(arguments["order_id"], (session.requester, ""))[0]
    return None if owner == session.requester else f"{arguments['order_id']} is not theirs"


@tool(effect="read", permission="orders:read", authorize=may_see)
async def lookup_order(order_id: str) -> str:
    """Find one order by its number. Returns its status."""
    if order_id not in ORDERS:
        raise ToolError(f"no order {order_id}: check the format ORD-0")
    return ORDERS[order_id][1]


desk = Catalogue([lookup_order])


async def main() -> None:
    """Ask three things for ada."""
    ada = Session(requester="ada", permissions=frozenset({"orders:read"}))
    model = Scripted(
        [
            # Wrong, twice: a property that does not exist, and an order that is not hers.
            [
                ToolCall("a", "lookup_order", {"order": "ORD-1"}),
                ToolCall("b", "lookup_order", {"order_id": "ORD-2"}),
            ],
            # It has read why, and repairs what it can.
            [ToolCall("c", "lookup_order", {"order_id": "ORD-1"})],
            "ORD-1 ships today. I may not tell you about ORD-2.",
        ]
    )
    run = await Harness(model, desk).run("Where are my orders ORD-1 and ORD-2?", ada)
    for call_id, result in run.results.items():
        print(call_id, result.code or "done", "|", result.text)
    print(run.outcome.kind, "|", run.text)
    model.assert_done()


if __name__ == "__main__":
    asyncio.run(main())
