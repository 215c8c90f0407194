"""At most so many calls of one tool at once, over all runs of a process."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from core_kit import ADA

from counterfoil import Catalogue, CatalogueError, Harness, Limits, MemoryJournal, Scripted, Tool, ToolCall, tool
from counterfoil.types.entry import Started

pytestmark = pytest.mark.anyio


class Busy:
    """A tool that counts how many of its calls run."""

    def __init__(self, **limits: Any) -> None:
        self.now = self.most = 0
        self.order: list[str] = []
        self.let_go = anyio.Event()

        @tool(effect="write", limits=Limits(**{"timeout": 5, **limits}))
        async def busy(who: str) -> str:
            """Be busy."""
            self.now += 1
            self.most = max(self.most, self.now)
            self.order.append(who)
            try:
                await self.let_go.wait()
            finally:
                self.now -= 1
            return "done"

        self.tool: Tool = busy


def calls(who: str, count: int) -> list[ToolCall]:
    return [ToolCall("", "busy", {"who": f"{who}{n}"}) for n in range(count)]


async def test_calls_of_all_runs_share_the_slots() -> None:
    busy = Busy(concurrent=2)
    catalogue = Catalogue([busy.tool])

    async def run(who: str) -> None:
        ended = await Harness(Scripted([calls(who, 2), "done"]), catalogue).run("Go", ADA)
        assert [result.text for result in ended.results.values()] == ["done", "done"]

    async with anyio.create_task_group() as group:
        for who in "abc":
            group.start_soon(run, who)
            await anyio.wait_all_tasks_blocked()
        assert busy.order == ["a0", "a1"]
        busy.let_go.set()
    assert busy.most == 2
    assert sorted(busy.order) == ["a0", "a1", "b0", "b1", "c0", "c1"]


async def test_who_came_first_is_first() -> None:
    busy = Busy(concurrent=1)  # of two who are let in at once, an event loop may run either first
    catalogue = Catalogue([busy.tool])
    async with anyio.create_task_group() as group:
        for who in "abcd":
            group.start_soon(Harness(Scripted([calls(who, 1), "done"]), catalogue).run, "Go", ADA)
            await anyio.wait_all_tasks_blocked()
        busy.let_go.set()
    assert busy.order == ["a0", "b0", "c0", "d0"]


async def test_a_call_that_waits_has_not_started_and_keeps_no_other_tool_waiting() -> None:
    busy, looked = Busy(concurrent=1), 0

    @tool(effect="read")
    async def look() -> str:
        """Look."""
        nonlocal looked
        looked += 1
        return "seen"

    catalogue, journal = Catalogue([busy.tool, look]), MemoryJournal()
    first = Harness(Scripted([calls("a", 1), "done"]), catalogue)
    second = Harness(Scripted([[*calls("b", 1), ToolCall("", "look", {})], "done"]), catalogue, journal=journal)
    async with anyio.create_task_group() as group:
        group.start_soon(first.run, "Go", ADA)
        await anyio.wait_all_tasks_blocked()
        with anyio.CancelScope() as stopped:

            async def stop() -> None:
                await anyio.wait_all_tasks_blocked()
                stopped.cancel()

            group.start_soon(stop)
            await second.run("Go", ADA, run_id="b")
        assert stopped.cancelled_caught
        run = await second.read("b")
        assert (looked, [entry.call_id for entry in run.entries if isinstance(entry, Started)]) == (1, ["1.2"])
        assert run.doubts == []
        busy.let_go.set()
    assert (await second.resume("b")).text == "done", "the slot was given back"
    assert busy.order == ["a0", "b0"]


async def test_a_process_that_shuts_down_starts_no_call_that_waited() -> None:
    busy, journal = Busy(concurrent=1), MemoryJournal()
    catalogue = Catalogue([busy.tool])
    first = Harness(Scripted([calls("a", 1), "done"]), catalogue)
    second = Harness(Scripted([calls("b", 1)]), catalogue, journal=journal)
    async with anyio.create_task_group() as group:
        group.start_soon(first.run, "Go", ADA)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(second.run, "Go", ADA)
        await anyio.wait_all_tasks_blocked()
        second.draining = True
        busy.let_go.set()
    assert busy.order == ["a0"]
    assert [info.status for info in await journal.runs()] == ["ready"]


def test_a_limit_that_lets_no_call_begin_is_refused() -> None:
    with pytest.raises(CatalogueError, match="concurrent=0 would let no call begin"):
        Busy(concurrent=0)
