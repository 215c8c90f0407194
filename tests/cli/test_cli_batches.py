"""What people decide about several calls at once, from a shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from cli_kit import Cli

from counterfoil import Catalogue, Gate, Harness, Run, Scripted, Session, SqliteJournal, ToolCall, tool

ADA = Session(requester="ada", permissions=frozenset({"*"}))
DONE: list[str] = []


@tool(effect="irreversible", permission="orders")
def cancel_order(order_id: str, reason: str) -> str:
    """Cancel an order for good."""
    DONE.append(order_id)
    return f"{order_id} is cancelled"


def work(*turns: Any, run_id: str | None = None, prompt: str = "Go on.", **gate: Any) -> Run:
    """Begin a run in the journal of the folder, or go on with it, as another process would."""

    async def within() -> Run:
        journal = SqliteJournal(Path("counterfoil.db"))
        model = Scripted([*turns, "Done."])
        checked = Gate(**{"provenance": "off", **gate})
        harness = Harness(model, Catalogue([cancel_order]), gate=checked, journal=journal)
        try:
            return await (harness.run(prompt, ADA) if run_id is None else harness.resume(run_id))
        finally:
            await journal.aclose()

    return anyio.run(within)


def cancels(*numbers: int) -> list[ToolCall]:
    return [ToolCall(f"c{n}", "cancel_order", {"order_id": f"ORD-{n}", "reason": "bought twice"}) for n in numbers]


@pytest.fixture(autouse=True)
def done(cli: Cli) -> list[str]:
    DONE.clear()
    return DONE


def flat(text: str) -> str:
    return " ".join(text.split())


def listed(cli: Cli) -> list[dict[str, Any]]:
    return cli("confirmations", "--json", code=0).lines


def test_one_card_for_calls_that_are_alike(cli: Cli) -> None:
    run = work(cancels(1, 2, 3))
    told = cli("confirmations", code=0).out
    assert "and 2 more, asked about for the same reason" in told
    assert flat(told).count('reason = "bought twice"') == told.count("asked because") == 1
    for number in (1, 2, 3):
        assert f'1.{number} order_id = "ORD-{number}"' in flat(told)
    first, *_ = lines = listed(cli)
    assert len({line["batch"] for line in lines}) == 1
    assert len({line["digest"] for line in lines}) == 3
    how = f"counterfoil approve {first['id']} --similar --digest {first['batch']} --by NAME"
    assert how in told
    assert "3 waiting" in told
    assert run.id in told


def test_all_that_is_alike_is_approved_once_it_was_shown(cli: Cli, done: list[str]) -> None:
    run = work(cancels(1, 2, 3))
    shown = cli("approve", run.id, "--similar", "--by", "bob", code=1).out
    assert "nothing was approved: this is what would be" in shown
    assert len(listed(cli)) == 3
    batch = cli("approve", run.id, "--similar", "--json", code=1).lines[0]
    assert [each["call"]["arguments"]["order_id"] for each in batch["confirmations"]] == ["ORD-1", "ORD-2", "ORD-3"]
    assert batch["batch"] in shown
    told = cli("approve", run.id, "--similar", "--digest", batch["batch"], "--by", "bob", code=0).out
    assert told.count("approved by bob: cancel_order") == 3
    assert listed(cli) == []
    run = work(run_id=run.id)
    assert (run.outcome.kind, done) == ("answered", ["ORD-1", "ORD-2", "ORD-3"])


def test_what_has_changed_since_it_was_shown_is_not_approved(cli: Cli, done: list[str]) -> None:
    run = work(cancels(1, 2, 3))
    batch = listed(cli)[0]["batch"]
    cli("deny", f"{run.id}/1.2/", "--by", "eve", code=0)
    error = cli("approve", run.id, "--similar", "--digest", batch, "--by", "bob", code=2).err
    assert "changed since it was shown" in error
    left = listed(cli)
    assert [line["call"]["id"] for line in left] == ["1.1", "1.3"]
    cli("approve", run.id, "--similar", "--digest", left[0]["batch"], "--by", "bob", code=0)
    run = work(run_id=run.id)
    assert (run.results["1.2"].code, done) == ("declined", ["ORD-1", "ORD-3"])


def test_all_that_is_alike_is_declined(cli: Cli, done: list[str]) -> None:
    run = work(cancels(1, 2))
    told = cli("deny", run.id[:10], "--similar", "--by", "bob", "--reason", "keep them", code=0).out
    assert told.count("declined by bob") == 2
    run = work(run_id=run.id)
    assert {result.code for result in run.results.values()} == {"declined"}
    assert all("keep them" in result.text for result in run.results.values())
    assert done == []


def test_several_are_named(cli: Cli, done: list[str]) -> None:
    run = work(cancels(1, 2, 3))
    ids = [f"{run.id}/1.1/", f"{run.id}/1.3/", f"{run.id}/1.1/"]
    told = cli("approve", *ids, "--by", "bob", code=0).out
    assert told.count("approved by bob") == 2
    assert told.count("goes on when it is resumed") == 1
    again = listed(cli)
    assert [line["call"]["id"] for line in again] == ["1.2"]
    first = run.confirmations[0].id
    partly = cli("approve", first, again[0]["id"], "--by", "eve", code=1)
    assert "was approved by bob already" in partly.err
    assert "1 of 2 were approved" in partly.err
    work(run_id=run.id)
    assert done == ["ORD-1", "ORD-2", "ORD-3"]
    assert cli("approve", first, first, "--by", "eve").code == 2


def test_what_does_not_go_together_is_refused_before_anything_is_answered(cli: Cli) -> None:
    run, other = work(cancels(1, 2)), work(cancels(1, 2))
    one, two = (each.id for each in run.confirmations)
    for wrong, said in [
        (("approve", run.id, "--similar", "--arguments", "{}"), "are for one call"),
        (("approve", one, two, "--always"), "are for one call"),
        (("approve", one, two, "--digest", "0"), "a digest is that of one call"),
        (("approve", one, two, "--similar"), "takes one ID"),
        (("deny", one, two, "--similar"), "takes one ID"),
        (("approve", "zz", "--similar"), "nothing waits under 'zz'"),
        (("approve", "", "--similar"), "2 batches begin with ''"),
        (("approve", one, "zz"), "nothing waits under 'zz'"),
        (("approve", run.id), "2 confirmations begin with"),
    ]:
        assert said in cli(*wrong, "--by", "bob", code=2).err
    assert len(listed(cli)) == 4
    assert len({line["batch"] for line in listed(cli)}) == 2
    assert {each.run_id for each in [*run.confirmations, *other.confirmations]} == {run.id, other.id}


def test_four_eyes_are_needed_for_each(cli: Cli, done: list[str]) -> None:
    run = work(cancels(1, 2), four_eyes=True)
    batch = listed(cli)[0]["batch"]
    proof = ("approve", run.id, "--similar", "--digest", batch)
    refused = cli(*proof, "--by", "ada", code=2)
    assert flat(refused.err).count("somebody else must approve it") == 1
    assert "must not be ada" in cli("confirmations", code=0).out
    cli(*proof, "--by", "bob", code=0)
    work(run_id=run.id, four_eyes=True)
    assert done == ["ORD-1", "ORD-2"]


def test_two_hundred_calls_are_all_shown(cli: Cli) -> None:
    work(cancels(*range(1, 201)))
    told = cli("confirmations", code=0).out
    assert len(told.splitlines()) < 220
    assert [n for n in range(1, 201) if f'order_id = "ORD-{n}"' not in told] == []


def test_a_run_that_still_waits_shows_its_batches_when_it_is_resumed(cli: Cli, shop: Path) -> None:
    (shop / "desk.py").write_text(
        "from counterfoil import Gate, Harness, Scripted\nfrom shop import catalogue\n"
        "harness = Harness(Scripted([]), catalogue, gate=Gate(provenance='off'))\n"
    )
    run = work(cancels(1, 2))
    told = cli("resume", run.id, "desk:harness", "--journal", "counterfoil.db", code=1).out
    assert "2 calls wait for a person" in told
    assert told.count("asked because") == 1
    assert f"counterfoil approve {run.confirmations[0].id} --similar --digest " in told


def test_what_is_typed_is_the_requesters_own_and_what_is_read_in_may_be_anybodys(cli: Cli, shop: Path) -> None:
    (shop / "till.py").write_text(
        "from counterfoil import Catalogue, Gate, Harness, tool\n"
        "@tool\ndef pay(iban: str) -> str:\n    'Pay.'\n    return 'paid'\n"
        "harness = Harness(None, Catalogue([pay]), gate=Gate(provenance='default'))\n"
    )
    given = '{"iban": "DE89370400440532013000"}'
    pay = ("call", "till:harness", "pay")
    assert cli(*pay, given, "--permission", "pay", code=0).out == "paid\n"
    waits = cli(*pay, "-", "--permission", "pay", stdin=given, code=1).out
    assert "others can write" in waits
    assert waits.count('iban "DE89370400440532013000"') == 1  # under origins, marked, and not once more as the reason
