"""counterfoil: every check on, arguments as the raw text of the wire, one catalogue shared, a harness per session."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

from benchmarks.scenario import FINAL, PROMPT, SYSTEM, Script, record
from counterfoil import (
    BaseModel,
    Budget,
    Catalogue,
    Harness,
    Journal,
    Limits,
    Message,
    Reply,
    Request,
    Session,
    Text,
    ToolCall,
    Trust,
    tool,
)

# The scripted model repeats itself, which the gate would rightly refuse.
LIMITS = Limits(repeats=10**9)
Effect = Literal["read", "write"]
EFFECTS: tuple[Effect, ...] = ("read", "write")
# What a write replies is declared the service's own: otherwise a person would be asked about the next one.
TRUST: dict[Effect, Trust | None] = {"read": None, "write": Trust(returns="system")}
CATALOGUES = {
    effect: Catalogue([tool(effect=effect, limits=LIMITS, trust=TRUST[effect])(record)]) for effect in EFFECTS
}
CLERK = Session(requester="clerk", permissions=frozenset({"record"}), budget=Budget(turns=10**9))


class FakeModel(BaseModel):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def reply(self, request: Request) -> Reply:
        script = self.script
        if script.sleep:
            await asyncio.sleep(script.sleep)
        calls = script.turn()
        if calls is None:
            return Reply(Message("assistant", (Text(FINAL),)))
        blocks = tuple([ToolCall(id, name, raw=arguments) for id, name, arguments in calls])
        return Reply(Message("assistant", blocks), "tool_calls")


def session(effect: Effect = "read", journal: Journal | None = None) -> Callable[[Script], Awaitable[str]]:
    async def run(script: Script) -> str:
        harness = Harness(FakeModel(script), CATALOGUES[effect], journal=journal, instructions=SYSTEM)
        return (await harness.run(PROMPT, CLERK)).text

    return run
