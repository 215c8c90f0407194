"""A run replayed: every path a run can take comes out the same, no tool runs, and what differs today is said."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from counterfoil import (
    Budget,
    Catalogue,
    Context,
    Function,
    Gate,
    Harness,
    Limits,
    MemoryJournal,
    ModelError,
    Refusal,
    Reply,
    Request,
    Run,
    Scripted,
    Session,
    ToolCall,
    ToolError,
    tool,
)
from counterfoil.models.replay import Replay
from counterfoil.run.replay import Replayed, replay
from counterfoil.run.walk import walk
from counterfoil.types.entry import Judged, Record, Started

pytestmark = pytest.mark.anyio
EVE = Session(requester="eve", permissions=frozenset({"*"}))
ran: list[str] = []


@tool(effect="read")
async def read(key: str) -> dict[str, str]:
    ran.append(f"read {key}")
    if key == "none":
        raise ToolError("no such key")
    if key == "boom":
        raise RuntimeError("internal")
    return {"key": key}


@tool(effect="read", limits=Limits(clamps={"count": (0, 10)}))
async def many(count: int) -> list[int]:
    ran.append("many")
    return list(range(count))


@tool(effect="write", limits=Limits(timeout=0.05))
async def write(key: str) -> str:
    ran.append(f"write {key}")
    if key == "slow":
        await anyio.sleep(5)
    if key == "cut":
        raise Crash
    return "written"


@tool(effect="irreversible")
async def cancel(key: str, context: Context) -> str:
    ran.append(f"cancel {key}")
    return f"cancelled {key}"


class Crash(BaseException):
    """Passes every handler of the harness, as the end of a process does."""


CATALOGUE = Catalogue([read, many, write, cancel])


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall("", name, arguments)


class Kit:
    """A harness over a script, its run, and the replay of it."""

    def __init__(self, *turns: Any, session: Session = EVE, **options: Any) -> None:
        self.journal = MemoryJournal()
        self.session = session
        self.harness = Harness(Scripted(turns), CATALOGUE, journal=self.journal, **options)

    async def run(self, **more: Any) -> Run:
        return await self.harness.run("go", self.session, run_id="r", **more)

    async def records(self) -> list[Record]:
        return await self.journal.read("r")

    async def same(self) -> Replayed:
        ran.clear()
        records = await self.records()
        assert walk(records) == []
        found = await replay(records, CATALOGUE)
        assert found.differences == ()
        assert found.same
        assert ran == [], "no tool may run"
        return found


async def test_calls_their_refusals_and_their_errors() -> None:
    kit = Kit(
        [call("read", key="a"), call("read", key="none"), call("read", key="boom")],
        [call("many", count=99), call("nothing"), call("read", wrong=1), call("read", key="a")],
        "done",
    )
    run = await kit.run()
    assert run.outcome.kind == "answered"
    assert run.results["2.1"].text.startswith("[note: count was 99")
    found = await kit.same()
    assert (found.replies, found.verdicts) == (3, 7)


async def test_a_conversation_of_several_messages() -> None:
    kit = Kit([call("read", key="a")], "one", [call("read", key="b")], "two")
    await kit.run()
    await kit.run()
    await kit.same()


async def test_an_approval_a_refusal_an_edit_and_nobody() -> None:
    kit = Kit([call("cancel", key=key) for key in "abcd"], "done", gate=Gate(confirmations_expire=0.3))
    run = await kit.run()
    a, b, c, _ = run.confirmations
    await kit.harness.answer(a.id, approve=True, by="bob")
    await kit.harness.answer(b.id, approve=False, by="bob", reason="no")
    await kit.harness.answer(c.id, approve=True, by="bob", arguments={"key": "other"})
    run = await kit.harness.resume("r")
    for again in run.confirmations:
        if again.call.id == "1.3":
            await kit.harness.answer(again.id, approve=True, by="bob")
    await anyio.sleep(0.35)
    run = await kit.harness.resume("r")
    assert run.outcome.kind == "answered"
    assert run.results["1.4"].code == "expired"
    await kit.same()


async def test_a_run_that_still_waits() -> None:
    kit = Kit([call("read", key="a"), call("cancel", key="a")])
    assert (await kit.run()).outcome.kind == "waiting"
    await kit.same()


@pytest.mark.parametrize("how", ["happened", "retry", "abandon"])
async def test_a_doubt_and_its_settlement(how: Any) -> None:
    kit = Kit([call("write", key="slow"), call("read", key="a")], "done")
    run = await kit.run()
    assert run.outcome.kind == "in_doubt"
    await kit.same()
    await anyio.sleep(max(0, run.doubts[0].started_at + 0.06 - time.time()))
    await kit.harness.settle("r", "1.1", how, by="bob", result="it is there" if how == "happened" else None)
    await kit.harness.resume("r")
    await kit.same()


async def test_a_crash_in_the_middle_of_two_writes() -> None:
    kit = Kit([call("write", key="a"), call("write", key="cut"), call("read", key="a")], "done")
    with pytest.raises((Crash, BaseExceptionGroup)):
        await kit.run()
    await kit.same()
    run = await kit.harness.resume("r")
    assert run.outcome.kind == "in_doubt"
    await kit.same()
    for doubt in run.doubts:
        await kit.harness.settle("r", doubt.call.id, "abandon", by="bob")
    assert (await kit.harness.resume("r")).outcome.kind == "answered"
    await kit.same()


async def test_a_cancelled_run() -> None:
    kit = Kit([call("cancel", key="a")])
    await kit.run()
    assert (await kit.harness.cancel("r", by="eve", reason="no longer")).outcome.kind == "cancelled"
    await kit.same()


async def test_a_ceiling_with_a_last_answer() -> None:
    session = Session(requester="eve", permissions=frozenset({"*"}), budget=Budget(turns=2, last_answer=True))
    kit = Kit([call("read", key="a")], [call("read", key="b")], "what I have", session=session)
    assert (await kit.run()).outcome.kind == "limit"
    await kit.same()


async def test_a_run_out_of_time() -> None:
    session = Session(requester="eve", permissions=frozenset({"*"}), budget=Budget(seconds=0.05))

    async def slow(request: Request) -> str | Reply:
        await anyio.sleep(0.06)
        return (await Scripted([[call("read", key="a")]]).reply(request)) if len(request.messages) < 2 else "late"

    kit = Kit(session=session)
    kit.harness = Harness(Function(slow), CATALOGUE, journal=kit.journal)
    assert (await kit.run()).outcome.which == "seconds"
    await kit.same()


async def test_a_model_that_fails_and_is_asked_again() -> None:
    class Overloaded(ModelError):
        pass

    def fail(request: Request) -> str:
        raise Overloaded("try later")

    kit = Kit([call("read", key="a")], fail, "done")
    assert (await kit.run()).outcome.which == "Overloaded"
    await kit.same()
    assert (await kit.harness.resume("r")).outcome.kind == "answered"
    await kit.same()


async def test_a_structured_answer() -> None:
    kit = Kit("prose first", [call("answer", value="many")], [call("answer", value=3)])
    assert (await kit.run(output=int)).output == 3
    await kit.same()


async def test_an_outside_call() -> None:
    kit = Kit()
    await kit.harness.call(call("read", key="a"), EVE, run_id="r")
    await kit.same()


async def test_what_differs_today() -> None:
    kit = Kit([call("read", key="a"), call("write", key="b"), call("cancel", key="c")], "done")
    run = await kit.run()
    await kit.harness.answer(run.confirmations[0].id, approve=True, by="bob")
    await kit.harness.resume("r")
    records = await kit.records()
    ran.clear()
    guarded = Gate([lambda attempt: Refusal("not_permitted", "not today")])
    found = await replay(records, CATALOGUE, guarded)
    assert "call 1.1 (read) was allowed, today not_permitted: not today" in found.differences
    assert "call 1.3 (cancel) was put to a person, today not_permitted: not today" in found.differences
    assert any(each.startswith("call 1.3 was answered by bob then") for each in found.differences)
    assert found.recorded_hash != found.replayed_hash
    fewer = await replay(records, Catalogue([read, cancel]))
    assert [each.partition(":")[0] for each in fewer.differences] == [
        "call 1.2 (write) was allowed, today unknown_tool"
    ]
    assert ran == []


async def test_a_call_that_was_refused_and_is_allowed_today_does_not_run() -> None:
    nobody = Session(requester="eve", permissions=frozenset({"read"}))
    kit = Kit([call("write", key="a")], "done", session=nobody)
    await kit.run()
    opened_up = Catalogue([read, tool(effect="write", permission="read", name="write")(_write_again)])
    ran.clear()
    found = await replay(await kit.records(), opened_up)
    assert found.differences == ("call 1.1 (write) was not_permitted, today allowed",)
    assert ran == []


async def _write_again(key: str) -> str:
    ran.append(f"write {key}")
    return "written"


def _without(kind: type) -> Callable[[list[Record]], list[Record]]:
    return lambda records: [each for each in records if not isinstance(each.entry, kind)]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (_without(Judged), "starts a call that the gate had not let through"),
        (_without(Started), "says what became of a call that had not been started"),
        (lambda records: records[1:], "is not the beginning of a run"),
        (lambda records: [*records, records[-2]], "is about a call that had its result already"),
        (lambda records: [*records[:3], *records[2:]], "is a reply where no model was to be asked"),
    ],
)
async def test_walking_finds_what_does_not_follow(edit: Callable[[list[Record]], list[Record]], said: str) -> None:
    kit = Kit([call("read", key="a")], "done")
    await kit.run()
    assert any(said in fault for fault in walk(edit(await kit.records()))), walk(edit(await kit.records()))


async def test_the_replay_model_by_itself() -> None:
    kit = Kit([call("read", key="a")], "done")
    run = await kit.run()
    model = Replay(run.entries)
    assert model.name == "scripted"
    again = await Harness(model, CATALOGUE).run("go", EVE)
    assert again.text == "done"
    assert model.left == 0
    assert (await Harness(model, CATALOGUE).run("go", EVE)).outcome.kind == "failed"
