"""What every journal must do, wherever it keeps its entries."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from counterfoil import (
    Fenced,
    Grant,
    Journal,
    JournalError,
    MemoryJournal,
    RunBusy,
    RunNotFound,
    Session,
    SqliteJournal,
    Text,
)
from counterfoil.journal.journal import Item, Log, Status
from counterfoil.journal.postgres import PostgresJournal
from counterfoil.types.entry import Entry, Opened, Said
from counterfoil.types.message import Message, user

pytestmark = pytest.mark.anyio


def make(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    match kind:
        case "memory":
            return MemoryJournal()
        case "sqlite":
            return SqliteJournal(tmp_path / "runs.db")
        case _:
            return PostgresJournal(request.getfixturevalue("postgres").database())


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    made = make(request.param, request, tmp_path)
    yield made
    await made.aclose()


def said(text: str) -> Entry:
    return Said(user(text))


async def taken_over(journal: Journal) -> Log:
    """Claim run r as another process does that takes its living owner for dead."""
    if isinstance(journal, MemoryJournal):
        journal._runs["r"].held = False
    else:
        assert isinstance(journal, SqliteJournal | PostgresJournal)
        journal.held.discard("r")
    log, _ = await journal.claim("r")
    return log


OPENED = Opened(Session(requester="ada", permissions=frozenset({"b", "a"}), attributes={"tenant": 7}))


async def test_what_is_appended_is_read_in_order(journal: Journal) -> None:
    log = await journal.create("r", "ada", ())
    log.append([OPENED, said("1")])
    await log.commit([said("2")])
    log.append([said("3")])
    await log.release("done")
    records = await journal.read("r")
    assert [record.entry for record in records] == [OPENED, said("1"), said("2"), said("3")]
    assert [record.seq for record in records] == [0, 1, 2, 3]
    assert {record.epoch for record in records} == {1}
    assert [record.at for record in records] == sorted(record.at for record in records)


async def test_an_append_of_nothing_is_nothing(journal: Journal) -> None:
    log = await journal.create("r", "ada", ())
    log.append([])
    await log.commit([])
    await log.commit([OPENED])
    await log.release("done")
    assert [record.seq for record in await journal.read("r")] == [0]


async def test_a_large_entry_comes_back_whole(journal: Journal) -> None:
    large = said("x" * 200_000 + "👍")
    log = await journal.create("r", "ada", ())
    await log.commit([large, large])
    await log.release("done")
    assert [record.entry for record in await journal.read("r")] == [large, large]


async def test_an_id_is_taken_once(journal: Journal) -> None:
    await journal.create("r", "ada", ())
    with pytest.raises(JournalError, match="there is a run 'r' already"):
        await journal.create("r", "bob", ())


async def test_an_unknown_run_is_not_found(journal: Journal) -> None:
    for asking in (journal.read("r"), journal.claim("r"), journal.post("r", "answer", "x", "bob", {})):
        with pytest.raises(RunNotFound, match="'r'"):
            await asking


async def test_a_run_has_one_owner_at_a_time(journal: Journal) -> None:
    first = await journal.create("r", "ada", ())
    with pytest.raises(RunBusy):
        await journal.claim("r")
    await first.commit([OPENED])
    await first.release("waiting")
    second, records = await journal.claim("r")
    assert [record.entry for record in records] == [OPENED]
    assert (first.epoch, second.epoch) == (1, 2)
    with pytest.raises(RunBusy):
        await journal.claim("r")
    await second.commit([said("more")])
    await second.release("done")
    assert [record.epoch for record in await journal.read("r")] == [1, 2]


async def test_who_gave_a_run_up_writes_no_more(journal: Journal) -> None:
    first = await journal.create("r", "ada", ())
    await first.release("ready")
    await first.release("ready")
    with pytest.raises(JournalError):
        first.append([said("late")])
    second, _ = await journal.claim("r")
    with pytest.raises(JournalError):
        await first.commit([said("later")])
    await second.commit([said("mine")])
    await first.release("done")
    await second.release("waiting")
    assert [record.entry for record in await journal.read("r")] == [said("mine")]
    (info,) = await journal.runs()
    assert info.status == "waiting", "a release by a former owner changes nothing"


async def test_of_many_claims_at_once_one_wins(journal: Journal) -> None:
    await (await journal.create("r", "ada", ())).release("ready")
    won: list[int] = []

    async def claim() -> None:
        try:
            log, _ = await journal.claim("r")
            won.append(log.epoch)
        except RunBusy:
            pass

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(claim)
    assert won == [2]


async def test_the_inbox_takes_each_answer_once(journal: Journal) -> None:
    log = await journal.create("r", "ada", ())
    taken: list[Item | None] = []

    async def post(by: str) -> None:
        taken.append(await journal.post("r", "answer", "c1", by, {"approved": by == "p3"}))

    async with anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(post, f"p{number}")
    assert taken.count(None) == 1
    (item,) = await journal.inbox("r")
    assert all(each == item for each in taken if each is not None)
    assert await journal.post("r", "settle", "c1", "carol", {"how": "retry"}) is None
    assert await journal.post("r", "answer", "c2", "carol", {}) is None
    items = await journal.inbox("r")
    assert [(each.n, each.kind, each.ref) for each in items] == [
        (1, "answer", "c1"),
        (2, "settle", "c1"),
        (3, "answer", "c2"),
    ]
    assert await log.inbox() == items
    assert await log.inbox(2) == items[2:]
    assert items[1].data == {"how": "retry"}


async def test_the_index_says_where_runs_stand(journal: Journal) -> None:
    for number, status in enumerate(["waiting", "done", "waiting"]):
        log = await journal.create(f"r{number}", "ada" if number < 2 else "bob", ())
        await log.release(status)  # type: ignore[arg-type]
    await journal.create("r3", "bob", ())
    assert [info.id for info in await journal.runs()] == ["r3", "r2", "r1", "r0"]
    assert [info.status for info in await journal.runs()] == ["running", "waiting", "done", "waiting"]
    assert [info.id for info in await journal.runs(status="waiting")] == ["r2", "r0"]
    assert [info.id for info in await journal.runs(requester="ada")] == ["r1", "r0"]
    assert [info.id for info in await journal.runs(status="waiting", requester="bob")] == ["r2"]
    assert [info.id for info in await journal.runs(limit=1)] == ["r3"]


async def test_a_failed_append_poisons_the_log(journal: Journal) -> None:
    log = await journal.create("r", "ada", ())
    await log.commit([OPENED])
    await log.release("ready")
    other, _ = await journal.claim("r")
    with pytest.raises((Fenced, JournalError)):
        await log.commit([said("a")])
    for _ in range(2):
        with pytest.raises(JournalError):
            log.append([said("b")])
    await other.release("done")
    assert len(await journal.read("r")) == 1


async def test_records_are_values(journal: Journal) -> None:
    log = await journal.create("r", "ada", ())
    message = Message("assistant", (Text("hi"),), ext={"wire": {"id": [1, 2]}})
    await log.commit([Said(message, "end", "stop", notes=("a",))])
    await log.release("done")
    (record,) = await journal.read("r")
    assert record.entry == Said(message, "end", "stop", notes=("a",))
    assert record.run == "r"


async def test_a_run_is_created_with_its_first_entries_or_not_at_all(journal: Journal) -> None:
    log = await journal.create("r", "ada", [OPENED, said("1")])
    log.append([said("2")])
    await log.release("done")
    assert [record.entry for record in await journal.read("r")] == [OPENED, said("1"), said("2")]
    with pytest.raises(JournalError, match="there is a run 'r' already"):
        await journal.create("r", "bob", [said("other")])
    assert len(await journal.read("r")) == 3


async def test_what_came_before_parking_keeps_the_run_from_it(journal: Journal) -> None:
    log = await journal.create("r", "ada", [OPENED])
    assert await journal.post("r", "answer", "a", "bob", {}) is None
    assert await log.release("waiting", seen=0) is False
    log.append([said("still mine")])
    (item,) = await log.inbox(0)
    assert await log.release("waiting", seen=item.n) is True
    assert [info.status for info in await journal.runs()] == ["waiting"]
    assert len(await journal.read("r")) == 2


@pytest.mark.parametrize(
    ("rested", "then"), [("waiting", "ready"), ("doubt", "ready"), ("failed", "ready"), ("done", "done")]
)
async def test_what_comes_for_a_run_at_rest_makes_it_ready(journal: Journal, rested: Status, then: Status) -> None:
    log = await journal.create("r", "ada", [OPENED])
    assert await log.release(rested, seen=0) is True
    assert [(info.status, info.wake) for info in await journal.runs()] == [(rested, 0)]
    await journal.post("r", "answer", "a", "bob", {})
    await journal.post("r", "answer", "a", "bob", {})  # the same again is nothing new
    assert [(info.status, info.wake) for info in await journal.runs()] == [(then, 1)]
    assert [info.id for info in await journal.runs(status=then)] == ["r"]


async def test_a_run_that_waits_is_ready_when_it_is_due(journal: Journal) -> None:
    for id, due in (("past", time.time() - 1), ("future", time.time() + 3600), ("never", None)):
        log = await journal.create(id, "ada", [OPENED])
        await log.release("waiting", seen=0, due=due)
    assert {info.id for info in await journal.runs(status="ready")} == {"past"}
    assert {info.id for info in await journal.runs(status="waiting")} == {"future", "never"}


async def test_parking_a_run_that_another_took_is_fenced(journal: Journal) -> None:
    first = await journal.create("r", "ada", [OPENED])
    second = await taken_over(journal)
    with pytest.raises(Fenced):
        await first.release("done", seen=0)
    await first.release("done")  # in haste: nothing to say
    if not isinstance(journal, MemoryJournal):
        journal.held.add("r")  # type: ignore[attr-defined] # two processes share this one's set
    assert [info.status for info in await journal.runs()] == ["running"]
    await second.release("done", seen=0)


async def test_a_standing_approval_is_kept_and_taken_back_once(journal: Journal) -> None:
    first, second, third = (
        Grant(id=id, requester=who, tool="pay", arguments={"type": "object"}, by="bob", at=1.0, expires_at=9e9,
              confirmation="r/1.1/1-ab")
        for id, who in (("a", "ada"), ("b", "eve"), ("c", "ada"))
    )  # fmt: skip
    for each in (first, second, third):
        await journal.grant(each)
    assert await journal.grants() == [third, second, first]
    assert await journal.grants("ada") == [third, first]
    await journal.revoke("a", "carol", 5.0)
    await journal.revoke("a", "dave", 6.0)
    await journal.revoke("nobody's", "dave", 6.0)
    _, revoked = await journal.grants("ada")
    assert (revoked.revoked_at, revoked.revoked_by, revoked.holds(7.0), revoked.holds(0.5)) == (
        5.0,
        "carol",
        False,
        False,
    )
