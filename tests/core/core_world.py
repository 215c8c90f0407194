"""A small world for the laws: tools with effects that are counted outside, and a model that only reads the history."""

from __future__ import annotations

from collections import Counter
from typing import Any

from core_kit import ADA, assert_well_formed
from hypothesis import strategies as st

from counterfoil import (
    BaseModel,
    Catalogue,
    Context,
    Harness,
    Journal,
    Limits,
    Message,
    NotApplied,
    Reply,
    Request,
    Run,
    Text,
    Tool,
    ToolCall,
    ToolError,
    tool,
)

LIMITS = Limits(repeats=100)


class World:
    """What was done, per idempotency key. The first attempts named in `breaks` raise after they have done it."""

    def __init__(self, breaks: frozenset[str] = frozenset()) -> None:
        self.done: Counter[str] = Counter()
        self.breaks = breaks

    def tools(self, limits: Limits = LIMITS) -> list[Tool]:
        """One tool per effect."""

        @tool(effect="read", limits=limits)
        async def read(n: int) -> str:
            """Read."""
            if n == 3:
                raise ToolError("no such row")
            return f"read {n}"

        @tool(effect="idempotent", limits=limits)
        async def put(n: int, context: Context) -> str:
            """Put."""
            self.done[context.idempotency_key] = 1
            return f"put {n}"

        @tool(effect="write", limits=limits)
        async def write(n: int, context: Context) -> str:
            """Write."""
            if n == 3:
                raise NotApplied("not today")
            self.done[context.idempotency_key] += 1
            if context.call_id in self.breaks and self.done[context.idempotency_key] == 1:
                raise ConnectionResetError("after the fact")
            return f"write {n}"

        @tool(effect="irreversible", limits=limits)
        async def burn(n: int, context: Context) -> str:
            """Burn."""
            self.done[context.idempotency_key] += 1
            return f"burn {n}"

        return [read, put, write, burn]


HASTY = Catalogue(World().tools(Limits(timeout=0.0005)))
"""The tools as the people of this world know them: they give up soon, so that `retry` may be said soon."""


class Reader(BaseModel):
    """Plays the turn that the history is at: it can be asked again after a crash and says the same."""

    name = "reader"

    def __init__(self, turns: list[Any]) -> None:
        self.turns = turns

    async def reply(self, request: Request) -> Reply:
        """Check the history, then play the turn."""
        assert_well_formed(list(request.messages))
        at = sum(message.role == "assistant" for message in request.messages)
        said = self.turns[at] if at < len(self.turns) else "the end"
        blocks = (Text(said),) if isinstance(said, str) else tuple(said)
        return Reply(Message("assistant", blocks), "end" if isinstance(said, str) else "tool_calls")


numbers = st.integers(0, 3)
good = st.builds(
    lambda name, n: ToolCall("", name, {"n": n}), st.sampled_from(["read", "put", "write", "burn"]), numbers
)
bad = st.sampled_from(
    [
        ToolCall("x", "nothing", {}),
        ToolCall("x", "write", {"n": "three"}),
        ToolCall("x", "write", {"n": 1, "m": 2}),
        ToolCall("x", "write", raw='{"n": 1'),
        ToolCall("x", "write", raw='{"n": 1, "n": 2}'),
    ]
)
turns = st.lists(st.lists(st.one_of(good, good, good, bad), min_size=1, max_size=4), min_size=1, max_size=3)


def approves(call: ToolCall) -> bool:
    """What the people of this world say to a call: the same whenever they are asked."""
    return (call.arguments or {}).get("n") != 2


async def go_on(harness: Harness, run: Run, world: World) -> Run:
    """Answer and settle, as the world outside is, until nothing waits any more."""
    people = Harness(None, HASTY, journal=harness.journal)
    for _ in range(50):
        if run.outcome.kind not in ("waiting", "in_doubt"):
            return run
        for each in await harness.confirmations(run.id):
            await harness.answer(each.id, approve=approves(each.call), by="bob", reason="no")
        for doubt in run.doubts:
            if world.done[doubt.key]:
                said = f"{doubt.call.name} {(doubt.call.arguments or {})['n']}"
                await harness.settle(run.id, doubt.call.id, "happened", by="carol", result=said)
            else:
                await people.settle(run.id, doubt.call.id, "retry", by="carol")
        run = await harness.resume(run.id)
    raise AssertionError(f"the run does not end: {run.outcome}")


def make(script: list[Any], world: World, journal: Journal | None = None) -> Harness:
    """A harness over the world."""
    return Harness(Reader(script), Catalogue(world.tools()), journal=journal)


async def live(script: list[Any], world: World, journal: Journal | None = None) -> Run:
    """The whole run, uncut."""
    harness = make(script, world, journal)
    return await go_on(harness, await harness.run("go", ADA, run_id="r"), world)
