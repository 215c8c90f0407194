"""`counterfoil journal archive`, `erase`: what leaves a journal, and what is left of it."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import anyio

from counterfoil.cli.journals import SHORT, opened
from counterfoil.cli.options import Commands, command, journal_path, me, moment
from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem
from counterfoil.cli.words import DIM, GOOD, when
from counterfoil.journal.archive import Archive
from counterfoil.journal.erasure import alias
from counterfoil.journal.journal import RunInfo
from counterfoil.journal.portable import Stored

ARCHIVE_EXAMPLES = """
counterfoil journal archive --older-than 90d --to 2026-q1.jsonl.zst
counterfoil journal archive --before 2026-01-01 --to 2025.jsonl.zst --remove
counterfoil journal import 2025.jsonl.zst --journal look.db
"""
ERASE_EXAMPLES = """
counterfoil journal erase --requester ada --dry-run
counterfoil journal erase --requester ada --by bob
"""
_ALL = 1_000_000_000


def add(commands: Commands) -> None:
    """Add the commands below `journal`."""
    parser = command(commands, "archive", "write the runs that are done to a compressed file", ARCHIVE_EXAMPLES)
    age = parser.add_mutually_exclusive_group(required=True)
    age.add_argument("--before", metavar="DATE", help="runs last written to before then, like 2026-01-31")
    age.add_argument("--older-than", metavar="AGE", help="runs last written to longer ago, like 30d, 12h or 8w")
    parser.add_argument("--to", dest="target", metavar="FILE", required=True, help="a new file, FILE.jsonl.zst")
    parser.add_argument(
        "--remove", action="store_true", help="take them out of the journal, once the file was read back and checked"
    )
    parser.set_defaults(run=archive)
    summary = "erase what one requester's runs hold; that they ran stays, and can be verified"
    parser = command(commands, "erase", summary, ERASE_EXAMPLES)
    parser.add_argument("--requester", metavar="NAME", required=True, help="whose runs")
    parser.add_argument("--by", metavar="NAME", help="who erases them (default: you)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be erased")
    parser.set_defaults(run=erase)


def archive(options: argparse.Namespace, out: Output) -> int:
    """Archive."""
    before = moment(options.before or options.older_than, "--before" if options.before else "--older-than")
    return anyio.run(_archive, options, before, out)


async def _archive(options: argparse.Namespace, before: float, out: Output) -> int:
    path = Path(options.target)
    async with opened(journal_path(options), options.wait) as journal:
        wanted = await _done(journal, before)
        if not wanted:
            out.data({"runs": 0, "removed": 0})
            out.say(f"no run that is done is older than {when(before)}: there is nothing to write")
            return 0
        with Archive(path) as file:
            with out.bar("archiving") as show:
                for done, info in enumerate(wanted):
                    show(f"archiving {info.id[:SHORT]}", done / len(wanted))
                    run = await journal.take(info.id)
                    if run.status in ("done", "erased"):  # it may have gone on since it was listed
                        file.add(run)
            await anyio.to_thread.run_sync(file.finish)
        if options.remove:
            with out.bar("removing") as show:
                for done, (id, hash) in enumerate(file.ends.items()):
                    show(f"removing {id[:SHORT]}", done / len(file.ends))
                    await journal.remove(id, hash)
    size = path.stat().st_size  # noqa: ASYNC240 - one look, when all is done
    out.data({"runs": len(file.ends), "removed": len(file.ends) if options.remove else 0, "bytes": size})
    left = ", and taken out of the journal" if options.remove else ""
    out.say(("archived", GOOD), f": {len(file.ends)} runs in {size:,} bytes, read back and checked{left}")
    return 0


async def _done(journal: Stored, before: float) -> list[RunInfo]:
    """The runs that are done, the oldest first."""
    found = [
        *await journal.runs(status="done", before=before, limit=_ALL),
        *await journal.runs(status="erased", before=before, limit=_ALL),
    ]
    return sorted(found, key=lambda info: info.created)


def erase(options: argparse.Namespace, out: Output) -> int:
    """Erase."""
    return anyio.run(_erase, options, out)


async def _erase(options: argparse.Namespace, out: Output) -> int:
    requester = options.requester
    async with opened(journal_path(options), options.wait) as journal:
        if options.dry_run:
            return await _would_erase(journal, requester, out)
        earlier = await journal.erasures(requester)
        found = await journal.erase(requester, by=options.by or me())
    out.data({"runs": list(found.runs), "records": found.records, "items": found.items, "grants": found.grants})
    if not found.runs and not found.grants:
        if not earlier:
            raise Problem(f"{requester} has no runs in this journal: names are compared letter by letter")
        first = earlier[0]
        out.say(f"nothing is left to erase: {len(earlier)} runs were erased on {when(first.at)} by {first.by}")
        return 0
    out.say(("erased", GOOD), f": {found.records} records of {len(found.runs)} runs, {found.items} items, "
            f"{found.grants} standing approvals")  # fmt: skip
    out.say((f"listed as {alias(found.who)} from now on; backups, archives and your log still have what they had", DIM))
    return 0


async def _would_erase(journal: Stored, requester: str, out: Output) -> int:
    runs = await journal.runs(requester=requester, limit=_ALL)
    still = [info for info in runs if info.status != "done"]
    for info in runs:
        out.data({"run": info.id, "status": info.status, "would_be_erased": not still})
    now = time.time()
    days = f", the latest {(now - max(info.updated for info in runs)) / 86400:.0f} days old" if runs else ""
    out.say(f"{len(runs)} runs of {requester}{days} would be erased; nothing was done")
    for info in still:
        out.say(f"{info.id} is {info.status}: cancel it first", indent=2)
    return 1 if still else 0
