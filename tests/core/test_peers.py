"""What the peers do wrong (FIELD.md section 7), row by row: here it must be right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from core_kit import ADA, Checked, ask, only, person, play

from counterfoil import (
    Catalogue,
    ConfirmationError,
    Harness,
    MemoryJournal,
    SqliteJournal,
    ToolCall,
    ToolResult,
    tool,
)

pytestmark = pytest.mark.anyio


class Address(msgspec.Struct):
    city: str
    zip: int


done: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    done.clear()


@tool(effect="write", permission="mail:send")
async def send(to: str, mode: Literal["fast", "slow"], address: Address) -> str:
    """Send a parcel."""
    done.append(to)
    return f"sent to {to}"


@tool(effect="read")
async def look(number: int) -> str:
    """Look something up."""
    return f"found {number}"


@tool(effect="read")
async def boom() -> str:
    """Break."""
    raise ValueError("the password is hunter2")


@tool(effect="irreversible")
async def pay(amount: int) -> str:
    """Pay."""
    done.append(f"paid {amount}")
    return "paid"


HOME = {"city": "Bern", "zip": 3000}


async def test_bad_argument_names_path_expectation_and_finding() -> None:
    wrong = {"to": 7, "mode": "quick", "address": {"city": "Bern", "zip": "x"}}
    run, _ = await play([[ask("send", **wrong), ask("look", "c2", number=1)], "sorry"], [send, look])
    bad, good = run.results.values()
    assert (bad.code, bad.is_error, good.text) == ("bad_arguments", True, "found 1")
    assert "$.to: expected string, found integer 7" in bad.text
    assert '$.mode: expected one of "fast", "slow", found "quick"' in bad.text
    assert '$.address.zip: expected integer, found string "x"' in bad.text
    assert done == []
    assert run.outcome.kind == "answered"


@pytest.mark.parametrize("where", ["top", "nested"])
async def test_invented_field_is_refused_at_every_depth(where: str) -> None:
    arguments = {"to": "a", "mode": "fast", "address": dict(HOME)}
    (arguments if where == "top" else arguments["address"])["street"] = "X"  # type: ignore[index]
    run, _ = await play([[ask("send", **arguments)], "sorry"], [send])
    path = "$" if where == "top" else "$.address"
    assert f"{path}: there is no property 'street'" in only(run).text
    assert only(run).code == "bad_arguments"
    assert done == []


async def test_unknown_tool_again_and_again_is_a_result_each_time() -> None:
    unknown = [[ask("loook", f"c{i}", number=i), ask("look", f"d{i}", number=i)] for i in range(4)]
    run, _ = await play([*unknown, "I give up"], [look])
    for turn in range(1, 5):
        assert run.results[f"{turn}.1"].code == "unknown_tool"
        assert "Did you mean look?" in run.results[f"{turn}.1"].text
        assert run.results[f"{turn}.2"].text == f"found {turn - 1}"
    assert run.text == "I give up"


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ('{"number": 1', "cut off"),
        ("number: 1", "not JSON"),
        ("[1]", "found an array"),
        ("", "empty"),
        ('{"number": 1}{"number": 2}', "not JSON"),
    ],
)
async def test_malformed_json_never_runs_and_is_told(raw: str, told: str) -> None:
    run, model = await play(
        [[ToolCall("c1", "look", raw=raw), ask("look", "c2", number=2)], "sorry"],
        [look],
    )
    assert run.results["1.1"].code == "not_parsed"
    assert told in run.results["1.1"].text
    assert run.results["1.2"].text == "found 2"
    # What the model wrote stays in the history, so that it can see its own mistake.
    assert model.requests[1].messages[1].calls[0].raw == raw


async def test_raising_tool_is_a_plain_result_without_internals(caplog: pytest.LogCaptureFixture) -> None:
    run, _ = await play([[ask("look", number=1), ask("boom", "c2"), ask("look", "c3", number=3)], "ok"], [look, boom])
    first, broken, third = run.results.values()
    assert (first.text, third.text) == ("found 1", "found 3")
    assert broken.is_error
    assert "hunter2" not in broken.text
    assert "ValueError" not in broken.text
    assert "hunter2" in caplog.text, "the traceback is for the log"


async def test_duplicate_and_blank_call_ids_pair_by_our_own() -> None:
    calls = [ask("look", "same", number=1), ask("look", "same", number=2), ask("look", "", number=3)]
    run, model = await play([calls, "ok"], [look])
    assert list(run.results) == ["1.1", "1.2", "1.3"]
    assert [result.text for result in run.results.values()] == ["found 1", "found 2", "found 3"]
    assert [call.provider_id for call in model.requests[1].messages[1].calls] == ["same", "same", ""]


async def test_approval_is_bound_to_the_arguments() -> None:
    journal = MemoryJournal()
    harness = Harness(Checked([[ask("pay", amount=5)], "ok"]), Catalogue([pay]), journal=journal)
    run = await harness.run("pay", ADA)
    (waiting,) = run.confirmations
    assert waiting.call.arguments == {"amount": 5}
    with pytest.raises(ConfirmationError, match="changed since it was shown"):
        await harness.answer(waiting.id, approve=True, by="bob", digest="0" * 64)
    assert done == []
    await harness.answer(waiting.id, approve=True, by="bob", digest=waiting.digest)
    run = await harness.resume(run.id)
    assert (run.outcome.kind, done) == ("answered", ["paid 5"])


async def test_the_same_approval_twice_acts_once() -> None:
    journal = MemoryJournal()
    model = Checked([[ask("pay", amount=5)], "ok"])
    first, second = (Harness(model, Catalogue([pay]), journal=journal) for _ in range(2))
    run = await first.run("pay", ADA)
    (waiting,) = run.confirmations
    await first.answer(waiting.id, approve=True, by="bob")
    with pytest.raises(ConfirmationError, match="approved by bob already"):
        await second.answer(waiting.id, approve=True, by="eve")
    await first.resume(run.id)
    await second.resume(run.id)
    with pytest.raises(ConfirmationError, match="already"):
        await second.answer(waiting.id, approve=True, by="eve")
    assert done == ["paid 5"]


async def test_step_ceiling_is_an_outcome_and_the_history_stays_valid() -> None:
    turns = [[ask("look", number=i)] for i in range(3)]
    run, _ = await play(turns, [look], person(turns=3))
    assert (run.outcome.kind, run.outcome.which) == ("limit", "turns")
    assert run.results["2.1"].text == "found 1"
    assert run.results["3.1"].code == "over_limit"


async def test_step_ceiling_may_ask_for_a_last_answer() -> None:
    turns = [[ask("look", number=i)] for i in range(2)]
    run, model = await play([*turns, "what I know so far"], [look], person(turns=2, last_answer=True))
    assert model.requests[-1].tool_choice.mode == "none"
    assert run.outcome.kind == "limit"
    assert run.text == "what I know so far"


async def test_kill_inside_a_write_is_never_silently_repeated(tmp_path: Path) -> None:
    script = """
        import os, signal, sys
        import anyio
        from counterfoil import *
        @tool(effect="write")
        async def send(to: str) -> str:
            "Send."
            with open(sys.argv[2], "a") as effects: effects.write(to + "\\n")
            os.kill(os.getpid(), signal.SIGKILL)
        async def main():
            harness = Harness(Scripted([[ToolCall("c", "send", {"to": "bob"})]]), Catalogue([send]),
                              journal=SqliteJournal(sys.argv[1]))
            await harness.run("go", Session(requester="ada", permissions={"send"}), run_id="r")
        anyio.run(main)
    """
    database, effects = tmp_path / "runs.db", tmp_path / "effects"
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(database), str(effects)], timeout=60)  # noqa: ASYNC221
    assert killed.returncode == -signal.SIGKILL

    @tool(effect="write", name="send")
    async def send_again(to: str) -> str:
        """Send."""
        with effects.open("a") as file:
            file.write(to + os.linesep)
        return "sent"

    journal = SqliteJournal(database)
    harness = Harness(Checked(["It was sent."]), Catalogue([send_again]), journal=journal)
    run = await harness.resume("r")
    assert run.outcome.kind == "in_doubt"
    assert effects.read_text().split() == ["bob"]
    await harness.settle("r", "1.1", "happened", by="carol", result="sent to bob")
    run = await harness.resume("r")
    assert (run.text, run.results["1.1"].text) == ("It was sent.", "sent to bob")
    assert effects.read_text().split() == ["bob"]
    await journal.aclose()


async def test_permission_is_the_requesters_and_judged_per_call() -> None:
    ordered = ask("send", to="x", mode="fast", address=HOME)
    ada, _ = await play([[ordered, ask("look", "c2", number=1)], "no"], [send, look], person("look"))
    assert [result.code for result in ada.results.values()] == ["not_permitted", None]
    assert done == []
    bob, _ = await play([[ordered], "yes"], [send, look], person("mail:*", requester="bob"))
    assert only(bob).text == "sent to x"


async def test_an_outside_call_passes_the_same_gate() -> None:
    harness = Harness(None, Catalogue([look, send]))
    good = await harness.call(ask("look", "theirs", number=4), person("look"))
    assert isinstance(good, ToolResult)
    assert (good.call_id, good.text) == ("theirs", "found 4")
    refused = await harness.call(ask("send", to="x", mode="fast", address=HOME), person("look"))
    assert isinstance(refused, ToolResult)
    assert refused.code == "not_permitted"
    assert done == []
