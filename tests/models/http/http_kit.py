"""What the tests of the HTTP model share: a clock, a person, two tools, and runs against a provider."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from provider_kit import KEY, Provider, Turn

from counterfoil import Budget, Catalogue, Harness, Run, Session, Text, ToolCall, tool
from counterfoil.models.http import HttpModel
from counterfoil.models.retry import Clock

ADA = Session(requester="ada", permissions=frozenset({"*"}), budget=Budget(turns=6))


class FakeClock(Clock):
    """A clock on which waiting takes no time."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return 1_700_000_000.0 + self.time - 1000.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def chance(self) -> float:
        return 0.0


class Desk:
    """Two tools that remember what they were asked."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str]] = []

        @tool(effect="read")
        async def lookup_order(order_id: str) -> str:
            """Find one order by its number."""
            self.done.append(("lookup_order", order_id))
            return f"{order_id} ships today"

        @tool(effect="read")
        async def lookup_stock(sku: str, least: int = 1) -> str:
            """Say how many are in stock."""
            self.done.append(("lookup_stock", sku))
            return f"{sku}: {least + 4} left"

        self.catalogue = Catalogue([lookup_order, lookup_stock])


CALLS = [
    Text("Let me look."),
    ToolCall("call_a1", "lookup_order", {"order_id": "ORD-1"}),
    ToolCall("call_b2", "lookup_stock", {"sku": "S-7", "least": 2}),
]


@asynccontextmanager
async def model_at(provider: Provider, **options: Any) -> AsyncIterator[HttpModel]:
    """A model at a provider, whose waits take no time."""
    options = {"base": provider.base, "key": KEY, "clock": FakeClock(), **options}
    async with HttpModel(provider.host, "test-model", **options) as model:
        yield model


async def talk(harness: Harness, *, stream: bool) -> Run:
    """One run, streamed or not."""
    if not stream:
        return await harness.run("please", ADA)
    last: object = None
    async for event in harness.stream("please", ADA):
        last = event
    assert isinstance(last, Run)
    return last


async def run_at(
    wire: str, turns: Iterable[Turn], *, stream: bool = True, desk: Desk | None = None, **options: Any
) -> tuple[Run, Provider]:
    """One run against a scripted provider."""
    with Provider(wire, turns) as provider:
        async with model_at(provider, **options) as model:
            run = await talk(Harness(model, (desk or Desk()).catalogue), stream=stream)
    return run, provider
