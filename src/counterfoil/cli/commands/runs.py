"""`counterfoil runs`, `show`, `journal verify`: read a journal."""

from __future__ import annotations

import argparse
from typing import get_args

import anyio
import msgspec

from counterfoil.cli.commands import moving, retention
from counterfoil.cli.journals import SHORT, find_run, opened
from counterfoil.cli.options import Commands, command, journal_path, moment
from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem
from counterfoil.cli.words import BAD, DIM, GOOD, entry_parts, kind_of, when
from counterfoil.journal.journal import Status
from counterfoil.journal.portable import Stored
from counterfoil.run.state import State
from counterfoil.run.step import standing

RUNS_EXAMPLES = """
counterfoil runs
counterfoil runs --status waiting --requester ada
counterfoil runs --status failed --since 2d
counterfoil runs --older-than 90d
counterfoil runs --json | head -1
"""
SHOW_EXAMPLES = """
counterfoil show last
counterfoil show 3f9c1a --json
"""
VERIFY_EXAMPLES = """
counterfoil journal verify
counterfoil journal verify 3f9c1a --journal runs.db
"""


def add(commands: Commands) -> None:
    """Add the commands."""
    parser = command(commands, "runs", "list the runs of a journal, the latest first", RUNS_EXAMPLES)
    parser.add_argument("--status", choices=get_args(Status))
    parser.add_argument("--requester", metavar="NAME", help="only this person's")
    parser.add_argument("--since", metavar="WHEN", help="only those written to since: an age (2d) or a date")
    parser.add_argument("--older-than", metavar="WHEN", help="only those not written to since then")
    parser.add_argument("--limit", metavar="N", type=int, default=50)
    parser.set_defaults(run=runs)
    parser = command(commands, "show", "show a run: every entry of its journal, in order", SHOW_EXAMPLES)
    parser.add_argument("run_id", metavar="RUN", help="its id, the beginning of it, or last")
    parser.set_defaults(run=show)
    parser = commands.add_parser(
        "journal",
        help="check a journal, carry it elsewhere, archive or erase what is in it, bring it up to date",
        allow_abbrev=False,
    )
    inner = parser.add_subparsers(dest="journal_command", metavar="COMMAND", required=True)
    parser = command(inner, "verify", "check every record against the hash chain", VERIFY_EXAMPLES)
    parser.add_argument("run_id", metavar="RUN", nargs="?", help="only this run")
    parser.set_defaults(run=verify)
    moving.add(inner)
    retention.add(inner)


def runs(options: argparse.Namespace, out: Output) -> int:
    """List runs."""
    return anyio.run(_runs, options, out)


async def _runs(options: argparse.Namespace, out: Output) -> int:
    if options.limit < 1:
        raise Problem("--limit must be 1 or more")
    async with opened(journal_path(options), options.wait) as journal:
        found = await journal.runs(
            status=options.status,
            requester=options.requester,
            since=moment(options.since, "--since") if options.since else None,
            before=moment(options.older_than, "--older-than") if options.older_than else None,
            limit=options.limit,
        )
    for info in found:
        out.data(info)
    if found:
        length = SHORT if out.terminal else 64
        rows = [
            (info.id[:length], info.status, info.requester, when(info.created), when(info.updated)) for info in found
        ]
        out.table(("run", "status", "requester", "created", "updated"), rows, ("bold",))
    else:
        narrowed = options.status or options.requester or options.since or options.older_than
        out.say("no runs" + (" like that" if narrowed else " yet"))
    return 0


def show(options: argparse.Namespace, out: Output) -> int:
    """Show one run."""
    return anyio.run(_show, options, out)


async def _show(options: argparse.Namespace, out: Output) -> int:
    async with opened(journal_path(options), options.wait) as journal:
        info = await find_run(journal, options.run_id)
        records = await journal.read(info.id)
    state = State(record.entry for record in records)
    if not records:
        raise Problem(f"run {info.id} has no entries: its process stopped before the first was written")
    for record in records:
        out.data(msgspec.to_builtins(record))
    outcome = standing(state)
    out.say(("run ", DIM), (info.id, "bold"), (f"  {when(info.created)}", DIM))
    width = max(len(kind_of(record.entry)) for record in records)
    for record in records:
        out.say(
            (f"{record.seq:>4}  {when(record.at)[11:]}  ", DIM),
            (f"{kind_of(record.entry):<{width}}  ", "bold"),
            *entry_parts(record.entry),
        )
    out.say((outcome.kind, GOOD if outcome.kind == "answered" else "yellow"), f"  {outcome.detail}")
    out.say((f"state {state.hash}", DIM))
    return 0


def verify(options: argparse.Namespace, out: Output) -> int:
    """Check a journal."""
    return anyio.run(_verify, options, out)


async def _verify(options: argparse.Namespace, out: Output) -> int:
    async with opened(journal_path(options), options.wait) as journal:
        run_id = (await find_run(journal, options.run_id)).id if options.run_id else None
        return await report_verified(journal, run_id, out)


async def report_verified(journal: Stored, run_id: str | None, out: Output) -> int:
    """Check one run or all, and say what was found; returns the exit code."""
    ids = [run_id] if run_id else [info.id for info in await journal.runs(limit=1_000_000)]
    broken = records = erased = 0
    for id in ids:
        faults = await journal.verify(id)
        broken += bool(faults)
        run = None if faults else await journal.take(id)
        count = 0 if run is None else run.head
        gone = 0 if run is None or run.erasure is None else run.erasure.records
        records, erased = records + count, erased + gone
        said = {"run": id, "intact": not faults, "records": count, "faults": faults}
        out.data({**said, "erased": gone} if gone else said)
        for fault in faults:
            out.say((fault, BAD))
    if broken:
        out.say((f"{broken} of {len(ids)} runs were changed after they were written", BAD))
        return 1
    what = f"{len(ids)} runs" if run_id is None else f"run {run_id[:SHORT]}"
    out.say(("intact", GOOD), f": {what}, {records} records, each hash follows from the one before")
    if erased:
        out.say(f"{erased} of them were erased, as the journal records: what they said is gone, their place is not")
    return 0
