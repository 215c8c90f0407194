"""Laws of runs: whatever happens in whatever order, the history is well-formed and effects happen once."""

from __future__ import annotations

import time
from typing import Any

import anyio
import msgspec
import pytest
from core_kit import ADA, ask, assert_well_formed
from core_world import Reader, World, approves, go_on, live, make, turns
from hypothesis import given
from hypothesis import strategies as st

from counterfoil import Catalogue, Harness, MemoryJournal, Run
from counterfoil.run.state import State
from counterfoil.types.entry import Entry, Finished, Started

both = pytest.mark.parametrize("backend", ["asyncio", "trio"])


def whole(state: State) -> None:
    """What must hold of every state, at rest or not."""
    messages = list(state.messages)
    if state.open:
        assert messages[-1].calls, "open calls are those of the last message"
        assert [call.call.id for call in state.open] == [call.id for call in messages[-1].calls]
        messages.pop()
    assert_well_formed(messages)
    for id, result in state.results.items():
        assert result.call_id == id


@both
@given(turns, st.data())
def test_any_interleaving_folds_to_a_well_formed_history(backend: str, script: list[Any], data: st.DataObject) -> None:
    """Answers, settlements, cancels, new prompts and resumes come in any order, and the wrong ones too."""
    world = World(frozenset(data.draw(st.sets(st.sampled_from(["1.1", "1.2", "2.1"])))))

    async def main() -> None:
        harness = make(script, world)
        run = await harness.run("go", ADA, run_id="r")
        for _ in range(data.draw(st.integers(0, 8))):
            what = data.draw(st.sampled_from(["approve", "deny", "edit", "settle", "cancel", "resume", "prompt"]))
            run = await act(harness, run, what)
            whole(run.state)
        records = await harness.journal.read("r")
        for length in range(1, len(records) + 1):
            whole(State(record.entry for record in records[:length]))
        again = State(record.entry for record in records)
        assert again.hash == run.state.hash

    async def act(harness: Harness, run: Run, what: str) -> Run:
        if what == "prompt":
            if not run.state.open:
                return await harness.run("and?", ADA, run_id="r")
            return run
        if what == "cancel":
            return await harness.cancel("r")
        waiting = await harness.confirmations("r")
        if what in ("approve", "deny", "edit") and waiting:
            edited = {"n": data.draw(st.sampled_from([0, 1, "x"]))} if what == "edit" else None
            await harness.answer(waiting[-1].id, approve=what != "deny", by="bob", arguments=edited)
        if what == "settle" and run.doubts:
            if data.draw(st.booleans()):
                await harness.settle("r", run.doubts[0].call.id, "happened", by="carol")
            else:
                await harness.settle("r", run.doubts[0].call.id, "abandon", by="carol")
        return await harness.resume("r")

    anyio.run(main, backend=backend)
    assert all(count <= 1 for count in world.done.values())


@both
@given(turns)
def test_cut_after_every_entry_and_resumed_ends_the_same(backend: str, script: list[Any]) -> None:
    """A crash after any entry, the effect of a call that was under way done or not: it ends as the uncut run."""

    async def main() -> None:
        world = World()
        uncut = await live(script, world)
        entries = uncut.entries
        time.sleep(0.001)  # noqa: ASYNC251 past every timeout, so that a retry may be said
        for cut in range(2, len(entries) + 1):
            for happened in (False, True):
                after = World()
                kept = entries[:cut]
                finished = {
                    each.result.call_id for each in kept if isinstance(each, Finished) and not each.result.is_error
                }
                for each in kept:
                    if isinstance(each, Started) and each.key and (each.call_id in finished or happened):
                        after.done[each.key] = world.done[each.key]
                journal = MemoryJournal()
                await write(journal, kept)
                harness = make(script, after, journal)
                run = await go_on(harness, await harness.resume("r"), after)
                assert run.state.hash == uncut.state.hash, f"cut after {cut}: {kept[-1]}"
                assert after.done == world.done

    anyio.run(main, backend=backend)


async def write(journal: MemoryJournal, entries: list[Entry]) -> None:
    """Leave a run in a journal as a process does that dies."""
    log = await journal.create("r", "ada", ())
    log.append(entries)
    await log.release("ready")


def timeless(entries: list[Any]) -> list[Any]:
    """Entries without times and durations."""
    hidden = {"at": 0.0, "expires_at": 0.0, "seconds": 0.0}
    return [
        msgspec.structs.replace(entry, **{name: value for name, value in hidden.items() if hasattr(entry, name)})
        for entry in entries
    ]


@both
@given(turns)
def test_a_drained_stream_is_a_run(backend: str, script: list[Any]) -> None:
    async def main() -> None:
        ran = await make(script, World()).run("go", ADA, run_id="r")
        events = [event async for event in make(script, World()).stream("go", ADA, run_id="r")]
        streamed = events.pop()
        assert isinstance(streamed, Run)
        assert timeless(streamed.entries) == timeless(ran.entries)
        assert streamed.state.hash == ran.state.hash
        kinds = {type(entry) for entry in ran.entries}
        assert timeless([event for event in events if type(event) in kinds]) == timeless(ran.entries)[2:]

    anyio.run(main, backend=backend)


@both
@given(turns)
def test_a_budget_is_never_exceeded(backend: str, script: list[Any]) -> None:
    async def main() -> None:
        world = World()
        session = msgspec.structs.replace(ADA, budget=msgspec.structs.replace(ADA.budget, turns=2, calls=3))
        harness = Harness(Reader(script), Catalogue(world.tools()))
        run = await go_on(harness, await harness.run("go", session, run_id="r"), world)
        assert sum(isinstance(entry, Started) for entry in run.entries) <= 3
        assert sum(message.role == "assistant" for message in run.messages) <= 2
        assert_well_formed(run.messages)

    anyio.run(main, backend=backend)


def test_the_people_of_this_world_say_yes_and_no() -> None:
    """The laws above prove little if nobody ever declines, or nothing ever is done."""

    async def main() -> None:
        world = World()
        run = await live([[ask("burn", n=1), ask("burn", n=2), ask("write", n=0)]], world)
        assert [result.code for result in run.results.values()] == [None, "declined", None]
        assert sorted(world.done.values()) == [1, 1]
        assert not approves(ask("burn", n=2))

    anyio.run(main)
