"""An answer of a type of yours, validated and put right by the model."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from counterfoil import Catalogue, Harness, Scripted, Session, ToolCall


@dataclass
class Triage:
    urgency: Literal["low", "high"]
    topic: str


async def main() -> None:
    wrong = [ToolCall("a", "answer", {"urgency": "very", "topic": "invoice"})]
    right = [ToolCall("b", "answer", {"urgency": "high", "topic": "invoice"})]
    harness = Harness(Scripted([wrong, right]), Catalogue())
    run = await harness.run("Triage: my invoice is wrong!", Session(requester="ada"), output=Triage)
    print(run.output)
    print(run.results["1.1"].text)


asyncio.run(main())
