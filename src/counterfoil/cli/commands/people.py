"""What people decide, from `approve` and `deny` to `settle` and `cancel`. They need only the journal."""

from __future__ import annotations

import argparse
import hmac
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import msgspec

from counterfoil.cli.batches import answer_all, find_batch, how_to_answer, show_batch, tell_errors
from counterfoil.cli.commands import declassify
from counterfoil.cli.journals import SHORT, answering, find_confirmation, find_run, opened
from counterfoil.cli.options import Commands, command, journal_path, me, object_of
from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem
from counterfoil.cli.words import BAD, DIM, GOOD, WAITS, call_parts, doubt_parts, when
from counterfoil.run.harness import Harness
from counterfoil.run.run import batch_digest, batched
from counterfoil.tools.arguments import show
from counterfoil.types.grant import Always

CONFIRMATIONS_EXAMPLES = """
counterfoil confirmations
counterfoil confirmations --json
"""
APPROVE_EXAMPLES = """
counterfoil approve 3f9c1a --by bob                              # the beginning of the id, if it is the only one
counterfoil approve 3f9c1a/1.1/8d22c0 --by bob --digest 8d22...  # only if the call is still what was shown
counterfoil approve 3f9c1a/2.1/ 3f9c1a/2.2/ --by bob             # these two
counterfoil approve 3f9c1a --similar                             # shows all that are asked about for the same reason,
counterfoil approve 3f9c1a --similar --digest 5b0e... --by bob   # and this approves what was shown
counterfoil approve 3f9c1a --by bob --arguments '{"order_id": "ORD-2"}'
counterfoil approve 3f9c1a --by bob --always                     # and the same call again, for 30 days
counterfoil approve 3f9c1a --by bob --always --where '{"amount": {"maximum": 50}}' --days 7
"""
GRANTS_EXAMPLES = """
counterfoil grants
counterfoil grants --requester ada --json
"""
REVOKE_EXAMPLES = """
counterfoil revoke 8d22c01f --by bob
"""
DENY_EXAMPLES = """
counterfoil deny 3f9c1a --by bob --reason "it has been shipped"
counterfoil deny 3f9c1a --similar --by bob                       # and all that are asked about for the same reason
"""
DOUBTS_EXAMPLES = """
counterfoil doubts
"""
SETTLE_EXAMPLES = """
counterfoil settle last 1.1 happened --by bob --result "refund 77 was made"
counterfoil settle 3f9c1a 2.1 retry --by bob        # it certainly did not happen
counterfoil settle 3f9c1a 2.1 abandon --by bob      # nobody knows, nobody will
"""
CANCEL_EXAMPLES = """
counterfoil cancel last --reason "no longer wanted"
"""


def add(commands: Commands) -> None:
    """Add the commands."""
    parser = command(commands, "confirmations", "list the calls that wait for a person", CONFIRMATIONS_EXAMPLES)
    _set(parser, _confirmations)
    parser = command(commands, "approve", "approve waiting calls, once, with these very arguments", APPROVE_EXAMPLES)
    _answer_arguments(parser)
    parser.add_argument("--digest", help="the digest on the card: refuses if what waits has changed")
    parser.add_argument("--arguments", metavar="JSON", help="approve it with these arguments instead; judged again")
    parser.add_argument("--always", action="store_true", help="approve such calls to come as well, of this requester")
    parser.add_argument("--where", metavar="JSON", help="with --always: a JSON Schema by argument, the rest as it is")
    parser.add_argument("--days", type=float, default=30.0, metavar="N", help="with --always: for how long (30)")
    _set(parser, _approve)
    parser = command(commands, "deny", "decline waiting calls", DENY_EXAMPLES)
    _answer_arguments(parser)
    _set(parser, _deny)
    parser = command(commands, "grants", "list what was approved for calls to come", GRANTS_EXAMPLES)
    parser.add_argument("--requester", metavar="NAME", help="only what covers this requester's calls")
    _set(parser, _grants)
    parser = command(commands, "revoke", "take such an approval back, from the next call on", REVOKE_EXAMPLES)
    parser.add_argument("grant", metavar="ID", help="the approval's id, or the beginning of it")
    parser.add_argument("--by", metavar="NAME", help="who takes it back (default: you)")
    _set(parser, _revoke)
    parser = command(commands, "doubts", "list the calls that may or may not have taken effect", DOUBTS_EXAMPLES)
    _set(parser, _doubts)
    parser = command(commands, "settle", "say what became of a call in doubt", SETTLE_EXAMPLES)
    parser.add_argument("run_id", metavar="RUN")
    parser.add_argument("call_id", metavar="CALL", help="the call's id within the run, like 1.1")
    parser.add_argument("how", choices=["happened", "retry", "abandon"])
    parser.add_argument("--by", metavar="NAME", help="who says so (default: you)")
    parser.add_argument("--result", metavar="TEXT", help="what the model reads, when it happened")
    _set(parser, _settle)
    declassify.add(commands)
    parser = command(commands, "cancel", "stop a run: its open calls are refused", CANCEL_EXAMPLES)
    parser.add_argument("run_id", metavar="RUN")
    parser.add_argument("--by", metavar="NAME", help="who stops it (default: you)")
    parser.add_argument("--reason", default="", metavar="TEXT")
    _set(parser, _cancel)


def _answer_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "confirmations", metavar="ID", nargs="+", help="a confirmation's id, or the beginning of it; several if need be"
    )
    parser.add_argument("--similar", action="store_true", help="and those of its run asked about for the same reason")
    parser.add_argument("--by", metavar="NAME", help="who answers (default: you)")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; a model reads it when you decline")


def _set(
    parser: argparse.ArgumentParser, work: Callable[[argparse.Namespace, Output, Harness], Awaitable[int]]
) -> None:
    async def within(options: argparse.Namespace, out: Output) -> int:
        async with opened(journal_path(options), options.wait) as journal:
            return await work(options, out, answering(journal))

    def run(options: argparse.Namespace, out: Output) -> int:
        return anyio.run(within, options, out)

    parser.set_defaults(run=run)


async def _confirmations(options: argparse.Namespace, out: Output, harness: Harness) -> int:
    waiting = await harness.confirmations()
    for batch in batched(waiting):
        digest = batch_digest(batch)
        for each in batch:
            out.data({**msgspec.to_builtins(each), "batch": digest})
        alike = "" if len(batch) == 1 else f"  and {len(batch) - 1} more, asked about for the same reason"
        out.say((batch[0].id, "bold"), alike)
        show_batch(batch, out)
        if len(batch) > 1:
            how_to_answer(batch, out)
    out.say(f"{len(waiting)} waiting" + (": counterfoil approve ID --by NAME" if waiting else ""))
    return 0


async def _approve(options: argparse.Namespace, out: Output, harness: Harness) -> int:
    given = object_of(options.arguments, "--arguments") if options.arguments is not None else None
    if options.where is not None and not options.always:
        raise Problem("--where says how far --always reaches: give both")
    if (options.similar or len(options.confirmations) > 1) and (given is not None or options.always):
        raise Problem("--arguments and --always are for one call: name one ID, without --similar")
    always = None
    if options.always:
        where = object_of(options.where, "--where") if options.where is not None else {}
        always = Always(arguments=where, seconds=options.days * 86400)
    if options.similar and options.digest is None:
        batch = await find_batch(harness, _only(options.confirmations))
        out.data({"batch": batch_digest(batch), "confirmations": [msgspec.to_builtins(each) for each in batch]})
        show_batch(batch, out)
        out.say(("nothing was approved: this is what would be", WAITS))
        how_to_answer(batch, out)
        return 1
    return await _answer(options, out, harness, approve=True, arguments=given, always=always)


async def _deny(options: argparse.Namespace, out: Output, harness: Harness) -> int:
    return await _answer(options, out, harness, approve=False)


def _only(ids: list[str]) -> str:
    if len(ids) != 1:
        raise Problem("--similar takes one ID and finds the others itself")
    return ids[0]


async def _wanted(options: argparse.Namespace, harness: Harness) -> list[tuple[str, str | None]]:
    """What is to be answered: ids, and the digests to prove that they are what was shown."""
    digest: str | None = getattr(options, "digest", None)
    if options.similar:
        batch = await find_batch(harness, _only(options.confirmations))
        if digest is not None and not hmac.compare_digest(digest.encode(), batch_digest(batch).encode()):
            raise Problem(
                "what waits has changed since it was shown: see `counterfoil confirmations`. None was approved"
            )
        return [(each.id, each.digest) for each in batch]
    ids = list(dict.fromkeys([await find_confirmation(harness, each) for each in options.confirmations]))
    if digest is not None and len(ids) > 1:
        raise Problem("a digest is that of one call, or of a batch with --similar")
    return [(id, digest) for id in ids]


async def _answer(options: argparse.Namespace, out: Output, harness: Harness, *, approve: bool, **more: Any) -> int:
    by = options.by or me()
    wanted = await _wanted(options, harness)
    taken, errors = await answer_all(harness, wanted, approve=approve, by=by, reason=options.reason, **more)
    said = "approved" if approve else "declined"
    for found in taken:
        out.data({"confirmation": found.id, "run": found.run_id, "approved": approve, "by": by})
        out.say((said, GOOD if approve else BAD), f" by {by}: ", *call_parts(found.call), f"  for {found.requester}")
    if taken and more.get("arguments") is not None:
        out.say("with other arguments: they are judged again when the run goes on", indent=2)
    if taken and more.get("always") is not None:
        out.say("and for calls to come: see `counterfoil grants`", indent=2)
    for run_id in dict.fromkeys(found.run_id for found in taken):
        out.say((f"run {run_id[:SHORT]} goes on when it is resumed", DIM))
    tell_errors(errors, out)
    if errors and taken:
        out.error(f"{len(taken)} of {len(wanted)} were {said}")
    return 0 if not errors else 1 if taken else 2


async def _grants(options: argparse.Namespace, out: Output, harness: Harness) -> int:
    found = await harness.grants(options.requester)
    for each in found:
        out.data(msgspec.to_builtins(each))
        until = when(each.expires_at)
        out.say((each.id[:SHORT], "bold"), f" {each.tool} for {each.requester}, until {until}, by {each.by}")
        for name, schema in each.arguments["properties"].items():
            out.say(f"{name}: {show(schema['const']) if set(schema) == {'const'} else show(schema)}", indent=2)
    out.say(f"{len(found)} standing" + (": counterfoil revoke ID" if found else ""))
    return 0


async def _revoke(options: argparse.Namespace, out: Output, harness: Harness) -> int:
    found = [each for each in await harness.grants() if each.id.startswith(options.grant)]
    if len(found) != 1:
        raise Problem(f"{len(found) or 'no'} standing approvals begin with {options.grant!r}: see `counterfoil grants`")
    grant = await harness.revoke(found[0].id, by=options.by or me())
    out.data({"grant": grant.id, "revoked": True})
    out.say(f"calls of {grant.tool} for {grant.requester} are asked about again")
    return 0


async def _doubts(options: argparse.Namespace, out: Output, harness: Harness) -> int:
    found = await harness.doubts()
    for each in found:
        out.data(msgspec.to_builtins(each))
        out.say((f"{each.run_id[:SHORT]} ", "bold"), *doubt_parts(each))
        out.say((f"idempotency key {each.key}", DIM), indent=2)
    out.say(f"{len(found)} in doubt" + (": counterfoil settle RUN CALL happened|retry|abandon" if found else ""))
    return 0


async def _settle(options: argparse.Namespace, out: Output, harness: Harness) -> int:
    by = options.by or me()
    run_id = (await find_run(harness.journal, options.run_id)).id
    await harness.settle(run_id, options.call_id, options.how, by=by, result=options.result)
    out.data({"run": run_id, "call": options.call_id, "how": options.how, "by": by})
    out.say(f"call {options.call_id} is settled as {options.how} by {by}")
    out.say((f"run {run_id[:SHORT]} goes on when it is resumed", DIM))
    return 0


async def _cancel(options: argparse.Namespace, out: Output, harness: Harness) -> int:
    run_id = (await find_run(harness.journal, options.run_id)).id
    run = await harness.cancel(run_id, by=options.by or me(), reason=options.reason)
    out.data({"run": run_id, "outcome": run.outcome.kind})
    if run.outcome.kind == "cancelled":
        out.say(f"run {run_id[:SHORT]} is cancelled")
        return 0
    out.say(f"run {run_id[:SHORT]} is {run.outcome.kind}: its process stops it before its next step, or it was done")
    return 0 if run.outcome.kind in ("answered", "limit") else 1
