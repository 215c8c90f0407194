"""Threats of FIELD.md section 6 around approvals, the journal and the kill switch."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from core_kit import ADA, Checked, ask, only, play

from counterfoil import (
    Catalogue,
    ConfirmationError,
    Gate,
    Harness,
    Journal,
    JournalError,
    Label,
    MemoryJournal,
    Run,
    SqliteJournal,
    ToolCall,
    tool,
)

pytestmark = pytest.mark.anyio

paid: list[int] = []


@pytest.fixture(autouse=True)
def _unpaid() -> None:
    paid.clear()


@tool(effect="irreversible")
async def pay(amount: int) -> str:
    """Pay."""
    paid.append(amount)
    return f"paid {amount}"


@tool(effect="write")
async def note(text: str) -> str:
    """Write a note."""
    paid.append(len(text))
    return "noted"


@asynccontextmanager
async def sqlite(path: Path) -> AsyncIterator[SqliteJournal]:
    journal = SqliteJournal(path)
    try:
        yield journal
    finally:
        await journal.aclose()


async def waiting(journal: Journal | None = None, gate: Gate | None = None, amount: int = 5) -> tuple[Harness, Run]:
    """A run that waits for somebody to confirm a payment."""
    harness = Harness(Checked([[ask("pay", amount=amount)], "ok"]), Catalogue([pay, note]), journal=journal, gate=gate)
    run = await harness.run("pay", ADA)
    assert run.outcome.kind == "waiting"
    return harness, run


async def test_threat_30_an_approval_does_not_cover_changed_arguments() -> None:
    harness, run = await waiting()
    (confirmation,) = run.confirmations
    # A rule that moves the amount after the approval: what runs would not be what was approved.
    harness.gate = Gate([lambda attempt: attempt.__setattr__("arguments", {"amount": 500})])
    await harness.answer(confirmation.id, approve=True, by="bob")
    run = await harness.resume(run.id)
    assert paid == []
    assert run.outcome.kind == "waiting"
    (again,) = run.confirmations
    assert again.call.arguments == {"amount": 500}
    assert again.digest != confirmation.digest
    with pytest.raises(ConfirmationError):
        await harness.answer(again.id, approve=True, by="bob", digest=confirmation.digest)


async def test_threat_31_a_replayed_approval_is_refused() -> None:
    harness, run = await waiting()
    (confirmation,) = run.confirmations
    await harness.answer(confirmation.id, approve=True, by="bob")
    for _ in range(2):
        with pytest.raises(ConfirmationError, match="already"):
            await harness.answer(confirmation.id, approve=True, by="bob")
        await harness.resume(run.id)
    assert paid == [5]


async def test_threat_31_an_expired_approval_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    harness, run = await waiting(gate=Gate(confirmations_expire=60))
    (confirmation,) = run.confirmations
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(ConfirmationError, match="expired"):
        await harness.answer(confirmation.id, approve=True, by="bob")
    assert await harness.confirmations() == []
    run = await harness.resume(run.id)
    assert only(run).code == "expired"
    assert (run.outcome.kind, paid) == ("answered", [])


async def test_threat_32_the_approver_is_not_the_requester_under_four_eyes() -> None:
    harness, run = await waiting(gate=Gate(four_eyes=True))
    (confirmation,) = run.confirmations
    assert confirmation.four_eyes
    with pytest.raises(ConfirmationError, match="somebody else must approve"):
        await harness.answer(confirmation.id, approve=True, by="ada")
    await harness.resume(run.id)
    assert paid == []
    await harness.answer(confirmation.id, approve=True, by="bob")
    await harness.resume(run.id)
    assert paid == [5]


async def test_threat_32_the_requester_may_still_decline_her_own() -> None:
    harness, run = await waiting(gate=Gate(four_eyes=True))
    await harness.answer(run.confirmations[0].id, approve=False, by="ada", reason="changed my mind")
    run = await harness.resume(run.id)
    assert only(run).code == "declined"


async def test_threat_33_no_answer_is_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    harness, run = await waiting(gate=Gate(confirmations_expire=60))
    assert (await harness.resume(run.id)).outcome.kind == "waiting"
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    run = await harness.resume(run.id)
    assert (only(run).code, only(run).is_error, paid) == ("expired", True, [])


@pytest.mark.parametrize("kind", ["judged", "started"])
async def test_threat_34_an_unwritable_journal_runs_nothing(tmp_path: Path, kind: str) -> None:
    async with sqlite(tmp_path / "runs.db") as journal:
        with sqlite3.connect(tmp_path / "runs.db") as db:
            db.execute(
                f"CREATE TRIGGER broken BEFORE INSERT ON event WHEN NEW.kind = '{kind}' "
                "BEGIN SELECT RAISE(FAIL, 'the disk said no'); END"
            )
        db.close()
        harness = Harness(Checked([[ask("note", text="abc")], "ok"]), Catalogue([note]), journal=journal)
        with pytest.raises(JournalError, match="the disk said no"):
            await harness.run("write", ADA, run_id="r")
        assert paid == []


async def test_threat_34_a_refusing_journal_is_one_error_however_many_calls(tmp_path: Path) -> None:
    async with sqlite(tmp_path / "runs.db") as journal:
        with sqlite3.connect(tmp_path / "runs.db") as db:
            db.execute(
                "CREATE TRIGGER broken BEFORE INSERT ON event WHEN NEW.kind = 'finished' "
                "BEGIN SELECT RAISE(FAIL, 'the disk said no'); END"
            )
        db.close()
        calls = [ask("note", f"c{i}", text="x" * i) for i in range(1, 4)]
        harness = Harness(Checked([calls, "ok"]), Catalogue([note]), journal=journal)
        with pytest.raises(JournalError, match="the disk said no"):
            await harness.run("write", ADA, run_id="r")


async def test_threat_35_a_crash_between_journal_and_run_is_unknown_not_retried() -> None:
    class Crash(BaseException):
        """The process dies here."""

    @tool(effect="write", name="note")
    async def dies(text: str) -> str:
        """Write a note."""
        raise Crash

    journal = MemoryJournal()
    with pytest.raises(Crash):
        await Harness(Checked([[ask("note", text="abc")]]), Catalogue([dies]), journal=journal).run(
            "x", ADA, run_id="r"
        )
    harness = Harness(Checked([]), Catalogue([note]), journal=journal)
    for _ in range(2):
        run = await harness.resume("r")
        assert run.outcome.kind == "in_doubt"
    assert paid == []
    assert [doubt.call.name for doubt in await harness.doubts()] == ["note"]


async def test_threat_35_a_crash_in_one_of_several_calls_is_raised_as_itself() -> None:
    class Crash(BaseException):
        """The process dies here."""

    @tool(effect="write", name="note")
    async def dies(text: str) -> str:
        """Write a note."""
        await anyio.lowlevel.checkpoint()
        if text == "b":
            raise Crash
        await anyio.sleep(60)
        return "never"

    harness = Harness(Checked([[ask("note", f"c{each}", text=each) for each in "abc"]]), Catalogue([dies]))
    with pytest.raises(Crash):
        await harness.run("x", ADA, run_id="r")
    assert [doubt.call.id for doubt in (await harness.resume("r")).doubts] == ["1.1", "1.2", "1.3"]


async def test_threat_36_an_edited_journal_does_not_verify(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with sqlite(path) as journal:
        await waiting(journal)
        assert await journal.verify() == []
        with sqlite3.connect(path) as db:
            db.execute("UPDATE event SET data = CAST(replace(data, '\"amount\":5', '\"amount\":6') AS BLOB)")
            changed = db.execute(
                "SELECT count(*) FROM event WHERE CAST(data AS TEXT) LIKE '%\"amount\":6%'"
            ).fetchone()[0]
        db.close()
        assert changed
        assert len(await journal.verify()) == 1


async def test_threat_37_the_kill_switch_stops_new_and_pending_calls() -> None:
    harness, run = await waiting()
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    harness.gate.halt("incident 7")
    run = await harness.resume(run.id)
    assert (only(run).code, paid) == ("declined", [])
    assert "incident 7" in only(run).text
    typed = ToolCall("t", "note", {"text": "x"}, label=Label("user"))
    result = await harness.call(typed, ADA)
    assert not hasattr(result, "digest")
    assert paid == []
    harness.gate.release()
    await harness.call(typed, ADA)
    assert paid == [1]


async def test_threat_37_the_kill_switch_stops_what_is_next_in_line() -> None:
    gate = Gate()

    @tool(effect="irreversible", name="pay")
    async def pay_and_alarm(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        gate.halt("incident 7")
        return "paid"

    model = Checked([[ask("pay", f"c{i}", amount=i) for i in range(1, 4)], "ok"])
    harness = Harness(model, Catalogue([pay_and_alarm]), gate=gate)
    run = await harness.run("pay", ADA)
    for each in run.confirmations:
        await harness.answer(each.id, approve=True, by="bob")
    run = await harness.resume(run.id)
    assert paid == [1]
    assert [result.code for result in run.results.values()] == [None, "declined", "declined"]


async def test_the_gate_passes_what_nothing_stops() -> None:
    run, _ = await play([[ask("note", text="abc")], "ok"], [note])
    assert (only(run).text, paid) == ("noted", [3])
