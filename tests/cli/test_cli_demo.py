"""The demonstration: with a script end to end, and with models that are missing or manage nothing."""

from __future__ import annotations

import io
import re
from pathlib import Path

import anyio
import pytest
from cli_kit import Cli, python

from counterfoil.cli.demo import tour
from counterfoil.cli.output import Output
from counterfoil.journal.sqlite import SqliteJournal
from counterfoil.models.function import Function
from counterfoil.models.local import WEIGHTS, fetch
from counterfoil.types.error import MissingExtra, ModelError
from counterfoil.types.request import Request

SEEN = [
    "1  A plain answer, through a tool",
    "ada> Where is ORD-1001?",
    '{"order_id":"ORD-1001"}',
    "2  Two calls in one turn",
    "12 kg = 26.46 pounds",
    "3  A wrong argument, refused and repaired",
    "Did you mean 'Lisbon'?",
    "refused bad_arguments",
    "there is no property 'precise'",
    "4  Somebody else's order",
    "refused not_permitted  ORD-1003 is not an order of ada's",
    "bob> Where is ORD-1003?",
    "field telescope",
    "5  What cannot be taken back waits for a person",
    "waits for a person",
    'order_id = "ORD-1005"',
    "digest",
    "(in 24 hours)",
    "second process",
    "approved by bob: cancel_order",
    "was approved by bob already",
    "In the desk's database: 1 cancellation",
    "6  The journal of it all, verified and replayed",
    "intact",
    "the body of record 1 was changed",
    "7 runs replayed: 11 verdicts, the state to the last bit; no tool ran",
    "call 1.1 (cancel_order) was put to a person, today not_permitted: no cancelling today",
    "counterfoil demo --model",
]


def _in_order(text: str, wanted: list[str]) -> None:
    at = 0
    for each in wanted:
        found = text.find(each, at)
        assert found >= 0, f"{each!r} is not in what follows:\n{text[at:]}"
        at = found


def test_the_scripted_demonstration_end_to_end(process: Cli, shop: Path) -> None:
    done = process("demo", "--scripted", "--keep", "kept", code=0)
    _in_order(done.out, [*SEEN, "Look around"])
    assert "\x1b" not in done.out
    assert sorted(path.name for path in (shop / "kept").iterdir() if path.is_file()) == ["desk.db", "journal.db"]
    kept = {"COUNTERFOIL_JOURNAL": "kept/journal.db", "COUNTERFOIL_DESK": "kept/desk.db"}
    desk = "counterfoil.cli.demo.desk:catalogue"
    assert "intact: 7 runs" in process("journal", "verify", env=kept, code=0).out
    assert "the same" in process("replay", "last", desk, env=kept, code=0).out
    again = process("demo", "--scripted", "--keep", "kept", code=2)
    assert "holds an earlier demonstration" in again.err


def test_without_the_weights_it_says_what_brings_them_and_goes_on(process: Cli, shop: Path) -> None:
    empty = {"COUNTERFOIL_WEIGHTS": str(shop / "nowhere")}
    done = process("demo", env=empty, code=0)
    _in_order(done.out, ["no model", "Run: ", "going on with a scripted model", *SEEN])


def test_without_the_extra_it_says_the_line_and_goes_on(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise MissingExtra("A local model", "local")

    monkeypatch.setattr("counterfoil.cli.commands.call.load_model", missing)
    done = cli("demo", code=0)
    _in_order(done.out, ['pip install "counterfoil[local]"', "going on with a scripted model", *SEEN])


@pytest.mark.parametrize("how", ["nonsense", "slow", "failing"])
def test_a_model_that_does_not_manage_is_replaced_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    async def answer(request: Request) -> str:
        if how == "slow":
            await anyio.sleep(30)
        if how == "failing":
            raise ModelError("it is overloaded")
        return "I would rather talk about the weather."

    monkeypatch.setattr(tour, "PATIENCE", 0.2)
    said = io.StringIO()

    async def play() -> tour.Tour:
        played = tour.Tour(Output(stdout=said, stderr=io.StringIO()), tmp_path, Function(answer))
        try:
            await played.play()
        finally:
            await played.journal.aclose()
        return played

    played = anyio.run(play)
    assert played.failed == []
    assert (played.managed, played.asked) == (0, 6)
    why = {"nonsense": "it called nothing", "slow": "it took longer than 0 s", "failing": "it is overloaded"}[how]
    assert said.getvalue().count("A scripted model takes over") == 6
    assert why in said.getvalue()
    # What the model left behind waits for nobody.
    journal = SqliteJournal(tmp_path / "journal.db")
    statuses = {info.status for info in anyio.run(journal.runs)}
    anyio.run(journal.aclose)
    assert statuses <= {"done", "ready"}


def test_the_demonstration_with_the_real_local_model(tmp_path: Path) -> None:
    fetch(WEIGHTS["smollm2"])  # where they are not yet; a failure is a failure, not a skip
    done = python("-m", "counterfoil", "demo", cwd=tmp_path, seconds=200)
    assert done.code == 0, done
    managed = re.search(r"local:smollm2 managed (\d) of the 6 scenes", done.out)
    assert managed is not None, done
    # Each it does not manage in time, on a busy machine, must have been announced.
    assert done.out.count("A scripted model takes over") == 6 - int(managed.group(1))
    assert "What it cannot: choose well among many tools" in done.out
    _in_order(done.out, ["1  A plain", "5  What cannot", "In the desk's database: 1 cancellation", "no tool ran"])


def test_an_injected_order_is_obeyed_only_where_nothing_looks(process: Cli) -> None:
    told = process("demo", "--injected", code=0).out
    for seen in (
        "In the books: the thief",
        '! account "GB29NWBK60161331926819", in lookup_order (ORD-1001), which others can write',
        'planned: "DE89370400440532013000"',
        "refused untrusted_origin  OFF_PLAN",
        "fooled three times, and paid the thief once",
    ):
        assert seen in told, seen
    assert told.count("In the books: the customer") == 2
