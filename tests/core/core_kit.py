"""What the tests of the core share: a person, calls, and what a well-formed history is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from counterfoil import (
    Budget,
    Catalogue,
    Gate,
    Harness,
    Message,
    Request,
    Run,
    Scripted,
    Session,
    Tool,
    ToolCall,
    ToolResult,
)

ADA = Session(requester="ada", permissions=frozenset({"*"}))


def person(*permissions: str, requester: str = "ada", **budget: Any) -> Session:
    """A signed-in person with these permissions (default: all) and this budget."""
    return Session(requester=requester, permissions=frozenset(permissions or {"*"}), budget=Budget(**budget))


def ask(name: str, id: str = "c1", /, **arguments: Any) -> ToolCall:
    """A call as a model would make it."""
    return ToolCall(id, name, arguments)


def assert_well_formed(messages: Sequence[Message]) -> None:
    """After a message that calls comes one message with one result per call, in order; results are nowhere else."""
    seen: set[str] = set()
    index = 0
    while index < len(messages):
        message = messages[index]
        assert not message.results, f"results that answer no call: {message}"
        calls = message.calls
        index += 1
        if not calls:
            continue
        assert message.role == "assistant", f"only a model calls: {message}"
        ids = [call.id for call in calls]
        assert all(ids), f"blank ids: {ids}"
        assert len(set(ids)) == len(ids), f"repeated ids: {ids}"
        assert not seen & set(ids), f"ids used before: {ids}"
        seen |= set(ids)
        assert index < len(messages), f"calls without results: {ids}"
        answer = messages[index]
        assert answer.role == "tool"
        assert [result.call_id for result in answer.results] == ids
        assert len(answer.blocks) == len(ids)
        index += 1


class Checked(Scripted):
    """A script that checks, at every request, that the history it was sent is well-formed."""

    async def reply(self, request: Request) -> Any:
        """Check, then play the next turn."""
        assert_well_formed(list(request.messages))
        return await super().reply(request)


async def play(
    turns: Iterable[Any], tools: Iterable[Tool], session: Session = ADA, *, gate: Gate | None = None, **options: Any
) -> tuple[Run, Checked]:
    """Run a script to its end over some tools; every turn must be used and every request be well-formed."""
    model = Checked(turns)
    run = await Harness(model, Catalogue(tools), gate=gate).run("please", session, **options)
    model.assert_done()
    if not run.confirmations and not run.doubts:
        assert_well_formed(run.messages)
    return run, model


def only(run: Run) -> ToolResult:
    """The one result of a run with one call."""
    (result,) = run.results.values()
    return result
