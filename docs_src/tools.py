"""What a tool may say of itself."""

import asyncio
from typing import Annotated, Literal

import msgspec

from counterfoil import Catalogue, Context, Harness, Limits, Rate, Scripted, Session, ToolCall, ToolError, tool


class Line(msgspec.Struct):
    sku: str
    quantity: Annotated[int, msgspec.Meta(ge=1, le=100)]


@tool(effect="write", permission="orders:create", limits=Limits(timeout=10, rate=Rate(5, 60), calls_per_run=2))
async def create_order(lines: list[Line], speed: Literal["slow", "fast"] = "slow", *, context: Context) -> str:
    """Create an order.

    Args:
        lines: What is ordered, one entry per article.
        speed: How fast it ships.
    """
    if any(line.sku == "SOLD-OUT" for line in lines):
        raise ToolError("SOLD-OUT cannot be ordered: offer SIMILAR instead.")
    context.progress("reserving stock", 0.5)
    return f"Created under key {context.idempotency_key[:8]}."


@tool(effect="read", permission="orders:read", returns=["sku", "price"], limits=Limits(clamps={"limit": (1, 20)}))
def list_articles(limit: int = 10) -> list[dict]:
    """List articles with their prices."""
    return [{"sku": f"A-{n}", "price": n, "cost": "internal"} for n in range(1, limit + 1)]


async def main() -> None:
    asks = [
        ToolCall("a", "create_order", {"lines": [{"sku": "A-1", "quantity": 0, "colour": "red"}]}),
        ToolCall("b", "create_order", {"lines": [{"sku": "SOLD-OUT", "quantity": 1}]}),
        ToolCall("c", "list_articles", {"limit": 5000}),
    ]
    harness = Harness(Scripted([asks, "Done."]), Catalogue([create_order, list_articles]))
    ada = Session(requester="ada", permissions={"orders:*"})
    run = await harness.run("Order one A-1", ada)
    for result in run.results.values():
        print(result.text[:160], "\n")


asyncio.run(main())
