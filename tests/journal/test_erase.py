"""One person's payloads are gone, from the index to the last byte of the file; the chain still holds."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from counterfoil import Catalogue, Harness, JournalError, Scripted, Session, SqliteJournal, ToolCall, tool
from counterfoil.journal.erasure import is_of, seal
from counterfoil.journal.portable import Stored, from_lines, to_lines
from counterfoil.journal.postgres import PostgresJournal
from counterfoil.journal.postgres.server import Connection
from counterfoil.models.scripted import Turn
from counterfoil.types.error import JournalCorrupt, RunErased
from counterfoil.types.grant import Always

pytestmark = pytest.mark.anyio
SHARED = "SHARED-" + "s" * 20_000


@tool(effect="read")
def look(what: str) -> str:
    """Look."""
    return f"MARK-{what}-result"


@tool(effect="irreversible")
def burn(what: str) -> str:
    """Burn."""
    return f"MARK-{what}-burnt"


@pytest.fixture(params=["sqlite", "postgres"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stored]:
    made: Stored = (
        SqliteJournal(tmp_path / "runs.db")
        if request.param == "sqlite"
        else PostgresJournal(request.getfixturevalue("postgres").database())
    )
    yield made
    await made.aclose()


def person(name: str) -> Session:
    return Session(requester=f"{name}-MARK-{name}", permissions=frozenset({"*"}))


async def talk(journal: Stored, name: str, run_id: str) -> None:
    """A run of that person's with small and large bodies and something in its inbox."""
    turns: list[Turn] = [
        [ToolCall("a", "look", {"what": name}), ToolCall("b", "burn", {"what": name})],
        f"MARK-{name}-answer",
    ]
    harness = Harness(Scripted(turns), Catalogue([look, burn]), journal=journal)
    run = await harness.run(f"MARK-{name}-prompt " + "x" * 30_000, person(name), run_id=run_id)
    await harness.answer(run.confirmations[0].id, approve=True, by="bob", reason=f"MARK-{name}-reason")
    await harness.resume(run_id)
    shared = Harness(Scripted(["ok"]), Catalogue(), journal=journal)
    await shared.run(SHARED, person(name), run_id=f"{run_id}-shared")


async def everything(journal: Stored) -> bytes:
    """Every byte the journal keeps, as far as one can ask."""
    if isinstance(journal, SqliteJournal):
        files = [journal.path, Path(f"{journal.path}-wal")]
        return b"".join(each.read_bytes() for each in files if each.exists())
    assert isinstance(journal, PostgresJournal)
    tables = ("session", "event", "inbox", "blob", "granted", "erasure")

    def look(db: Connection) -> bytes:
        found = [db.execute(b"SELECT * FROM counterfoil." + each.encode(), binary=True).fetchall() for each in tables]
        return repr(found).encode()

    found: bytes = await journal.reader.read(look)
    return found


async def test_nothing_of_one_person_is_left_and_all_of_the_others(journal: Stored) -> None:
    for number in range(3):
        for name in ("ada", "eve"):
            await talk(journal, name, f"{number}-{'first' if name == 'ada' else 'second'}")
    before = await everything(journal)
    assert before.count(b"MARK-ada") > 20
    erased = await journal.erase(person("ada").requester, by="carol")
    assert len(erased.runs) == 6
    assert (erased.records > 20, erased.items) == (True, 3)
    after = await everything(journal)
    assert b"MARK-ada" not in after
    assert b"MARK-eve" in after
    assert after.count(b"SHARED-") == 1  # eve's runs still have it, once
    assert await journal.verify() == []
    assert "MARK-eve-answer" in (await Harness(None, Catalogue(), journal=journal).read("0-second")).text
    await journal.erase(person("eve").requester, by="carol")
    last = await everything(journal)
    assert b"MARK-" not in last
    assert b"SHARED" not in last
    assert await journal.verify() == []


async def test_without_overwriting_the_file_would_keep_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(self: SqliteJournal) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA secure_delete=OFF")
        return db

    monkeypatch.setattr(SqliteJournal, "_connect", careless)
    journal = SqliteJournal(tmp_path / "runs.db")
    for number in range(3):
        await talk(journal, "ada", f"{number}")
    await journal.erase(person("ada").requester, by="carol")
    assert b"MARK-ada" in await everything(journal)
    await journal.aclose()


async def test_an_erased_run_says_so_everywhere(journal: Stored) -> None:
    await talk(journal, "ada", "r")
    requester = person("ada").requester
    erased = await journal.erase(requester, by="carol")
    (info, _) = sorted(await journal.runs(status="erased"), key=lambda info: info.id)
    assert (info.id, info.status) == ("r", "erased")
    assert info.requester.startswith("erased:")
    assert await journal.runs(requester=requester) == []
    assert len(await journal.runs(requester=info.requester)) == 2
    for what in (journal.read("r"), journal.claim("r")):
        with pytest.raises(RunErased, match=r"run r: its payloads were erased on 20\d\d-\d\d-\d\d by carol"):
            await what
    harness = Harness(Scripted(["hello"]), Catalogue(), journal=journal)
    with pytest.raises(RunErased):
        await harness.run("go on", person("ada"), run_id="r")
    assert (await harness.run("anew", person("ada"))).text == "hello"
    assert is_of(erased.who, requester)
    assert not is_of(erased.who, "ada")
    (first, second) = await journal.erasures(requester)
    assert (first.by, first.who, first.records + second.records) == ("carol", erased.who, erased.records)
    assert await journal.erasures("somebody else") == []


async def test_what_is_not_done_is_named_and_nothing_is_erased(journal: Stored) -> None:
    await talk(journal, "ada", "done")
    asks = Harness(Scripted([[ToolCall("a", "burn", {"what": "ada"})]]), Catalogue([burn]), journal=journal)
    await asks.run("go", person("ada"), run_id="open")
    requester = person("ada").requester
    with pytest.raises(JournalError, match=r"1 runs of .* are not done: open \(waiting\). Cancel them first"):
        await journal.erase(requester, by="carol")
    assert len(await journal.read("done")) > 5
    await asks.cancel("open", by="carol")
    assert len((await journal.erase(requester, by="carol")).runs) == 3
    with pytest.raises(JournalError, match="a name"):
        await journal.erase(requester, by="")


async def test_standing_approvals_go_too(journal: Stored) -> None:
    turns: list[Turn] = [[ToolCall("a", "burn", {"what": "MARK-ada-argument"})], "done"]
    harness = Harness(Scripted(turns), Catalogue([burn]), journal=journal)
    for name in ("ada", "eve"):
        harness = Harness(Scripted(turns), Catalogue([burn]), journal=journal)
        run = await harness.run("go", person(name))
        await harness.answer(run.confirmations[0].id, approve=True, by="bob", always=Always())
        await harness.resume(run.id)
    assert (await journal.erase(person("ada").requester, by="carol")).grants == 1
    assert [grant.requester for grant in await journal.grants()] == [person("eve").requester]


async def test_erased_runs_are_carried_elsewhere_and_verified_there(
    journal: Stored, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    await talk(journal, "ada", "r")
    await talk(journal, "eve", "other")
    await journal.erase(person("ada").requester, by="carol")
    lines = [line for info in await journal.runs() for line in to_lines(await journal.take(info.id))]
    there: list[Stored] = [
        SqliteJournal(tmp_path / "there.db"),
        PostgresJournal(request.getfixturevalue("postgres").database()),
    ]
    for target in there:
        for run in from_lines(lines):
            await target.adopt(run)
        assert await target.verify() == []
        assert (await target.take("r")) == (await journal.take("r"))
        with pytest.raises(RunErased, match="by carol"):
            await target.read("r")
        assert len(await target.read("other")) > 5
        await target.aclose()
    edited = [line.replace(b'"by":"carol"', b'"by":"nobody"') for line in lines]
    with pytest.raises(JournalCorrupt, match="erasure was changed"):
        list(from_lines(edited))
    unsaid = [b"".join(_without_erasure(line)) for line in lines]
    with pytest.raises(JournalCorrupt, match="no erasure is recorded"):
        list(from_lines(unsaid))


def _without_erasure(line: bytes) -> list[bytes]:
    before, found, _ = line.partition(b',"erasure":')
    return [before, b"}"] if found else [line]


async def test_a_body_may_be_missing_only_where_an_erasure_says_so(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    journal = SqliteJournal(path)
    await talk(journal, "ada", "a")
    await talk(journal, "eve", "e")
    await journal.erase(person("ada").requester, by="carol")
    db = sqlite3.connect(path, isolation_level=None)

    async def verified_with(statement: str, back: str, value: object = None) -> str:
        db.execute(statement)
        found = await journal.verify()
        db.execute(back, () if value is None else (value,))
        return found[0]

    (kept,) = db.execute("SELECT data FROM event WHERE session = 'e' AND seq = 2").fetchone()
    put_back = "UPDATE event SET data = ? WHERE session = 'e' AND seq = 2"
    said = await verified_with("UPDATE event SET data = x'' WHERE session = 'e' AND seq = 2", put_back, kept)
    assert "the body of record 2 was erased, and no erasure is recorded" in said
    again = "UPDATE event SET data = x'' WHERE session = 'a' AND seq = 2"
    said = await verified_with("UPDATE event SET data = x'00' WHERE session = 'a' AND seq = 2", again)
    assert "the body of record 2 is there, and was erased" in said
    said = await verified_with("UPDATE erasure SET by = 'dave'", "UPDATE erasure SET by = 'carol'")
    assert "erasure was changed" in said
    assert await journal.verify() == []
    head, hash = db.execute("SELECT head, hash FROM session WHERE id = 'a'").fetchone()
    row = db.execute("SELECT at, by, who, records, items, hash FROM erasure WHERE session = 'a'").fetchone()
    assert row[3] == head
    assert row[5] == seal(hash, *row[:5])
    db.close()
    await journal.aclose()


async def test_a_log_that_is_being_read_is_said_not_to_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    journal = SqliteJournal(path, busy_seconds=0.05)
    await talk(journal, "ada", "r")
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM event").fetchone()
    with pytest.raises(JournalError, match="not yet out of its write-ahead log"):
        await journal.erase(person("ada").requester, by="carol")
    reader.execute("COMMIT")
    again = await journal.erase(person("ada").requester, by="carol")
    assert again.runs == ()
    assert b"MARK-ada" not in await everything(journal)
    reader.close()
    await journal.aclose()


async def test_runs_are_found_by_age(journal: Stored) -> None:
    await talk(journal, "ada", "r")
    at = (await journal.runs())[0].updated
    assert len(await journal.runs(before=at + 1)) == 2
    assert await journal.runs(before=at - 60) == []
    assert len(await journal.runs(since=at - 60, requester=person("ada").requester)) == 2
    assert await journal.runs(since=at + 1) == []
