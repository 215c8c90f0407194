"""What a tool returned can hold orders, so a call that comes after it is asked about, until you say what you know."""

import asyncio

from counterfoil import Catalogue, Harness, Intent, Scripted, Session, ToolCall, Trust, tool

ada = Session(requester="ada", permissions={"*"})
script = [[ToolCall("a", "weather", {"city": "Oslo"})], [ToolCall("b", "book", {"city": "Oslo"})], "Booked."]


@tool(effect="read")
def weather(city: str) -> str:
    """Say what the weather will be."""
    return "Sunny."


@tool(name="weather", effect="read", trust=Trust(returns="system"))
def own_weather(city: str) -> str:
    """Say what the weather will be."""
    return "Sunny."


@tool
def book(city: str) -> str:
    """Book a journey."""
    return "booked"


async def main() -> None:
    run = await Harness(Scripted(script), Catalogue([weather, book])).run("Book Oslo if it is sunny.", ada)
    print(run.outcome.kind, "|", *[each.reason for each in run.confirmations])

    print("1. Nobody from outside can write what weather returns:")
    run = await Harness(Scripted(script), Catalogue([own_weather, book])).run("Book Oslo if it is sunny.", ada)
    print(run.outcome.kind)

    print("2. Or the application says what is meant:")
    plan = [Intent("book", fixed={"city": "Oslo"})]
    run = await Harness(Scripted(script), Catalogue([weather, book])).run("Book Oslo if it is sunny.", ada, plan=plan)
    print(run.outcome.kind)


asyncio.run(main())
