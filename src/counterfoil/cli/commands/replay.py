"""`counterfoil replay`: a run again, without effects, through today's gate."""

from __future__ import annotations

import argparse

import anyio
import msgspec

from counterfoil.cli.journals import SHORT, find_run, opened
from counterfoil.cli.options import Commands, command, journal_path, target_argument
from counterfoil.cli.output import Output
from counterfoil.cli.target import Target, load_target
from counterfoil.cli.words import BAD, DIM, GOOD
from counterfoil.run.replay import replay
from counterfoil.run.state import State
from counterfoil.run.walk import walk
from counterfoil.types.entry import Record

EXAMPLES = """
counterfoil replay last                     # does each entry follow from those before it?
counterfoil replay last shop:catalogue      # would today's gate and catalogue judge the same?
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "replay", "run a journal again with its recorded replies, results and answers; no tool runs", EXAMPLES
    )
    parser.add_argument("run_id", metavar="RUN", help="its id, the beginning of it, or last")
    target_argument(parser, optional=True)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, out: Output) -> int:
    """Replay."""
    return anyio.run(_run, options, out, load_target(options.catalogue) if options.catalogue else None)


async def _run(options: argparse.Namespace, out: Output, target: Target | None) -> int:
    async with opened(journal_path(options), options.wait) as journal:
        info = await find_run(journal, options.run_id)
        records = await journal.read(info.id)
    if target is None:
        return _walk(info.id, records, out)
    return await report_replayed(records, target, out)


async def report_replayed(records: list[Record], target: Target, out: Output) -> int:
    """Replay a run against a target and say what differs; returns the exit code."""
    found = await replay(records, target.catalogue, target.gate)
    out.data({**msgspec.to_builtins(found), "same": found.same})
    for each in found.differences:
        out.say((each, BAD))
    if found.same:
        out.say(
            ("the same", GOOD),
            f": run {found.run_id[:SHORT]}, {found.replies} replies, {found.verdicts} verdicts; no tool ran",
        )
        out.say((f"state {found.recorded_hash}", DIM))
        return 0
    out.say((f"run {found.run_id[:SHORT]} goes another way today", BAD))
    out.say((f"state then  {found.recorded_hash}\nstate today {found.replayed_hash}", DIM))
    return 1


def _walk(run_id: str, records: list[Record], out: Output) -> int:
    faults = walk(records)
    state = "" if faults else State(record.entry for record in records).hash
    out.data({"run_id": run_id, "entries": len(records), "faults": faults, "hash": state})
    for fault in faults:
        out.say((fault, BAD))
    if faults:
        return 1
    out.say(("sound", GOOD), f": run {run_id[:SHORT]}, each of its {len(records)} entries follows from those before it")
    out.say((f"state {state}", DIM))
    return 0
