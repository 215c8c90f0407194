"""What kills and simulated worlds have found wrong once, each in its smallest form."""

from __future__ import annotations

import time
from collections.abc import Sequence

import anyio
import pytest
from durable_world import ADA

from counterfoil import (
    Catalogue,
    Context,
    Fenced,
    Harness,
    Limits,
    MemoryJournal,
    Scripted,
    SettlementError,
    ToolCall,
    tool,
)
from counterfoil.journal.memory import MemoryLog
from counterfoil.run.replay import replay
from counterfoil.run.walk import walk
from counterfoil.tools.context import idempotency_key
from counterfoil.types.entry import Entry, Judged, Opened, Said, Settled, Started
from counterfoil.types.message import Message, user
from counterfoil.types.verdict import Allowed

pytestmark = pytest.mark.anyio


class Crash(BaseException):
    """Passes every handler of the harness, as the end of a process does."""


async def test_what_a_lookup_has_settled_is_replayed() -> None:
    attempts: list[str] = []

    async def lookup(key: str) -> str | None:
        return None

    @tool(effect="write", limits=Limits(timeout=0.1), lookup=lookup)
    async def write(context: Context) -> str:
        """Write, the second time."""
        attempts.append(context.idempotency_key)
        if len(attempts) == 1:
            raise Crash
        return "written"

    harness = Harness(Scripted([[ToolCall("", "write", {})], "ok"]), Catalogue([write]))
    with pytest.raises(Crash):
        await harness.run("x", ADA, run_id="r")
    run = await harness.resume("r")
    assert [(each.how, each.by) for each in run.entries if isinstance(each, Settled)] == [("retry", "lookup")]
    assert (run.text, len(attempts)) == ("ok", 2)
    records = await harness.journal.read("r")
    assert walk(records) == []
    assert (await replay(records, harness.catalogue)).differences == ()


async def test_retry_said_of_a_run_that_is_being_cancelled_is_heard() -> None:
    """Otherwise the doubt stays for ever: it was settled, so nobody can settle it any more."""

    @tool(effect="write", limits=Limits(timeout=0.01))
    async def write() -> str:
        """Break."""
        raise ConnectionResetError

    journal = MemoryJournal()
    harness = Harness(Scripted([[ToolCall("", "write", {})]]), Catalogue([write]), journal=journal)
    run = await harness.run("x", ADA, run_id="r")
    await anyio.sleep(0.02)
    await journal.post("r", "cancel", "1", "dave", {"reason": ""})
    await harness.settle("r", "1.1", "retry", by="carol")
    run = await harness.resume("r")
    assert (run.outcome.kind, run.doubts) == ("cancelled", [])
    assert [info.status for info in await journal.runs()] == ["done"]
    assert walk(await journal.read("r")) == []
    assert [each.how for each in run.entries if isinstance(each, Settled)] == ["retry"]
    assert (await harness.resume("r")).outcome.kind == "cancelled"


class SlowJournal(MemoryJournal):
    """Says that entries are durable when half a second has passed."""

    async def create(self, run_id: str, requester: str, entries: Sequence[Entry]) -> MemoryLog:
        return SlowLog(run_id, (await super().create(run_id, requester, entries))._run)


class SlowLog(MemoryLog):
    async def commit(self, entries: Sequence[Entry]) -> None:
        self.append(entries)
        await anyio.sleep(0.1)


@pytest.mark.parametrize("seconds", [0.05, 60])
async def test_what_could_not_begin_in_time_does_not_begin(seconds: float) -> None:
    """When a call's time has passed since it was started, somebody may say that it has not happened."""
    done: list[str] = []

    @tool(effect="write", limits=Limits(timeout=seconds))
    async def write() -> str:
        """Write."""
        done.append("written")
        return "written"

    harness = Harness(Scripted([[ToolCall("", "write", {})], "ok"]), Catalogue([write]), journal=SlowJournal())
    run = await harness.run("x", ADA)
    if seconds == 60:
        assert (run.outcome.kind, done) == ("answered", ["written"])
    else:
        assert (run.outcome.kind, done) == ("in_doubt", [])
        assert run.doubts[0].reason == "its time was over before it could begin"


async def test_what_was_found_out_about_one_attempt_is_not_said_of_the_next() -> None:
    @tool(effect="write", limits=Limits(timeout=0.05))
    async def write() -> str:
        """Break."""
        raise ConnectionResetError

    harness = Harness(Scripted([[ToolCall("", "write", {})]]), Catalogue([write]))
    run = await harness.run("x", ADA)
    (first,) = run.doubts
    await anyio.sleep(0.06)
    await harness.settle(run.id, "1.1", "retry", by="bob", started_at=first.started_at)
    run = await harness.resume(run.id)
    (second,) = run.doubts
    with pytest.raises(SettlementError, match="run again since it was looked at"):
        await harness.settle(run.id, "1.1", "retry", by="carol", started_at=first.started_at)
    await harness.settle(run.id, "1.1", "abandon", by="carol", started_at=second.started_at)
    assert [each.doubts for each in [await harness.resume(run.id)]] == [[]]


async def test_who_loses_a_run_while_it_recovers_hears_that_and_nothing_else() -> None:
    journal = MemoryJournal()

    async def lookup(key: str) -> str | None:
        journal._runs["r"].epoch += 1  # another process takes it
        return "found"

    @tool(effect="write", lookup=lookup)
    async def write() -> str:
        """Write."""
        return "written"

    key = idempotency_key("r", "1.1")
    asked = Said(Message("assistant", (ToolCall("1.1", "write", {}),)))
    begun: list[Entry] = [
        Opened(ADA),
        Said(user("x")),
        asked,
        Judged("1.1", Allowed()),
        Started("1.1", "write", key, time.time()),
    ]
    await (await journal.create("r", "ada", begun)).release("ready")
    with pytest.raises(Fenced):
        await Harness(Scripted([]), Catalogue([write]), journal=journal).resume("r")


@pytest.mark.parametrize("ahead", [-86_400.0, 0.0, 86_400.0])
@pytest.mark.parametrize("takes", [0.1, 3600.0])
async def test_the_clock_does_not_say_when_a_dead_processs_call_has_had_its_time(ahead: float, takes: float) -> None:
    """What the service does not know may still be on its way: a clock that is a day ahead must not repeat it."""
    journal, looked, acted = MemoryJournal(), 0, 0

    async def lookup(key: str) -> str | None:
        nonlocal looked
        looked += 1
        return None if looked == 1 else "arrived late"

    @tool(effect="write", limits=Limits(timeout=takes), lookup=lookup)
    async def write() -> str:
        """Write."""
        nonlocal acted
        acted += 1
        return "written again"

    begun: list[Entry] = [
        Opened(ADA),
        Said(user("x")),
        Said(Message("assistant", (ToolCall("1.1", "write", {}),))),
        Judged("1.1", Allowed()),
        Started("1.1", "write", idempotency_key("r", "1.1"), time.time() - ahead),
    ]
    await (await journal.create("r", "ada", begun)).release("ready")
    run = await Harness(Scripted(["done"]), Catalogue([write]), journal=journal).resume("r")
    assert acted == 0
    if takes < 60:
        assert (run.outcome.kind, run.results["1.1"].text, looked) == ("answered", "arrived late", 2)
    else:
        assert (run.outcome.kind, looked) == ("in_doubt", 1)
