"""`counterfoil journal export`, `import`, `copy`, `migrate`: whole runs from one journal to another."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import anyio

from counterfoil.cli.journals import SHORT, find_run, opened
from counterfoil.cli.options import Commands, command, journal_path
from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem
from counterfoil.cli.words import GOOD
from counterfoil.journal.archive import lines_of
from counterfoil.journal.opening import migrate_journal
from counterfoil.journal.portable import Stored, Transcript, from_lines, to_lines
from counterfoil.types.error import RunBusy

EXPORT_EXAMPLES = """
counterfoil journal export --all > journal.jsonl
counterfoil journal export last | zstd > run.jsonl.zst
"""
IMPORT_EXAMPLES = """
counterfoil journal import journal.jsonl --journal restored.db
zstd -dc run.jsonl.zst | counterfoil journal import - --journal postgresql://app@db/app
"""
COPY_EXAMPLES = """
counterfoil journal copy --from counterfoil.db --to postgresql://app@db/app
counterfoil journal copy 3f9c1a --from postgresql://app@db/app --to mine.db
"""
MIGRATE_EXAMPLES = """
counterfoil journal migrate --journal postgresql://app@db/app
"""
_ALL = 1_000_000_000
_AT_ONCE = 16
"""Runs that are written together: they share the waiting for the disk."""

Progress = Callable[[str, float], None]


def add(commands: Commands) -> None:
    """Add the commands below `journal`."""
    parser = command(commands, "export", "write runs to standard output, one JSON value a line", EXPORT_EXAMPLES)
    parser.add_argument("run_id", metavar="RUN", nargs="?", help="its id, the beginning of it, or last")
    parser.add_argument("--all", action="store_true", help="every run")
    parser.set_defaults(run=export)
    parser = command(commands, "import", "keep the runs of an exported file; each is checked first", IMPORT_EXAMPLES)
    parser.add_argument("file", metavar="FILE", help="what export or archive has written; - is standard input")
    _skip_argument(parser)
    parser.set_defaults(run=import_)
    summary = "copy runs from one journal to another; each is checked first"
    parser = command(commands, "copy", summary, COPY_EXAMPLES, journal=False)
    parser.add_argument("run_id", metavar="RUN", nargs="?", help="only this run")
    parser.add_argument("--from", dest="source", metavar="A", required=True, help="a file or postgresql://...")
    parser.add_argument("--to", dest="target", metavar="B", required=True, help="the same; it may be new")
    parser.add_argument("--wait", metavar="SECONDS", type=float, default=5.0, help="how long to wait for a lock")
    _skip_argument(parser)
    parser.set_defaults(run=copy)
    parser = command(commands, "migrate", "create a journal's tables, or bring them up to date", MIGRATE_EXAMPLES)
    parser.set_defaults(run=migrate)


def _skip_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--skip-existing", action="store_true", help="leave out what is there already: to go on after a stop"
    )


def export(options: argparse.Namespace, out: Output) -> int:
    """Export."""
    if bool(options.run_id) == options.all:
        raise Problem("say which run, or --all")
    if out.terminal:
        raise Problem("an export is for a file: write it to one with > journal.jsonl")
    out.only_shows()
    return anyio.run(_export, options, out)


async def _export(options: argparse.Namespace, out: Output) -> int:
    async with opened(journal_path(options), options.wait) as journal:
        ids = await _ids(journal, options.run_id)
        with out.bar("exporting") as show:
            for done, id in enumerate(ids):
                show(f"exporting {id[:SHORT]}", done / len(ids))
                for line in to_lines(await journal.take(id)):
                    out.line(line)
    out.note(f"{len(ids)} runs")
    return 0


def import_(options: argparse.Namespace, out: Output) -> int:
    """Import."""
    with _lines(options.file, out) as lines:
        return anyio.run(_import, options, out, lines)


async def _import(options: argparse.Namespace, out: Output, lines: Iterable[bytes]) -> int:
    async with opened(journal_path(options), options.wait, create=True) as target:
        there = {info.id for info in await target.runs(limit=_ALL)}

        async def runs() -> AsyncGenerator[Transcript]:
            for run in from_lines(lines):
                if not options.skip_existing and run.id in there:
                    raise Problem(f"there is a run {run.id} already: leave such runs out with --skip-existing")
                if run.id not in there:
                    yield run

        return await _adopt(target, runs(), out)


@contextmanager
def _lines(path: str, out: Output) -> Generator[Iterable[bytes]]:
    """The lines of a file (with a bar over its size) or of standard input."""
    if path == "-":
        yield iter(sys.stdin.buffer.readline, b"")
        return
    with open(path, "rb") as file, out.bar("importing") as show:
        yield _watched(file, show)


def _watched(file: BinaryIO, show: Progress) -> Iterator[bytes]:
    size = file.seek(0, 2) or 1
    file.seek(0)
    for number, line in enumerate(lines_of(file)):
        if number % 100 == 0:
            show("importing", file.tell() / size)
        yield line


def copy(options: argparse.Namespace, out: Output) -> int:
    """Copy."""
    if options.source == options.target:
        raise Problem("--from and --to are the same journal")
    return anyio.run(_copy, options, out)


async def _copy(options: argparse.Namespace, out: Output) -> int:
    async with (
        opened(options.source, options.wait) as source,
        opened(options.target, options.wait, create=True) as target,
    ):
        ids = await _ids(source, options.run_id)
        for info in await source.runs(status="running", limit=_ALL):
            if info.id in ids:
                raise RunBusy(f"run {info.id} is being worked on, and would go on in the old journal")
        there = {info.id for info in await target.runs(limit=_ALL)}.intersection(ids)
        if there and not options.skip_existing:
            raise Problem(
                f"{len(there)} of {len(ids)} runs are there already, like {min(there)}: nothing was copied. "
                "Leave such runs out with --skip-existing"
            )
        wanted = [id for id in ids if id not in there]
        with out.bar("copying") as show:

            async def runs() -> AsyncGenerator[Transcript]:
                for done, id in enumerate(wanted):
                    show(f"copying {id[:SHORT]}", done / len(wanted))
                    yield await source.take(id)

            return await _adopt(target, runs(), out)


async def _adopt(target: Stored, runs: AsyncGenerator[Transcript], out: Output) -> int:
    """Keep runs, some at a time, and say how many; what was kept before a failure stays."""
    kept = records = 0
    waiting: list[Transcript] = []

    async def write() -> None:
        nonlocal kept, records
        async with anyio.create_task_group() as group:
            for run in waiting:
                group.start_soon(target.adopt, run)
        kept, records = kept + len(waiting), records + sum(run.head for run in waiting)
        waiting.clear()

    try:
        async for run in runs:
            waiting.append(run)
            if len(waiting) == _AT_ONCE:
                await write()
        await write()
    except BaseException:
        out.note(f"{kept} runs were kept before this; go on with --skip-existing")
        raise
    out.data({"runs": kept, "records": records})
    out.say(("kept", GOOD), f": {kept} runs, {records} records, each hash follows from the one before")
    return 0


async def _ids(journal: Stored, given: str | None) -> list[str]:
    """The ids of the run that was meant or of all, the oldest first."""
    if given:
        return [(await find_run(journal, given)).id]
    return [info.id for info in reversed(await journal.runs(limit=_ALL))]


def migrate(options: argparse.Namespace, out: Output) -> int:
    """Migrate."""
    spec = journal_path(options)
    before, after = migrate_journal(spec, wait=options.wait)
    out.data({"before": before, "after": after})
    if before == after:
        out.say(("up to date", GOOD), f": schema {after}")
    else:
        out.say(("migrated", GOOD), f": from schema {before} to {after}" if before else f": created, schema {after}")
    return 0
