"""The SQLite journal's file: edited, damaged, locked, full, somebody else's; and how often it waits for the disk."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from counterfoil import (
    Catalogue,
    Fenced,
    Harness,
    JournalCorrupt,
    JournalError,
    RunNotFound,
    Scripted,
    Session,
    SqliteJournal,
    ToolCall,
    tool,
)
from counterfoil.types.entry import Said
from counterfoil.types.message import user

pytestmark = pytest.mark.anyio

ADA = Session(requester="ada", permissions=frozenset({"*"}))


@tool(effect="write")
async def write(n: int) -> str:
    """Write."""
    return f"wrote {n}"


@tool(effect="read")
async def read(n: int) -> str:
    """Read."""
    return f"read {n}"


@asynccontextmanager
async def opened(path: Path, **options: Any) -> AsyncIterator[SqliteJournal]:
    journal = SqliteJournal(path, **options)
    try:
        yield journal
    finally:
        await journal.aclose()


@contextmanager
def database(path: Path) -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(path, isolation_level=None)
    try:
        yield db
    finally:
        db.close()


async def play(journal: SqliteJournal, name: str, turns: int = 2, calls: int = 2, run_id: str = "r") -> None:
    script: list[Any] = [
        [ToolCall(f"{turn}-{n}", name, {"n": n + 10 * turn}) for n in range(calls)] for turn in range(turns)
    ]
    await Harness(Scripted([*script, "ok"]), Catalogue([write, read]), journal=journal).run("x", ADA, run_id=run_id)


# -- tamper evidence


@pytest.fixture
async def intact(tmp_path: Path) -> AsyncIterator[tuple[SqliteJournal, sqlite3.Connection]]:
    async with opened(tmp_path / "runs.db") as journal:
        await play(journal, "write", turns=1, calls=1)
        with database(journal.path) as db:
            assert await journal.verify() == []
            yield journal, db


async def test_every_changed_byte_of_a_record_is_found(intact: tuple[SqliteJournal, sqlite3.Connection]) -> None:
    journal, db = intact
    rows = db.execute("SELECT pos, data, digest, hash, kind, seq, epoch, at, v FROM event").fetchall()
    columns = ["data", "digest", "hash", "kind", "seq", "epoch", "at", "v"]
    edits = 0
    for pos, *values in rows:
        for column, value in zip(columns, values, strict=True):
            for changed in _changes(value):
                db.execute(f"UPDATE OR IGNORE event SET {column} = ? WHERE pos = ?", (changed, pos))  # noqa: S608
                if db.execute("SELECT changes()").fetchone()[0]:
                    edits += 1
                    assert await journal.verify(), f"{column} of {pos}: {value!r} -> {changed!r}"
                    db.execute(f"UPDATE event SET {column} = ? WHERE pos = ?", (value, pos))  # noqa: S608
    assert edits > 700
    assert await journal.verify() == []


def _changes(value: Any) -> Iterator[Any]:
    if isinstance(value, bytes):
        for index in range(len(value)):
            yield value[:index] + bytes([value[index] ^ 1]) + value[index + 1 :]
        yield value + b" "
    elif isinstance(value, str):
        for index in range(0, len(value), 7):
            yield value[:index] + ("0" if value[index] != "0" else "1") + value[index + 1 :]
    else:
        yield from (value + 1, value - 1)


@pytest.mark.parametrize("which", ["first", "middle", "last", "all"])
async def test_a_deleted_record_is_found(intact: tuple[SqliteJournal, sqlite3.Connection], which: str) -> None:
    journal, db = intact
    where = {
        "first": "seq = 0",
        "middle": "seq = 3",
        "last": "seq = (SELECT max(seq) FROM event)",
        "all": "1",
    }[which]
    db.execute(f"DELETE FROM event WHERE {where}")  # noqa: S608
    assert len(await journal.verify("r")) == 1


async def test_two_records_that_change_places_are_found(intact: tuple[SqliteJournal, sqlite3.Connection]) -> None:
    journal, db = intact
    db.execute("UPDATE event SET seq = 1000 WHERE seq = 2")
    db.execute("UPDATE event SET seq = 2 WHERE seq = 3")
    db.execute("UPDATE event SET seq = 3 WHERE seq = 1000")
    assert len(await journal.verify()) == 1


async def test_a_changed_or_missing_large_body_is_found(tmp_path: Path) -> None:
    async with opened(tmp_path / "runs.db") as journal:
        log = await journal.create("r", "ada", ())
        await log.commit([Said(user("x" * 50_000))])
        await log.release("done")
        with database(journal.path) as db:
            (body,) = db.execute("SELECT bytes FROM blob").fetchone()
            db.execute("UPDATE blob SET bytes = ?", (body.replace(b"xxx", b"yyy", 1),))
            assert len(await journal.verify()) == 1
            db.execute("DELETE FROM blob")
            assert len(await journal.verify()) == 1
        with pytest.raises(JournalCorrupt, match="the body of record 0 is missing"):
            await journal.read("r")


async def test_one_damaged_run_does_not_hide_another(tmp_path: Path) -> None:
    async with opened(tmp_path / "runs.db") as journal:
        for name in ("a", "b", "c"):
            await play(journal, "read", run_id=name)
        with database(journal.path) as db:
            db.execute("DELETE FROM event WHERE seq = 1 AND session IN ('a', 'c')")
        assert [fault.split(":")[0] for fault in await journal.verify()] == ["run a", "run c"]
        assert await journal.verify("b") == []
        with pytest.raises(RunNotFound):
            await journal.verify("z")
        with pytest.raises(JournalCorrupt, match="record 1 is missing"):
            await journal.read("a")


async def test_a_fenced_owner_writes_nothing_more(tmp_path: Path) -> None:
    async with opened(tmp_path / "runs.db") as journal:
        log = await journal.create("r", "ada", ())
        await log.commit([Said(user("mine"))])
        with database(journal.path) as db:  # as another machine does that believes this one dead
            db.execute("UPDATE session SET epoch = epoch + 1")
        log.append([Said(user("late"))])
        with pytest.raises(Fenced):
            await log.commit([Said(user("later"))])
        with pytest.raises(JournalError):
            log.append([Said(user("latest"))])
        await log.release("done")
        assert len(await journal.read("r")) == 1
        assert await journal.verify() == []


async def test_a_lost_append_leaves_no_gap(tmp_path: Path) -> None:
    """An entry that nobody waited for could not be written: nothing after it may be."""
    async with opened(tmp_path / "runs.db") as journal:
        log = await journal.create("r", "ada", ())
        await log.commit([Said(user("0"))])
        with database(journal.path) as db:
            db.execute("CREATE TRIGGER t BEFORE INSERT ON event WHEN NEW.seq = 1 BEGIN SELECT RAISE(FAIL, 'no'); END")
        log.append([Said(user("1"))])
        with pytest.raises(JournalError):
            await log.commit([Said(user("2"))])
        with pytest.raises(JournalError):
            await log.release("done")
        with database(journal.path) as db:
            db.execute("DROP TRIGGER t")
        assert len(await journal.read("r")) == 1
        assert await journal.verify() == []


# -- files that are no journal


async def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path / "runs.db") as journal:
        await play(journal, "read")
    with database(tmp_path / "runs.db") as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(JournalError, match="written by a newer counterfoil"):
        SqliteJournal(tmp_path / "runs.db")


async def test_a_newer_entry_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path / "runs.db") as journal:
        await play(journal, "read")
        with database(journal.path) as db:
            db.execute("UPDATE event SET v = 99 WHERE seq = 1")
        with pytest.raises(JournalCorrupt, match="a newer counterfoil wrote it"):
            await journal.read("r")


def test_what_is_not_a_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, this is not a database. " * 100)
    before = path.read_bytes()
    with pytest.raises(JournalCorrupt, match="is not an SQLite database"):
        SqliteJournal(path)
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    with database(tmp_path / "shop.db") as db:
        db.execute("CREATE TABLE orders (id TEXT)")
    with pytest.raises(JournalError, match="is a database of something else"):
        SqliteJournal(tmp_path / "shop.db")
    with database(tmp_path / "shop.db") as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("orders",)]


def test_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="does not exist: create it"):
        SqliteJournal(tmp_path / "nowhere" / "runs.db")
    with pytest.raises(JournalError, match=r"cannot be opened|is not an SQLite"):
        SqliteJournal(tmp_path)


def test_a_locked_database_says_so(tmp_path: Path) -> None:
    with database(tmp_path / "runs.db") as db:
        db.execute("BEGIN EXCLUSIVE")
        with pytest.raises(JournalError, match="locked by another process"):
            SqliteJournal(tmp_path / "runs.db", busy_seconds=0.05)


async def test_a_lock_that_lasts_fails_the_write_and_is_no_loss(tmp_path: Path) -> None:
    async with opened(tmp_path / "runs.db", busy_seconds=0.05) as journal:
        log = await journal.create("r", "ada", ())
        await log.commit([Said(user("kept"))])
        with database(journal.path) as db:
            db.execute("BEGIN IMMEDIATE")
            with pytest.raises(JournalError, match="locked by another process"):
                await log.commit([Said(user("not kept"))])
            db.execute("ROLLBACK")
        with pytest.raises(JournalError):
            await log.release("ready")
        assert len(await journal.read("r")) == 1


def test_a_read_only_folder_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    for each in (tmp_path, *tmp_path.parents):
        if each.stat().st_uid == os.geteuid() and each.is_relative_to(tmp_path.parents[1]):
            each.chmod(0o755)
    folder.chmod(0o555)
    root = os.geteuid() == 0
    try:
        if root:  # nothing is closed to root
            os.seteuid(65534)
        with pytest.raises(JournalError, match=r"cannot be opened|may not be written"):
            SqliteJournal(folder / "runs.db")
    finally:
        if root:
            os.seteuid(0)


@contextmanager
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A place where not much can be written: a small filesystem where one may be mounted, else a limit on files."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(folder)]
    if os.geteuid() == 0 and shutil.which("mount") and not subprocess.run(mount).returncode:
        try:
            yield folder
        finally:
            subprocess.run(["umount", str(folder)], check=True)  # noqa: S607
    else:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, hard))
        try:
            yield folder
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with small_disk(tmp_path) as folder:
        acknowledged = 0
        async with opened(folder / "runs.db") as journal:
            log = await journal.create("r", "ada", ())
            with pytest.raises(JournalError, match="disk"):  # noqa: PT012 the last of many is what is refused
                for number in range(1_000):
                    await log.commit([Said(user(f"{number} " + "x" * 5_000))])
                    acknowledged += 1
            with pytest.raises(JournalError):
                log.append([Said(user("after"))])
            with pytest.raises(JournalError):
                await log.release("ready")
        assert acknowledged > 5
        # Read where there is room: the file that was written is all there is.
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
    async with opened(copy / "runs.db") as journal:
        texts = [record.entry.message.text for record in await journal.read("r") if isinstance(record.entry, Said)]
        assert [text.split()[0] for text in texts] == [str(number) for number in range(acknowledged)]
        assert await journal.verify() == []


# -- group commit


async def test_a_turn_waits_for_the_disk_once_and_a_reading_turn_never(tmp_path: Path) -> None:
    async with opened(tmp_path / "runs.db") as journal:
        before = journal.writer.syncs
        await play(journal, "read", turns=5, calls=3, run_id="reads")
        assert journal.writer.syncs == before
        await play(journal, "write", turns=5, calls=3, run_id="writes")
        assert 0 < journal.writer.syncs - before <= 5


async def test_what_nobody_closed_is_written_all_the_same(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "runs.db")
    log = await journal.create("r", "ada", ())
    log.append([Said(user("kept"))])
    await journal.aclose()
    async with opened(tmp_path / "runs.db") as again:
        assert len(await again.read("r")) == 1
    with pytest.raises(JournalError, match="closed"):
        await journal.create("s", "ada", ())


async def test_two_journals_share_one_file(tmp_path: Path) -> None:
    async with opened(tmp_path / "runs.db") as first, opened(tmp_path / "runs.db") as second:
        log = await first.create("r", "ada", ())
        with pytest.raises(JournalError, match="is being worked on by process"):
            await second.claim("r")
        assert await second.post("r", "answer", "c", "bob", {}) is None
        assert await first.post("r", "answer", "c", "eve", {}) is not None
        await log.commit([Said(user("x"))])
        await log.release("waiting")
        claimed, records = await second.claim("r")
        assert len(records) == 1
        await claimed.release("done")
