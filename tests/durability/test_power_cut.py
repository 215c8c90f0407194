"""The power goes at any moment: whatever the disk has made of what it was told, nothing acknowledged is lost."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from random import Random
from typing import NamedTuple

import anyio
import pytest
from durable_world import ADA, Acting, begin, harness, said
from figures import report
from power_cut_vfs import Acknowledged, Change, Disk, Image, JournalOnDisk, images
from scale import times

from counterfoil import Catalogue, CounterfoilError, Harness, Journal, RunNotFound, SqliteJournal
from counterfoil.journal import sqlite
from counterfoil.journal.group import Job
from counterfoil.journal.writer import Writer
from counterfoil.types.entry import Started

IMAGES = times(1_000, 20_000)
PER_RECORDING = 50


# -- what is told to the disk


class Entries(NamedTuple):
    """So many entries of a run are durable."""

    run: str
    many: int


class Posted(NamedTuple):
    """Something is in a run's inbox for good."""

    run: str
    kind: str
    ref: str


Acknowledgement = Entries | Acting | Posted


async def write(journal: Journal, run_id: str, disk: Disk, chance: Random) -> None:
    """Write a run's log as a harness might, and note what is acknowledged."""
    log = await begin(journal, run_id, [said("first")])
    count = 1
    for number in range(8):
        some = [said(f"{number} " + "x" * chance.choice((10, 10, 5_000, 30_000))) for _ in range(chance.randrange(3))]
        count += len(some)
        if chance.random() < 0.5:
            log.append(some)
        else:
            await log.commit(some)
            disk.acknowledge(Entries(run_id, count))
        await anyio.sleep(chance.choice((0, 0, 0.006)))  # longer than what nobody waits for may gather
    await log.release("done")


async def play(journal: Journal, disk: Disk, chance: Random, name: str) -> None:
    """Work on several runs at once; answer, cancel, go on."""
    ours = harness(journal, disk.acknowledge)
    words = ["act", "act", "look", "send"]

    async def run(run_id: str) -> None:
        turns = (" ".join(chance.choices(words, k=chance.randint(1, 3))) for _ in range(chance.randint(1, 3)))
        await ours.run("|".join(turns), ADA, run_id=run_id)

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(run, f"{name}{number}")
        group.start_soon(write, journal, f"{name}log", disk, chance)
    for _ in range(3):
        for each in await ours.confirmations():
            if chance.random() < 0.2:
                await ours.cancel(each.run_id, by="bob")
                disk.acknowledge(Posted(each.run_id, "cancel", "1"))
                break
            await ours.answer(each.id, approve=chance.random() < 0.8, by="bob")
            disk.acknowledge(Posted(each.run_id, "answer", each.id))
            await ours.resume(each.run_id)


class Recording(NamedTuple):
    """What a disk was told, and what the journal held in the end."""

    record: list[Change]
    hashes: dict[str, list[str]]
    """Each run's records, by their place in the chain."""
    started: dict[tuple[str, str], int]
    """How many records a run had when a call was started."""


async def recorded(folder: Path, chance: Random) -> Recording:
    disk = Disk(folder)
    for life in ("a", "b"):  # between them the WAL goes into the database, and is made anew
        journal = JournalOnDisk(disk, pages=chance.choice((5, 20, 1_000)))
        await play(journal, disk, chance, life)
        hashes: dict[str, list[str]] = {}
        started: dict[tuple[str, str], int] = {}
        for info in await journal.runs():
            records = await journal.read(info.id)
            hashes[info.id] = [record.hash for record in records]
            for record in records:
                if isinstance(record.entry, Started):
                    started[info.id, record.entry.call_id] = record.seq + 1
        await journal.aclose()
    disk.unregister()
    return Recording(disk.record, hashes, started)


# -- what is found afterwards


async def problems(image: Image, recording: Recording, path: Path, *, go_on: bool) -> list[str]:
    """What was acknowledged and is not there, is there and should not be, or is done again when one goes on."""
    journal = SqliteJournal(path)
    try:
        found = await journal.verify()
        for info in await journal.runs():
            records = await journal.read(info.id)
            if not records:
                found.append(f"{info.id}: created without its first entries")
            if [record.hash for record in records] != recording.hashes[info.id][: len(records)]:
                found.append(f"{info.id}: other records than were written")
            if records and info.epoch < records[-1].epoch:
                found.append(f"{info.id}: an owner is forgotten")
            await Harness(None, Catalogue([]), journal=journal).read(info.id)
        found += [f"lost {what}" for what in image.acknowledged if not await there(what, recording, journal)]
        return found or (await repeated(image, journal) if go_on else [])
    finally:
        await journal.aclose()


async def there(what: Acknowledgement, recording: Recording, journal: SqliteJournal) -> bool:
    """Whether a journal holds what was acknowledged."""
    try:
        match what:
            case Posted(run_id, kind, ref):
                return any((item.kind, item.ref) == (kind, ref) for item in await journal.inbox(run_id))
            case Acting(run_id, call_id, _):
                return len(await journal.read(run_id)) >= recording.started[run_id, call_id]
            case Entries(run_id, many):
                return len(await journal.read(run_id)) >= many
            case _:
                return False
    except RunNotFound:
        return False


async def repeated(image: Image, journal: SqliteJournal) -> list[str]:
    """Go on with all that was not done; what then was done twice, or is at fault."""
    acted = Counter(what.key for what in image.acknowledged if isinstance(what, Acting))
    ours = harness(journal, lambda acting: acted.update([acting.key]))
    for info in await journal.runs():
        if info.status != "done" and not info.id.endswith("log"):
            await ours.resume(info.id)
    return [f"repeated {key}" for key, often in acted.items() if often > 1] + await journal.verify()


class Tally(NamedTuple):
    """How many images there were, and of how many something is to be said."""

    images: int = 0
    torn: int = 0
    lost: int = 0
    damaged: int = 0
    first: str = ""
    """What was wrong with the first that was; it is kept."""

    def plus(self, more: Tally) -> Tally:
        return Tally(
            self.images + more.images,
            self.torn + more.torn,
            self.lost + more.lost,
            self.damaged + more.damaged,
            self.first or more.first,
        )


async def cut(folder: Path, seed: int, count: int) -> Tally:
    """Cut the power at so many moments of one recording, and look what is left."""
    chance = Random(seed)  # noqa: S311
    (folder / "live").mkdir(parents=True)
    recording = await recorded(folder / "live", chance)
    told = [number for number, change in enumerate(recording.record, 1) if isinstance(change, Acknowledged)]
    anywhere = range(len(recording.record) + 1)
    # As often right after something was acknowledged as anywhere.
    moments = sorted(chance.choices(told, k=count // 2) + chance.choices(anywhere, k=count - count // 2))
    torn = lost = damaged = 0
    first = ""
    for number, image in enumerate(images(recording.record, moments, chance)):
        where = folder / str(number)
        where.mkdir()
        image.restore(where, chance)
        torn += image.torn
        try:
            found = await problems(image, recording, where / "runs.db", go_on=number % 5 == 0)
            lost += bool(found)
        except CounterfoilError as error:
            found = [f"{type(error).__name__}: {error}"]
            damaged += 1
        if found and not first:
            first = f"{where}, at {moments[number]} of {len(recording.record)}: {found}"
        else:
            shutil.rmtree(where)
    shutil.rmtree(folder / "live")
    return Tally(count, torn, lost, damaged, first)


def survey(folder: Path, count: int) -> Tally:
    """Cut the power so often, in recordings of both event loops, and say how it went."""
    total = Tally()
    for seed in range(count // PER_RECORDING):
        where = folder / f"recording{seed}"
        each = anyio.run(cut, where, seed, PER_RECORDING, backend=("asyncio", "trio")[seed % 2])
        total = total.plus(each)
    print(f"{total.images} images, {total.torn} with torn writes: {total.lost} lost, {total.damaged} damaged")  # noqa: T201 the figures of a long run are worth reading
    return total


def test_no_power_cut_loses_what_was_acknowledged(tmp_path: Path) -> None:
    total = survey(tmp_path, IMAGES)
    report("power cut", **{name: getattr(total, name) for name in ("images", "torn", "lost", "damaged")})
    assert total.images == IMAGES
    assert total.torn > IMAGES / 10, "so little was in flight that this says little"
    assert total.lost + total.damaged == 0, total.first


class Hasty(Writer):
    """Says that things are durable without having waited for the disk."""

    def carry_out(self, group: list[Job]) -> None:
        for job in group:
            job.durable = False
        super().carry_out(group)


def test_a_journal_that_does_not_wait_for_the_disk_loses_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "Writer", Hasty)
    total = survey(tmp_path, times(200, 2_000))
    assert total.lost > total.images / 5, "the test above would not see a loss"
    assert total.damaged == 0, total.first


def test_a_disk_that_only_says_it_has_synced_is_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Disk, "sync", lambda *_: None)
    total = survey(tmp_path, times(200, 2_000))
    assert total.lost > total.images / 5, "the tests above would not see a loss"
    assert total.damaged > total.images / 20, "the tests above would not see damage"
