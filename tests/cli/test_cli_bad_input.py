"""Bad input at the command line: a sentence that says what to do, exit code 2, nothing lost."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli_kit import Cli, Result, python

from counterfoil.cli.problem import sentence

PREAMBLE = "from counterfoil import Catalogue, tool\n"
MODULES = {
    "twice": PREAMBLE + "@tool\ndef a() -> str: ...\n@tool(name='a')\ndef b(): ...\ncatalogue = Catalogue([a, b])",
    "untyped": PREAMBLE + "@tool\ndef find(order_id) -> str: ...\ncatalogue = Catalogue([find])",
    "broken": "1 / 0",
    "exits": "import sys\nsys.exit(3)",
    "needs": "import a_module_that_is_nowhere",
    "syntax": "def f(:\n",
    "function": PREAMBLE + "def catalogue(db): ...\ndef p(): ...\ntools = [p]\ndef fails(): raise OSError('no db')",
}  # fmt: skip


def _said(result: Result, *words: str) -> None:
    assert result.code == 2, result
    assert result.err.startswith(("counterfoil: ", "usage: ")), result
    for word in words:
        assert word in result.err, result
    assert result.out == "", result


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nowhere:catalogue", ["no module 'nowhere'", "folder that holds nowhere.py"]),
        ("shop:catalog", ["shop has no 'catalog'", "What would do there: catalogue"]),
        ("shop:number", ["is no catalogue but a int", "a list of tools, a Harness"]),
        ("shop:empty", ["is no catalogue but a list"]),
        ("shop", ["write module:attribute"]),
        ("shop:", ["write module:attribute"]),
        ("nothere.py:catalogue", ["there is no file nothere.py"]),
        ("twice:catalogue", ["two tools are named 'a'", "twice.py, line"]),
        ("untyped:catalogue", ["give parameter 'order_id' a type", "untyped.py, line"]),
        ("broken:catalogue", ["ZeroDivisionError", "broken.py, line 1"]),
        ("exits:catalogue", ["ends the process when it is imported", "__main__"]),
        ("needs:catalogue", ["a_module_that_is_nowhere", "not installed"]),
        ("syntax:catalogue", ["cannot be imported: SyntaxError"]),
        ("function:catalogue", ["needs db"]),
        ("function:tools", ["'p' is not a tool: decorate it with @tool"]),
        ("function:fails", ["could not be called: OSError: no db"]),
    ],
)
def test_what_is_no_catalogue(cli: Cli, tmp_path: Path, target: str, words: list[str]) -> None:
    name = target.partition(":")[0]
    if name in MODULES:
        (tmp_path / f"{name}.py").write_text(MODULES[name])
    _said(cli("tools", target), *words)


@pytest.mark.parametrize(
    ("json", "words"),
    [
        ("{order_id: 1}", ["the arguments of lookup_order: not JSON", "line 1, column 2", "single quotes"]),
        ('{"a": 1, "a": 2}', ["written twice"]),
        ("[1]", ["expected one JSON object, found an array"]),
        ('{"a": NaN}', ["NaN is not a JSON number"]),
    ],
)
def test_bad_json_is_said_before_anything_is_journalled(cli: Cli, tmp_path: Path, json: str, words: list[str]) -> None:
    _said(cli("call", "shop:catalogue", "lookup_order", json), *words)
    assert not (tmp_path / "counterfoil.db").exists()


def test_a_journal_that_is_not_there_is_not_made_by_looking(cli: Cli, tmp_path: Path) -> None:
    _said(cli("runs", "--journal", "typo.db"), "there is no journal at typo.db", "--journal PATH")
    assert not (tmp_path / "typo.db").exists()
    _said(cli("call", "shop:catalogue", "x", "--journal", "no/such/runs.db"), "the folder no/such does not exist")


def test_a_corrupt_database_is_left_as_it_is(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "counterfoil.db"
    path.write_bytes(b"this is no database, but somebody may need it" * 100)
    before = path.read_bytes()
    _said(cli("runs"), "not an SQLite database, or is damaged", "backup")
    _said(cli("call", "shop:catalogue", "lookup_order", "{}"), "not an SQLite database")
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_left_as_it_is(cli: Cli, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as db, db:
        db.execute("CREATE TABLE mine (x)")
    _said(cli("call", "shop:catalogue", "lookup_order", "--journal", "other.db"), "a database of something else")
    with closing(sqlite3.connect(tmp_path / "other.db")) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]


def test_a_damaged_page_is_reported(cli: Cli, tmp_path: Path) -> None:
    for number in range(3):
        cli("call", "shop:catalogue", "lookup_order", f'{{"order_id": "{number}{"x" * 900}"}}', "--permission", "*")
    path = tmp_path / "counterfoil.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    body = bytearray(path.read_bytes())
    for at in range(4096, len(body)):
        body[at] = 0xA5
    path.write_bytes(bytes(body))
    result = cli("journal", "verify")
    assert result.code == 2, result
    assert "damaged" in result.err, result


def test_a_locked_database_is_waited_for_then_reported(cli: Cli, tmp_path: Path) -> None:
    call = ("call", "shop:catalogue", "lookup_order", '{"order_id": "1"}', "--permission", "*")
    cli(*call, code=0)
    with closing(sqlite3.connect(tmp_path / "counterfoil.db", isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        _said(cli(*call, "--wait", "0.2"), "is locked by another process", "try again")
        db.execute("ROLLBACK")
    cli(*call, code=0)
    assert len(cli("runs", "--json").lines) == 2
    cli("journal", "verify", code=0)


FULL = """
import sqlite3, sys
from counterfoil.cli.main import main
connect = sqlite3.connect
def full(*args, **kwargs):
    db = connect(*args, **kwargs)
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count={max(pages, 1)}")
    return db
sqlite3.connect = full
sys.exit(main(sys.argv[1:]))
"""


def test_a_full_disk_loses_nothing_and_does_nothing(cli: Cli, tmp_path: Path) -> None:
    cli("call", "shop:catalogue", "lookup_order", '{"order_id": "1"}', "--permission", "*", code=0)
    with closing(sqlite3.connect(tmp_path / "counterfoil.db")) as db:
        db.execute("VACUUM")
    large = '{"order_id": "' + "x" * 100_000 + '"}'
    done = python("-c", FULL, "call", "shop:catalogue", "cancel_order", large, "--permission", "*", cwd=tmp_path)
    assert done.code == 2, done
    assert "the disk is full" in done.err
    assert "nothing that was kept is lost" in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "effects.txt").exists()
    cli("journal", "verify", code=0)
    assert cli("runs", "--json").lines[-1]["status"] == "done"


def test_an_unknown_run_names_the_nearest(cli: Cli) -> None:
    call = ("call", "shop:catalogue", "lookup_order", '{"order_id": "1"}', "--permission", "*", "--json")
    run_id = cli(*call).lines[0]["run"]
    wrong = ("0" if run_id[0] != "0" else "1") + run_id[1:12]
    _said(cli("show", wrong), f"there is no run '{wrong}'", run_id)
    _said(cli("show", "what"), "the latest are", run_id)
    _said(cli("approve", "what"), "no call of this journal waits")
    _said(cli("cancel", "zzz"), "there is no run")


def test_the_beginning_of_an_id_must_be_the_only_one(cli: Cli) -> None:
    for _ in range(2):
        cli("call", "shop:catalogue", "lookup_order", '{"order_id": "1"}')
    _said(cli("show", ""), "runs begin with ''", "Write more of it")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file", "a"), "there is no a: check the path"),
        (FileExistsError(errno.EEXIST, "File exists", "a"), "a must be a folder, and there is a file in its place"),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory", "a/b"), "a/b must be a folder, and there is a file"),
        (IsADirectoryError(errno.EISDIR, "Is a directory", b"a"), "a must be a file, and is a folder"),
        (PermissionError(errno.EACCES, "Permission denied", "a"), "a may not be read or written by you"),
        (OSError(errno.EROFS, "Read-only file system", "a"), "a: Read-only file system. Check the path"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error. Check the path"),
    ],
)
def test_what_is_wrong_with_a_path_is_said_of_it(error: OSError, said: str) -> None:
    assert said in sentence(error)
    assert "Errno" not in sentence(error) or error.filename is None


def test_a_path_of_the_user_that_leads_nowhere(cli: Cli, tmp_path: Path) -> None:
    _said(cli("journal", "import", "nothing.jsonl"), "there is no nothing.jsonl")
    _said(cli("journal", "import", "."), ". must be a file, and is a folder")
    (tmp_path / "taken").write_text("")
    _said(cli("demo", "--scripted", "--keep", "taken"), "taken must be a folder, and there is a file in its place")


def test_usage(cli: Cli) -> None:
    _said(cli("frobnicate"), "invalid choice")
    _said(cli(), "COMMAND")
    _said(cli("call", "shop:catalogue", "x", "--attribute", "tenant"), "--attribute tenant: write NAME=VALUE")
    _said(cli("chat", "shop:catalogue"), "chat needs a terminal", "counterfoil call")


def test_an_unknown_model_names_those_there_are(cli: Cli) -> None:
    _said(cli("demo", "--model", "lokal"), "no model is known as 'lokal'", "Did you mean local?", "local:needle")


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    done = python("-m", "counterfoil", "tools", "nowhere:x", "--debug", cwd=tmp_path)
    assert done.code == 2
    assert "Traceback" in done.err


def test_a_missing_extra_is_one_line(tmp_path: Path) -> None:
    code = (
        "import sys, importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'rich' else find(name, *a)\n"
        "import counterfoil.cli.main as m\n"
        "m.find_spec = u.find_spec\n"
        "sys.exit(m.main(['runs']))"
    )
    done = python("-c", code, cwd=tmp_path)
    assert done.code == 2
    assert done.err == (
        'counterfoil: The command needs an extra that is not installed. Run: pip install "counterfoil[cli]"\n'
    )
