"""A check of your own: it may let a call pass, refuse it, or ask a person."""

import asyncio

from counterfoil import Attempt, Catalogue, Confirm, Gate, Harness, Refusal, Scripted, Session, ToolCall, Verdict, tool


@tool(effect="write", permission="payments:send")
async def transfer(to: str, amount: float) -> str:
    """Send money."""
    return f"Sent {amount:g} to {to}."


def careful(attempt: Attempt) -> Verdict | None:
    amount = attempt.arguments.get("amount", 0)
    if amount > 10_000:
        return Refusal("over_limit", "More than 10,000 is never sent from here. Suggest a bank transfer.")
    if amount > 100:
        return Confirm(f"{amount:g} is more than 100")
    return None


async def main() -> None:
    asks = [ToolCall(str(n), "transfer", {"to": "Bo", "amount": n}) for n in (5, 500, 50_000)]
    harness = Harness(Scripted([asks]), Catalogue([transfer]), gate=Gate([careful]))
    run = await harness.run("Pay Bo", Session(requester="ada", permissions={"payments:send"}))
    print(run.outcome.kind, [waiting.reason for waiting in run.confirmations])
    for result in run.results.values():
        print(result.text)


asyncio.run(main())
