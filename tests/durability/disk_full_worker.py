"""Runs that find the disk full, and what must hold then. As a process: on disks that are small for real.

`limit FOLDER SIZE...`: files may grow to so many bytes and no further; the kernel refuses the rest.
`filesystem FOLDER SIZE...`: a filesystem of so many bytes is mounted there; the caller gives a mount namespace.
"""

from __future__ import annotations

import functools
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
import msgspec
from durable_world import ADA, Acting, finish, harness

from counterfoil import JournalError, SqliteJournal
from counterfoil.types.entry import Started

PROMPT = "look act|act act|act"
ACTS = 4


class Found(NamedTuple):
    """What came of a run on a disk that was too small."""

    said: str
    """The error; empty: there was room enough."""
    wrong: list[str]


async def run_out(folder: Path, opened: Callable[[], SqliteJournal], make_room: Callable[[], None]) -> Found:
    """Run until the disk is full, see what is on it, make room and go on. `opened` opens the journal in that folder."""
    acted: Counter[str] = Counter()
    calls: list[str] = []

    def acting(what: Acting) -> None:
        acted[what.key] += 1
        calls.append(what.call_id)

    said = ""
    wrong: list[str] = []
    journal: SqliteJournal | None = None
    try:
        journal = opened()
        run = await harness(journal, acting).run(PROMPT, ADA, run_id="r")
        if run.outcome.kind != "answered":
            wrong.append(f"the run ended as {run.outcome}")
    except JournalError as error:
        said = str(error)
    # As it is on the disk now; looked at where there is room.
    copy = shutil.copytree(folder, folder.with_name(f"{folder.name}-copy"))
    make_room()
    wrong += await _not_on(copy, calls)
    shutil.rmtree(copy)
    if journal is not None and len(calls) % 2:  # go on in the same process, or in what might be another
        wrong += await _go_on(journal, acting, acted)
        await journal.aclose()
    else:
        if journal is not None:
            await journal.aclose()
        journal = opened()
        wrong += await _go_on(journal, acting, acted)
        await journal.aclose()
    return Found(said, wrong)


async def _not_on(folder: Path, calls: list[str]) -> list[str]:
    """What was acknowledged and is not on the disk."""
    journal = SqliteJournal(folder / "runs.db")
    try:
        wrong = await journal.verify()
        records = await journal.read("r") if await journal.runs() else []
    finally:
        await journal.aclose()
    started = {record.entry.call_id for record in records if isinstance(record.entry, Started)}
    return wrong + [f"{call} acts, and the disk does not know" for call in calls if call not in started]


async def _go_on(journal: SqliteJournal, acting: Callable[[Acting], None], acted: Counter[str]) -> list[str]:
    run = await finish(harness(journal, acting), "r", PROMPT, acted)
    wrong = await journal.verify()
    if run.text != "done":
        wrong.append(f"the run ended as {run.outcome}")
    if sorted(acted.values()) != [1] * ACTS:
        wrong.append(f"acted so often: {list(acted.values())}")
    return wrong


@contextmanager
def small(what: str, folder: Path, size: int) -> Iterator[Callable[[], None]]:
    """Little room, by the kernel's refusal; what is yielded makes more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if what == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    else:
        _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
        yield lambda: _mount("-o", "remount,size=64m", str(folder))
        subprocess.run(["umount", str(folder)], check=True)  # noqa: S607 wherever it is


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)  # noqa: S607 wherever it is


def main(what: str, where: str, *sizes: str) -> None:
    """Run out of room at each of these sizes, and say what was found."""
    found: list[Found] = []
    for size in map(int, sizes):
        folder = Path(where) / str(size)
        folder.mkdir()
        opened = functools.partial(SqliteJournal, folder / "runs.db")
        with small(what, folder, size) as make_room:
            found.append(anyio.run(run_out, folder, opened, make_room))
    sys.stdout.buffer.write(msgspec.json.encode(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
