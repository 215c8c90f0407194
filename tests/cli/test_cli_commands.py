"""The commands, one after the other as a person would use them."""

from __future__ import annotations

import argparse
import os
import pty
import re
import sqlite3
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cli_kit import Cli, clean_environment, python

from counterfoil import __version__
from counterfoil.cli.app import parser
from counterfoil.cli.inert import inert
from counterfoil.tools.pins import visible

COMMANDS = [
    "demo", "chat", "call", "resume", "tools", "runs", "show", "journal verify", "confirmations", "approve", "deny",
    "grants", "revoke", "doubts", "settle", "declassify", "cancel", "replay",
    "convert",
]  # fmt: skip
READ = ("call", "shop:catalogue", "lookup_order", '{"order_id": "ORD-1"}', "--as", "ada", "--permission", "orders:read")
CANCEL = ("call", "shop:catalogue", "cancel_order", '{"order_id": "ORD-1"}', "--as", "ada", "--permission", "orders:*")


def test_version_and_help(cli: Cli, process: Cli) -> None:
    assert process("--version", code=0).out == f"counterfoil {__version__}\n"
    assert "counterfoil demo" in cli("--help", code=0).out
    for command in COMMANDS:
        told = cli(*command.split(), "--help", code=0).out
        assert "examples:\n  counterfoil " + command in told.replace("echo", "counterfoil"), told
        assert "exit codes: 0 done" in told


def test_a_call_its_refusal_and_its_error(cli: Cli) -> None:
    assert '"id":"ORD-1"' in cli(*READ, code=0).out
    refused = cli("call", "shop:catalogue", "lookup_order", "{}", "--permission", "orders:read", code=1)
    assert "missing required property 'order_id'" in refused.out
    assert "does not hold the permission 'orders:read'" in cli(*READ[:6], code=1).out
    unknown = cli("call", "shop:catalogue", "lookup_ordre", "{}", "--permission", "*", code=1)
    assert "Did you mean lookup_order" in unknown.out
    taught = cli(
        "call", "shop:catalogue", "lookup_order", "-", "--permission", "*", stdin='{"order_id": "NONE"}', code=1
    )
    assert "there is no such order" in taught.out
    found = cli(*READ, "--json", code=0).lines
    assert [found[0]["outcome"], found[0]["is_error"]] == ["answered", False]
    assert len(cli("runs", "--json").lines) == 6


def test_the_tools_as_the_model_sees_them(cli: Cli) -> None:
    told = cli("tools", "shop:catalogue", code=0).out
    assert "cancel_order  irreversible  orders:cancel  ~" in told
    assert "3 tools, about" in told
    told = cli("tools", "shop.py:tools", "--permission", "orders:read", code=0).out
    assert "cancel_order" not in told
    assert "1 of 2 tools" in told
    assert "the model is not shown them" in told
    assert '"additionalProperties": false' in cli("tools", "shop:catalogue", "--schema").out
    guessed = cli("tools", "shop:catalogue", "--trust", code=0).out
    assert "provenance: destroy  order_id: target" in guessed
    assert "act: destroy (guessed: its name says 'cancel')" in guessed
    assert "returns: untrusted (guessed: nothing is declared of its results" in guessed
    lines = cli("tools", "shop:catalogue", "--json").lines
    assert {line["name"]: line["trust"]["act"] for line in lines}["lookup_order"] == "read"
    assert [line["name"] for line in lines] == ["lookup_order", "cancel_order", "pay"]
    assert all(line["tokens"] > 10 for line in lines)


def test_an_approval_from_a_second_process_is_done_once(cli: Cli, process: Cli, shop: Path) -> None:
    waiting = cli(*CANCEL, code=1)
    for shown in ("ada", "cancel_order", 'order_id = "ORD-1"', "cannot be taken back", "digest", "in 24 hours"):
        assert shown in waiting.out
    listed = cli("confirmations", "--json", code=0).lines
    id, digest = listed[0]["id"], listed[0]["digest"]
    assert cli("approve", id, "--by", "bob", "--digest", "0" * 64).code == 2
    told = process("approve", id[:8], "--by", "bob", "--digest", digest, code=0).out
    assert 'approved by bob: cancel_order {"order_id":"ORD-1"}' in told
    again = process("approve", id, "--by", "eve")
    assert (again.code, again.out) == (2, "")
    assert "was approved by bob already" in again.err
    assert "0 waiting" in cli("confirmations", code=0).out
    assert not (shop / "effects.txt").exists()
    assert "ORD-1 is cancelled" in cli("resume", "last", "shop:catalogue", code=0).out
    cli("resume", "last", "shop:catalogue", code=0)
    assert (shop / "effects.txt").read_text() == "cancelled ORD-1\n"
    assert "answered" in cli("show", "last", code=0).out
    assert "the same" in cli("replay", "last", "shop:catalogue", code=0).out
    assert (shop / "effects.txt").read_text() == "cancelled ORD-1\n"


def test_an_approval_for_calls_to_come_is_listed_and_taken_back(cli: Cli, shop: Path) -> None:
    cli(*CANCEL)
    id = cli("confirmations", "--json").lines[0]["id"]
    assert "give both" in cli("approve", id, "--by", "bob", "--where", "{}", code=2).err
    assert (
        "no argument 'colour'" in cli("approve", id, "--by", "bob", "--always", "--where", '{"colour": {}}', code=2).err
    )
    told = cli("approve", id, "--by", "bob", "--always", "--where", '{"order_id": {"pattern": "^ORD-"}}', code=0).out
    assert "and for calls to come" in told
    cli("resume", "last", "shop:catalogue", code=0)
    cli(*CANCEL, code=0)  # nobody is asked again
    listed = cli("grants", "--requester", "ada", code=0).out
    assert "cancel_order for ada, until " in listed
    assert 'order_id: {"pattern":"^ORD-"}' in listed
    assert "0 standing" in cli("grants", "--requester", "eve", code=0).out
    (grant,) = cli("grants", "--json").lines
    assert "no standing approvals begin with" in cli("revoke", "zz", code=2).err
    assert "are asked about again" in cli("revoke", grant["id"][:6], "--by", "bob", code=0).out
    cli(*CANCEL, code=1)


def test_a_denial_an_edit_and_a_cancel(cli: Cli, shop: Path) -> None:
    cli(*CANCEL)
    assert "declined by bob" in cli("deny", cli("confirmations", "--json").lines[0]["id"], "--by", "bob").out
    told = cli("resume", "last", "shop:catalogue", "--json", code=0).lines[-1]
    assert told["results"]["1.1"]["code"] == "declined"
    cli(*CANCEL)
    id = cli("confirmations", "--json").lines[0]["id"]
    assert "judged again" in cli("approve", id, "--by", "bob", "--arguments", '{"order_id": "ORD-9"}', code=0).out
    cli("resume", "last", "shop:catalogue")
    cli(*CANCEL)
    assert "is cancelled" in cli("cancel", "last", "--reason", "no longer", code=0).out
    assert "1 of" not in cli("confirmations").out
    assert "cancelled by" in cli("show", "last").out


def test_a_doubt_is_settled(cli: Cli) -> None:
    pay = ("call", "shop:catalogue", "pay", '{"amount": 3}', "--permission", "*")
    assert "It is not known whether this took effect" in cli(*pay, code=1).out
    assert "in doubt: it failed with an unforeseen error" in cli("doubts", code=0).out
    assert len(cli("doubts", "--json").lines) == 1
    told = cli("settle", "last", "1.1", "happened", "--by", "bob", "--result", "paid, receipt 7", code=0).out
    assert "settled as happened by bob" in told
    assert cli("settle", "last", "1.1", "abandon", "--by", "eve", code=2).err.endswith("happened already\n")
    run = cli("resume", "last", "shop:catalogue", "--json", code=0).lines[-1]
    assert run["results"]["1.1"]["text"] == "paid, receipt 7"
    assert "0 in doubt" in cli("doubts").out


def test_the_journal_is_read_verified_and_replayed(cli: Cli, shop: Path) -> None:
    cli(*READ)
    run_id = cli("runs", "--json").lines[0]["id"]
    listed = cli("runs", "--status", "done", "--requester", "ada").out.splitlines()
    assert listed[0].split() == ["run", "status", "requester", "created", "updated"]
    assert listed[1].startswith(f"{run_id}  done    ada")
    assert cli("runs", "--requester", "eve").out == "no runs like that\n"
    kinds = [record["entry"]["entry"] for record in cli("show", run_id[:6], "--json").lines]
    assert kinds == ["opened", "said", "judged", "started", "finished"]
    assert "intact: 1 runs, 5 records" in cli("journal", "verify", code=0).out
    assert cli("journal", "verify", "last", "--json", code=0).lines == [
        {"run": run_id, "intact": True, "records": 5, "faults": []}
    ]
    assert "sound" in cli("replay", "last", code=0).out
    assert cli("replay", "last", "shop:catalogue", "--json", code=0).lines[0]["same"] is True
    cli(*CANCEL)
    differs = cli("replay", "last", "shop:stricter", code=1).out
    assert "call 1.1 (cancel_order) was put to a person, today unknown_tool" in differs
    with closing(sqlite3.connect(shop / "counterfoil.db")) as db, db:
        db.execute("UPDATE event SET at = at + 1 WHERE seq = 2")
    assert "record 2 does not follow" in cli("journal", "verify", code=1).out


def test_the_journal_may_be_named_in_the_environment(process: Cli, shop: Path) -> None:
    process(*READ, code=0, env={"COUNTERFOIL_JOURNAL": "elsewhere.db"})
    assert (shop / "elsewhere.db").exists()
    assert not (shop / "counterfoil.db").exists()


def test_threat_09_what_a_model_or_tool_writes_is_inert(cli: Cli) -> None:
    hostile = '{"order_id": "\\u001b[2J\\u202eevil\\u200b"}'
    waiting = cli(*CANCEL[:3], hostile, *CANCEL[4:]).out
    shown = waiting + cli("confirmations").out + cli("show", "last").out + cli(*READ).out
    for character in ("\x1b", "\u202e", "\u200b"):
        assert character not in shown
    assert "\\u202eevil\\u200b" in waiting


def test_whatever_a_pin_file_escapes_is_inert_on_a_card_too() -> None:
    planes = [*range(0x20000), *range(0xE0000, 0xE1000)]
    characters = [chr(number) for number in planes if not 0xD800 <= number < 0xE000]
    hidden = [each for each in characters if visible(each) != each and unicodedata.category(each) not in ("Zs", "Cc")]
    assert {"\u034f", "\u180f", "\ufe0f", "\u3164", "\U000e0100", "\u202e", "\u2065"} <= {*hidden}
    assert [each for each in hidden if inert(each) == each or not inert(each).isascii()] == []
    assert inert("naïve 日本\u00a0語, \n 👍") == "naïve 日本\u00a0語, \n 👍"


def test_every_command_is_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    rows = " ".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    named = {name.split()[-1] for name in re.findall(r"`([a-z ]+)`", rows)}
    assert set(_names(parser())) == named


def _names(given: argparse.ArgumentParser) -> Iterator[str]:
    inner = [each.choices for each in given._actions if isinstance(each, argparse._SubParsersAction)]
    for choices in inner:
        for name, each in choices.items():
            below = list(_names(each))
            yield from below or [name]


def test_piped_output_is_plain(process: Cli) -> None:
    for command in (READ, ("tools", "shop:catalogue"), ("runs",), ("show", "last"), ("journal", "verify")):
        told = process(*command, env={"TERM": "xterm-256color", "COLUMNS": "20"}, code=0)
        assert "\x1b" not in told.out + told.err
    assert told.out == "intact: 1 runs, 5 records, each hash follows from the one before\n", "never wrapped"


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_only_on_a_terminal(shop: Path, env: dict[str, str], coloured: bool) -> None:
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "counterfoil", "tools", "shop:catalogue"]
    environment = {**clean_environment(), "TERM": "xterm", **env}
    with subprocess.Popen(command, cwd=shop, env=environment, stdout=child, stderr=child) as running:
        os.close(child)
        told = b""
        while True:
            try:
                chunk = os.read(parent, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
            if not chunk:
                break
            told += chunk
    os.close(parent)
    assert running.returncode == 0
    assert b"lookup_order" in told
    assert (b"\x1b[1;36m" in told or b"\x1b[32m" in told) is coloured


def test_a_reader_that_leaves_is_no_error(shop: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-m', 'counterfoil', 'tools', 'shop:catalogue'], "
        "stdout=subprocess.PIPE, stderr=subprocess.PIPE)\n"
        "p.stdout.close()\n"
        "print(p.stderr.read().decode(), p.wait())"
    )
    assert python("-c", code, cwd=shop).out.split() == ["0"]
