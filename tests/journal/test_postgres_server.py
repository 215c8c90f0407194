"""The Postgres journal's server: killed, restarted, refused, somebody else's; and its tables edited behind our back."""

from __future__ import annotations

import logging
import random
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import psycopg
import pytest
from postgres_server import PASSWORD, PostgresServer

from counterfoil import Catalogue, Harness, JournalCorrupt, JournalError, RunBusy, Scripted, Session, ToolCall, tool
from counterfoil.journal.opening import migrate_journal, open_journal
from counterfoil.journal.postgres import PostgresJournal, schema
from counterfoil.types.entry import Said
from counterfoil.types.error import Fenced
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
async def opened(url: str, **options: Any) -> AsyncIterator[PostgresJournal]:
    journal = PostgresJournal(url, **options)
    try:
        yield journal
    finally:
        await journal.aclose()


async def play(journal: PostgresJournal, name: str, turns: int = 2, calls: int = 2, run_id: str = "r") -> None:
    script: list[Any] = [
        [ToolCall(f"{turn}-{n}", name, {"n": n + 10 * turn}) for n in range(calls)] for turn in range(turns)
    ]
    await Harness(Scripted([*script, "ok"]), Catalogue([write, read]), journal=journal).run("x", ADA, run_id=run_id)


def said(text: object) -> list[Any]:
    return [Said(user(str(text)))]


def texts(records: list[Any]) -> list[str]:
    return [record.entry.message.text for record in records]


# -- errors, and that none shows the password


def refusal(make: Callable[[], object]) -> str:
    """What opening a journal was refused with; with its causes, as a traceback shows them, it tells no secret."""
    with pytest.raises(JournalError) as caught:
        make()
    # The frames quote this very file, so only what the errors themselves say is looked at.
    shown = "".join(traceback.format_exception(caught.value, limit=0))
    assert not any(secret in shown for secret in (PASSWORD, "s3same", "0pen", "tr/icky", "icky", "pass@")), shown
    return str(caught.value)


def test_each_refusal_says_what_to_do(postgres: PostgresServer) -> None:
    def at(**parts: str) -> Callable[[], object]:
        return lambda: PostgresJournal(postgres.url(**parts), wait=2)

    assert "check both" in refusal(at(password="s3same-wrong"))
    assert "createdb nowhere" in refusal(at(database="nowhere"))
    assert "check both" in refusal(at(user="nobody"))
    gone = f"postgresql://ada:{PASSWORD}@/x?host=/nowhere"
    assert "nobody answers there" in refusal(lambda: PostgresJournal(gone, wait=2))
    assert "there is no host" in refusal(lambda: PostgresJournal(f"postgresql://a:{PASSWORD}@host.invalid/x", wait=2))
    for scheme in ("mysql", "postgres+psycopg", "sqlite"):
        assert f"begins with {scheme}:" in refusal(partial(open_journal, f"{scheme}://ada:{PASSWORD}@h/x"))


@pytest.mark.parametrize("password", ["tr/icky", "p%zzicky", "pass@tr/icky", "a?icky", "a#icky", "1/icky", "pass@icky"])
def test_a_password_that_breaks_the_url_is_not_shown(password: str) -> None:
    said = refusal(lambda: PostgresJournal(f"postgresql://ada:{password}@localhost:1/x", wait=2))
    assert "cannot be read" in said or "nobody answers there" in said


async def test_the_password_is_in_no_name(postgres: PostgresServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with opened(postgres.database()) as journal:
            await play(journal, "write")
            assert PASSWORD not in repr(journal) + repr(journal.server) + str(journal) + journal.server.name
            assert "postgres@" in repr(journal)
    assert PASSWORD not in caplog.text


async def test_a_read_only_database_is_read_and_not_written(postgres: PostgresServer) -> None:
    url = postgres.database()
    async with opened(url) as journal:
        await play(journal, "read")
    postgres.sql(f"ALTER DATABASE {name(url)} SET default_transaction_read_only TO on")
    async with opened(url) as journal:
        assert len(await journal.read("r")) > 5
        with pytest.raises(JournalError, match="it is read-only"):
            await journal.create("s", "ada", ())
        with pytest.raises(JournalError, match="it is read-only"):
            await journal.claim("r")
    assert "it is read-only" in refusal(lambda: PostgresJournal(_read_only(postgres)))


async def test_a_worker_needs_no_more_rights_than_the_page_says(postgres: PostgresServer) -> None:
    url = postgres.database()
    assert migrate_journal(url) == (0, 2)
    role = f"app_{name(url)}"
    postgres.sql(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
    limited = postgres.url(name(url), user=role)
    assert "grant this user the rights" in refusal(lambda: PostgresJournal(limited))
    postgres.sql(f"GRANT USAGE ON SCHEMA counterfoil TO {role}", name(url))
    postgres.sql(f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA counterfoil TO {role}", name(url))
    async with opened(limited) as journal:
        await play(journal, "write")
        log, _ = await journal.claim("r")
        await log.commit(said("x" * 20_000))
        await log.release("done")
        assert await journal.post("r", "answer", "c", "bob", {}) is None
        assert await journal.verify() == []


def name(url: str) -> str:
    return url.rpartition("/")[2] if "?" not in url else url.partition("?")[0].rpartition("/")[2]


def _read_only(postgres: PostgresServer) -> str:
    url = postgres.database()
    postgres.sql(f"ALTER DATABASE {name(url)} SET default_transaction_read_only TO on")
    return url


async def test_what_a_text_cannot_hold_fails_alone(postgres: PostgresServer) -> None:
    async with opened(postgres.database()) as journal:
        outcomes: dict[str, object] = {}

        async def create(run_id: str) -> None:
            try:
                await journal.create(run_id, "lone \ud800" if run_id == "c" else "ada", ())
                outcomes[run_id] = None
            except JournalError as error:
                outcomes[run_id] = error

        async with anyio.create_task_group() as group:
            for run_id in ("a", "nul\0", "b", "c"):
                group.start_soon(create, run_id)
        assert sorted(run_id for run_id, error in outcomes.items() if error is None) == ["a", "b"]


# -- migrations


async def test_a_database_is_made_a_journal_once_and_never_migrated_by_itself(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.database()
    assert "there is no journal" in refusal(lambda: PostgresJournal(url, create=False))
    assert migrate_journal(url) == (0, 2)
    assert migrate_journal(url) == (2, 2)
    async with opened(url) as journal:
        await play(journal, "read")
    step = "CREATE TABLE counterfoil.later (n integer);\nINSERT INTO counterfoil.later VALUES (7);\n"
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, step])
    assert "counterfoil journal migrate" in refusal(lambda: PostgresJournal(url))
    assert migrate_journal(url) == (2, 3)
    assert postgres.sql("SELECT n FROM counterfoil.later", name(url)) == [(7,)]
    async with opened(url) as journal:
        assert len(await journal.read("r")) > 5
    monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:-1])
    assert "upgrade counterfoil" in refusal(lambda: PostgresJournal(url))
    assert "upgrade counterfoil" in refusal(lambda: migrate_journal(url))


async def test_a_step_that_fails_changes_nothing(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    url = postgres.database()
    assert migrate_journal(url) == (0, 2)
    monkeypatch.setattr(
        schema, "MIGRATIONS", [*schema.MIGRATIONS, "CREATE TABLE counterfoil.half (n int);\nSELECT 1/0;\n"]
    )
    assert "division by zero" in refusal(lambda: migrate_journal(url))
    monkeypatch.undo()
    assert postgres.sql("SELECT to_regclass('counterfoil.half')", name(url)) == [(None,)]
    assert migrate_journal(url) == (2, 2)


async def test_many_may_begin_one_journal_at_once(postgres: PostgresServer) -> None:
    url = postgres.database()
    journals: list[PostgresJournal] = []
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(anyio.to_thread.run_sync, lambda: journals.append(PostgresJournal(url)))
    for journal in journals:
        await journal.aclose()
    assert len(journals) == 4


def test_somebody_elses_schema_is_left_alone(postgres: PostgresServer) -> None:
    url = postgres.database()
    postgres.sql("CREATE SCHEMA counterfoil; CREATE TABLE counterfoil.tickets (n int)", name(url))
    assert "belongs to something else" in refusal(lambda: PostgresJournal(url))
    assert "belongs to something else" in refusal(lambda: migrate_journal(url))


# -- tamper evidence


@pytest.mark.parametrize(
    ("edit", "fault"),
    [
        ("UPDATE counterfoil.event SET data = overlay(data placing 'x' from 30) WHERE seq = 1", "was changed"),
        ("UPDATE counterfoil.event SET at = at + 1 WHERE seq = 2", "does not follow"),
        ("UPDATE counterfoil.event SET kind = 'ended' WHERE seq = 3", "is said to be"),
        ("DELETE FROM counterfoil.event WHERE seq = 2", "is missing"),
        ("DELETE FROM counterfoil.event WHERE seq > 3", "the end is missing"),
        ("DELETE FROM counterfoil.event", "the end is missing"),
        ("UPDATE counterfoil.event SET data = NULL WHERE seq = 2", "body of record 2 is missing"),
        ("UPDATE counterfoil.session SET head = head - 1", "the end is missing"),
    ],
)
async def test_an_edit_is_found(postgres: PostgresServer, edit: str, fault: str) -> None:
    url = postgres.database()
    async with opened(url) as journal:
        await play(journal, "write", turns=1)
        assert await journal.verify() == []
        assert await journal.verify("r") == []
        postgres.sql(edit, name(url))
        (found,) = await journal.verify()
        assert fault in found


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM counterfoil.event WHERE seq = 2",
        "UPDATE counterfoil.event SET data = NULL WHERE seq = 2",
        "UPDATE counterfoil.event SET v = 99 WHERE seq = 2",
    ],
)
async def test_what_cannot_be_read_is_not_read_in_part(postgres: PostgresServer, edit: str) -> None:
    url = postgres.database()
    async with opened(url) as journal:
        await play(journal, "write", turns=1)
        postgres.sql(edit, name(url))
        with pytest.raises(JournalCorrupt):
            await journal.read("r")
        with pytest.raises(JournalCorrupt):
            await journal.claim("r")


async def test_sql_reads_the_entries(postgres: PostgresServer) -> None:
    url = postgres.database()
    async with opened(url) as journal:
        log = await journal.create("r", "ada", ())
        await log.commit([*said("x" * 20_000), *said("short")])
        await log.release("done")
    found = postgres.sql("SELECT kind, length(data::text) FROM counterfoil.entry ORDER BY seq", name(url))
    assert [kind for kind, _ in found] == ["said", "said"]
    assert int(str(found[0][1])) > 20_000 > int(str(found[1][1]))


# -- crashes of the server


class Crash:
    """Six runs being written while the server is killed and started again."""

    def __init__(self, journal: PostgresJournal) -> None:
        self.journal = journal
        self.kept: dict[str, int] = {}
        """How many entries of each run were acknowledged."""
        self.failed = 0
        self.enough = anyio.Event()
        self.over = False

    async def write(self, run_id: str) -> None:
        """Commit entries until one fails, or the server is back and none did."""
        log = await self.journal.create(run_id, "ada", ())
        self.kept[run_id] = 0
        try:
            while not self.over:
                number = self.kept[run_id]
                log.append(said(f"{number}"))
                await log.commit(said(f"{number + 1}"))
                self.kept[run_id] += 2
                if sum(self.kept.values()) > 60:
                    self.enough.set()
        except JournalError:
            self.failed += 1
            for _ in range(2):
                with pytest.raises(JournalError):
                    log.append(said("after"))
        with suppress(JournalError):  # it says again what went wrong
            await log.release("ready")


async def crash(postgres: PostgresServer, journal: PostgresJournal, round: int, chance: random.Random) -> int:
    """Kill the server while runs are being written; how many acknowledged entries are not there afterwards."""
    crashing = Crash(journal)
    async with anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(crashing.write, f"{round}-{number}")
        await crashing.enough.wait()
        await anyio.sleep(chance.random() / 50)
        await anyio.to_thread.run_sync(postgres.kill)
        await anyio.sleep(0.02)
        await anyio.to_thread.run_sync(postgres.start)
        crashing.over = True
    kept = crashing.kept
    assert await journal.verify() == []
    lost = 0
    there = {info.id for info in await journal.runs(limit=1_000)}
    for run_id, acknowledged in kept.items():
        if run_id not in there:
            lost += acknowledged
            continue
        log, records = await journal.claim(run_id)
        assert [record.seq for record in records] == list(range(len(records)))
        lost += max(0, acknowledged - len(records))
        await log.commit(said("again"))
        await log.release("done")
    return lost


async def test_a_crash_of_the_server_loses_nothing_that_was_acknowledged(postgres: PostgresServer) -> None:
    chance = random.Random(20261130)  # noqa: S311
    async with opened(postgres.database()) as journal:
        for round in range(3):
            assert await crash(postgres, journal, round, chance) == 0


async def test_control_without_durable_commits_a_crash_loses_what_was_acknowledged(postgres: PostgresServer) -> None:
    chance = random.Random(20261130)  # noqa: S311
    postgres.sql("ALTER SYSTEM SET wal_writer_delay TO '5s'")
    postgres.sql("SELECT pg_reload_conf()")
    async with opened(postgres.database()) as journal:
        journal.writer.level = "off"
        assert await crash(postgres, journal, 0, chance) > 0
    postgres.sql("ALTER SYSTEM RESET wal_writer_delay")


async def test_a_restart_between_two_entries_goes_unnoticed(postgres: PostgresServer) -> None:
    async with opened(postgres.database()) as journal:
        log = await journal.create("r", "ada", ())
        await log.commit(said(1))
        await anyio.to_thread.run_sync(postgres.kill)
        await anyio.to_thread.run_sync(postgres.start)
        await log.commit(said(2))
        assert await log.inbox() == []
        assert await journal.post("r", "answer", "c", "bob", {}) is None
        await log.release("done")
        assert texts(await journal.read("r")) == ["1", "2"]


async def test_a_lost_tail_ends_the_log_and_leaves_no_gap(postgres: PostgresServer) -> None:
    postgres.sql("ALTER SYSTEM SET wal_writer_delay TO '5s'")
    postgres.sql("SELECT pg_reload_conf()")
    async with opened(postgres.database()) as journal:
        log = await journal.create("r", "ada", ())
        await log.commit(said(1))
        for _ in range(20):
            log.append(said("not durable"))
        while journal.writer.commits < 3:  # noqa: ASYNC110 another thread counts
            await anyio.sleep(0.005)
        assert len(await journal.read("r")) == 21
        await anyio.to_thread.run_sync(postgres.kill)
        await anyio.to_thread.run_sync(postgres.start)
        with pytest.raises(Fenced, match="claim it again"):
            await log.commit(said("later"))
        await log.release("ready")
        again, records = await journal.claim("r")
        assert texts(records) == ["1"]
        await again.commit(said(2))
        await again.release("done")
        assert texts(await journal.read("r")) == ["1", "2"]
        assert await journal.verify() == []
    postgres.sql("ALTER SYSTEM RESET wal_writer_delay")


# -- owners


async def test_who_lost_its_connection_may_lose_its_run_and_is_fenced(postgres: PostgresServer) -> None:
    url = postgres.database()
    async with opened(url) as first, opened(url) as second:
        log = await first.create("r", "ada", ())
        await log.commit(said(1))
        with pytest.raises(RunBusy, match="by process"):
            await second.claim("r")
        assert [info.status for info in await second.runs()] == ["running"]
        first.writer.beat = 1_000  # it does not look by itself
        await anyio.sleep(2.1)
        postgres.sql(ending(first), name(url))
        assert [info.status for info in await second.runs(status="ready")] == ["ready"]
        mine, records = await second.claim("r")
        assert (mine.epoch, len(records)) == (2, 1)
        with pytest.raises(Fenced):
            await log.commit(said("too late"))
        await log.release("done")
        await mine.commit(said(2))
        # The first is back under its own lock: what it takes up now, it keeps.
        other = await first.create("s", "ada", ())
        with pytest.raises(RunBusy):
            await second.claim("s")
        await other.release("done")
        await mine.release("done")
        assert texts(await second.read("r")) == ["1", "2"]


def ending(journal: PostgresJournal) -> str:
    """The statement that ends the connection with which a journal writes."""
    return (
        f"SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' "  # noqa: S608
        f"AND ((classid::bigint << 32) | objid::bigint) = {journal.writer.key}"
    )


async def test_an_idle_owner_takes_its_lock_again_by_itself(postgres: PostgresServer) -> None:
    url = postgres.database()
    async with opened(url) as first, opened(url) as second:
        log = await first.create("r", "ada", ())
        await log.commit(said(1))
        await anyio.to_thread.run_sync(postgres.kill)
        await anyio.to_thread.run_sync(postgres.start)
        with anyio.fail_after(20):
            while [info.status for info in await second.runs()] != ["running"]:  # noqa: ASYNC110 a server decides
                await anyio.sleep(0.1)
        with pytest.raises(RunBusy):
            await second.claim("r")
        await log.commit(said(2))
        await log.release("done")


async def test_a_connection_that_breaks_while_it_is_made_anew_is_told_of_in_words(postgres: PostgresServer) -> None:
    url = postgres.database()
    async with opened(url, wait=2) as journal:
        journal.writer.beat = 1_000  # it does not look by itself
        await anyio.sleep(2.1)
        with psycopg.connect(url, autocommit=True) as other:
            postgres.sql(ending(journal), name(url))
            other.execute("SELECT pg_advisory_lock_shared(%s)", (journal.writer.key,))
            with pytest.raises(JournalError, match="a row of the run stays locked"):
                await journal.create("r", "ada", said(1))
        log = await journal.create("r", "ada", said(1))
        await log.release("done")


# -- group commit


async def test_a_turn_waits_for_the_disk_once_and_a_reading_turn_never(postgres: PostgresServer) -> None:
    async with opened(postgres.database()) as journal:
        before = journal.writer.syncs
        await play(journal, "read", turns=5, calls=3, run_id="reads")
        assert journal.writer.syncs == before
        await play(journal, "write", turns=5, calls=3, run_id="writes")
        assert 0 < journal.writer.syncs - before <= 5


async def test_what_nobody_closed_is_written_all_the_same(postgres: PostgresServer) -> None:
    url = postgres.database()
    journal = PostgresJournal(url)
    log = await journal.create("r", "ada", ())
    log.append(said("kept"))
    await journal.aclose()
    async with opened(url) as again:
        assert len(await again.read("r")) == 1
    with pytest.raises(JournalError, match="closed"):
        await journal.create("s", "ada", ())
