"""Nobody knows whether it took effect: the run says so, and only a person or the service itself settles it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NoReturn

import anyio
import pytest
from core_kit import ADA, Checked, ask, only, person, play

from counterfoil import (
    Catalogue,
    Context,
    Harness,
    Journal,
    Label,
    Limits,
    MemoryJournal,
    NotApplied,
    SettlementError,
    SqliteJournal,
    ToolCall,
    ToolError,
    ToolResult,
    tool,
)

pytestmark = pytest.mark.anyio

SOON = Limits(timeout=0.02)
LATER = Limits(timeout=0.1)
"""So long that a slow disk does not use it up before the tool begins; `over` waits until `retry` may be said."""
sent: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_sent() -> None:
    sent.clear()


@pytest.fixture(params=["memory", "sqlite"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    made: Journal = MemoryJournal() if request.param == "memory" else SqliteJournal(tmp_path / "runs.db")
    yield made
    await made.aclose()


async def _hang(to: str) -> str:
    await anyio.sleep(60)
    return "never"


async def _break(to: str) -> str:
    raise ConnectionResetError("peer: 10.0.0.7")


def _exit(to: str) -> NoReturn:
    sys.exit(3)


def _block(to: str) -> str:
    time.sleep(0.2)
    return "late"


@pytest.mark.parametrize("how", [_hang, _break, _exit, _block])
@pytest.mark.parametrize("effect", ["write", "irreversible"])
async def test_a_write_that_does_not_report_is_in_doubt(how: Callable[..., Any], effect: Any) -> None:
    broken = tool(effect=effect, name="send", limits=SOON)(how)
    harness = Harness(Checked([[ask("send", to="bob")]]), Catalogue([broken]))
    run = await harness.run("x", ADA)
    for each in run.confirmations:
        await harness.answer(each.id, approve=True, by="bob")
        run = await harness.resume(run.id)
    assert run.outcome.kind == "in_doubt"
    (doubt,) = run.doubts
    assert (doubt.call.name, len(doubt.key)) == ("send", 32)
    assert "10.0.0.7" not in doubt.reason
    assert run.results == {}


@pytest.mark.parametrize("how", [_hang, _break, _exit, _block])
@pytest.mark.parametrize("effect", ["read", "idempotent"])
async def test_what_may_run_again_is_a_plain_error(how: Callable[..., Any], effect: Any) -> None:
    broken = tool(effect=effect, name="send", limits=SOON)(how)
    run, _ = await play([[ask("send", to="bob")], "sorry"], [broken])
    assert (only(run).is_error, only(run).code, run.outcome.kind) == (True, None, "answered")
    assert "10.0.0.7" not in only(run).text


@pytest.mark.parametrize("seconds", [None, 5.0])
async def test_a_timeout_of_the_tools_own_is_a_result(seconds: float | None) -> None:
    @tool(effect="read", limits=Limits(timeout=seconds))
    async def fetch() -> str:
        """Fetch."""
        raise TimeoutError("socket")

    run, _ = await play([[ask("fetch")], "sorry"], [fetch])
    assert "no result in time" in only(run).text


async def test_not_applied_is_never_a_doubt() -> None:
    @tool(effect="write")
    async def send(to: str) -> str:
        """Send."""
        raise NotApplied("the mailbox is full: try bob@example.org")

    run, _ = await play([[ask("send", to="bob")], "sorry"], [send])
    assert only(run).is_error
    assert only(run).text == "the mailbox is full: try bob@example.org (Nothing was changed.)"


async def test_a_tool_error_teaches_and_is_never_a_doubt() -> None:
    @tool(effect="irreversible")
    async def send(to: str) -> str:
        """Send."""
        raise ToolError("no such address: check the format name@host")

    harness = Harness(Checked([[ask("send", to="bob")], "sorry"]), Catalogue([send]))
    run = await harness.run("x", ADA)
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    run = await harness.resume(run.id)
    assert only(run).text == "no such address: check the format name@host"


async def test_a_tool_error_in_a_task_group_of_the_tools_own_teaches_too() -> None:
    async def refuse() -> None:
        raise ToolError("no such address")

    @tool(effect="write")
    async def send(to: str) -> str:
        """Send."""
        async with anyio.create_task_group() as group:
            group.start_soon(refuse)
        return "never"

    run, _ = await play([[ask("send", to="bob")], "sorry"], [send])
    assert only(run).text == "no such address"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("calls", [1, 2])
async def test_a_cancelled_task_of_the_tools_own_does_not_cancel_the_run(waits: bool, calls: int) -> None:
    @tool(effect="read")
    async def fetch(n: int) -> str:
        """Await a task that somebody cancels."""
        task = asyncio.ensure_future(asyncio.sleep(60))
        if waits:
            await asyncio.sleep(0)
        task.cancel()
        await task
        return "never"

    run, _ = await play([[ask("fetch", f"c{n}", n=n) for n in range(calls)], "sorry"], [fetch])
    assert all(result.is_error for result in run.results.values())
    assert len(run.results) == calls


async def test_a_result_without_json_form_is_no_doubt() -> None:
    @tool(effect="write")
    async def send(to: str) -> Any:
        """Send."""
        return object()

    run, _ = await play([[ask("send", to="bob")], "sorry"], [send])
    assert only(run).is_error
    assert "withheld" in only(run).text


@tool(effect="write", limits=LATER)
async def flaky(to: str, context: Context) -> str:
    """Break the first time; the effect is noted with its key."""
    sent.append(context.idempotency_key)
    if len(sent) == 1:
        raise ConnectionResetError
    return f"sent to {to}"


async def over() -> None:
    await anyio.sleep(0.11)


async def doubtful(journal: Journal, *turns: Any) -> tuple[Harness, str]:
    harness = Harness(Checked([[ask("flaky", to="bob")], *(turns or ["ok"])]), Catalogue([flaky]), journal=journal)
    run = await harness.run("x", ADA)
    assert run.outcome.kind == "in_doubt"
    return harness, run.id


async def test_it_happened(journal: Journal) -> None:
    harness, id = await doubtful(journal)
    await harness.settle(id, "1.1", "happened", by="carol", result="sent, says the log")
    run = await harness.resume(id)
    assert (only(run).text, run.outcome.kind, len(sent)) == ("sent, says the log", "answered", 1)


async def test_retry_runs_with_the_same_key(journal: Journal) -> None:
    harness, id = await doubtful(journal)
    await over()
    await harness.settle(id, "1.1", "retry", by="carol")
    run = await harness.resume(id)
    assert only(run).text == "sent to bob"
    assert len(sent) == 2
    assert sent[0] == sent[1]


async def test_abandoned_is_a_refusal_that_says_so(journal: Journal) -> None:
    harness, id = await doubtful(journal)
    await harness.settle(id, "1.1", "abandon", by="carol")
    run = await harness.resume(id)
    assert (only(run).code, run.outcome.kind, len(sent)) == ("in_doubt", "answered", 1)


async def test_the_same_call_again_needs_a_person(journal: Journal) -> None:
    turns = [[ask("flaky", to="bob"), ask("flaky", "c2", to="eve")], "ok"]
    harness, id = await doubtful(journal, *turns)
    await harness.settle(id, "1.1", "abandon", by="carol")
    run = await harness.resume(id)
    assert run.outcome.kind == "waiting"
    assert [(each.call.arguments, each.reason) for each in run.confirmations] == [
        ({"to": "bob"}, "an identical call is in doubt: this may do the same thing twice")
    ]
    assert run.results["2.2"].text == "sent to eve"


async def test_what_ran_is_in_doubt_whatever_was_asked_for() -> None:
    """Clamped to 1,000 it ran and is in doubt: asking for 1,000 is asking for the same again."""

    @tool(effect="write", limits=Limits(clamps={"amount": (None, 1000)}))
    async def pay(amount: int) -> str:
        """Break the first time."""
        sent.append(str(amount))
        if len(sent) == 1:
            raise ConnectionResetError
        return "paid"

    turns = [[ask("pay", amount=9000)], [ask("pay", amount=1000), ask("pay", "c2", amount=9000)]]
    harness = Harness(Checked(turns), Catalogue([pay]))
    run = await harness.run("x", ADA)
    await harness.settle(run.id, "1.1", "abandon", by="carol")
    run = await harness.resume(run.id)
    assert [each.call.arguments for each in run.confirmations] == [{"amount": 1000}, {"amount": 1000}]
    assert sent == ["1000"]


async def test_one_of_two_equal_doubts_settled_leaves_the_other() -> None:
    turns: list[Any] = [[ask("flaky", to="bob"), ask("flaky", "c2", to="bob")], [ask("flaky", to="bob")], "ok"]

    @tool(effect="write", name="flaky")
    async def breaks(to: str) -> str:
        """Break."""
        raise ConnectionResetError

    harness = Harness(Checked(turns), Catalogue([breaks]))
    run = await harness.run("x", ADA)
    await harness.settle(run.id, "1.1", "abandon", by="carol")
    await harness.settle(run.id, "1.2", "happened", by="carol")
    run = await harness.resume(run.id)
    assert (run.outcome.kind, len(run.confirmations)) == ("waiting", 1)


async def test_a_settlement_is_for_one_attempt_only(journal: Journal) -> None:
    """`retry` was said of the first attempt; when the second is in doubt too, somebody must be asked again."""
    attempts: list[int] = []

    @tool(effect="write", limits=LATER)
    async def worse() -> str:
        """Break always."""
        attempts.append(1)
        raise ConnectionResetError

    harness = Harness(Checked([[ask("worse")], "ok"]), Catalogue([worse]), journal=journal)
    run = await harness.run("x", ADA)
    await over()
    await harness.settle(run.id, "1.1", "retry", by="carol")
    for _ in range(3):
        run = await harness.resume(run.id)
        assert (run.outcome.kind, len(attempts)) == ("in_doubt", 2)
    await over()
    await harness.settle(run.id, "1.1", "happened", by="carol")
    assert (await harness.resume(run.id)).outcome.kind == "answered"


async def test_settling_is_single_use_and_only_for_doubts(journal: Journal) -> None:
    harness, id = await doubtful(journal)
    with pytest.raises(SettlementError, match="not in doubt"):
        await harness.settle(id, "9.9", "happened", by="carol")
    with pytest.raises(SettlementError, match="with a name"):
        await harness.settle(id, "1.1", "happened", by="")
    await harness.settle(id, "1.1", "abandon", by="carol")
    with pytest.raises(SettlementError, match="carol has settled"):
        await harness.settle(id, "1.1", "happened", by="dave")
    await harness.resume(id)
    with pytest.raises(SettlementError, match="not in doubt"):
        await harness.settle(id, "1.1", "happened", by="dave")


async def test_retry_waits_until_the_call_cannot_run_any_more() -> None:
    broken = tool(effect="write", name="send", limits=Limits(timeout=30))(_break)
    harness = Harness(Checked([[ask("send", to="bob")]]), Catalogue([broken]))
    run = await harness.run("x", ADA)
    with pytest.raises(SettlementError, match="may still be running: wait"):
        await harness.settle(run.id, "1.1", "retry", by="carol")


@pytest.mark.parametrize("found", ["sent at noon", None])
async def test_lookup_asks_the_service_by_key(found: str | None) -> None:
    asked: list[str] = []

    async def lookup(key: str) -> str | None:
        asked.append(key)
        return found

    @tool(effect="write", limits=Limits(timeout=30), lookup=lookup)
    async def send(to: str, context: Context) -> str:
        """Send."""
        sent.append(context.idempotency_key)
        raise ConnectionResetError

    harness = Harness(Checked([[ask("send", to="bob")], *(["ok"] if found else [])]), Catalogue([send]))
    run = await harness.run("x", ADA)
    assert asked == sent
    if found:
        assert (only(run).text, run.outcome.kind) == (found, "answered")
    else:
        assert run.outcome.kind == "in_doubt"


async def test_cancelled_from_outside_while_writing_is_in_doubt(journal: Journal) -> None:
    began = anyio.Event()

    @tool(effect="write")
    async def send(to: str) -> str:
        """Send."""
        began.set()
        await anyio.sleep(60)
        return "never"

    @tool(effect="read")
    async def look(n: int) -> str:
        """Look."""
        return "seen"

    calls = [ask("look", n=1), ask("send", "c2", to="bob")]
    harness = Harness(Checked([calls, "ok"]), Catalogue([send, look]), journal=journal)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                await began.wait()
                scope.cancel()

            group.start_soon(cancel)
            await harness.run("x", ADA, run_id="r")
    run = await harness.read("r")
    assert run.outcome.kind == "in_doubt"
    assert await harness.doubts() == run.doubts
    assert [doubt.reason for doubt in run.doubts] == ["it was cancelled while it was running"]
    await harness.settle("r", "1.2", "happened", by="carol")
    run = await harness.resume("r")
    assert [result.is_error for result in run.results.values()] == [False, False]


async def test_siblings_keep_their_results_beside_a_doubt() -> None:
    @tool(effect="read")
    async def look(n: int) -> str:
        """Look."""
        return f"seen {n}"

    harness = Harness(
        Checked([[ask("look", n=1), ask("flaky", "c2", to="bob"), ask("look", "c3", n=3)]]), Catalogue([flaky, look])
    )
    run = await harness.run("x", person())
    assert {id: result.text for id, result in run.results.items()} == {"1.1": "seen 1", "1.3": "seen 3"}


async def test_an_outside_call_in_doubt_says_so(journal: Journal) -> None:
    harness = Harness(None, Catalogue([flaky]), journal=journal)
    theirs = ToolCall("theirs", "flaky", {"to": "bob"}, label=Label("user"))
    result = await harness.call(theirs, ADA, run_id="r")
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.code, result.is_error) == ("theirs", "in_doubt", True)
    assert [doubt.run_id for doubt in await harness.doubts()] == ["r"]
