"""An approval that stands for calls to come: as far as it says, for that requester, until it ends or is taken back."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from core_kit import ADA

from counterfoil import (
    Always,
    Attempt,
    Catalogue,
    Confirm,
    ConfirmationError,
    Gate,
    Harness,
    Journal,
    MemoryJournal,
    Run,
    Scripted,
    Session,
    SqliteJournal,
    ToolCall,
    tool,
)
from counterfoil.run.replay import replay
from counterfoil.types.entry import Answered, Judged

pytestmark = pytest.mark.anyio
BOB = Session(requester="bob", permissions=frozenset({"*"}))


@tool(effect="irreversible")
def refund(order: str, amount: float, note: str = "") -> str:
    """Pay back."""
    return f"{amount} for {order}"


@pytest.fixture(params=["memory", "sqlite"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    made: Journal = MemoryJournal() if request.param == "memory" else SqliteJournal(tmp_path / "runs.db")
    yield made
    await made.aclose()


async def ask(
    journal: Journal, arguments: dict[str, Any], session: Session = ADA, gate: Gate | None = None, id: str | None = None
) -> tuple[Harness, Run]:
    model = Scripted([[ToolCall("", "refund", arguments)], "Done."])
    harness = Harness(model, Catalogue([refund]), gate=gate, journal=journal)
    return harness, await harness.run("Pay back", session, run_id=id)


async def grant(journal: Journal, always: Always, arguments: dict[str, Any] | None = None) -> Harness:
    harness, run = await ask(journal, arguments or {"order": "ORD-1", "amount": 20.0})
    await harness.answer(run.confirmations[0].id, approve=True, by="carol", always=always)
    assert (await harness.resume(run.id)).text == "Done."
    return harness


async def test_the_same_call_again_runs_and_its_run_says_who_allowed_it(journal: Journal) -> None:
    harness = await grant(journal, Always())
    _, run = await ask(journal, {"order": "ORD-1", "amount": 20.0}, id="again")
    assert (run.outcome.kind, run.results["1.1"].text) == ("answered", "20.0 for ORD-1")
    (judged,) = [each for each in run.entries if isinstance(each, Judged)]
    (standing,) = await harness.grants("ada")
    assert judged.grant == standing
    assert (standing.by, standing.tool, standing.requester) == ("carol", "refund", "ada")
    report = await replay(await journal.read("again"), Catalogue([refund]))
    assert report.same, report.differences


@pytest.mark.parametrize(
    "arguments",
    [
        {"order": "ORD-1", "amount": 20.01},
        {"order": "ORD-2", "amount": 20.0},
        {"order": "ORD-1", "amount": 20.0, "note": "x"},
    ],
)
async def test_whatever_differs_is_asked_about(journal: Journal, arguments: dict[str, Any]) -> None:
    await grant(journal, Always())
    _, run = await ask(journal, arguments)
    assert run.outcome.kind == "waiting"


async def test_a_pattern_covers_what_it_says_and_the_rest_stays_as_it_was(journal: Journal) -> None:
    await grant(journal, Always(arguments={"amount": {"type": "number", "maximum": 50}}))
    assert (await ask(journal, {"order": "ORD-1", "amount": 50.0}))[1].outcome.kind == "answered"
    assert (await ask(journal, {"order": "ORD-1", "amount": 50.5}))[1].outcome.kind == "waiting"
    assert (await ask(journal, {"order": "ORD-2", "amount": 5.0}))[1].outcome.kind == "waiting"


async def test_it_is_for_that_requester_only(journal: Journal) -> None:
    await grant(journal, Always())
    assert (await ask(journal, {"order": "ORD-1", "amount": 20.0}, BOB))[1].outcome.kind == "waiting"


async def test_it_ends(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    harness = await grant(journal, Always(seconds=60))
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 61)
    assert (await ask(journal, {"order": "ORD-1", "amount": 20.0}))[1].outcome.kind == "waiting"
    assert await harness.grants() == []


async def test_it_can_be_taken_back_once(journal: Journal) -> None:
    harness = await grant(journal, Always())
    (standing,) = await harness.grants()
    await harness.revoke(standing.id, by="dave")
    assert (await ask(journal, {"order": "ORD-1", "amount": 20.0}))[1].outcome.kind == "waiting"
    with pytest.raises(ConfirmationError, match="no standing approval"):
        await harness.revoke(standing.id, by="eve")
    (kept,) = await journal.grants()
    assert (kept.revoked_by, kept.holds(time.time())) == ("dave", False)


async def test_where_four_eyes_are_needed_the_requesters_own_does_not_count(journal: Journal) -> None:
    harness, run = await ask(journal, {"order": "ORD-1", "amount": 20.0})
    await harness.answer(run.confirmations[0].id, approve=True, by="ada", always=Always())
    await harness.resume(run.id)
    assert (await ask(journal, {"order": "ORD-1", "amount": 20.0}))[1].outcome.kind == "answered"
    strict = Gate(four_eyes=True)
    assert (await ask(journal, {"order": "ORD-1", "amount": 20.0}, gate=strict))[1].outcome.kind == "waiting"


async def test_no_always_where_another_reason_asks_as_well(journal: Journal) -> None:
    def night(attempt: Attempt) -> Confirm | None:
        return Confirm("it is night", four_eyes=True)

    await grant(journal, Always())
    harness, run = await ask(journal, {"order": "ORD-1", "amount": 20.0}, gate=Gate([night]))
    (asked,) = run.confirmations
    assert (asked.reason, asked.four_eyes, asked.grantable) == (
        "it is night; refund cannot be taken back",
        True,
        False,
    )
    with pytest.raises(ConfirmationError, match="asked about each time"):
        await harness.answer(asked.id, approve=True, by="carol", always=Always())
    await harness.answer(asked.id, approve=True, by="carol")  # nothing was taken by the refused answer


@pytest.mark.parametrize(
    ("always", "approve", "says"),
    [
        (Always(), False, "declined once"),
        (Always(seconds=0), True, "an end in the future"),
        (Always(arguments={"colour": {}}), True, "no argument 'colour': it has amount, order"),
        (Always(arguments={"amount": {"type": "nonsense"}}), True, "JSON Schemas by name"),
        (Always(arguments={"amount": {"maximum": 5}}), True, "would not cover the very call"),
    ],
)
async def test_what_cannot_stand_is_refused_before_anything_is_answered(
    journal: Journal, always: Always, approve: bool, says: str
) -> None:
    harness, run = await ask(journal, {"order": "ORD-1", "amount": 20.0})
    with pytest.raises(ConfirmationError, match=says):
        await harness.answer(run.confirmations[0].id, approve=approve, by="carol", always=always)
    assert len(await harness.confirmations()) == 1
    assert await journal.grants() == []


async def test_an_approval_with_edits_stands_for_what_was_edited(journal: Journal) -> None:
    harness, run = await ask(journal, {"order": "ORD-1", "amount": 20.0})
    edited = {"order": "ORD-1", "amount": 5.0}
    await harness.answer(run.confirmations[0].id, approve=True, by="carol", arguments=edited, always=Always())
    run = await harness.resume(run.id)
    assert run.results["1.1"].text == "5.0 for ORD-1"
    (answered,) = [each for each in run.entries if isinstance(each, Answered)]
    assert answered.grant is not None
    assert (await ask(journal, edited))[1].outcome.kind == "answered"
    assert (await ask(journal, {"order": "ORD-1", "amount": 20.0}))[1].outcome.kind == "waiting"
