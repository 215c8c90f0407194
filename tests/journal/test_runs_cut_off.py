"""Runs that are cut off anywhere: what was running is never said not to have run, and every beginning replays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import anyio
import pytest

from counterfoil import (
    Catalogue,
    Context,
    Fenced,
    Gate,
    Harness,
    Intent,
    Limits,
    MemoryJournal,
    Run,
    Scripted,
    Secret,
    Session,
    ToolCall,
    Trust,
    tool,
)
from counterfoil.run.replay import replay
from counterfoil.run.walk import walk
from counterfoil.tools.pins import Pins
from counterfoil.types.entry import (
    Answered,
    Declassified,
    Doubted,
    Effect,
    Entry,
    Finished,
    Judged,
    Opened,
    Planned,
    Record,
    Said,
    Settled,
    Started,
)

pytestmark = pytest.mark.anyio
ADA = Session(requester="ada", permissions=frozenset({"*"}))
PIN = "hunter2-hunter2"


class Died(BaseException):
    """Passes every handler of the harness, as the end of a process does."""


def call(name: str, /, **arguments: Any) -> ToolCall:
    return ToolCall("", name, arguments)


class World:
    """A service that may know what became of a call, and a tool whose process dies in its first call."""

    def __init__(self, effect: Effect, *, known: bool | None = None, dies: bool = True) -> None:
        self.effect: Effect = effect
        self.done: list[str] = []
        self.dies = dies
        self.known = known
        self.journal = MemoryJournal()
        self.gate = Gate()
        self.secrets: Any = None

    def catalogue(self, said: str = "Put.") -> Catalogue:
        async def lookup(key: str) -> str | None:
            return "found" if self.known else None

        async def put(pin: Annotated[str, Secret], context: Context) -> str:
            self.done.append(context.idempotency_key)
            if self.dies and len(self.done) == 1:
                raise Died
            return "put"

        put.__doc__ = said
        made = tool(
            effect=self.effect,
            trust=Trust(act="read" if self.effect == "read" else "self", returns="system"),
            limits=Limits(timeout=0.01),
            lookup=None if self.known is None else lookup,
        )
        return Catalogue([made(put)])

    async def die(self) -> None:
        """Run the call, and die in it."""
        model = Scripted([[call("put", pin=PIN)]])
        harness = Harness(model, self.catalogue(), journal=self.journal, gate=self.gate)
        self.secrets = harness.secrets
        with pytest.raises(Died):
            await harness.run("Put it.", ADA, run_id="r")

    async def resume(self, catalogue: Catalogue | None = None, *, forgets: bool = False) -> Run:
        """Go on, with the secrets of the process that died unless it `forgets`."""
        harness = Harness(
            Scripted(["Done."]),
            self.catalogue() if catalogue is None else catalogue,
            journal=self.journal,
            gate=self.gate,
        )
        if not forgets:
            harness.secrets = self.secrets
        return await harness.resume("r")


async def halted(world: World) -> Run:
    world.gate.halt()
    return await world.resume()


async def gone(world: World) -> Run:
    return await world.resume(Catalogue([]))


async def changed(world: World) -> Run:
    return await world.resume(world.catalogue("Put. Changed.").pinned(Pins.of(world.catalogue())))


async def forgotten(world: World) -> Run:
    return await world.resume(forgets=True)


Bar = Callable[[World], Any]
BARS: dict[Bar, str] = {
    halted: "all calls are stopped",
    gone: "there is no such tool any more",
    changed: "there is no such tool any more",
    forgotten: "its secret arguments are lost",
}
BARRED = pytest.mark.parametrize("bar", BARS, ids=lambda bar: bar.__name__)


async def follows(world: World) -> list[Record]:
    records = await world.journal.read("r")
    assert walk(records) == []
    again = await replay(records, world.catalogue())
    assert again.same, again.differences
    return records


@BARRED
async def test_what_was_running_when_its_process_died_is_in_doubt_where_it_cannot_run_again(bar: Bar) -> None:
    world = World("idempotent")
    await world.die()
    run = await bar(world)
    assert (run.outcome.kind, run.results, len(world.done)) == ("in_doubt", {}, 1)
    assert [each.reason for each in run.doubts] == [
        f"its process died while it was running, and it cannot be run again: {BARS[bar]}"
    ]
    await follows(world)


async def test_what_a_person_settles_afterwards_runs_again_under_the_same_key() -> None:
    world = World("idempotent")
    await world.die()
    await halted(world)
    world.gate.release()
    harness = Harness(None, Catalogue([]), journal=world.journal)
    await harness.settle("r", "1.1", "retry", by="bob")
    run = await world.resume()
    assert (run.outcome.kind, run.results["1.1"].text) == ("answered", "put")
    assert (len(world.done), len(set(world.done))) == (2, 1)
    await follows(world)


@pytest.mark.parametrize("bar", [halted, forgotten], ids=lambda bar: bar.__name__)
async def test_a_service_that_knows_is_asked_what_became_of_it(bar: Bar) -> None:
    world = World("idempotent", known=True)
    await world.die()
    run = await bar(world)
    assert (run.outcome.kind, run.results["1.1"].text, len(world.done)) == ("answered", "found", 1)
    await follows(world)


@pytest.mark.parametrize("bar", [halted, forgotten], ids=lambda bar: bar.__name__)
async def test_what_a_service_has_never_heard_of_is_refused_and_was_not_run(bar: Bar) -> None:
    world = World("idempotent", known=False)
    await world.die()
    run = await bar(world)
    assert (run.outcome.kind, run.results["1.1"].is_error, len(world.done)) == ("answered", True, 1)
    assert [each.how for each in run.entries if isinstance(each, Settled)] == ["retry"]
    assert walk(await world.journal.read("r")) == []


@BARRED
async def test_a_read_that_cannot_be_done_again_is_an_error(bar: Bar) -> None:
    world = World("read")
    await world.die()
    run = await bar(world)
    assert (run.outcome.kind, run.results["1.1"].is_error, len(world.done)) == ("answered", True, 1)
    assert run.state.known is not None
    assert not run.state.known.tainted
    assert [type(each) for each in run.entries if isinstance(each, Judged | Finished)] == [Judged, Finished]
    await follows(world)


@BARRED
async def test_what_was_never_started_is_refused(bar: Bar) -> None:
    world = World("idempotent", dies=False)

    def watch(event: object) -> None:
        if isinstance(event, Judged):
            raise Died

    harness = Harness(Scripted([[call("put", pin=PIN)]]), world.catalogue(), journal=world.journal, gate=world.gate)
    world.secrets = harness.secrets
    with pytest.raises(Died):
        await harness.run("Put it.", ADA, run_id="r", watch=watch)
    run = await bar(world)
    assert (run.outcome.kind, run.results["1.1"].is_error, world.done) == ("answered", True, [])
    assert run.results["1.1"].code in ("declined", "unknown_tool", "expired")
    assert walk(await world.journal.read("r")) == []


# -- replays


def desk(died: list[str]) -> Catalogue:
    @tool(effect="read", trust=Trust(returns="system"))
    def look(what: str) -> str:
        """Look."""
        return what

    @tool(effect="write", trust=Trust(act="self", roles={"what": "content"}, returns="system"))
    def keep(what: str) -> str:
        """Keep."""
        if what == "slow" and not died:
            died.append(what)
            raise Died
        return what

    @tool(effect="irreversible", trust=Trust(act="self", roles={"what": "content"}, returns="system"))
    def drop(what: str) -> str:
        """Drop."""
        return what

    return Catalogue([look, keep, drop])


async def a_long_run(catalogue: Catalogue) -> list[Record]:
    """A run with most of what can happen in one; its calls come one at a time."""
    journal = MemoryJournal()
    turns: list[Any] = [
        [call("look", what="a")],
        [call("keep", what="b")],
        [call("look")],
        [call("drop", what="c")],
        [call("drop", what="d")],
        [call("keep", what="slow")],
        "One.",
        [call("look", what="e")],
        "Two.",
    ]
    model = Scripted(turns)

    def harness(vouched: str = "ops") -> Harness:
        return Harness(model, catalogue, journal=journal, gate=Gate(vouched=vouched))

    run = await harness().run("Go.", ADA, run_id="r", plan=[Intent("keep", {"what": "b"})])
    for approve in (True, False):
        await harness().answer(run.confirmations[0].id, approve=approve, by="bob")
        with_other_terms = harness("desk" if approve else "ops")
        try:
            run = await with_other_terms.resume("r")
        except Died:
            run = await harness().resume("r")
    assert run.outcome.kind == "in_doubt"
    await Harness(None, Catalogue([]), journal=journal).settle("r", "6.1", "retry", by="bob")
    run = await harness().resume("r")
    await harness().declassify("r", "1.1", by="bob")
    run = await harness().run("And?", ADA, run_id="r")
    assert run.text == "Two."
    return await journal.read("r")


async def test_a_run_replays_the_same_wherever_its_record_ends() -> None:
    catalogue = desk([])
    records = await a_long_run(catalogue)
    kinds = {Opened, Planned, Said, Judged, Answered, Started, Finished, Doubted, Settled, Declassified}
    assert kinds == {type(each.entry) for each in records}
    for end in range(1, len(records) + 1):
        again = await replay(records[:end], catalogue, Gate(vouched="ops"))
        kind = type(records[end - 1].entry).__name__
        assert again.same, f"cut off after record {end} ({kind}): {again.differences}"


async def test_calls_of_one_turn_that_were_cut_off_between_two_results() -> None:
    finished: list[Entry] = []

    def watch(event: object) -> None:
        if isinstance(event, Finished):
            finished.append(event)
            if len(finished) == 2:
                raise Died

    journal, catalogue = MemoryJournal(), desk([])
    calls = [call("look", what=each) for each in "ab"] + [call("keep", what="c"), call("drop", what="d")]
    with pytest.raises((Died, BaseExceptionGroup)):
        await Harness(Scripted([calls]), catalogue, journal=journal).run("Go.", ADA, run_id="r", watch=watch)
    again = await replay(await journal.read("r"), catalogue)
    assert again.same, again.differences


async def test_a_run_that_goes_on_for_fewer_permissions_between_verdict_and_start() -> None:
    def watch(event: object) -> None:
        if isinstance(event, Judged):
            raise Died

    journal, catalogue = MemoryJournal(), desk([])
    with pytest.raises(Died):
        await Harness(Scripted([[call("look", what="a")]]), catalogue, journal=journal).run(
            "Go.", ADA, run_id="r", watch=watch
        )
    fewer = Session(requester="ada", permissions=frozenset({"look"}))
    run = await Harness(Scripted(["Done."]), catalogue, journal=journal, resolve=lambda session: fewer).resume("r")
    assert [type(each) for each in run.entries if isinstance(each, Judged | Started)] == [Judged, Judged, Started]
    records = await journal.read("r")
    assert walk(records) == []
    again = await replay(records, catalogue)
    assert again.same, again.differences


async def test_a_result_that_came_after_the_doubt_replays_as_it_came() -> None:
    world = World("write")
    await world.die()
    assert (await world.resume()).outcome.kind == "in_doubt"
    world.known = True  # its service can be asked by now
    run = await world.resume()
    assert (run.outcome.kind, run.results["1.1"].text) == ("answered", "found")
    assert [type(each) for each in run.entries[-3:]] == [Doubted, Finished, Said]
    await follows(world)


async def test_a_call_that_goes_on_while_the_one_beside_it_is_in_doubt() -> None:
    failed = anyio.Event()

    @tool(effect="write", trust=Trust(act="self", returns="system"))
    async def slip() -> str:
        """Fail after the fact."""
        failed.set()
        raise ConnectionResetError

    @tool(effect="write", trust=Trust(act="self", returns="system"))
    async def keep() -> str:
        """Keep."""
        await failed.wait()
        await anyio.sleep(0.01)
        return "kept"

    catalogue = Catalogue([slip, keep])
    harness = Harness(Scripted([[call("slip"), call("keep")], "Done."]), catalogue)
    run = await harness.run("Go.", ADA, run_id="r")
    assert [type(each) for each in run.entries[-2:]] == [Doubted, Finished]
    await harness.settle("r", "1.1", "happened", by="bob")
    assert (await harness.resume("r")).text == "Done."
    again = await replay(await harness.journal.read("r"), catalogue)
    assert again.same, again.differences


async def test_a_late_result_that_comes_with_an_answer_and_before_any_doubt() -> None:
    began, go_on = anyio.Event(), anyio.Event()

    @tool(effect="write", trust=Trust(act="self", returns="system"))
    async def keep() -> str:
        """Keep."""
        began.set()
        await go_on.wait()
        return "kept"

    @tool(effect="irreversible", trust=Trust(act="self", returns="system"))
    def drop() -> str:
        """Drop."""
        return "dropped"

    journal, catalogue = MemoryJournal(), Catalogue([keep, drop])

    async def lose() -> None:
        with pytest.raises(Fenced):
            await Harness(Scripted([[call("keep"), call("drop")]]), catalogue, journal=journal).run(
                "Go.", ADA, run_id="r"
            )

    other = Harness(Scripted(["Done."]), catalogue, journal=journal)
    async with anyio.create_task_group() as group:
        group.start_soon(lose)
        await began.wait()
        journal._runs["r"].held = False
        log, _ = await journal.claim("r")  # by a process that dies before it does anything
        await log.release("ready")
        await other.answer((await other.confirmations("r"))[0].id, approve=True, by="bob")
        go_on.set()
    run = await other.resume("r")
    assert (run.text, [each.text for each in run.results.values()]) == ("Done.", ["kept", "dropped"])
    kinds = [type(each) for each in run.entries if isinstance(each, Answered | Doubted | Finished)]
    assert kinds == [Answered, Finished, Finished]
    records = await journal.read("r")
    assert walk(records) == []
    again = await replay(records, catalogue)
    assert again.same, again.differences
