"""`counterfoil worker`: go on with the runs that are ready, on as many machines as there are workers."""

from __future__ import annotations

import argparse
import signal
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskStatus

from counterfoil.cli.commands.call import journal_of
from counterfoil.cli.journals import SHORT, opened
from counterfoil.cli.options import Commands, command, journal_path, target_argument
from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem
from counterfoil.cli.target import load_target
from counterfoil.cli.words import BAD, DIM, GOOD, WAITS
from counterfoil.dispatch import Happening, Scheduler
from counterfoil.dispatch.lookout import is_postgres
from counterfoil.journal.journal import Journal
from counterfoil.models.registry import model as load_model
from counterfoil.types.error import MissingExtra

if TYPE_CHECKING:
    from counterfoil.dispatch.queues import Queue
    from counterfoil.journal.postgres import PostgresJournal

WORKER_EXAMPLES = """
counterfoil worker shop:harness                                       # a file, this machine
counterfoil worker shop:harness --journal postgresql://app@db/app     # the same line on each machine
counterfoil worker --install --queue pgqueuer --journal postgresql://owner@db/app    # once
"""
RIGHTS = "workers need SELECT, INSERT, UPDATE and DELETE on its tables, and USAGE on its sequences; nobody else does"
_STYLES = {"answered": GOOD, "waiting": WAITS, "in_doubt": WAITS, "interrupted": WAITS, "busy": DIM}


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "worker", "go on with every run that is ready, until it is told to stop", WORKER_EXAMPLES
    )
    target_argument(parser, optional=True)
    parser.add_argument("--model", metavar="SPEC", help="the model to go on with (default: the Harness's)")
    parser.add_argument("--concurrency", metavar="N", type=int, default=10, help="runs at once (default: 10)")
    parser.add_argument(
        "--per-requester", metavar="N", type=int, default=2, help="of these, for one person at most (default: 2)"
    )
    parser.add_argument(
        "--queue",
        choices=["auto", "none", "pgqueuer", "procrastinate"],
        default="auto",
        help="what hands over ready runs: auto takes the one installed in the journal; none looks for them itself",
    )
    parser.add_argument(
        "--install", action="store_true", help="set the --queue up in the journal and end; safe to repeat"
    )
    parser.add_argument(
        "--grace",
        metavar="SECONDS",
        type=float,
        default=30.0,
        help="on SIGTERM: seconds for each run to end its step before it is cancelled (default: 30)",
    )
    parser.set_defaults(run=worker)


def worker(options: argparse.Namespace, out: Output) -> int:
    """Install a queue, or work."""
    if options.concurrency < 1 or options.per_requester < 1:
        raise Problem("--concurrency and --per-requester must be 1 or more")
    if options.grace < 0:
        raise Problem("--grace must be 0 or more seconds")
    return anyio.run(_install if options.install else _work, options, out)


# -- the queue


async def _install(options: argparse.Namespace, out: Output) -> int:
    if options.queue == "auto":
        raise Problem("say which queue to install: --queue pgqueuer, or --queue none to queue nothing any more")
    async with opened(journal_path(options), options.wait, create=True) as journal:
        postgres = _on_postgres(journal)
        from counterfoil.dispatch import queues  # noqa: PLC0415 - it needs the extra

        if options.queue == "none":
            await queues.uninstall(postgres)
        else:
            await queues.queue(options.queue, postgres).install()
    out.data({"queue": options.queue})
    if options.queue == "none":
        out.say(("uninstalled", GOOD), ": ready runs are no longer queued; the queue's own tables are still there")
    else:
        out.say(("installed", GOOD), f": {options.queue}; ready runs are queued from now on")
        out.say((RIGHTS, DIM))
    return 0


def _on_postgres(journal: Journal) -> PostgresJournal:
    if is_postgres(journal):
        return journal
    raise Problem("a queue needs a journal on Postgres: --journal postgresql://...; a file needs none (--queue none)")


async def _queue(options: argparse.Namespace, journal: Journal, out: Output) -> tuple[str, Queue | None]:
    """The queue to be fed by, if any, and its name."""
    if options.queue == "none" or (options.queue == "auto" and not is_postgres(journal)):
        return "none", None
    postgres = _on_postgres(journal)
    from counterfoil.dispatch import queues  # noqa: PLC0415 - it needs the extra

    found = await queues.installed(postgres)
    name = found if options.queue == "auto" else options.queue
    if name is None:
        return "none", None
    if name != found:
        raise Problem(f"{name} is not installed in that journal: run counterfoil worker --install --queue {name} once")
    try:
        return name, queues.queue(name, postgres)
    except MissingExtra as error:
        if options.queue != "auto":
            raise
        out.note(f"{error} Until then this worker looks for ready runs itself.")
        return "none", None


# -- the work


async def _work(options: argparse.Namespace, out: Output) -> int:
    if options.catalogue is None:
        raise Problem("say what to work with: counterfoil worker module:harness")
    target = load_target(options.catalogue)
    model = load_model(options.model) if options.model else target.model
    if model is None:
        raise Problem(f"{options.catalogue} has no model: name a Harness that has one, or a model with --model SPEC")
    async with AsyncExitStack() as stack:
        journal = await journal_of(stack, options, target)
        name, queue = await _queue(options, journal, out)
        telling = Telling(out)
        scheduler = Scheduler(
            target.harness(journal, model),
            concurrency=options.concurrency,
            per_requester=options.per_requester,
            grace=options.grace,
            feed=queue,
            watch=telling.take,
        )
        ready = f"ready: {options.concurrency} runs at once, {options.per_requester} per requester, queue {name}"
        async with anyio.create_task_group() as group:
            await group.start(_listen, scheduler, group.cancel_scope, out)
            out.data({"worker": "ready", "queue": name})
            out.say((ready, DIM))
            out.flush()
            await scheduler.run()
            group.cancel_scope.cancel()
    out.say((f"stopped after {telling.left} runs", DIM))
    out.data({"worker": "stopped", "runs": telling.left})
    return 0


async def _listen(
    scheduler: Scheduler, everything: anyio.CancelScope, out: Output, *, task_status: TaskStatus[None]
) -> None:
    """A first signal ends the work in order, a second at once: what is cut off while it writes is in doubt."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            if scheduler.draining:
                everything.cancel()
                return
            if count := len(scheduler.fair.running):
                out.note(f"stopping: {count} runs end their step first (at most {scheduler.grace:g} s); again: at once")
            scheduler.drain()


class Telling:
    """Tells what a scheduler does, one line per beginning and end."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self.left = 0

    def take(self, happening: Happening) -> None:
        """Tell one thing."""
        out = self._out
        out.data({"at": time.time(), **_fields(happening)})
        parts = [(time.strftime("%H:%M:%S  "), DIM), (f"{happening.run_id[:SHORT]}  ", "bold")]
        match happening.what:
            case "began":
                out.say(*parts, f"began for {happening.requester}")
            case "left":
                kind = happening.outcome
                self.left += kind != "busy"
                out.say(*parts, (kind, _STYLES.get(kind, BAD)), (f"  {happening.seconds:.1f}s", DIM))
            case "error":
                out.say(*parts, (f"cannot go on: {happening.detail}", BAD))
        out.flush()


def _fields(happening: Happening) -> dict[str, object]:
    fields: dict[str, object] = {"what": happening.what, "run": happening.run_id, "requester": happening.requester}
    if happening.what == "left":
        fields |= {"outcome": happening.outcome, "seconds": round(happening.seconds, 3)}
    if happening.detail:
        fields["detail"] = happening.detail
    return fields
