"""Runs that one process begins and another goes on with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest
from core_kit import ADA

from counterfoil import (
    Budget,
    Catalogue,
    Context,
    Fenced,
    Harness,
    Journal,
    Limits,
    MemoryJournal,
    RunBusy,
    Scripted,
    Session,
    SqliteJournal,
    ToolCall,
    tool,
)
from counterfoil.journal.journal import Status
from counterfoil.journal.memory import MemoryLog
from counterfoil.types.entry import Entry

pytestmark = pytest.mark.anyio


async def test_a_submitted_run_is_ready_and_whole_for_another_process(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "runs.db")
    woken: list[str] = []

    async def wake(run_id: str) -> None:
        woken.append(run_id)

    harness = Harness(None, Catalogue([]), journal=journal, instructions="Be brief.", wake=wake)  # no model in front
    run_id = await harness.submit("Hello", ADA)
    assert woken == [run_id]
    await journal.aclose()
    journal = SqliteJournal(tmp_path / "runs.db")
    (info,) = await journal.runs(status="ready")
    assert (info.id, info.requester) == (run_id, "ada")
    model = Scripted(["Good day."])
    worker = Harness(model, Catalogue([]), journal=journal)
    run = await worker.resume(run_id)
    assert (run.text, [message.text for message in model.requests[0].messages]) == (
        "Good day.",
        ["Be brief.", "Hello"],
    )
    assert await worker.submit("And now?", ADA, run_id=run_id) == run_id
    assert [info.status for info in await journal.runs()] == ["ready"]
    await journal.aclose()


async def test_a_queue_that_fails_loses_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def wake(run_id: str) -> None:
        raise OSError("the queue is away")

    @tool(effect="irreversible")
    def pay() -> str:
        """Pay."""
        return "paid"

    harness = Harness(Scripted([[ToolCall("", "pay", {})], "Paid."]), Catalogue([pay]), wake=wake)
    run = await harness.run("Pay", ADA)
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    assert "will be found" in caplog.text
    assert [info.status for info in await harness.journal.runs()] == ["ready"]
    assert (await harness.resume(run.id)).text == "Paid."


async def test_what_is_answered_in_part_is_still_asked(tmp_path: Path) -> None:
    @tool(effect="irreversible")
    def pay(to: str) -> str:
        """Pay."""
        return f"paid {to}"

    calls = [ToolCall("", "pay", {"to": "x"}), ToolCall("", "pay", {"to": "y"})]
    harness = Harness(Scripted([calls, "Paid both."]), Catalogue([pay]))
    run = await harness.run("Pay", ADA)
    first, second = run.confirmations
    await harness.answer(first.id, approve=True, by="bob")
    assert [each.id for each in await harness.confirmations()] == [second.id]
    run = await harness.resume(run.id)
    assert (list(run.results), [each.id for each in run.confirmations]) == (["1.1"], [second.id])
    await harness.answer(second.id, approve=False, by="bob", reason="not y")
    run = await harness.resume(run.id)
    assert (run.text, run.results["1.2"].code) == ("Paid both.", "declined")


async def test_an_answer_that_comes_while_the_run_is_parking_is_not_overlooked() -> None:
    @tool(effect="irreversible")
    def pay() -> str:
        """Pay."""
        return "paid"

    class Hasty(MemoryJournal):
        """Somebody answers at the last moment: after the inbox was read, before the run is given up."""

        async def create(self, run_id: str, requester: str, entries: Sequence[Entry]) -> MemoryLog:
            return Late(run_id, (await super().create(run_id, requester, entries))._run)

    class Late(MemoryLog):
        answered = False

        async def release(self, status: Status, *, seen: int | None = None, due: float | None = None) -> bool:
            if status == "waiting" and not Late.answered:
                Late.answered = True
                (asked,) = await harness.confirmations("r")
                await harness.answer(asked.id, approve=True, by="bob")
            return await super().release(status, seen=seen, due=due)

    harness = Harness(Scripted([[ToolCall("", "pay", {})], "Paid."]), Catalogue([pay]), journal=Hasty())
    run = await harness.run("Pay", ADA, run_id="r")
    assert (run.outcome.kind, run.text) == ("answered", "Paid.")


async def test_a_draining_process_finishes_its_step_and_leaves_the_rest() -> None:
    journal = MemoryJournal()

    @tool(effect="write", limits=Limits(timeout=5))
    def note() -> str:
        """Note."""
        harness.draining = True  # as a signal would, in the middle of a step
        return "noted"

    harness = Harness(Scripted([[ToolCall("", "note", {})]]), Catalogue([note]), journal=journal)
    run = await harness.run("Note it", ADA)
    assert (run.outcome.kind, run.outcome.which) == ("failed", "interrupted")
    assert run.results["1.1"].text == "noted"
    assert [info.status for info in await journal.runs()] == ["ready"]
    other = Harness(Scripted(["Done."]), Catalogue([note]), journal=journal)
    assert (await other.resume(run.id)).text == "Done."


@pytest.mark.parametrize("make", [lambda path: MemoryJournal(), lambda path: SqliteJournal(path / "runs.db")])
async def test_the_result_of_a_worker_that_lost_its_run_settles_the_doubt(
    make: Callable[[Path], Journal], tmp_path: Path
) -> None:
    journal = make(tmp_path)
    effects: list[str] = []
    began, go_on = anyio.Event(), anyio.Event()

    @tool(effect="write", limits=Limits(timeout=60))
    async def note(context: Context) -> str:
        """Note."""
        began.set()
        await go_on.wait()
        effects.append(context.idempotency_key)
        return "noted"

    slow = Harness(Scripted([[ToolCall("", "note", {})], "never said"]), Catalogue([note]), journal=journal)
    other = Harness(Scripted(["It is noted."]), Catalogue([note]), journal=journal)

    async def lose() -> None:
        with pytest.raises(Fenced):
            await slow.run("Note it", ADA, run_id="r")

    async with anyio.create_task_group() as group:
        group.start_soon(lose)
        await began.wait()
        if isinstance(journal, MemoryJournal):
            journal._runs["r"].held = False
        else:
            assert isinstance(journal, SqliteJournal)
            journal.held.discard("r")
        run = await other.resume("r")
        assert run.outcome.kind == "in_doubt"
        go_on.set()
    assert [info.status for info in await journal.runs()] == ["ready"]
    run = await other.resume("r")
    assert (run.outcome.kind, run.text, run.results["1.1"].text) == ("answered", "It is noted.", "noted")
    assert len(effects) == 1
    assert await other.doubts() == []
    await journal.aclose()


async def test_a_model_that_fails_leaves_a_run_that_is_not_picked_up_again_and_again() -> None:
    harness = Harness(Scripted([]), Catalogue([]))
    run = await harness.run("Hello", Session(requester="ada", budget=Budget(turns=2)))
    assert run.outcome.kind == "failed"
    assert [info.status for info in await harness.journal.runs()] == ["failed"]
    await harness.journal.create("x", "ada", ())
    with pytest.raises(RunBusy):
        await harness.submit("Hello", ADA, run_id="x")
