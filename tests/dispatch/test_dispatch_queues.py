"""What the queues on Postgres add: they redeliver, and what they lose is found without them."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from dispatch_world import World, person
from postgres_server import PostgresServer

from counterfoil import JournalError
from counterfoil.dispatch.lookout import is_postgres
from counterfoil.dispatch.queues import installed, queue, uninstall
from counterfoil.journal.postgres import PostgresJournal

pytestmark = pytest.mark.anyio
TABLES = {"pgqueuer": "counterfoil.pgqueuer", "procrastinate": "counterfoil_procrastinate.procrastinate_jobs"}
KEYS = {"pgqueuer": "dedupe_key", "procrastinate": "queueing_lock"}
WORKER = Path(__file__).with_name("dispatch_worker.py")
NEVER = 3600.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=list(TABLES))
async def world(request: pytest.FixtureRequest, postgres: PostgresServer) -> AsyncIterator[World]:
    made = World(request.param, postgres.database())
    await made.install()
    yield made
    await made.close()


def database(world: World) -> str:
    return world.where.partition("@/")[2].partition("?")[0]


def sql(postgres: PostgresServer, world: World, statement: str) -> list[tuple[object, ...]]:
    return postgres.sql(statement, database(world))


async def test_the_queue_alone_hands_on_what_a_dead_worker_had(world: World) -> None:
    run_id = await world.other().submit("hold", person("ada"))
    worker = subprocess.Popen([sys.executable, str(WORKER), world.kind, world.where], stdout=subprocess.PIPE)  # noqa: ASYNC220 it is killed, not awaited
    assert worker.stdout is not None
    assert await anyio.to_thread.run_sync(worker.stdout.readline) == b"holding\n"
    world.tools.let_go.set()
    async with world.working(reconcile_seconds=NEVER):  # it looks once, and the owner lives
        await anyio.sleep(0.5)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        worker.stdout.close()
        await world.until(run_id, "answered")


async def test_what_is_not_on_the_queue_is_found_all_the_same(world: World, postgres: PostgresServer) -> None:
    async with world.working():
        sql(postgres, world, "ALTER TABLE counterfoil.session DISABLE TRIGGER enqueue")
        run_id = await world.other().submit("act", person("ada"))
        await world.until(run_id, "answered")


async def test_a_queue_that_is_gone_stops_neither_answers_nor_workers(world: World, postgres: PostgresServer) -> None:
    async with world.working():
        sql(postgres, world, f"DROP TABLE {TABLES[world.kind]} CASCADE")
        other = world.other()
        run_id = await other.submit("send", person("ada"))
        await world.until(run_id, "waiting")
        await other.answer((await other.confirmations(run_id))[0].id, approve=True, by="bob")
        await world.until(run_id, "answered")
    assert world.tools.acted == ["send"]


async def test_workers_outlive_a_restart_of_the_server(
    world: World, postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with world.working(reconcile_seconds=NEVER):
        first = await world.other().submit("act", person("ada"))
        await world.until(first, "answered")

        async def cleared() -> bool:
            return not sql(postgres, world, f"SELECT * FROM {TABLES[world.kind]}")  # noqa: S608 a name of ours

        await world.when(cleared)
        postgres.kill()
        postgres.start()

        async def connected() -> bool:
            return len(sql(postgres, world, "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")) > 0

        await world.when(connected)
        second = await world.other().submit("act", person("ada"))
        await world.until(second, "answered")
    assert "s3same" not in caplog.text


async def test_each_time_that_a_run_becomes_ready_is_queued_once(world: World, postgres: PostgresServer) -> None:
    other = world.other()
    run_id = await other.submit("send", person("ada"))
    ask = f"SELECT {KEYS[world.kind]} FROM {TABLES[world.kind]} ORDER BY id"  # noqa: S608 names of ours
    assert sql(postgres, world, ask) == [(f"{run_id}:1:0",)]
    sql(postgres, world, "UPDATE counterfoil.session SET status = status")
    assert sql(postgres, world, ask) == [(f"{run_id}:1:0",)]
    run = await world.harness().resume(run_id)
    await other.answer(run.confirmations[0].id, approve=True, by="bob")
    assert sql(postgres, world, ask) == [(f"{run_id}:1:0",), (f"{run_id}:2:1",)]
    stopping = world.harness()
    stopping.draining = True  # it gives the run back with nothing new in its inbox
    await stopping.resume(run_id)
    assert sql(postgres, world, ask)[-1] == (f"{run_id}:3:1",)


async def test_whoever_answers_needs_no_rights_on_the_queue(world: World, postgres: PostgresServer) -> None:
    other = world.other()
    run_id = await other.submit("send", person("ada"))
    await world.harness().resume(run_id)
    name = f"desk_{world.kind}"
    sql(postgres, world, f"CREATE ROLE {name} LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA counterfoil TO {name}")
    for table in ("session", "event", "inbox", "blob", "version", "owner"):
        sql(postgres, world, f"GRANT SELECT, INSERT, UPDATE ON counterfoil.{table} TO {name}")
    where = postgres.url(database(world), user=name, password="x")
    desk = PostgresJournal(where)
    answering = world.other()
    answering.journal = desk
    await answering.answer((await other.confirmations(run_id))[0].id, approve=True, by="bob")
    async with world.working(reconcile_seconds=NEVER):
        await world.until(run_id, "answered")
    with pytest.raises(JournalError, match="as its owner"):
        await queue(world.kind, desk).install()
    await desk.aclose()


async def test_a_worker_needs_no_more_than_the_rights_that_are_named(world: World, postgres: PostgresServer) -> None:
    name = f"worker_{world.kind}"
    schema = TABLES[world.kind].partition(".")[0]
    sql(
        postgres, world, f"CREATE ROLE {name} LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA counterfoil, {schema} TO {name}"
    )
    sql(postgres, world, f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA counterfoil TO {name}")
    rights = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA", "USAGE ON ALL SEQUENCES IN SCHEMA"
    for each in rights:
        sql(postgres, world, f"GRANT {each} {schema} TO {name}")
    run_id = await world.other().submit("act", person("ada"))
    owners = world.ours
    world.ours = PostgresJournal(postgres.url(database(world), user=name, password="x"))
    async with world.working(reconcile_seconds=NEVER):
        await world.until(run_id, "answered")
        later = await world.other().submit("act", person("ada"))
        await world.until(later, "answered")
    await owners.aclose()


async def test_it_is_installed_as_often_as_one_likes_and_what_was_ready_is_queued(
    postgres: PostgresServer, world: World
) -> None:
    assert is_postgres(world.ours)
    await uninstall(world.ours)
    assert await installed(world.ours) is None
    run_id = await world.other().submit("act", person("ada"))
    assert sql(postgres, world, f"SELECT * FROM {TABLES[world.kind]}") == []  # noqa: S608 a name of ours
    for _ in range(2):
        await world.install()
    assert await installed(world.ours) == world.kind
    assert len(sql(postgres, world, f"SELECT * FROM {TABLES[world.kind]}")) == 1  # noqa: S608 a name of ours
    async with world.working(reconcile_seconds=NEVER):
        await world.until(run_id, "answered")
    other = next(name for name in TABLES if name != world.kind)
    await queue(other, world.ours).install()
    assert await installed(world.ours) == other
    await world.other().submit("act", person("ada"))
    assert len(sql(postgres, world, f"SELECT * FROM {TABLES[other]}")) == 1  # noqa: S608 a name of ours
