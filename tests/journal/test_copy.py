"""Runs carried from one journal to another: byte for byte, whichever way, and the chain holds."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres_server import PostgresServer

from counterfoil import JournalError, SqliteJournal
from counterfoil.journal.journal import Status
from counterfoil.journal.portable import Stored, Transcript, from_lines, to_lines
from counterfoil.journal.postgres import PostgresJournal
from counterfoil.types.entry import Entry, Said, Started
from counterfoil.types.message import user

# Everything a text may hold, and enough of it to be kept apart from its record.
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.integers(16_000, 17_000).map("é".__mul__)
entries: st.SearchStrategy[Entry] = st.one_of(
    words.map(lambda text: Said(user(text))),
    st.builds(Started, call_id=st.just("1.1"), effect=st.just("write"), at=st.floats(0, 2e9)),
)
owners = st.lists(st.lists(st.lists(entries, max_size=3), max_size=3), min_size=1, max_size=3)
statuses = st.sampled_from(["ready", "waiting", "doubt", "done"])
refs = st.tuples(st.sampled_from(["answer", "settle", "cancel"]), words.filter(lambda text: "\0" not in text))
items = st.dictionaries(refs, words, max_size=3)


async def write(journal: Stored, run_id: str, owners: list[Any], status: Status, items: dict[Any, str]) -> None:
    log = await journal.create(run_id, "ada", ())
    for number, batches in enumerate(owners):
        if number:
            log, _ = await journal.claim(run_id)
        for batch in batches:
            log.append(batch)
        await log.release(status)
    for (kind, ref), data in items.items():
        assert await journal.post(run_id, kind, ref, "bob", {"said": data}) is None


async def same(one: Stored, other: Stored, run_id: str) -> Transcript:
    taken, kept = await one.take(run_id), await other.take(run_id)
    assert kept == taken
    assert await other.verify() == []
    assert await other.read(run_id) == await one.read(run_id)
    assert await other.inbox(run_id) == await one.inbox(run_id)
    assert await other.runs() == await one.runs()
    return kept


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(owners=owners, status=statuses, items=items)
def test_there_and_back_is_the_same(
    postgres: PostgresServer, owners: list[Any], status: Status, items: dict[Any, str]
) -> None:
    async def main() -> None:
        with tempfile.TemporaryDirectory() as folder:
            first, third = SqliteJournal(Path(folder) / "a.db"), SqliteJournal(Path(folder) / "b.db")
            second = PostgresJournal(postgres.database())
            try:
                await write(first, "r", owners, status, items)
                await second.adopt(await first.take("r"))
                run = await same(first, second, "r")
                assert list(from_lines(to_lines(run))) == [run]
                await third.adopt(await second.take("r"))
                await same(second, third, "r")
                for journal in (second, third):
                    with pytest.raises(JournalError, match="there is a run 'r' already"):
                        await journal.adopt(run)
                    log, records = await journal.claim("r")
                    assert (log.epoch, len(records)) == (run.epoch + 1, run.head)
                    await log.commit([Said(user("and on"))])
                    await log.release("done")
                    assert await journal.verify() == []
            finally:
                for each in (first, second, third):
                    await each.aclose()

    anyio.run(main)


@pytest.fixture
def exported(tmp_path: Path) -> list[bytes]:
    """Two runs as lines."""

    async def main() -> list[bytes]:
        journal = SqliteJournal(tmp_path / "runs.db")
        lines: list[bytes] = []
        for run_id in ("a", "b"):
            await write(journal, run_id, [[[Said(user("1")), Said(user("2"))]]], "done", {("answer", "x"): "yes"})
            lines += to_lines(await journal.take(run_id))
        await journal.aclose()
        return lines

    return anyio.run(main)


def test_a_file_that_was_edited_is_refused(exported: list[bytes]) -> None:
    assert len(exported) == 8
    assert [run.id for run in from_lines([*exported, b"\n"])] == ["a", "b"]
    head, first, second, item, *rest = exported
    edits = {
        "the file ends in the middle of run b": exported[:-1],
        "was changed": [head, first.replace(b'"1"', b'"3"'), second, item, *rest],
        "line 2: it does not belong here": [head, item, first, second, *rest],
        "line 3: it does not belong here": [head, first, item, *rest],
        "record 0 is missing": [head, second, first, item, *rest],
        "line 1: a run was to begin here": exported[1:],
        "line 1 is not one of an exported journal": [b"Dear diary,", *exported],
        "a newer counterfoil": [head.replace(b'"format":1', b'"format":2'), *exported[1:]],
        "the end is missing": [head.replace(b'"hash":"', b'"hash":"0'), *exported[1:]],
    }
    for message, lines in edits.items():
        with pytest.raises(JournalError, match=message):
            list(from_lines(lines))
