"""`counterfoil declassify`: read the text of one result, and then vouch for it."""

from __future__ import annotations

import argparse
import hashlib
import hmac
import sys
from typing import NamedTuple

import anyio
import msgspec

from counterfoil.cli.journals import SHORT, answering, find_run, opened
from counterfoil.cli.options import Commands, command, journal_path, me
from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem
from counterfoil.cli.words import DIM, WAITS, call_parts, label_words, result_text
from counterfoil.run.harness import Harness
from counterfoil.types.entry import Declassified
from counterfoil.types.json import canonical
from counterfoil.types.message import ToolCall, ToolResult

EXAMPLES = """
counterfoil declassify last 1.1 --by bob                     # shows the result of call 1.1, and asks
counterfoil declassify last 1.1 --by bob --digest 5b0e...    # where nobody can be asked: what was shown is vouched for
"""


class _Read(NamedTuple):
    """A text that somebody may vouch for."""

    run_id: str
    call: ToolCall
    result: ToolResult

    @property
    def digest(self) -> str:
        """SHA-256 of where it stands and of all that is shown of it."""
        return hashlib.sha256(canonical(list(self))).hexdigest()


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "declassify", "read the text of one result, and vouch for it", EXAMPLES)
    parser.add_argument("run_id", metavar="RUN", help="its id, the beginning of it, or last")
    parser.add_argument("call_id", metavar="CALL", help="the call's id within the run, like 1.1")
    parser.add_argument("--digest", help="the digest that was shown with the text: vouches for that and asks nothing")
    parser.add_argument("--by", metavar="NAME", help="who vouches for it (default: you)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, out: Output) -> int:
    """Show the text, and vouch for it once somebody who has seen it says so."""
    by = options.by or me()
    if options.digest is not None:
        return anyio.run(_vouch, options, out, by, options.digest)
    read = anyio.run(_found, options)
    _show(read, out)
    if out.json or not (out.terminal and sys.stdin.isatty()):
        out.say(("nothing was vouched for: this is what would be", WAITS))
        out.say(f"counterfoil declassify {read.run_id} {read.call.id} --digest {read.digest} --by NAME", indent=2)
        return 1
    if not _agreed(by, out):
        out.say("nothing was vouched for")
        return 1
    return anyio.run(_vouch, options, out, by, read.digest)


async def _found(options: argparse.Namespace) -> _Read:
    async with opened(journal_path(options), options.wait) as journal:
        return await _read(answering(journal), options)


async def _read(harness: Harness, options: argparse.Namespace) -> _Read:
    """Find the result. Raises `Problem` where there is none, or somebody vouches for it already."""
    call_id: str = options.call_id
    run_id = (await find_run(harness.journal, options.run_id)).id
    run = await harness.read(run_id)
    result = run.results.get(call_id)
    if result is None:
        there = ", ".join(run.results) or "none yet"
        raise Problem(f"call {call_id} of run {run_id[:SHORT]} has no result. Calls with one: {there}")
    earlier = [each.by for each in run.entries if isinstance(each, Declassified) and each.call_id == call_id]
    sent = await harness.journal.inbox(run_id)
    earlier += [each.by for each in sent if each.kind == "declassify" and each.ref == call_id]
    if earlier:
        raise Problem(f"{earlier[0]} has vouched for the result of call {call_id} already: it counts once and for all")
    return _Read(run_id, run.state.calls[call_id].call, result)


def _show(read: _Read, out: Output) -> None:
    text, label = result_text(read.result), read.result.label
    shown = {"run": read.run_id, "call": read.call.id, "label": msgspec.to_builtins(label), "text": text}
    out.data({**shown, "digest": read.digest})
    out.say((f"{read.call.id} ", DIM), *call_parts(read.call))
    out.say(text, indent=2)
    out.say(("label  ", DIM), label_words(label))


def _agreed(by: str, out: Output) -> bool:
    out.flush()  # what could not be shown is not asked about
    while True:
        try:
            said = out.ask(f"does {by} vouch for this text, so that calls may act on what it says? [y]es or [n]o: ")
        except EOFError:
            out.say()
            return False
        if said.strip().lower() in ("y", "yes"):
            return True
        if said.strip().lower() in ("n", "no"):
            return False


async def _vouch(options: argparse.Namespace, out: Output, by: str, digest: str) -> int:
    async with opened(journal_path(options), options.wait) as journal:
        harness = answering(journal)
        read = await _read(harness, options)
        if not hmac.compare_digest(digest.encode(), read.digest.encode()):
            raise Problem(
                "that is not the digest of this text: read it with the same command without --digest. "
                "Nothing was vouched for"
            )
        await harness.declassify(read.run_id, read.call.id, by=by)
    out.data({"run": read.run_id, "call": read.call.id, "by": by, "digest": read.digest})
    out.say(f"{by} vouches for this text: calls may act on what it says, from the run's next step on")
    return 0
