"""`counterfoil journal archive`, `erase`, `runs --older-than`: what leaves a journal leaves it whole."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from postgres_server import PostgresServer

from counterfoil import Catalogue, Harness, Scripted, Session, SqliteJournal, ToolCall, tool
from counterfoil.cli.main import main
from counterfoil.journal.archive import Archive
from counterfoil.types.error import JournalCorrupt, MissingExtra

Run = Callable[..., tuple[int, str, str]]


@tool(effect="irreversible")
async def burn(n: int) -> str:
    """Burn."""
    return f"burnt {n}"


async def fill(path: str) -> None:
    """Eight runs of two people that are done, the even ones 100 days ago; one that waits."""
    journal = SqliteJournal(path)
    for number in range(8):
        model = Scripted(["ok " + "long " * (5000 if number == 2 else 1)])
        who = "ada" if number < 4 else "eve"
        await Harness(model, Catalogue(), journal=journal).run("x", Session(requester=who), run_id=f"run-{number}")
    model = Scripted([[ToolCall("a", "burn", {"n": 1})]])
    session = Session(requester="ada", permissions=frozenset({"*"}))
    await Harness(model, Catalogue([burn]), journal=journal).run("x", session, run_id="waits")
    await journal.aclose()
    db = sqlite3.connect(path, isolation_level=None)
    even = [f"run-{number}" for number in range(0, 8, 2)]
    db.executemany(
        "UPDATE session SET updated = updated - 100 * 86400 WHERE id = ?", [(id,) for id in [*even, "waits"]]
    )
    db.close()


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, in a folder with a journal of some runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COUNTERFOIL_JOURNAL", raising=False)
    anyio.run(fill, "counterfoil.db")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
        capsys.readouterr()
        code = main(arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in err, err
        return code, out, err

    return run


def ids(cli: Run, *arguments: str) -> set[str]:
    return {json.loads(line)["id"] for line in cli("runs", "--json", *arguments)[1].splitlines()}


def test_runs_are_listed_by_age_status_and_requester(cli: Run) -> None:
    assert ids(cli, "--older-than", "30d") == {"run-0", "run-2", "run-4", "run-6", "waits"}
    assert ids(cli, "--older-than", "30d", "--requester", "eve") == {"run-4", "run-6"}
    assert ids(cli, "--since", "1h", "--status", "done") == {"run-1", "run-3", "run-5", "run-7"}
    assert ids(cli, "--since", "2020-01-31") == ids(cli)
    assert ids(cli, "--status", "failed") == set()
    assert "no runs like that" in cli("runs", "--since", "2999-01-01T12:00")[1]
    code, _, err = cli("runs", "--since", "yesterday")
    assert code == 2
    assert "--since yesterday: write an age, like 30d" in err


def test_what_is_archived_and_removed_comes_back_the_same(cli: Run, tmp_path: Path) -> None:
    _, before, _ = cli("journal", "export", "--all")
    code, out, _ = cli("journal", "archive", "--older-than", "30d", "--to", "old.jsonl.zst", "--remove")
    assert (code, "4 runs" in out) == (0, True), out
    assert ids(cli) == {"run-1", "run-3", "run-5", "run-7", "waits"}
    assert cli("journal", "verify")[0] == 0
    db = sqlite3.connect("counterfoil.db")
    assert db.execute("SELECT count(*) FROM blob").fetchone() == (0,), "no large body stays that no run has"
    assert db.execute("SELECT count(*) FROM event WHERE session = 'run-2'").fetchone() == (0,)
    db.close()
    assert (tmp_path / "old.jsonl.zst").stat().st_size < 4000
    assert cli("journal", "import", "old.jsonl.zst")[0] == 0
    assert sorted(cli("journal", "export", "--all")[1].splitlines()) == sorted(before.splitlines())


def test_archiving_alone_removes_nothing(cli: Run) -> None:
    code, out, _ = cli("journal", "archive", "--before", "2999-01-01", "--to", "all.jsonl.zst", "--json")
    assert (code, json.loads(out)["runs"], json.loads(out)["removed"]) == (0, 8, 0)
    assert len(ids(cli)) == 9
    code, _, err = cli("journal", "archive", "--before", "2999-01-01", "--to", "all.jsonl.zst")
    assert code == 2
    assert "is there already" in err
    assert "nothing to write" in cli("journal", "archive", "--before", "2000-01-01", "--to", "none.zst")[1]
    assert not Path("none.zst").exists()


def test_an_archive_of_a_journal_on_postgres(cli: Run, postgres: PostgresServer) -> None:
    url = postgres.database()
    assert cli("journal", "copy", "--from", "counterfoil.db", "--to", url)[0] == 0
    code, _, err = cli("journal", "archive", "--journal", url, "--older-than", "30d", "--to", "pg.zst", "--remove")
    assert code == 0, err
    assert ids(cli, "--journal", url) == {"run-1", "run-3", "run-5", "run-7", "waits"}
    assert postgres.sql("SELECT count(*) FROM counterfoil.blob", url.partition("@/")[2].partition("?")[0]) == [(0,)]
    assert cli("journal", "import", "pg.zst", "--journal", url)[0] == 0
    assert len(ids(cli, "--journal", url)) == 9


def test_nothing_is_removed_if_the_file_does_not_read_back(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    fsync = os.fsync

    def failing(descriptor: int) -> None:
        fsync(descriptor)
        synced.append(descriptor)
        if len(synced) == 1:
            os.pwrite(descriptor, b"\0\0\0\0", 30)  # what a failing disk does

    monkeypatch.setattr(os, "fsync", failing)
    code, _, err = cli("journal", "archive", "--older-than", "30d", "--to", "bad.zst", "--remove")
    assert code == 2, err
    assert synced
    assert len(ids(cli)) == 9
    assert not list(Path().glob("bad.zst*"))


KILLED = """
import os, signal, sys
from counterfoil.cli.main import main
from counterfoil.journal.archive import Archive
from counterfoil.journal.sqlite import SqliteJournal

left = int(sys.argv[1])

def passed():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

fsync, add, remove = os.fsync, Archive.add, SqliteJournal.remove
os.fsync = lambda descriptor: (passed(), fsync(descriptor), passed())
Archive.add = lambda self, run: (passed(), add(self, run))

async def removing(self, id, hash):
    passed()
    await remove(self, id, hash)

SqliteJournal.remove = removing
main(["journal", "archive", "--older-than", "30d", "--to", "x.zst", "--remove"])
"""


def test_killed_at_any_point_it_loses_no_run(cli: Run, tmp_path: Path) -> None:
    whole = Path("counterfoil.db").read_bytes()
    everybody, point, code = ids(cli), 0, -9
    while code == -9:
        point += 1
        for each in tmp_path.glob("*.zst*"):
            each.unlink()
        for each in tmp_path.glob("counterfoil.db-*"):
            each.unlink()
        Path("counterfoil.db").write_bytes(whole)
        code = subprocess.run([sys.executable, "-c", KILLED, str(point)], capture_output=True, check=False).returncode
        assert cli("journal", "verify")[0] == 0
        here, there = ids(cli), set[str]()
        if Path("x.zst").exists():
            assert cli("journal", "import", "x.zst", "--journal", "y.db", "--skip-existing")[0] == 0
            there = ids(cli, "--journal", "y.db")
            for each in tmp_path.glob("y.db*"):
                shutil.rmtree(each) if each.is_dir() else each.unlink()
        assert here | there == everybody, f"killed at point {point}"
    assert (code, point > 10) == (0, True)
    assert here.isdisjoint(there)


def test_a_run_that_went_on_stays(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    finish = Archive.finish

    def meanwhile(self: Archive) -> None:
        finish(self)

        async def go_on() -> None:
            journal = SqliteJournal("counterfoil.db")
            harness = Harness(Scripted(["more"]), Catalogue(), journal=journal)
            await harness.run("y", Session(requester="ada"), run_id="run-0")
            await journal.aclose()

        anyio.run(go_on)

    monkeypatch.setattr(Archive, "finish", meanwhile)
    code, _, err = cli("journal", "archive", "--older-than", "30d", "--to", "x.zst", "--remove")
    assert code == 2
    assert "run run-0 has gone on in the meantime: it stays" in err
    assert "run-0" in ids(cli)


def test_a_damaged_archive_is_refused(cli: Run) -> None:
    assert cli("journal", "archive", "--older-than", "30d", "--to", "x.zst")[0] == 0
    whole = Path("x.zst").read_bytes()
    for damaged in (whole[:-20], whole[:100] + b"!!!!" + whole[104:]):
        Path("y.zst").write_bytes(damaged)
        code, _, err = cli("journal", "import", "y.zst", "--journal", "new.db")
        assert code == 2
        assert any(said in err for said in ("damaged or cut off", "not one of an exported", "was changed"))
    with pytest.raises(JournalCorrupt, match="does not read back"):
        _pretend_more(Path("z.zst"))


def _pretend_more(path: Path) -> None:
    with Archive(path) as file:
        file.ends["nobody"] = "wrote this"
        file.finish()


def test_without_the_extra_it_says_what_to_install(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    missing: Any = None
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, missing)
    code, _, err = cli("journal", "archive", "--older-than", "30d", "--to", "x.zst")
    assert code == 2
    assert "counterfoil[archive]" in err
    with pytest.raises(MissingExtra):
        Archive(Path("x.zst"))


def test_erasing_on_the_command_line(cli: Run) -> None:
    code, out, _ = cli("journal", "erase", "--requester", "ada", "--dry-run")
    assert code == 1
    assert "5 runs of ada" in out
    assert "waits is waiting: cancel it first" in out
    code, _, err = cli("journal", "erase", "--requester", "ada", "--by", "bob")
    assert code == 2
    assert "1 runs of ada are not done: waits (waiting)" in err
    assert cli("cancel", "waits", "--by", "bob")[0] == 0
    assert cli("journal", "erase", "--requester", "ada", "--dry-run")[0] == 0
    assert len(ids(cli, "--requester", "ada")) == 5
    code, out, _ = cli("journal", "erase", "--requester", "ada", "--by", "bob")
    assert code == 0
    assert "of 5 runs" in out
    listed = cli("runs")[1]
    assert listed.count("erased") >= 5
    assert ids(cli, "--requester", "ada") == set()
    assert ids(cli, "--status", "erased") == {"run-0", "run-1", "run-2", "run-3", "waits"}
    code, _, err = cli("show", "run-0")
    assert code == 2
    assert "its payloads were erased on" in err
    code, out, _ = cli("journal", "verify")
    assert code == 0
    assert "of them were erased" in out
    code, out, _ = cli("journal", "erase", "--requester", "ada", "--by", "bob")
    assert code == 0
    assert "5 runs were erased on" in out
    code, _, err = cli("journal", "erase", "--requester", "Ada")
    assert code == 2
    assert "no runs in this journal" in err
    assert cli("journal", "archive", "--before", "2999-01-01", "--to", "all.zst", "--remove")[0] == 0
    assert ids(cli) == set()
    assert cli("journal", "import", "all.zst")[0] == 0
    assert len(ids(cli, "--status", "erased")) == 5
    assert cli("journal", "verify")[0] == 0
