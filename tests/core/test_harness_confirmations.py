"""People answer: once, in time, the right person, for exactly these arguments."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from core_kit import ADA, Checked, ask, only, person

from counterfoil import (
    Attempt,
    Catalogue,
    Confirm,
    Confirmation,
    ConfirmationError,
    CounterfoilError,
    Gate,
    Harness,
    Journal,
    Limits,
    MemoryJournal,
    Session,
    SqliteJournal,
    tool,
)

pytestmark = pytest.mark.anyio

paid: list[int] = []


@pytest.fixture(autouse=True)
def _unpaid() -> None:
    paid.clear()


@pytest.fixture(params=["memory", "sqlite"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    made: Journal = MemoryJournal() if request.param == "memory" else SqliteJournal(tmp_path / "runs.db")
    yield made
    await made.aclose()


@tool(effect="irreversible", permission="pay", limits=Limits(timeout=5, clamps={"amount": (None, 1000)}))
async def pay(amount: int) -> str:
    """Pay."""
    paid.append(amount)
    return f"paid {amount}"


@tool(effect="read")
async def look(n: int) -> str:
    """Look."""
    return f"seen {n}"


def make(journal: Journal, *turns: Any, **options: Any) -> Harness:
    script: list[Any] = list(turns) or [[ask("pay", amount=5)], "ok"]
    return Harness(Checked(script), Catalogue([pay, look]), journal=journal, **options)


async def test_siblings_run_while_one_call_waits(journal: Journal) -> None:
    calls = [ask("look", n=1), ask("pay", "c2", amount=5), ask("look", "c3", n=3)]
    harness = make(journal, calls, "ok")
    run = await harness.run("x", ADA)
    assert run.outcome.kind == "waiting"
    assert [result.text for result in run.results.values()] == ["seen 1", "seen 3"]
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    run = await harness.resume(run.id)
    assert [result.text for result in run.results.values()] == ["seen 1", "paid 5", "seen 3"]
    assert [result.call_id for result in run.messages[2].results] == ["1.1", "1.2", "1.3"]


async def test_a_refusal_is_read_by_the_model_with_its_reason(journal: Journal) -> None:
    harness = make(journal)
    run = await harness.run("x", ADA)
    await harness.answer(run.confirmations[0].id, approve=False, by="bob", reason="too much this month")
    run = await harness.resume(run.id)
    assert (only(run).code, paid) == ("declined", [])
    assert "bob declined this: too much this month" in only(run).text
    assert run.outcome.kind == "answered"


async def test_concurrent_answers_from_two_harnesses_count_once(journal: Journal) -> None:
    model = Checked([[ask("pay", amount=5)], "ok"])
    desks = [Harness(model, Catalogue([pay]), journal=journal) for _ in range(2)]
    run = await desks[0].run("x", ADA)
    outcomes: list[str] = []

    async def answer(desk: Harness, by: str) -> None:
        try:
            await desk.answer(run.confirmations[0].id, approve=True, by=by)
            outcomes.append("taken")
        except ConfirmationError:
            outcomes.append("refused")

    async with anyio.create_task_group() as group:
        for number, desk in enumerate(desks * 3):
            group.start_soon(answer, desk, f"person {number}")
    assert sorted(outcomes) == ["refused"] * 5 + ["taken"]
    run = await desks[1].resume(run.id)
    assert paid == [5]


async def test_who_answered_is_in_the_journal(journal: Journal) -> None:
    harness = make(journal)
    run = await harness.run("x", ADA)
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    run = await harness.resume(run.id)
    (answered,) = [entry for entry in run.entries if type(entry).__name__ == "Answered"]
    assert getattr(answered, "by", None) == "bob"


@pytest.mark.parametrize("confirmation", ["nonsense", "r/1.1/0000000000000000", "r/9.9/x", "", "unknown/1.1/x"])
async def test_nothing_waits_under_an_unknown_id(journal: Journal, confirmation: str) -> None:
    harness = make(journal)
    await harness.run("x", ADA, run_id="r")
    with pytest.raises(ConfirmationError):
        await harness.answer(confirmation, approve=True, by="bob")


async def test_an_answer_needs_a_name(journal: Journal) -> None:
    harness = make(journal)
    run = await harness.run("x", ADA)
    with pytest.raises(ConfirmationError, match="needs a name"):
        await harness.answer(run.confirmations[0].id, approve=True, by="")


async def test_an_edit_runs_as_edited_and_is_bound_to_the_edit(journal: Journal) -> None:
    harness = make(journal)
    run = await harness.run("x", ADA)
    await harness.answer(run.confirmations[0].id, approve=True, by="bob", arguments={"amount": 3})
    run = await harness.resume(run.id)
    assert (paid, only(run).text) == ([3], "paid 3")


async def test_an_edit_passes_the_whole_gate(journal: Journal) -> None:
    harness = make(journal)
    run = await harness.run("x", ADA)
    await harness.answer(run.confirmations[0].id, approve=True, by="bob", arguments={"amount": "three", "to": "eve"})
    run = await harness.resume(run.id)
    assert (only(run).code, paid) == ("bad_arguments", [])


async def test_an_edit_that_the_gate_changes_must_be_confirmed_again(journal: Journal) -> None:
    """Who approved 5,000 did not approve 1,000; and the second confirmation can be answered, too."""
    harness = make(journal, [ask("pay", amount=9000)], "ok")
    run = await harness.run("x", ADA)
    assert run.confirmations[0].call.arguments == {"amount": 1000}
    await harness.answer(run.confirmations[0].id, approve=True, by="bob", arguments={"amount": 5000})
    run = await harness.resume(run.id)
    assert (run.outcome.kind, paid) == ("waiting", [])
    assert run.confirmations[0].call.arguments == {"amount": 1000}
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    run = await harness.resume(run.id)
    assert paid == [1000]


async def test_a_check_that_rewrites_to_the_same_does_not_void_an_approval(journal: Journal) -> None:
    def normalise(attempt: Attempt) -> None:
        attempt.arguments = {**attempt.arguments, "amount": abs(attempt.arguments["amount"])}

    harness = make(journal, [ask("pay", amount=-5)], "ok", gate=Gate([normalise]))
    run = await harness.run("x", ADA)
    assert run.confirmations[0].call.arguments == {"amount": 5}
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    run = await harness.resume(run.id)
    assert paid == [5]


async def test_permissions_are_judged_again_when_a_run_resumes(journal: Journal) -> None:
    permissions = {"pay", "look"}

    async def resolve(session: Session) -> Session:
        return person(*permissions, requester=session.requester)

    harness = make(journal, [ask("pay", amount=5)], "ok", resolve=resolve)
    run = await harness.run("x", ADA)
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    permissions.discard("pay")
    run = await harness.resume(run.id)
    assert (only(run).code, paid) == ("not_permitted", [])


async def test_a_resume_never_widens_authority(journal: Journal) -> None:
    def resolve(session: Session) -> Session:
        return person("*", requester=session.requester)

    harness = make(journal, [ask("pay", amount=5)], "ok", resolve=resolve)
    run = await harness.run("x", person("look"))
    assert only(run).code == "not_permitted"
    run = await harness.resume(run.id)
    assert run.state.session is not None
    assert run.state.session.permissions == {"look"}


async def test_a_resolver_that_fails_leaves_the_run_waiting(journal: Journal) -> None:
    def resolve(session: Session) -> Session:
        raise ConnectionError("the directory is down")

    harness = make(journal, resolve=resolve)
    run = await harness.run("x", ADA)
    with pytest.raises(ConnectionError):
        await harness.resume(run.id)
    assert [each.run_id for each in await harness.confirmations()] == [run.id]
    harness.resolve = None
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    await harness.resume(run.id)
    assert paid == [5]


async def test_a_new_prompt_on_a_waiting_run_is_refused_and_it_still_waits(journal: Journal) -> None:
    harness = make(journal)
    run = await harness.run("x", ADA)
    with pytest.raises(CounterfoilError, match="waits for a person"):
        await harness.run("y", ADA, run_id=run.id)
    assert [each.run_id for each in await harness.confirmations()] == [run.id]


async def test_an_application_check_may_ask_and_name_four_eyes(journal: Journal) -> None:
    def check(attempt: Attempt) -> Confirm:
        return Confirm("look at this", four_eyes=True)

    harness = make(journal, [ask("look", n=1)], "ok", gate=Gate([check]))
    run = await harness.run("x", ADA)
    assert run.confirmations[0].reason == "look at this"
    with pytest.raises(ConfirmationError, match="somebody else"):
        await harness.answer(run.confirmations[0].id, approve=True, by="ada")


async def test_irreversible_calls_run_one_at_a_time_and_in_order(journal: Journal) -> None:
    running = 0

    @tool(effect="irreversible", name="pay")
    async def slow_pay(amount: int) -> str:
        """Pay."""
        nonlocal running
        running += 1
        assert running == 1
        await anyio.sleep(0.002)
        running -= 1
        paid.append(amount)
        return f"paid {amount}"

    calls = [ask("pay", f"c{n}", amount=n) for n in range(4)]
    harness = Harness(Checked([calls, "ok"]), Catalogue([slow_pay]), journal=journal)
    run = await harness.run("x", ADA)
    for each in reversed(run.confirmations):
        await harness.answer(each.id, approve=True, by="bob")
    run = await harness.resume(run.id)
    assert [result.text for result in run.results.values()] == [f"paid {n}" for n in range(4)]
    assert paid == [0, 1, 2, 3]


async def test_an_outside_call_may_wait_too(journal: Journal) -> None:
    harness = make(journal)
    waiting = await harness.call(ask("pay", "theirs", amount=7), ADA)
    assert isinstance(waiting, Confirmation)
    await harness.answer(waiting.id, approve=True, by="bob")
    run = await harness.resume(waiting.run_id)
    assert (run.outcome.kind, only(run).text, paid) == ("answered", "paid 7", [7])
