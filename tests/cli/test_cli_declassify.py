"""`counterfoil declassify`: nobody vouches for a text before it could be read."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from cli_kit import Cli

from counterfoil import Catalogue, Gate, Harness, Run, Scripted, Session, SqliteJournal, ToolCall, Trust, tool
from counterfoil.cli.main import main
from counterfoil.cli.output import Output

ADA = Session(requester="ada", permissions=frozenset({"*"}))


@tool(effect="read", permission="orders")
def lookup_order(order_id: str) -> str:
    """Look up an order."""
    return f"{order_id}: call me \x1b[31mback\u202e"


@tool(effect="read", permission="orders", trust=Trust(opaque=True))
def read_note(order_id: str) -> str:
    """Read an order's note, whose words are for people alone."""
    return f"{order_id}: ring twice"


@tool(effect="irreversible", permission="orders")
def cancel_order(order_id: str) -> str:
    """Cancel an order for good."""
    return f"{order_id} is cancelled"


def turn(run_id: str | None = None, *, opaque: bool = False) -> Run:
    """Look up an order and mean to cancel it, in the journal of the folder, or go on with that."""
    read = ToolCall("r", "read_note" if opaque else "lookup_order", {"order_id": "ORD-1"})
    calls = [[read], [ToolCall("c", "cancel_order", {"order_id": "1"})]]

    async def within() -> Run:
        journal = SqliteJournal(Path("counterfoil.db"))
        harness = Harness(
            Scripted([*calls, "Done."]),
            Catalogue([read_note if opaque else lookup_order, cancel_order]),
            gate=Gate(provenance="default"),
            journal=journal,
        )
        try:
            return await (harness.run("Look at ORD-1.", ADA) if run_id is None else harness.resume(run_id))
        finally:
            await journal.aclose()

    return anyio.run(within)


@pytest.fixture
def run(cli: Cli) -> Run:
    return turn()


Types = Callable[..., str]


@pytest.fixture
def types(cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Types:
    """Run the command at a terminal, at which something is typed; gives what was said."""

    class Keyboard(io.StringIO):
        def isatty(self) -> bool:
            return True

    def typed(keys: str, *arguments: str, code: int) -> str:
        monkeypatch.setattr(Output, "terminal", True)
        monkeypatch.setattr(sys, "stdin", Keyboard(keys))
        assert main(arguments) == code
        return capsys.readouterr().out

    return typed


DECLASSIFY = ("declassify", "last", "1.1", "--by", "bob")


def test_the_first_time_it_is_only_shown(cli: Cli, run: Run) -> None:
    shown = cli(*DECLASSIFY, code=1).out
    assert "ORD-1: call me \\x1b[31mback\\u202e" in shown
    assert "label  untrusted" in shown
    assert "nothing was vouched for: this is what would be" in shown
    assert "vouches" not in cli("show", "last", code=0).out
    (told,) = cli(*DECLASSIFY, "--json", code=1).lines
    assert (told["run"], told["call"], told["text"]) == (run.id, "1.1", "ORD-1: call me \x1b[31mback\u202e")
    assert f"counterfoil declassify {run.id} 1.1 --digest {told['digest']} --by NAME" in shown


def test_what_was_shown_is_vouched_for_by_its_digest_and_by_one_person(cli: Cli, run: Run) -> None:
    digest = cli(*DECLASSIFY, "--json", code=1).lines[0]["digest"]
    wrong = cli(*DECLASSIFY, "--digest", digest[:-1] + ("0" if digest[-1] != "0" else "1"), code=2).err
    assert "not the digest of this text" in wrong
    assert "not the digest" in cli(*DECLASSIFY, "--digest", "", code=2).err
    assert cli(*DECLASSIFY, "--digest", digest, "--json", code=0).lines[0]["by"] == "bob"
    for again in ((), ("--digest", digest)):
        told = cli("declassify", run.id, "1.1", "--by", "eve", *again, code=2).err
        assert "bob has vouched for the result of call 1.1 already" in told
    cli("deny", run.id, "--by", "bob", code=0)
    turn(run.id)
    assert "bob vouches for its result" in cli("show", "last", code=0).out
    assert "bob has vouched" in cli("declassify", "last", "1.1", "--by", "eve", code=2).err


def test_the_digest_of_one_text_is_none_of_another(cli: Cli, run: Run) -> None:
    digest = cli(*DECLASSIFY, "--json", code=1).lines[0]["digest"]
    turn()
    assert "not the digest" in cli(*DECLASSIFY, "--digest", digest, code=2).err
    cli("declassify", run.id, "1.1", "--digest", digest, code=0)


@pytest.mark.parametrize(("keys", "code"), [("y\n", 0), ("what?\nYES\n", 0), ("n\n", 1), ("", 1), ("what?\n", 1)])
def test_at_a_terminal_it_is_shown_and_asked_about(types: Types, run: Run, keys: str, code: int) -> None:
    told = types(keys, *DECLASSIFY, code=code)
    assert told.index("call me \\x1b[31mback") < told.index("does bob vouch for this text")
    assert ("bob vouches for this text" in told) == (code == 0)
    assert ("nothing was vouched for" in told) == (code == 1)
    types("", "declassify", run.id, "1.1", "--json", code=2 if code == 0 else 1)  # refused once somebody has


def test_in_json_nobody_is_asked(types: Types, run: Run) -> None:
    assert "does bob vouch" not in types("y\n", *DECLASSIFY, "--json", code=1)


def test_what_the_model_is_not_shown_cannot_be_vouched_for(types: Types) -> None:
    run = turn(opaque=True)
    assert "vouches for this text" not in types("y\n", "declassify", run.id, "1.1", code=2)
    types("", "declassify", run.id, "1.1", "--json", code=1)


def test_there_must_be_a_text_to_vouch_for(cli: Cli, run: Run) -> None:
    assert "Calls with one: 1.1" in cli("declassify", run.id, "1.2", "--by", "bob", code=2).err
    assert "Calls with one: 1.1" in cli("declassify", "last", "7.7", "--by", "bob", code=2).err
    wrong = ("0" if run.id[0] != "0" else "1") + run.id[1:12]
    assert f"there is no run '{wrong}': the nearest is {run.id}" in cli("declassify", wrong, "1.1", code=2).err
    assert "vouches" not in cli("show", "last").out
