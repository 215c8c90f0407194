"""`counterfoil call` and `counterfoil resume`: one call, or the rest of a run, through the gate."""

from __future__ import annotations

import argparse
import secrets
import sys
from contextlib import AsyncExitStack
from typing import Any

import anyio
import anyio.to_thread
import msgspec

from counterfoil.cli.batches import how_to_answer, show_batch
from counterfoil.cli.inert import inert_json
from counterfoil.cli.journals import SHORT, find_run, opened
from counterfoil.cli.options import (
    Commands,
    command,
    journal_given,
    journal_path,
    object_of,
    session_arguments,
    session_of,
    target_argument,
)
from counterfoil.cli.output import Output
from counterfoil.cli.target import Target, load_target
from counterfoil.cli.teller import Teller
from counterfoil.cli.words import DIM, WAITS
from counterfoil.journal.journal import Journal
from counterfoil.models.model import Model
from counterfoil.models.registry import model as load_model
from counterfoil.run.run import Confirmation, Run, batched
from counterfoil.types.label import Label
from counterfoil.types.message import ToolCall, ToolResult

CALL_EXAMPLES = """
counterfoil call shop:catalogue lookup_order '{"order_id": "ORD-1"}' --as ada --permission orders:read
echo '{"order_id": "ORD-1"}' | counterfoil call shop:catalogue lookup_order - --permission 'orders:*' --json
"""
RESUME_EXAMPLES = """
counterfoil resume last shop:catalogue             # after an approval, a settlement, a crash
counterfoil resume 3f9c1a shop:catalogue --model local
"""


def add(commands: Commands) -> None:
    """Add the commands."""
    parser = command(commands, "call", "put one call through the gate and the journal, with no model", CALL_EXAMPLES)
    target_argument(parser)
    parser.add_argument("tool", metavar="TOOL", help="the tool's name")
    parser.add_argument(
        "arguments", metavar="JSON", nargs="?", default="{}", help="its arguments as one JSON object; - reads them in"
    )
    session_arguments(parser)
    parser.set_defaults(run=call)
    parser = command(
        commands, "resume", "go on with a run that waited, was answered, or was interrupted", RESUME_EXAMPLES
    )
    parser.add_argument("run_id", metavar="RUN", help="its id, the beginning of it, or last")
    target_argument(parser)
    parser.add_argument("--model", metavar="SPEC", help="the model to go on with (default: the Harness's, else local)")
    parser.set_defaults(run=resume)


async def journal_of(
    stack: AsyncExitStack, options: argparse.Namespace, target: Target, *, create: bool = True
) -> Journal:
    """The journal to work on: the one the user named, else the Harness's own, else the default file."""
    if target.journal is not None and not journal_given(options):
        return target.journal
    return await stack.enter_async_context(opened(journal_path(options), options.wait, create=create))


def call(options: argparse.Namespace, out: Output) -> int:
    """Make one call."""
    text = sys.stdin.read() if options.arguments == "-" else options.arguments
    arguments = object_of(text, f"the arguments of {options.tool}")
    target = load_target(options.catalogue)
    return anyio.run(_call, options, out, target, arguments)


async def _call(options: argparse.Namespace, out: Output, target: Target, arguments: dict[str, Any]) -> int:
    session, run_id = session_of(options), secrets.token_hex(16)
    async with AsyncExitStack() as stack:
        journal = await journal_of(stack, options, target)
        harness = target.harness(journal)
        watch = Teller(out).take if out.terminal else None
        # What was typed here is the requester's own; what was read in, anybody may have written.
        typed = None if options.arguments == "-" else Label("user")
        asked = ToolCall("shell", options.tool, arguments, label=typed)
        found = await harness.call(asked, session, run_id=run_id, watch=watch)
        if isinstance(found, Confirmation):
            out.data({"run": run_id, "outcome": "waiting", "confirmation": msgspec.to_builtins(found)})
            tell_waiting([found], out, f"counterfoil resume {run_id[:SHORT]} {options.catalogue}")
            return 1
        out.data({"run": run_id, "outcome": "refused" if found.code else "answered", **_result(found)})
        if watch is None:
            out.say(found.text)
        out.say(
            (f"journalled as run {run_id[:SHORT]}: counterfoil show {run_id[:SHORT]}", DIM)
        ) if out.terminal else None
        return 1 if found.is_error else 0


def resume(options: argparse.Namespace, out: Output) -> int:
    """Go on with a run."""
    return anyio.run(_resume, options, out, load_target(options.catalogue))


async def _resume(options: argparse.Namespace, out: Output, target: Target) -> int:
    async with AsyncExitStack() as stack:
        journal = await journal_of(stack, options, target, create=False)
        info = await find_run(journal, options.run_id)
        standing = await target.harness(journal).read(info.id)
        model = None
        if not standing.state.outside and (options.model or target.model is None):
            model = await loaded(options.model or "local", out)
        run = await target.harness(journal, model).resume(info.id, watch=Teller(out).take)
        return ended(run, out, options.catalogue)


async def loaded(spec: str, out: Output) -> Model:
    """Load a model in a thread, with a progress bar."""
    with out.bar(f"loading {spec}") as progress:
        return await anyio.to_thread.run_sync(lambda: load_model(spec, progress=progress))


def ended(run: Run, out: Output, catalogue: str) -> int:
    """Say how a run stands, and what to do about it; returns the exit code."""
    out.data(
        {
            "run": run.id,
            "outcome": run.outcome.kind,
            "detail": run.outcome.detail,
            "text": run.text,
            "results": {id: _result(result) for id, result in run.results.items()},
            "confirmations": [msgspec.to_builtins(each) for each in run.confirmations],
        }
    )
    if run.confirmations:
        tell_waiting(run.confirmations, out, f"counterfoil resume {run.id[:SHORT]} {catalogue}")
    for doubt in run.doubts:
        out.say((f"call {doubt.call.id} is in doubt: {doubt.reason}", WAITS))
        out.say(f"counterfoil settle {run.id[:SHORT]} {doubt.call.id} happened|retry|abandon", indent=2)
    if run.outcome.kind not in ("answered", "waiting", "in_doubt"):
        out.say(f"the run is {run.outcome.kind}: {run.outcome.detail or 'see counterfoil show'}")
    return 0 if run.outcome.kind == "answered" else 1


def tell_waiting(waiting: list[Confirmation], out: Output, then: str) -> None:
    """Show the cards of what waits, and the commands that answer."""
    for batch in batched(waiting):
        out.say(("waits for a person" if len(batch) == 1 else f"{len(batch)} calls wait for a person", WAITS))
        show_batch(batch, out)
        how_to_answer(batch, out)
    out.say(f"then: {then}", indent=2)


def _result(result: ToolResult) -> dict[str, Any]:
    found: dict[str, Any] = {"is_error": result.is_error, "code": result.code, "text": result.text}
    others = [block for block in result.content if block.__struct_config__.tag != "text"]
    if others:
        found["content"] = inert_json([msgspec.to_builtins(block) for block in result.content])
    return found
