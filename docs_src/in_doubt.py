"""A payment that times out may have gone through: nobody guesses, a person settles it."""

import asyncio

from counterfoil import Catalogue, Harness, Limits, Scripted, Session, ToolCall, tool


@tool(effect="write", permission="payments:send", limits=Limits(timeout=0.05))
async def pay(invoice: str) -> str:
    """Pay an invoice."""
    await asyncio.sleep(10)  # the bank does not answer
    return "paid"


async def main() -> None:
    harness = Harness(Scripted([[ToolCall("a", "pay", {"invoice": "I-7"})], "It is paid."]), Catalogue([pay]))
    run = await harness.run("Pay I-7", Session(requester="ada", permissions={"payments:send"}))
    print(run.outcome.kind, "|", run.doubts[0].call.name, run.doubts[0].reason)
    await harness.settle(run.id, run.doubts[0].call.id, "happened", by="bob", result="The bank shows the payment.")
    run = await harness.resume(run.id)
    print(run.outcome.kind, "|", run.results["1.1"].text)


asyncio.run(main())
