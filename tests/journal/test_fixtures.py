"""Journals of every version are read, resumed and checked by today's code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from fixture import CATALOGUE, PATIENT

from counterfoil import Harness, Scripted, SqliteJournal
from counterfoil.types.entry import VERSION

pytestmark = pytest.mark.anyio
FIXTURES = Path(__file__).with_name("fixtures")


@pytest.fixture(params=sorted(FIXTURES.glob("*.db")), ids=lambda path: path.stem)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    written: Path = request.param
    hashes = json.loads(written.with_suffix(".hashes.json").read_text())
    return Path(shutil.copy(written, tmp_path / "runs.db")), hashes


def test_there_is_a_fixture_of_each_entry_version() -> None:
    assert {path.stem for path in FIXTURES.glob("*.db")} == {f"v{number}" for number in range(1, VERSION + 1)}


async def test_an_old_journal_is_intact_and_folds_to_the_same_states(old: tuple[Path, dict[str, str]]) -> None:
    path, hashes = old
    journal = SqliteJournal(path)
    harness = Harness(None, CATALOGUE, journal=journal)
    assert await journal.verify() == []
    infos = await journal.runs()
    assert {info.id: (await harness.read(info.id)).state.hash for info in infos} == hashes
    await journal.aclose()
    again = SqliteJournal(path)  # the tables have been brought up to date, once
    assert await again.verify() == []
    await again.aclose()


async def test_runs_of_an_old_journal_go_on(old: tuple[Path, dict[str, str]]) -> None:
    path, _ = old
    journal = SqliteJournal(path)
    harness = Harness(Scripted([]), CATALOGUE, gate=PATIENT, journal=journal, instructions="Be brief.")

    def answering(*turns: str) -> Harness:
        return Harness(Scripted(list(turns)), CATALOGUE, gate=PATIENT, journal=journal, instructions="Be brief.")

    run = await answering("Paid.").resume("approved")  # answered before, by bob
    assert (run.outcome.kind, run.text) == ("answered", "Paid.")
    assert "1.0 paid back for ORD-3" in run.results["1.1"].text

    (waiting,) = await harness.confirmations("waiting")
    await harness.answer(waiting.id, approve=True, by="eve")
    run = await answering("Paid too.").resume("waiting")
    assert "12.5 paid back for ORD-2" in run.results["1.2"].text

    (doubt,) = (await harness.read("doubtful")).doubts
    await harness.settle("doubtful", doubt.call.id, "happened", by="eve", result="it is on the order")
    run = await answering("It is noted.").resume("doubtful")
    assert (run.outcome.kind, run.results["1.1"].text) == ("answered", "it is on the order")
    assert (await answering("Done.").resume("settled")).results["1.1"].text == "it is there"
    assert (await answering("Here.").resume("unanswered")).text == "Here."
    assert (await harness.resume("answered")).text == "All is well."
    assert await journal.verify() == []
    await journal.aclose()
