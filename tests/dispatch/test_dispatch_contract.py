"""What every way to wake runs must do: by this process alone, across processes, and by each queue."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from dispatch_world import World, folder, obey, person

from counterfoil import Function, Gate, ModelError, Reply, Request, Session

pytestmark = pytest.mark.anyio
SHARED = [
    ("sqlite", "asyncio"),
    ("sqlite", "trio"),
    ("postgres", "asyncio"),
    ("postgres", "trio"),
    ("pgqueuer", "asyncio"),
    ("procrastinate", "asyncio"),
]
ALL = [("memory", "asyncio"), ("memory", "trio"), *SHARED]
WORKER = Path(__file__).with_name("dispatch_worker.py")


@pytest.fixture(params=ALL, ids="-".join)
def way(request: pytest.FixtureRequest) -> tuple[str, str]:
    """How runs are woken, and the event loop: the queues know one only."""
    kind, backend = request.param
    return kind, backend


@pytest.fixture
def anyio_backend(way: tuple[str, str]) -> str:
    return way[1]


@pytest.fixture
async def world(way: tuple[str, str], request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    kind = way[0]
    file = kind in ("memory", "sqlite")
    made = World(kind, folder(tmp_path) if file else request.getfixturevalue("postgres").database())
    await made.install()
    yield made
    await made.close()


async def test_a_run_that_another_process_submits_and_answers_is_gone_on_with(world: World) -> None:
    other = world.other()
    async with world.working():
        run_id = await other.submit("act|send", person("ada"))
        await world.until(run_id, "waiting")
        (asked,) = await other.confirmations(run_id)
        await other.answer(asked.id, approve=True, by="bob")
        await world.until(run_id, "answered")
    assert world.tools.acted == ["act", "send"]
    assert (await other.read(run_id)).text == "done"


async def test_what_was_ready_before_anybody_worked_is_found(world: World) -> None:
    run_ids = [await world.other().submit("act", person(f"p{n}")) for n in range(5)]
    async with world.working():
        for run_id in run_ids:
            await world.until(run_id, "answered")
    assert len(world.tools.acted) == 5


async def test_a_run_that_is_woken_often_is_worked_on_once(world: World) -> None:
    asked = 0

    def model(request: Request) -> Reply | str:
        nonlocal asked
        asked += 1
        return obey(request)

    async with world.working(world.harness(Function(model))) as scheduler:
        run_id = await world.other().submit("hold", person("ada"))
        for _ in range(20):
            await scheduler.wake(run_id)
            scheduler.fair.put(run_id, "ada")
            await anyio.sleep(0.002)
        world.tools.let_go.set()
        await world.until(run_id, "answered")
        for _ in range(5):
            await scheduler.offer(run_id, "ada")
    assert (asked, world.tools.holding) == (2, 1)


async def test_an_answer_that_comes_while_the_run_is_worked_on_is_not_lost(world: World) -> None:
    other = world.other()
    async with world.working(per_requester=10):
        run_ids = [await other.submit("send send", person("ada")) for _ in range(10)]
        for run_id in run_ids:
            await world.until(run_id, "waiting")
            first, second = await other.confirmations(run_id)
            await other.answer(first.id, approve=True, by="bob")  # which has it worked on
            await other.answer(second.id, approve=True, by="bob")
        for run_id in run_ids:
            await world.until(run_id, "answered")
    assert len(world.tools.acted) == 20


@pytest.mark.parametrize("way", SHARED, ids="-".join)
async def test_the_run_of_a_killed_worker_is_taken_over(world: World) -> None:
    run_id = await world.other().submit("hold", person("ada"))
    script = [sys.executable, str(WORKER), world.kind, world.where]
    worker = subprocess.Popen(script, stdout=subprocess.PIPE)  # noqa: ASYNC220 it is killed, not awaited
    assert worker.stdout is not None
    said = await anyio.to_thread.run_sync(worker.stdout.readline)
    assert said == b"holding\n"
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    worker.stdout.close()
    world.tools.let_go.set()
    async with world.working():
        await world.until(run_id, "answered")
    assert [record.epoch for record in await world.ours.read(run_id)][-1] >= 3
    assert world.tools.holding == 1


async def test_one_requester_has_so_many_at_once_and_others_are_not_kept_waiting(world: World) -> None:
    other, most = world.other(), 0
    order: list[str] = []

    async def watch_holding() -> None:
        nonlocal most
        while True:
            running = list(scheduler.fair.running.values())
            most = max(most, running.count("ada"))
            order.extend(name for name in running if name not in order)
            await anyio.sleep(0.001)

    adas = [await other.submit("hold", person("ada")) for _ in range(6)]
    bobs = [await other.submit("hold", person("bob"))]
    async with world.working(concurrency=4, per_requester=2) as scheduler, anyio.create_task_group() as group:
        group.start_soon(watch_holding)

        async def three_hold() -> bool:
            return world.tools.holding == 3

        await world.when(three_hold)  # two of hers and one of his: none of hers has ended
        await anyio.sleep(0.1)
        assert world.tools.holding == 3
        world.tools.let_go.set()
        for run_id in [*adas, *bobs]:
            await world.until(run_id, "answered")
        group.cancel_scope.cancel()
    assert most == 2
    assert order[:2] in (["ada", "bob"], ["bob", "ada"])


async def test_who_stops_in_order_ends_its_step_and_the_next_worker_goes_on(world: World) -> None:
    async with world.working():
        run_id = await world.other().submit("hold|act", person("ada"))

        async def holds() -> bool:
            return world.tools.holding == 1

        await world.when(holds)
        assert world.scheduler is not None
        world.scheduler.drain()
        world.tools.let_go.set()
    run = await world.other().read(run_id)
    assert (run.outcome.which, list(run.results)) == ("interrupted", ["1.1"])
    assert [info.status for info in await world.ours.runs()] == ["ready"]
    async with world.working():
        await world.until(run_id, "answered")
    assert (world.tools.acted, world.tools.holding) == (["act"], 1)


async def test_who_stops_and_waits_in_vain_cancels_and_leaves_it_to_others(world: World) -> None:
    async with world.working(grace=0.05):
        run_id = await world.other().submit("hold", person("ada"))

        async def holds() -> bool:
            return world.tools.holding == 1

        await world.when(holds)
    assert [info.status for info in await world.ours.runs()] == ["ready"]
    world.tools.let_go.set()
    async with world.working():
        await world.until(run_id, "answered")


async def test_what_nobody_confirms_expires_without_anybody_asking(world: World) -> None:
    async with world.working(world.harness(gate=Gate(confirmations_expire=0.5))):
        run_id = await world.other().submit("send", person("ada"))
        await world.until(run_id, "answered")
    run = await world.other().read(run_id)
    assert (run.results["1.1"].code, world.tools.acted) == ("expired", [])


async def test_a_model_that_fails_is_asked_again(world: World) -> None:
    asked = 0

    def model(request: Request) -> Reply | str:
        nonlocal asked
        asked += 1
        if asked < 3:
            raise ModelError("overloaded")
        return obey(request)

    async with world.working(world.harness(Function(model))):
        run_id = await world.other().submit("act", person("ada"))
        await world.until(run_id, "answered")
    assert (asked, world.tools.acted) == (4, ["act"])


async def test_a_model_that_goes_on_failing_is_given_up_and_no_restart_forgets(world: World) -> None:
    asked = 0

    def model(request: Request) -> Reply | str:
        nonlocal asked
        asked += 1
        raise ModelError("no such model")

    async def asked_enough() -> bool:
        return asked >= 2

    async with world.working(world.harness(Function(model)), attempts=3, pause_seconds=0.02) as scheduler:
        run_id = await world.other().submit("act", person("ada"))
        await world.when(asked_enough)
        scheduler.drain()
    for _ in range(2):
        async with world.working(world.harness(Function(model)), attempts=3):
            await anyio.sleep(0.3)
    assert asked == 3
    assert [info.status for info in await world.ours.runs()] == ["failed"]
    assert (await world.other().read(run_id)).outcome.detail == "no such model"


async def test_what_one_run_raises_stops_no_other_and_says_nothing_of_it(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    failed = 0

    async def resolve(session: Session) -> Session:
        nonlocal failed
        if session.requester == "eve":
            failed += 1
            raise RuntimeError("her account number is 1234")
        return session

    caplog.set_level(logging.INFO)
    async with world.working(world.harness(resolve=resolve)):
        await world.other().submit("act", person("eve"))
        run_id = await world.other().submit("act", person("ada"))
        await world.until(run_id, "answered")

        async def failed_often() -> bool:
            return failed >= 2

        await world.when(failed_often)
    assert world.tools.acted == ["act"]
    assert "cannot go on: RuntimeError" in caplog.text
    assert "1234" not in caplog.text
