"""Runs and conversations: what is loaded, continued, streamed, watched, cancelled, called from outside."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from core_kit import ADA, Checked, ask, assert_well_formed, only, person, play

from counterfoil import (
    Allowed,
    Catalogue,
    Context,
    CounterfoilError,
    Event,
    Function,
    Gate,
    Harness,
    Journal,
    JournalError,
    MemoryJournal,
    Message,
    Progress,
    Reasoning,
    Reply,
    Request,
    Run,
    RunNotFound,
    Scripted,
    Session,
    SqliteJournal,
    Text,
    ToolCall,
    ToolResult,
    tool,
)
from counterfoil.types.entry import Judged, Opened, Said
from counterfoil.types.message import Block, user
from counterfoil.types.stream import BlockDelta

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", "sqlite"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    made: Journal = MemoryJournal() if request.param == "memory" else SqliteJournal(tmp_path / "runs.db")
    yield made
    await made.aclose()


paid: list[int] = []


@pytest.fixture(autouse=True)
def _unpaid() -> None:
    paid.clear()


@tool(effect="irreversible")
async def pay(amount: int) -> str:
    """Pay."""
    paid.append(amount)
    return "paid"


@tool(effect="read")
async def look(n: int, context: Context) -> str:
    """Look.

    Args:
        n: where
    """
    context.progress("looking", 0.5)
    await anyio.sleep(0.001 * (5 - n))
    return f"seen {n}"


async def test_results_keep_the_order_of_the_calls_however_long_each_takes() -> None:
    run, model = await play([[ask("look", f"c{n}", n=n) for n in range(5)], "ok"], [look])
    assert [result.text for result in model.requests[1].messages[2].results] == [f"seen {n}" for n in range(5)]
    assert list(run.results) == [f"1.{n}" for n in range(1, 6)]


async def test_a_loaded_history_is_repaired_and_the_repair_is_journalled(journal: Journal) -> None:
    broken = [
        Message("user", (Text("hello"),)),
        Message("assistant", (ToolCall("a", "look", {"n": 1}), ToolCall("a", "look", {"n": 2}))),
        Message("tool", (ToolResult("a", (Text("first"),)), ToolResult("zzz", (Text("nobody's"),)))),
    ]
    model = Checked(["ok"])
    run = await Harness(model, Catalogue([look]), journal=journal).run("and now?", ADA, history=broken)
    (loaded,) = [entry for entry in run.entries if type(entry).__name__ == "Loaded"]
    repairs = getattr(loaded, "repairs", ())
    assert any("repeated id 'a'" in note for note in repairs)
    assert any("'zzz'" in note for note in repairs)
    assert_well_formed(run.messages)
    assert run.text == "ok"


async def test_a_conversation_goes_on_under_its_id(journal: Journal) -> None:
    model = Checked([[ask("look", n=1)], "one", [ask("look", n=2)], "two"])
    harness = Harness(model, Catalogue([look]), journal=journal, instructions="Be brief.")
    await harness.run("first", ADA, run_id="r")
    run = await harness.run("second", ADA, run_id="r")
    assert [message.role for message in run.messages] == [
        *("system", "user", "assistant", "tool", "assistant"),
        *("user", "assistant", "tool", "assistant"),
    ]
    assert list(run.results) == ["1.1", "3.1"]
    with pytest.raises(CounterfoilError, match="belongs to another requester"):
        await harness.run("third", person(requester="eve"), run_id="r")
    assert (await harness.read("r")).text == "two"


async def test_an_answered_run_comes_back_as_it_is(journal: Journal) -> None:
    harness = Harness(Checked(["done"]), Catalogue(), journal=journal)
    run = await harness.run("x", ADA)
    again = await harness.resume(run.id)
    assert (again.text, again.outcome, again.entries) == (run.text, run.outcome, run.entries)
    with pytest.raises(RunNotFound):
        await harness.resume("nothing")
    with pytest.raises(RunNotFound):
        await harness.read("nothing")


async def test_a_run_that_never_began_can_be_read_and_run_anew(journal: Journal) -> None:
    """Its process died after it had taken the id and before it wrote anything."""
    await (await journal.create("r", "ada", ())).release("ready")
    harness = Harness(Checked(["done"]), Catalogue(), journal=journal)
    assert (await harness.read("r")).outcome.kind == "failed"
    with pytest.raises(RunNotFound):
        await harness.resume("r")
    assert (await harness.run("x", ADA, run_id="r")).text == "done"


def plain(entries: list[Any]) -> list[Any]:
    """Entries without times and durations."""
    hidden = {"at": 0.0, "expires_at": 0.0, "seconds": 0.0}
    return [
        msgspec.structs.replace(entry, **{name: value for name, value in hidden.items() if hasattr(entry, name)})
        for entry in entries
    ]


async def test_a_drained_stream_is_a_run() -> None:
    def turns() -> list[Any]:
        return [[Text("Let me see. "), ask("look", n=1), ask("nope", "c2")], [ask("look", n=2)], "It is here."]

    ran = await Harness(Scripted(turns()), Catalogue([look])).run("x", ADA, run_id="r")
    events = [event async for event in Harness(Scripted(turns()), Catalogue([look])).stream("x", ADA, run_id="r")]
    streamed = events.pop()
    assert isinstance(streamed, Run)
    assert plain(streamed.entries) == plain(ran.entries)
    assert streamed.outcome == ran.outcome
    assert streamed.state.hash == ran.state.hash
    entries = [event for event in events if type(event) in {type(entry) for entry in ran.entries}]
    assert plain(entries) == plain(ran.entries)[2:], "every entry after the prompt, once, in order"
    words = [event.text for event in events if isinstance(event, BlockDelta)]
    assert "".join(words).startswith("Let me see. ")


async def test_a_stream_that_is_left_early_lets_go_at_once(journal: Journal) -> None:
    harness = Harness(Checked([[ask("look", n=1)], "a b c d", "a b c d"]), Catalogue([look]), journal=journal)
    async with contextlib.aclosing(harness.stream("x", ADA, run_id="r")) as events:  # type: ignore[type-var]
        async for event in events:
            if isinstance(event, BlockDelta) and event.text == " b":
                break
    run = await harness.resume("r")
    assert run.text == "a b c d"
    assert [result.text for result in run.results.values()] == ["seen 1"]


async def test_watch_sees_entries_and_progress() -> None:
    seen: list[Event] = []
    run, _ = await play([[ask("look", n=1)], "ok"], [look], watch=seen.append)
    assert [event for event in seen if isinstance(event, Progress)] == [Progress("1.1", "looking", 0.5)]
    kinds = [type(event).__name__ for event in seen if not isinstance(event, Progress)]
    assert kinds == [type(entry).__name__ for entry in run.entries][2:]


async def test_progress_of_a_blocking_tool_arrives_from_its_thread() -> None:
    @tool(effect="read")
    def slow(context: Context) -> str:
        """Work."""
        context.progress("half", 0.5)
        context.check_cancelled()
        return f"{context.session.requester} {context.call_id}"

    seen: list[Event] = []
    run, _ = await play([[ask("slow")], "ok"], [slow], watch=seen.append)
    assert Progress("1.1", "half", 0.5) in seen
    assert only(run).text == "ada 1.1"


async def test_cancel_a_waiting_run(journal: Journal) -> None:
    harness = Harness(Checked([[ask("pay", amount=1)]]), Catalogue([pay]), journal=journal)
    run = await harness.run("x", ADA)
    run = await harness.cancel(run.id, by="bob", reason="a mistake")
    assert run.outcome.kind == "cancelled"
    assert run.outcome.detail == "cancelled by bob: a mistake"
    assert (only(run).code, paid) == ("declined", [])
    assert_well_formed(run.messages)
    assert await harness.confirmations() == []


async def test_cancel_while_it_works_stops_before_the_next_step(journal: Journal) -> None:
    harness: Harness

    @tool(effect="read")
    async def slow(context: Context) -> str:
        """Be cancelled meanwhile."""
        await harness.cancel(context.run_id)
        return "done"

    harness = Harness(Checked([[ask("slow")]]), Catalogue([slow]), journal=journal)
    run = await harness.run("x", ADA)
    assert (run.outcome.kind, only(run).text) == ("cancelled", "done")


async def test_a_cancelled_conversation_can_go_on(journal: Journal) -> None:
    harness = Harness(Checked([[ask("pay", amount=1)], "fine", "again"]), Catalogue([pay]), journal=journal)
    run = await harness.run("x", ADA, run_id="r")
    await harness.cancel("r")
    run = await harness.run("something else", ADA, run_id="r")
    assert (run.outcome.kind, run.text) == ("answered", "fine")
    assert (await harness.run("and?", ADA, run_id="r")).text == "again"


async def test_cancelling_what_is_done_changes_nothing_now_or_later(journal: Journal) -> None:
    harness = Harness(Checked(["one", "two"]), Catalogue(), journal=journal)
    await harness.run("x", ADA, run_id="r")
    assert (await harness.cancel("r")).outcome.kind == "answered"
    run = await harness.run("y", ADA, run_id="r")
    assert (run.outcome.kind, run.text) == ("answered", "two")


async def crashed_after_its_verdict(journal: Journal) -> None:
    """Journal a run whose process died after a call was allowed and before it was started."""
    log = await journal.create("r", "ada", ())
    said = Said(Message("assistant", (ask("write_off", "1.1", amount=1),)), "tool_calls")
    log.append([Opened(ADA), Said(user("x")), said, Judged("1.1", Allowed())])
    await log.release("ready")


@tool(effect="write")
async def write_off(amount: int) -> str:
    """Write off."""
    paid.append(amount)
    return "written off"


async def test_a_crash_before_the_effect_goes_on(journal: Journal) -> None:
    await crashed_after_its_verdict(journal)
    run = await Harness(Checked(["ok"]), Catalogue([write_off]), journal=journal).resume("r")
    assert (run.text, paid) == ("ok", [1])


async def test_a_cancel_after_a_crash_comes_before_any_effect(journal: Journal) -> None:
    await crashed_after_its_verdict(journal)
    run = await Harness(Checked([]), Catalogue([write_off]), journal=journal).cancel("r", by="carol")
    assert (run.outcome.kind, paid) == ("cancelled", [])


async def test_the_kill_switch_after_a_crash_comes_before_any_effect(journal: Journal) -> None:
    await crashed_after_its_verdict(journal)
    gate = Gate()
    gate.halt("incident 7")
    run = await Harness(Checked(["ok"]), Catalogue([write_off]), journal=journal, gate=gate).resume("r")
    assert (only(run).code, paid) == ("declined", [])


async def test_a_permission_lost_after_a_crash_comes_before_any_effect(journal: Journal) -> None:
    await crashed_after_its_verdict(journal)
    harness = Harness(Checked(["ok"]), Catalogue([write_off]), journal=journal, resolve=lambda _: person("nothing"))
    run = await harness.resume("r")
    assert (only(run).code, paid) == ("not_permitted", [])


async def test_an_outside_call_is_journalled_and_its_id_is_single(journal: Journal) -> None:
    harness = Harness(None, Catalogue([look]), journal=journal)
    result = await harness.call(ask("look", "theirs", n=3), ADA, run_id="call-1")
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.text) == ("theirs", "seen 3")
    run = await harness.read("call-1")
    assert [type(entry).__name__ for entry in run.entries] == ["Opened", "Said", "Judged", "Started", "Finished"]
    with pytest.raises(JournalError, match="there is a run 'call-1' already"):
        await harness.call(ask("look", "theirs", n=3), ADA, run_id="call-1")
    with pytest.raises(CounterfoilError, match="no model"):
        await harness.run("x", ADA)


async def test_attributes_that_cannot_be_journalled_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="attributes are journalled"):
        Session(requester="ada", attributes={"socket": object()})


@pytest.mark.parametrize("said", ["hi \ud800", "\udfff"])
async def test_half_a_surrogate_pair_is_replaced_before_it_is_kept(tmp_path: Path, said: str) -> None:
    journal = SqliteJournal(tmp_path / "runs.db")
    calls: list[Block] = [Reasoning(said), ToolCall(said, said, raw=said), ToolCall("b", "look", {"n": said})]
    run = await Harness(Checked([calls, said]), Catalogue([look]), journal=journal).run(said, ADA)
    assert run.outcome.kind == "answered"
    assert run.text == said.encode("utf-8", "replace").decode()
    assert [result.code for result in run.results.values()] == ["unknown_tool", "not_parsed"]
    assert (await Harness(None, Catalogue(), journal=journal).read(run.id)).state.hash == run.state.hash
    await journal.aclose()


async def test_a_call_that_cannot_be_journalled_leaves_nothing(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "runs.db")
    odd = {"scripted": {"socket": object()}}
    harness = Harness(Checked([]), Catalogue([look]), journal=journal)
    with pytest.raises(TypeError, match="object"):
        await harness.call(ToolCall("a", "look", {"n": 1}, ext=odd), ADA, run_id="r")
    with pytest.raises(TypeError, match="object"):
        await harness.run([Text("x", ext=odd)], ADA, run_id="s")
    assert await journal.runs() == []  # there is no run without its first entries
    await journal.aclose()


async def test_a_tool_that_changes_its_arguments_changes_nothing_else() -> None:
    @tool(effect="read")
    async def greedy(filters: dict[str, str], rows: list[list[str]]) -> str:
        """Take what it is given apart."""
        filters.clear()
        rows[0].append("9")
        return "ok"

    given = {"filters": {"a": "1"}, "rows": [["1"]]}
    run, model = await play([[ToolCall("c", "greedy", {"filters": {"a": "1"}, "rows": [["1"]]})], "ok"], [greedy])
    assert model.requests[1].messages[1].calls[0].arguments == given
    assert run.state.calls["1.1"].arguments == given


@pytest.mark.parametrize("text", ["\ud800", "ok \udfff", "\x00", "👍"])
async def test_any_text_of_a_tool_can_be_kept(journal: Journal, text: str) -> None:
    @tool(effect="read")
    async def read_file() -> str:
        """Read a file with undecodable bytes."""
        return text

    harness = Harness(Checked([[ask("read_file")], "ok"]), Catalogue([read_file]), journal=journal)
    run = await harness.run("x", ADA)
    assert run.outcome.kind == "answered"
    assert only(run).text == text.encode(errors="replace").decode()
    assert only(await harness.read(run.id)) == only(run)


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**70), 10**300])
async def test_big_numbers_survive(journal: Journal, number: int) -> None:
    @tool(effect="read")
    async def double(n: int) -> int:
        """Double."""
        return 2 * n

    model = Checked([[ToolCall("c", "double", raw=f'{{"n": {number}}}')], "ok"])
    harness = Harness(model, Catalogue([double]), journal=journal)
    run = await harness.run("x", ADA)
    assert only(run).text == str(2 * number)
    assert only(await harness.read(run.id)) == only(run)


async def test_a_coroutine_behind_a_plain_decorator_is_awaited() -> None:
    async def act() -> str:
        return "acted"

    @functools.wraps(act)
    def decorated() -> Any:
        """Act."""
        return act()

    # functools.wraps copies the annotations, so what the declaration sees is the function's own signature.
    del decorated.__wrapped__
    run, _ = await play([[ask("act")], "ok"], [tool(effect="read")(decorated)])
    assert only(run).text == "acted"


async def test_a_function_says_what_a_script_may_say() -> None:
    def model(request: Request) -> Any:
        turns: list[Any] = [[ToolCall("a", "look", {"n": 1})], Reply(Message("assistant", (Text("Seen."),)))]
        return turns[sum(message.role == "assistant" for message in request.messages)]

    run = await Harness(Function(model), Catalogue([look])).run("Look", ADA)
    assert (run.text, list(run.results)) == ("Seen.", ["1.1"])


@pytest.mark.parametrize("said", [7, None, {"role": "assistant"}, [7], b"hello"])
async def test_what_no_model_can_say_is_a_clear_error(said: Any) -> None:
    harness = Harness(Function(lambda _: said), Catalogue([look]))
    with pytest.raises(TypeError, match="a model says a string, a list of blocks or a Reply, not "):
        await harness.run("Look", ADA)
