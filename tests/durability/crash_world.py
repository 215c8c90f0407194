"""Runs whose effects are lines in a file outside the journal, the people of these runs, and what must come of it."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from durable_world import ADA
from mortal import FATE

from counterfoil import (
    Catalogue,
    ConfirmationError,
    Context,
    Doubt,
    Function,
    Gate,
    Harness,
    Limits,
    NotApplied,
    Reply,
    Request,
    Run,
    RunBusy,
    SettlementError,
    ToolCall,
    tool,
)
from counterfoil.journal.portable import Stored
from counterfoil.run.replay import replay
from counterfoil.run.walk import walk
from counterfoil.tools.context import idempotency_key
from counterfoil.types.message import Message

OFF = Gate(provenance="off")
"""Acts follow one another's replies here. What provenance would ask about is the matter of other tests."""
LIMITS = Limits(timeout=60)
SOON = Limits(timeout=0.02)
"""Of the tool that one can ask about: who takes over waits that long before he believes that it has done nothing."""
ONCE = frozenset({"act", "find", "slip", "send"})
"""Tools whose effect is to happen once; of `put` it does no harm if it does again, and the rest has none."""

Prompts = dict[str, str]
"""Per run: what it is asked for, as `think` reads it. `submit:` before it leaves the run to whoever takes it up,
`call:` is one call from elsewhere."""


def think(request: Request) -> Reply | str:
    """Do what the prompt says: words are tools, called together, and a stroke divides turns."""
    prompt = next(message.text for message in request.messages if message.role == "user")
    turns = prompt.split("|")
    at = sum(message.role == "assistant" for message in request.messages)
    if at >= len(turns):
        return "done"
    calls = (ToolCall("", name, {"n": 10 * at + n}) for n, name in enumerate(turns[at].split()))
    return Reply(Message("assistant", tuple(calls)), "tool_calls")


class Outside:
    """The world outside: an append-only file with a line for each effect, under its key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)

    def do(self, key: str) -> None:
        """Take effect."""
        FATE.reach("before an effect")
        os.write(self._file, f"{key}\n".encode())
        FATE.reach("after an effect")

    def done(self) -> Counter[str]:
        """What has taken effect, and how often."""
        return Counter(self.path.read_text().split())


def tools(outside: Outside, limits: Limits = LIMITS) -> Catalogue:
    """One tool for each way of having an effect. `n` that leaves 2 when divided by 5 is what people decline."""

    def effect(name: str, n: int, context: Context) -> str:
        outside.do(context.idempotency_key)
        return f"{name} {n}"

    @tool(effect="read", limits=limits)
    async def look(n: int) -> str:
        """Look."""
        FATE.reach("reading")
        return f"look {n}"

    @tool(effect="idempotent", limits=limits)
    async def put(n: int, context: Context) -> str:
        """Put."""
        return effect("put", n, context)

    @tool(effect="write", limits=limits)
    async def act(n: int, context: Context) -> str:
        """Act."""
        return effect("act", n, context)

    async def lookup(key: str) -> str | None:
        FATE.reach("looking up")
        return "found" if outside.done()[key] else None

    @tool(effect="write", limits=SOON, lookup=lookup)
    async def find(n: int, context: Context) -> str:
        """Act, as a service does that one can ask about it."""
        effect("find", n, context)
        return "found"

    @tool(effect="write", limits=limits)
    async def slip(n: int, context: Context) -> str:
        """Act, and fail after the fact."""
        effect("slip", n, context)
        raise ConnectionResetError("after the fact")

    @tool(effect="write", limits=limits)
    async def deny(n: int) -> str:
        """Do nothing, and say so."""
        FATE.reach("denying")
        raise NotApplied("not today")

    @tool(effect="irreversible", limits=limits)
    async def send(n: int, context: Context) -> str:
        """Send, when a person has said so."""
        return effect("send", n, context)

    return Catalogue([look, put, act, find, slip, deny, send])


def harness(journal: Stored, outside: Outside, limits: Limits = LIMITS) -> Harness:
    """The harness of this world. Its queue forgets everything: that a run is ready, the journal says."""

    async def wake(_: str) -> None:
        FATE.reach("putting on the queue")

    return Harness(Function(think), tools(outside, limits), gate=OFF, journal=journal, wake=wake)


def approves(n: int) -> bool:
    """What the people of this world say to a call, whenever they are asked."""
    return n % 5 != 2


# -- a life


def at_time(life: int) -> None:
    """Stop this process's clock, long after the lives before it: what they had begun has had its time."""
    now = 1_800_000_000.0 + 1_000 * life
    time.time = lambda: now


async def live(journal: Stored, outside: Outside, prompts: Prompts) -> list[str]:
    """Go on with what is there and begin what is not, until all of it is done; the hash of each run's state."""
    ours = harness(journal, outside)
    hashes: list[str] = []
    there = {info.id for info in await journal.runs(limit=10_000)}
    for run_id, prompt in prompts.items():
        run = await go_on(ours, run_id) if run_id in there else await begin(ours, run_id, prompt)
        run = await persuade(ours, run, outside)
        hashes.append(run.state.hash)
    return hashes


async def go_on(ours: Harness, run_id: str) -> Run:
    """Resume a run. A server may take a moment to notice that its owner is no more."""
    while True:
        try:
            return await ours.resume(run_id)
        except RunBusy:
            await anyio.sleep(0.002)


async def begin(ours: Harness, run_id: str, prompt: str) -> Run:
    """Begin a run."""
    how, _, words = prompt.rpartition(":")
    if how == "call":
        await ours.call(ToolCall("theirs", words, {"n": 1}), ADA, run_id=run_id)
        return await ours.read(run_id)
    if how == "submit":
        await ours.submit(words, ADA, run_id=run_id)
        return await ours.resume(run_id)
    return await ours.run(words, ADA, run_id=run_id)


async def persuade(ours: Harness, run: Run, outside: Outside, *, patient: bool = True) -> Run:
    """Answer and settle until the run is done: by what is seen outside, as a person would.

    Whoever is not patient leaves it at that if somebody else may still be at it.
    """
    for _ in range(100):
        if run.outcome.kind not in ("waiting", "in_doubt"):
            return run
        for each in run.confirmations:
            await answer(ours, each.id, (each.call.arguments or {})["n"])
        for doubt in run.doubts:
            n = (doubt.call.arguments or {})["n"]
            happened = f"{doubt.call.name} {n}" if outside.done()[doubt.key] else None
            if not await settle(ours, doubt, happened):
                if not patient:
                    return run
                await anyio.sleep(0.01)
        run = await ours.resume(run.id)
    raise AssertionError(f"the run does not end: {run.outcome}")


async def answer(ours: Harness, confirmation_id: str, n: int) -> None:
    """Say yes or no, unless it has been said, by somebody who is no more, or who has taken the run over."""
    try:
        await ours.answer(confirmation_id, approve=approves(n), by="bob", reason="no")
    except ConfirmationError as error:
        if "already" not in str(error):
            raise


async def settle(ours: Harness, doubt: Doubt, happened: str | None) -> bool:
    """Settle a call in doubt, unless somebody has. Whether it could be done."""
    how: Any = "retry" if happened is None else "happened"
    try:
        await ours.settle(doubt.run_id, doubt.call.id, how, by="carol", result=happened, started_at=doubt.started_at)
    except SettlementError as error:
        if "may still be running" in str(error):
            return False
        if not any(words in str(error) for words in ("already", "is not in doubt", "was run again")):
            raise
    return True


# -- afterwards


def wanted(prompts: Prompts) -> tuple[set[str], set[str]]:
    """The keys of the effects that are to happen once, and of those that are to happen at least once."""
    once: set[str] = set()
    often: set[str] = set()
    for run_id, prompt in prompts.items():
        how, _, words = prompt.rpartition(":")
        for turn, names in enumerate(words.split("|")):
            for number, name in enumerate(names.split()):
                key = idempotency_key(run_id, f"{turn + 1}.{number + 1}")
                n = 1 if how == "call" else 10 * turn + number
                if name in ONCE and (name != "send" or approves(n)):
                    once.add(key)
                elif name == "put":
                    often.add(key)
    return once, often


class Tally(dict[str, int]):
    """Of a world: how many effects were lost, how many were repeated, and how many other things are wrong."""

    def __init__(self) -> None:
        super().__init__(lost=0, repeated=0, wrong=0)
        self.said: list[str] = []

    def wrong(self, what: str) -> None:
        """Something is wrong."""
        self["wrong"] += 1
        self.said.append(what)


async def judge(journal: Stored, outside: Outside, prompts: Prompts, hashes: list[str], uncut: list[str]) -> Tally:
    """Compare what has happened with what was to happen, and with what the journal says. `uncut`: hashes, unkilled."""
    tally = Tally()
    done = outside.done()
    once, often = wanted(prompts)
    tally["lost"] = len((once | often) - set(done))
    tally["repeated"] = sum(done[key] > 1 for key in once)
    for key in set(done) - once - often:
        tally.wrong(f"nobody wanted {key}")
    for info in await journal.runs(limit=10_000):
        if info.id in prompts and info.status != "done":
            tally.wrong(f"{info.id} is {info.status}")
    nobody = tools(outside)
    for run_id, live_hash, uncut_hash in zip(prompts, hashes, uncut or hashes, strict=True):
        for fault in await journal.verify(run_id):
            tally.wrong(fault)
        records = await journal.read(run_id)
        for fault in walk(records):
            tally.wrong(fault)
        again = await replay(records, nobody, OFF)
        if not again.same:
            tally.wrong(f"{run_id} is replayed differently: {again.differences}")
        if not again.recorded_hash == live_hash == uncut_hash:
            tally.wrong(f"{run_id} has come to another end")
    return tally


def run_on(backend: str, opened: Callable[[], Stored], body: Callable[[Stored], Any]) -> Any:
    """Do something with a journal under an event loop, and close it."""

    async def main() -> Any:
        journal = opened()
        try:
            return await body(journal)
        finally:
            await journal.aclose()

    return anyio.run(main, backend=backend)
