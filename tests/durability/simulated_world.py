"""A world of processes, people and accidents, played move by move: a seed says who moves next. No clock, no thread.

The harness in it is the real one. To see a world played again: `python tests/durability/simulated_world.py SEED`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from random import Random
from typing import Any, NamedTuple

from crash_world import ONCE, approves
from durable_world import ADA
from simulated_journal import Disk, Place, Row, SimulatedJournal
from simulated_process import PROCESS, Process

from counterfoil import ConfirmationError, Context, Gate, Harness, SettlementError, ToolCall
from counterfoil.gate.checks.confirmation import digest
from counterfoil.run.state import State
from counterfoil.run.walk import walk
from counterfoil.types.entry import Started

WORDS = ("look", "put", "act", "act", "find", "slip", "deny", "send", "send")
BASE = 1_800_000_000.0
Move = tuple[float, Callable[[], object]]
"""What may happen next, and how likely it is beside the others."""
_real_time = time.time


class Given(NamedTuple):
    """Under which rules a world is played."""

    journal: Callable[[Disk, Place], SimulatedJournal] = SimulatedJournal
    gate: type[Gate] = Gate
    jumpy: bool = False
    """Whether clocks jump."""


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose time passes when it is told to."""

    now = 0.0

    def time(self) -> float:
        return self.now

    @property
    def idle(self) -> bool:
        """Whether everybody waits for somebody else."""
        ready: Any = self._ready  # type: ignore[attr-defined]
        return not ready


class World:
    """One world. `play` plays it and returns what is wrong with it."""

    def __init__(self, seed: int, given: Given, loop: Loop) -> None:
        self.chance = Random(seed)  # noqa: S311
        self.given = given
        self.loop = loop
        self.disk = Disk()
        self.by_name: dict[str, Process] = {}
        self.waiting: list[tuple[Process, asyncio.Future[None]]] = []
        self.queue: list[str] = []
        self.suspicion = self.chance.choice((0.0, 0.0, 0.1))
        """How often one that lives is taken for dead."""
        self.moves = 0
        self.done: Counter[str] = Counter()
        self.done_at: dict[str, int] = {}
        self.accepted: dict[str, str] = {}
        """Which answers were said to count, and whose they are."""
        self.problems: list[str] = []
        self.prompts = {f"r{number}": self._prompt() for number in range(self.chance.choice((1, 1, 2)))}
        self.beginners: dict[str, Process] = {}
        self.events: Counter[str] = Counter()

    def _prompt(self) -> str:
        turns = [self.chance.choices(WORDS, k=self.chance.randint(1, 3)) for _ in range(self.chance.randint(1, 2))]
        return "|".join(" ".join(turn) for turn in turns)

    def problem(self, what: str) -> None:
        """Something is wrong."""
        self.problems.append(f"move {self.moves}: {what}")

    # -- effects

    def act(self, name: str, n: int, context: Context, began: int) -> None:
        """Take effect, and look whether it may."""
        key, run_id = context.idempotency_key, context.run_id
        row = self.disk.synced.get(run_id)
        self._check_leave(name, n, context, row)
        if name == "put" and self.done[key]:
            return  # the service knows the key
        if name == "find" and self.done[key]:
            if began > self.done_at[key]:
                self.problem(
                    f"{run_id} {context.call_id} ({name}) was begun again though a look-up would have found it"
                )
            return
        self.done[key] += 1
        self.done_at[key] = self.moves
        if self.done[key] > 1:
            self.problem(f"{run_id} {context.call_id} ({name}) happened again")

    def _check_leave(self, name: str, n: int, context: Context, row: Row | None) -> None:
        what = f"{context.run_id} {context.call_id} ({name})"
        entries = [record.entry for record in row.records] if row is not None else []
        if not any(isinstance(entry, Started) and entry.call_id == context.call_id for entry in entries):
            self.problem(f"{what} acts, and a power cut would leave nothing of that")
        elif name == "send":
            answer = State(entries).calls[context.call_id].answer
            bound = digest(context.run_id, context.call_id, name, {"n": n}, ADA)
            if answer is None or not answer.approved or answer.digest != bound:
                self.problem(f"{what} acts, and nobody has approved that")

    # -- moves

    async def settle(self) -> None:
        """Let everybody go on who can."""
        await asyncio.sleep(0)
        while not self.loop.idle:  # noqa: ASYNC110 nobody tells when
            await asyncio.sleep(0)

    @property
    def running(self) -> list[Process]:
        return [each for each in self.by_name.values() if each.runs]

    def moves_of_course(self) -> Iterator[Move]:
        """What goes on of itself: with its weight."""
        ready = [each for each in self.waiting if each[0].runs]
        if ready:
            yield 6, lambda: self._let(self.chance.choice(ready))
        for each in self.running:
            if each.journal.writer.jobs:
                yield 3, each.journal.writer.commit
            if each.journal.writer.committed:
                yield 3, each.journal.writer.tell
        if self.queue and self.running:
            yield 1.5, self._deliver

    def _let(self, one: tuple[Process, asyncio.Future[None]]) -> None:
        self.waiting.remove(one)
        if not one[1].done():
            one[1].set_result(None)

    def _deliver(self) -> None:
        at = self.chance.randrange(len(self.queue))
        run_id = self.queue[at]
        if self.chance.random() < 0.8:  # otherwise it comes once more
            del self.queue[at]
        process = self.chance.choice(self.running)
        process.spawn(process.harness.resume(run_id))

    def accidents(self) -> Iterator[Move]:
        """What should not happen, and what people do."""
        running = self.running
        stopped = [each for each in self.by_name.values() if each.stopped and not each.dead]
        if len(running) < 3:
            yield (0.3 if running else 5), self.add_process
        if running:
            yield 0.5, lambda: self._begin(self.chance.choice(running))
            yield 0.5, lambda: self._attend(self.chance.choice(running), once=True)
            yield 0.3, lambda: self._reconcile(self.chance.choice(running))
            yield 0.03, lambda: self._cancel(self.chance.choice(running))
            yield 0.15, lambda: self._kill(self.chance.choice(running))
            yield 0.15, lambda: self._stop(self.chance.choice(running))
        if stopped:
            yield 0.3, lambda: self._set(self.chance.choice(stopped), "given_up", True)
            yield 0.3, lambda: self._go_on(self.chance.choice(stopped))
        yield 0.03, self._cut
        yield 0.6, lambda: self.pass_time(self.chance.choice((0.1, 1, 11)))
        if self.given.jumpy and running:
            yield (
                0.1,
                lambda: self._set(self.chance.choice(running), "off", self.chance.choice((-86_400.0, 0.0, 86_400.0))),
            )

    def add_process(self) -> None:
        name = f"p{len(self.by_name)}"
        self.by_name[name] = Process(self, name)

    def _set(self, process: Process, name: str, to: object) -> None:
        self.events[name] += 1
        setattr(process, name, to)

    def _kill(self, process: Process) -> None:
        self._set(process, "dead", True)

    def _stop(self, process: Process) -> None:
        self._set(process, "stopped", True)

    def _go_on(self, process: Process) -> None:
        process.stopped = process.given_up = False

    def _cut(self) -> None:
        self.events["cut"] += 1
        for each in self.by_name.values():
            each.dead = True
        self.disk.cut(self.chance)

    def pass_time(self, seconds: float) -> None:
        self.loop.now += seconds

    # -- people

    def _begin(self, process: Process) -> None:
        for run_id, prompt in self.prompts.items():
            before = self.beginners.get(run_id)
            if run_id not in self.disk.runs and (before is None or before.dead):
                self.beginners[run_id] = process
                ours = process.harness
                match self.chance.randrange(4):
                    case 0:
                        process.spawn(ours.submit(prompt, ADA, run_id=run_id))
                    case 1 if " " not in prompt and "|" not in prompt:
                        process.spawn(ours.call(ToolCall("", prompt, {"n": 0}), ADA, run_id=run_id))
                    case _:
                        process.spawn(ours.run(prompt, ADA, run_id=run_id))

    def _reconcile(self, process: Process) -> None:
        async def work() -> None:
            for info in await process.journal.runs(status="ready"):
                process.spawn(process.harness.resume(info.id))

        process.spawn(work())

    def _cancel(self, process: Process) -> None:
        if self.disk.runs:
            self.events["cancel"] += 1
            process.spawn(process.harness.cancel(self.chance.choice(list(self.disk.runs)), by="dave"))

    def _attend(self, process: Process, *, once: bool) -> None:
        """People look at what waits for them. In a hurry, two do the same."""
        names = ("bob", "bea") if once and self.chance.random() < 0.3 else ("bob",)
        for name in names:
            process.spawn(self._answer(process.harness, name))
            process.spawn(self._settle(process.harness, name))

    async def _answer(self, ours: Harness, name: str) -> None:
        for each in await ours.confirmations():
            n = (each.call.arguments or {})["n"]
            edited = {"n": n + 100} if n < 100 and self.chance.random() < 0.2 else None
            with suppress(ConfirmationError):
                await ours.answer(each.id, approve=approves(n), by=name, arguments=edited)
                if each.id in self.accepted:
                    self.problem(f"{each.id} was answered by {self.accepted[each.id]} and again by {name}")
                self.accepted[each.id] = name

    async def _settle(self, ours: Harness, name: str) -> None:
        for doubt in await ours.doubts():
            answered = doubt.call.id in (await ours.read(doubt.run_id)).results
            # In a world of wrong clocks, people look closely at who may still be at it.
            if self.given.jumpy and any(
                doubt.run_id in each.journal.held for each in self.by_name.values() if not each.dead
            ):
                continue
            how: Any = "happened" if self.done[doubt.key] else "abandon" if answered else "retry"
            said = "it did" if how == "happened" else None
            with suppress(SettlementError):
                await ours.settle(doubt.run_id, doubt.call.id, how, by=name, result=said, started_at=doubt.started_at)

    # -- the play

    def move(self, options: Sequence[Move]) -> bool:
        """Have something happen; whether there was anything."""
        if not options:
            return False
        weights, moves = zip(*options, strict=True)
        self.moves += 1
        self.chance.choices(moves, weights)[0]()
        return True

    async def play(self) -> list[str]:
        """Trouble first, then peace until everything is done."""
        self.add_process()
        for _ in range(self.chance.choice((60, 150, 300))):
            self.move([*self.moves_of_course(), *self.accidents()])
            await self.settle()
            if self.problems:
                return self.problems
        await self._peace()
        if not self.problems:
            self._judge()
        return self.problems

    async def _peace(self) -> None:
        self.suspicion = 0.0
        for each in self.by_name.values():
            each.stopped = each.given_up = False
            each.off = 0.0
        self.add_process()
        self.pass_time(86_400 if self.given.jumpy else 0)  # until what a wrong clock has put off is due
        for _ in range(60):
            while self.move(list(self.moves_of_course())):
                await self.settle()
            if self._over():
                return
            process = self.running[-1]
            self._begin(process)
            self._reconcile(process)
            self._attend(process, once=False)
            self.pass_time(12)
            await self.settle()
        self.problem(f"it does not end: {[(run_id, row.status, row.owner) for run_id, row in self.disk.runs.items()]}")

    def _over(self) -> bool:
        busy = any(not task.done() for each in self.running for task in each.tasks)
        statuses = [row.status for row in self.disk.runs.values()]
        return not busy and len(statuses) == len(self.prompts) and set(statuses) == {"done"}

    def _judge(self) -> None:
        for run_id, row in self.disk.runs.items():
            for fault in [*row.faults(run_id), *walk(row.records)]:
                self.problem(f"{run_id}: {fault}")
            state = State(record.entry for record in row.records)
            keys = {entry.call_id: entry.key for entry in state.entries if isinstance(entry, Started)}
            for call_id, call in state.calls.items():
                what = f"{run_id} {call_id} ({call.call.name})"
                result, happened = call.result, self.done[keys.get(call_id, "")]
                if result is None or call.doubt is not None:
                    self.problem(f"{what} was left open")
                elif not result.is_error and call.call.name in (*ONCE, "put") and not happened:
                    self.problem(f"{what} is said to have happened, and has not")
                elif result.is_error and result.code != "in_doubt" and call.call.name in ONCE and happened:
                    self.problem(f"{what} is said not to have happened, and has")
            ended = state.ended is not None and state.ended.kind == "cancelled"
            for id, name in self.accepted.items():
                _, call_id, _ = id.rsplit("/", 2)
                if id.startswith(f"{run_id}/") and not ended and state.calls[call_id].answer is None:
                    self.problem(f"what {name} has said to {id} was overlooked")

    async def end(self) -> None:
        """Take the world down. What its tasks still try comes to nothing."""
        for each in self.by_name.values():
            each.dead = True
        tasks = [task for each in self.by_name.values() for task in each.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _clock() -> float:
    process = PROCESS.get(None)
    return _real_time() if process is None else BASE + process.world.loop.now + process.off


@contextmanager
def simulated_clock() -> Iterator[None]:
    """Within a world, `time.time` is what its process takes it to be."""
    time.time = _clock
    try:
        yield
    finally:
        time.time = _real_time


def is_jumpy(seed: int) -> bool:
    """In every fourth world clocks jump."""
    return seed % 4 == 0


def play(seed: int, given: Given) -> tuple[list[str], World]:
    """Play a world; what is wrong with it, and itself."""
    loop = Loop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner, simulated_clock():

        async def main() -> tuple[list[str], World]:
            world = World(seed, given, loop)
            try:
                return list(await world.play()), world
            finally:
                await world.end()

        return runner.run(main())


def main(seed: int, *, jumpy: bool) -> None:
    """Play a world again and show what its journal says."""
    problems, world = play(seed, Given(jumpy=jumpy))
    for run_id, row in world.disk.runs.items():
        print(f"{run_id} {world.prompts[run_id]!r}: {row.status}")  # noqa: T201
        for item in row.inbox:
            print(f"  {item.at - BASE:.1f} {item.by}: {item.kind} {item.ref} {item.data}")  # noqa: T201
        for record in row.records:
            print(f"  {record.at - BASE:.1f} owner {record.epoch}: {record.entry}")  # noqa: T201
    print(*problems or ["nothing is wrong"], sep="\n")  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]), jumpy=is_jumpy(int(sys.argv[1])))
