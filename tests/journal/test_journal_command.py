"""`counterfoil journal export`, `import`, `copy`, `migrate`, and `--journal` with a URL."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from postgres_server import PASSWORD, PostgresServer

from counterfoil import Catalogue, Harness, Scripted, Session, SqliteJournal, ToolCall, tool
from counterfoil.cli.main import main

Run = Callable[..., tuple[int, str, str]]
RUNS = 20


@tool(effect="write")
async def write(n: int) -> str:
    """Write."""
    return f"wrote {n}"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, in a folder with a journal of some runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COUNTERFOIL_JOURNAL", raising=False)

    async def play() -> None:
        journal = SqliteJournal("counterfoil.db")
        for number in range(RUNS):
            model = Scripted([[ToolCall("a", "write", {"n": number})], "ok"])
            await Harness(model, Catalogue([write]), journal=journal).run(
                "x", Session(requester="ada", permissions=frozenset({"*"})), run_id=f"run-{number}"
            )
        await journal.aclose()

    anyio.run(play)

    def run(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = main(arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in err, err
        assert PASSWORD not in out + err
        return code, out, err

    return run


def test_a_journal_goes_to_postgres_and_back(cli: Run, postgres: PostgresServer) -> None:
    url = postgres.database()
    assert cli("journal", "copy", "--from", "counterfoil.db", "--to", url)[0] == 0
    code, out, _ = cli("journal", "verify", "--journal", url)
    assert code == 0
    assert f"{RUNS} runs" in out
    here, there = cli("runs", "--json")[1], cli("runs", "--json", "--journal", url)[1]
    assert here == there
    assert cli("show", "last", "--journal", url)[1] == cli("show", "last")[1]
    assert cli("replay", "last", "--journal", url)[0] == 0
    code, _, err = cli("journal", "copy", "--from", "counterfoil.db", "--to", url)
    assert code == 2
    assert f"{RUNS} of {RUNS} runs are there already" in err
    assert cli("journal", "copy", "--from", "counterfoil.db", "--to", url, "--skip-existing")[0] == 0
    assert cli("journal", "copy", "run-7", "--from", url, "--to", "back.db")[0] == 0
    assert cli("journal", "export", "run-7", "--journal", "back.db")[1] == cli("journal", "export", "run-7")[1]


def test_an_export_is_imported_once(cli: Run, postgres: PostgresServer, tmp_path: Path) -> None:
    _, exported, err = cli("journal", "export", "--all")
    assert f"{RUNS} runs" in err
    assert all(json.loads(line) for line in exported.splitlines())
    url = postgres.database()
    code, out, _ = cli("journal", "import", "-", "--journal", url, stdin=exported.encode())
    assert (code, f"{RUNS} runs" in out) == (0, True)
    code, _, err = cli("journal", "import", "-", "--journal", url, stdin=exported.encode())
    assert code == 2
    assert "there is a run run-0 already" in err
    (tmp_path / "x.jsonl").write_text(exported)
    assert cli("journal", "import", "x.jsonl", "--journal", url, "--skip-existing", "--json")[:2] == (
        0,
        '{"runs":0,"records":0}\n',
    )
    assert cli("journal", "import", "x.jsonl", "--journal", "new.db")[0] == 0
    assert cli("journal", "export", "--all", "--journal", url)[1] == exported
    half = exported.splitlines(keepends=True)[:-1]
    code, _, err = cli("journal", "import", "-", "--journal", "half.db", stdin="".join(half).encode())
    assert code == 2
    assert "the file ends in the middle of run run-19" in err
    assert "16 runs were kept before this" in err


def test_what_was_changed_is_not_carried_on(cli: Run, tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "counterfoil.db", isolation_level=None)
    db.execute("UPDATE event SET data = CAST(replace(data, 'wrote 3', 'wrote 4') AS BLOB)")
    db.close()
    code, _, err = cli("journal", "copy", "--from", "counterfoil.db", "--to", "new.db")
    assert code == 2
    assert "run run-3: the body of record" in err
    code, _, err = cli("journal", "export", "--all")
    assert code == 2
    assert "was changed" in err


def test_a_run_that_is_being_worked_on_is_not_copied(cli: Run) -> None:
    journal = SqliteJournal("counterfoil.db")
    anyio.run(journal.create, "busy", "ada", ())
    code, _, err = cli("journal", "copy", "--from", "counterfoil.db", "--to", "new.db")
    assert code == 2
    assert "run busy is being worked on" in err
    assert cli("journal", "copy", "run-1", "--from", "counterfoil.db", "--to", "new.db")[0] == 0
    anyio.run(journal.aclose)


def test_migrate_says_what_it_did(cli: Run, postgres: PostgresServer) -> None:
    url = postgres.database()
    code, _, err = cli("runs", "--journal", url)
    assert code == 2
    assert "there is no journal in" in err
    assert "created, schema 2" in cli("journal", "migrate", "--journal", url)[1]
    assert "up to date" in cli("journal", "migrate", "--journal", url)[1]
    assert "no runs yet" in cli("runs", "--journal", url)[1]
    assert cli("journal", "migrate")[0] == 2


def test_bad_usage_is_a_sentence(cli: Run, postgres: PostgresServer) -> None:
    for arguments, said in {
        ("journal", "export"): "say which run, or --all",
        ("journal", "export", "--all", "run-1"): "say which run, or --all",
        ("journal", "import", "nowhere.jsonl"): "there is no nowhere.jsonl: check the path",
        ("journal", "copy", "--from", "counterfoil.db", "--to", "counterfoil.db"): "the same journal",
        ("journal", "copy", "--from", "nowhere.db", "--to", "x.db"): "there is no journal at nowhere.db",
        ("runs", "--journal", f"mysql://ada:{PASSWORD}@h/x"): "begins with mysql:",
        ("runs", "--journal", postgres.url("nowhere")): "createdb nowhere",
    }.items():
        code, _, err = cli(*arguments)
        assert code == 2, arguments
        assert said in err
