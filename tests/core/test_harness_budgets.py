"""How far a run may go, and how it ends when it has gone so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from core_kit import ADA, Checked, ask, assert_well_formed, only, person, play

from counterfoil import (
    Budget,
    Catalogue,
    Harness,
    Limits,
    MemoryJournal,
    Message,
    ModelError,
    Outcome,
    Rate,
    Reply,
    Request,
    Scripted,
    Session,
    Text,
    ToolCall,
    Trust,
    Usage,
    tool,
)
from counterfoil.types.entry import Ended, Opened, Said
from counterfoil.types.message import user

pytestmark = pytest.mark.anyio

ran: list[int] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool(effect="write", trust=Trust(returns="system"))
async def act(n: int) -> str:
    """Act."""
    ran.append(n)
    return f"did {n}"


@tool(effect="irreversible", limits=Limits(timeout=5, repeats=1, calls_per_run=1))
async def once(n: int) -> str:
    """Act once."""
    ran.append(n)
    return f"did {n}"


def reply(*blocks: Any, **usage: Any) -> Reply:
    return Reply(Message("assistant", blocks), "tool_calls", usage=Usage(**usage))


async def test_turns_leave_a_valid_history_and_say_which_ceiling() -> None:
    run, _ = await play([[ask("act", n=1)], [ask("act", n=2)]], [act], person(turns=2))
    assert (run.outcome.kind, run.outcome.which) == ("limit", "turns")
    assert (ran, run.results["2.1"].code) == ([1], "over_limit")


@pytest.mark.parametrize(("which", "usage"), [("tokens", {"input_tokens": 60}), ("cost", {"cost": 0.6})])
async def test_tokens_and_cost_stop_the_run(which: str, usage: dict[str, Any]) -> None:
    turns = [reply(ask("act", n=n), **usage) for n in range(2)]
    budget: dict[str, Any] = {which: 100 if which == "tokens" else 1.0}
    run, _ = await play(turns, [act], person(**budget))
    assert (run.outcome.kind, run.outcome.which) == ("limit", which)
    assert ran == [0]
    assert run.results["2.1"].code == "over_limit"


async def test_calls_beyond_the_budget_are_refused_and_the_model_may_answer() -> None:
    run, _ = await play([[ask("act", f"c{n}", n=n) for n in range(3)], "enough"], [act], person(calls=2))
    assert [result.code for result in run.results.values()] == [None, None, "over_limit"]
    assert (run.outcome.kind, ran) == ("answered", [0, 1])


async def test_seconds_stop_before_the_next_question() -> None:
    @tool(effect="read")
    async def slow() -> str:
        """Wait."""
        await anyio.sleep(0.03)
        return "slow"

    run, _ = await play([[ask("slow")]], [slow], person(seconds=0.02))
    assert (run.outcome.kind, run.outcome.which) == ("limit", "seconds")
    assert only(run).text == "slow"


@pytest.mark.parametrize("which", ["turns", "seconds"])
async def test_no_tool_runs_in_the_last_answer(which: str) -> None:
    """A model that calls although tools are forbidden gets refusals, and the run is over."""

    async def slowly(n: int) -> str:
        await anyio.sleep(0.03)
        ran.append(n)
        return "did"

    slow = tool(slowly)
    turns = [[ask("slowly", n=1)], [ask("slowly", n=2)]]
    session = person(turns=1, last_answer=True) if which == "turns" else person(seconds=0.02, last_answer=True)
    run, model = await play(turns, [slow], session)
    assert model.requests[1].tool_choice.mode == "none"
    assert ran == ([] if which == "turns" else [1])
    assert run.results["2.1"].code == "over_limit"
    assert run.outcome.kind == "limit"


async def test_no_tool_runs_after_the_limit_when_a_crashed_run_resumes() -> None:
    """Its process died after the last words, which were a call: the time is a new process's, the limit is the run's."""
    journal = MemoryJournal()
    log = await journal.create("r", "ada", ())
    last_words = Said(Message("assistant", (ask("act", "1.1", n=1),)), "tool_calls")
    opened = Opened(person(seconds=60, last_answer=True))
    log.append([opened, Said(user("x")), Ended(Outcome("limit", "seconds")), last_words])
    await log.release("ready")
    run = await Harness(Checked([]), Catalogue([act]), journal=journal).resume("r")
    assert (run.outcome.kind, run.results["1.1"].code, ran) == ("limit", "over_limit", [])


async def test_the_next_user_message_begins_a_new_budget() -> None:
    model = Checked([[ask("act", n=1)], [ask("act", n=2)], [ask("act", n=1)], "done"])
    harness = Harness(model, Catalogue([act]))
    session = person(turns=2)
    first = await harness.run("a", session, run_id="r")
    second = await harness.run("b", session, run_id="r")
    assert (first.outcome.kind, second.outcome.kind, ran) == ("limit", "answered", [1, 1])


async def test_rate_is_per_requester_and_tells_when() -> None:
    @tool(effect="write", limits=Limits(timeout=5, rate=Rate(2, 3600)))
    async def mail(n: int) -> str:
        """Mail."""
        ran.append(n)
        return "sent"

    def turns() -> list[Any]:
        return [[ask("mail", f"c{n}", n=n) for n in range(3)], "ok"]

    catalogue = Catalogue([mail])
    harness = Harness(Checked([*turns(), *turns()]), catalogue)
    ada = await harness.run("x", ADA)
    bob = await harness.run("x", person(requester="bob"))
    for run in (ada, bob):
        assert [result.code for result in run.results.values()] == [None, None, "over_limit"]
    assert "the next call may come in" in ada.results["1.3"].text


async def test_a_confirmed_call_is_not_its_own_repetition() -> None:
    """Judging a call again after its approval must not count it twice."""
    harness = Harness(Checked([[ask("once", n=1)], "ok"]), Catalogue([once]))
    run = await harness.run("x", person(calls=1))
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    run = await harness.resume(run.id)
    assert (only(run).text, ran) == ("did 1", [1])


async def test_a_retried_call_is_not_counted_twice() -> None:
    attempts: list[int] = []

    @tool(effect="write", limits=Limits(timeout=0.1, calls_per_run=1, sums={"n": 5}))
    async def flaky(n: int) -> str:
        """Fail once."""
        attempts.append(n)
        if len(attempts) == 1:
            raise OSError("connection lost")
        return "did"

    harness = Harness(Checked([[ask("flaky", n=4)], "ok"]), Catalogue([flaky]))
    run = await harness.run("x", person(calls=1))
    assert run.outcome.kind == "in_doubt"
    await anyio.sleep(0.11)
    await harness.settle(run.id, "1.1", "retry", by="carol")
    run = await harness.resume(run.id)
    assert (only(run).text, attempts) == ("did", [4, 4])


async def test_a_failed_model_is_an_outcome_and_resume_asks_again() -> None:
    def fails(request: Request) -> str:
        raise ModelError("503 from the provider: try again later")

    turns: list[Any | Callable[[Request], Any]] = [[ask("act", n=1)], fails, "there"]
    harness = Harness(model := Checked(turns), Catalogue([act]))
    run = await harness.run("x", ADA)
    assert (run.outcome.kind, run.outcome.detail) == ("failed", "503 from the provider: try again later")
    assert_well_formed(run.messages)
    run = await harness.resume(run.id)
    assert (run.outcome.kind, run.text, ran) == ("answered", "there", [1])
    model.assert_done()


async def test_text_beside_calls_and_a_wrong_stop_reason_do_not_matter() -> None:
    said = Reply(Message("assistant", (Text("Let me see."), ask("act", n=1), ask("act", "c2", n=2))), "end", "stop")
    run, _ = await play([said, "done"], [act])
    assert (ran, run.text) == ([1, 2], "done")


async def test_a_ceiling_on_cost_closes_on_a_model_that_names_no_price() -> None:
    unpriced = Reply(Message("assistant", (ToolCall("a", "look", {}),)), "tool_calls", usage=Usage(10, 10))

    @tool(effect="read", permission="look")
    async def look() -> str:
        """Look."""
        return "seen"

    session = Session(requester="ada", permissions=frozenset({"look"}), budget=Budget(cost=1.0))
    run = await Harness(Scripted([unpriced, "ok"]), Catalogue([look])).run("x", session)
    assert (run.outcome.kind, run.outcome.which) == ("limit", "cost")
    assert run.results["1.1"].code == "over_limit"
