"""The disk is full: what was acknowledged is on it, nothing is missing in between, and with room one goes on."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import anyio
import msgspec
import pytest
from disk_full_worker import PROMPT, Found, run_out
from durable_world import ADA, begin, harness, said
from figures import report
from power_cut_vfs import Disk, JournalOnDisk, Wrote
from scale import times

from counterfoil import JournalError
from counterfoil.journal.log import ChainedLog
from counterfoil.journal.sqlite import SqliteLog
from counterfoil.types.entry import Entry

WORKER = Path(__file__).with_name("disk_full_worker.py")


def rooms(folder: Path) -> list[int]:
    """Sizes at which a disk is full in the middle of each write that needs more of it, and in a long run many more."""

    async def live() -> Disk:
        disk = Disk(folder)
        journal = JournalOnDisk(disk)
        await harness(journal, lambda _: None).run(PROMPT, ADA, run_id="r")
        await journal.aclose()
        return disk

    sizes: Counter[int] = Counter()
    found: list[int] = []
    for change in anyio.run(live).record:
        if isinstance(change, Wrote) and (more := change.offset + len(change.data) - sizes[change.inode]) > 0:
            found.append(sizes.total() + more // 2)
            sizes[change.inode] += more
    return times(found, [*found, *range(0, sizes.total(), 256)])


def survey(tmp_path: Path, journal: type[JournalOnDisk] = JournalOnDisk) -> list[Found]:
    """Run out of room at every write, under both event loops."""
    found: list[Found] = []
    (tmp_path / "live").mkdir()
    for number, room in enumerate(rooms(tmp_path / "live")):
        folder = tmp_path / str(number)
        folder.mkdir()
        disk = Disk(folder, room)
        make_room = functools.partial(setattr, disk, "room", None)
        backend = ("asyncio", "trio")[number % 2]
        found.append(anyio.run(run_out, folder, functools.partial(journal, disk), make_room, backend=backend))
        disk.unregister()
        shutil.rmtree(folder)
    return found


def test_at_whatever_write_the_disk_is_full_nothing_is_lost_and_nothing_done_twice(tmp_path: Path) -> None:
    found = survey(tmp_path)
    refused = [each.said for each in found if each.said]
    report("disk full", writes=len(found), refused=len(refused), wrong=sum(bool(each.wrong) for each in found))
    assert [each for each in found if each.wrong] == []
    assert len(refused) > 50
    assert all(said.startswith("the disk is full: ") for said in refused)


class _CarelessLog:
    def __init__(self, log: ChainedLog) -> None:
        self._log = log

    def append(self, entries: Sequence[Entry]) -> None:
        with suppress(JournalError):
            self._log.append(entries)

    async def commit(self, entries: Sequence[Entry]) -> None:
        with suppress(JournalError):
            await self._log.commit(entries)

    async def release(self, *arguments: Any, **options: Any) -> bool:
        with suppress(JournalError):
            return await self._log.release(*arguments, **options)
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


class Careless(JournalOnDisk):
    """Goes on when it could not write."""

    async def create(self, *arguments: Any) -> SqliteLog:
        return cast("SqliteLog", _CarelessLog(await super().create(*arguments)))


def test_a_journal_that_goes_on_when_it_could_not_write_does_things_twice(tmp_path: Path) -> None:
    wrong = "".join(str(each.wrong) for each in survey(tmp_path, Careless))
    assert "acts, and the disk does not know" in wrong, "the test above would not see a loss"
    assert "acted so often" in wrong, "the test above would not see a repetition"


@pytest.mark.anyio
async def test_a_log_that_could_not_write_takes_nothing_more_even_when_there_is_room(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    journal = JournalOnDisk(disk)
    log = await begin(journal, "r", [said("0")])
    await log.commit([said("1")])
    disk.room = disk.used
    log.append([said("2")])
    with pytest.raises(JournalError, match=r"the disk is full: .* could not be written. Free some space"):
        await log.commit([said("3")])
    disk.room = None
    for _ in range(2):
        with pytest.raises(JournalError, match="the disk is full"):
            log.append([said("4")])
        with pytest.raises(JournalError, match="the disk is full"):
            await log.commit([said("5")])
    with pytest.raises(JournalError, match="the disk is full"):
        await log.release("ready")
    log, records = await journal.claim("r")
    assert [record.entry for record in records] == [said("0"), said("1")]
    await log.commit([said("2 again")])
    await log.release("done")
    assert [record.entry for record in await journal.read("r")] == [said("0"), said("1"), said("2 again")]
    assert await journal.verify() == []
    await journal.aclose()
    disk.unregister()


def outside(what: str, folder: Path, sizes: Sequence[int]) -> list[Found]:
    """Run out of room in a process of its own, where the kernel refuses."""
    command = [sys.executable, str(WORKER), what, str(folder), *map(str, sizes)]
    if what == "filesystem":
        command = ["unshare", "--mount", *command]
    return msgspec.json.decode(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout, type=list[Found])


def test_files_that_may_not_grow_lose_nothing(tmp_path: Path) -> None:
    found = outside("limit", tmp_path, range(4_096, 150_000, times(6_000, 500)))
    assert [each for each in found if each.wrong] == []
    assert all("disk" in each.said for each in found if each.said)
    assert 10 < len([each for each in found if each.said]) < len(found)


def test_a_small_filesystem_loses_nothing(tmp_path: Path) -> None:
    found = outside("filesystem" if _may_mount() else "limit", tmp_path, range(4_096, 300_000, times(12_000, 4_096)))
    assert [each for each in found if each.wrong] == []
    assert all("disk" in each.said for each in found if each.said)
    assert 5 < len([each for each in found if each.said]) < len(found)


def _may_mount() -> bool:
    """Whether a filesystem may be mounted that nobody else sees."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return False
    mount = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return not subprocess.run(mount, check=False, capture_output=True).returncode
