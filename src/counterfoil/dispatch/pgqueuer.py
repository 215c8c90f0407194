"""PgQueuer as the queue: it needs the extra `pgqueuer`, and runs on asyncio."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any, LiteralString

import anyio
import msgspec

from counterfoil.dispatch.port import Work
from counterfoil.dispatch.trigger import Trigger, address, install
from counterfoil.journal.postgres import PostgresJournal
from counterfoil.journal.postgres.server import DatabaseError
from counterfoil.types.error import MissingExtra

try:
    from pgqueuer import errors
    from pgqueuer.adapters.drivers.psycopg import PsycopgDriver
    from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment, QueryQueueBuilder, QuerySchedulerBuilder
    from pgqueuer.adapters.persistence.queries import Queries
    from pgqueuer.core.qm import QueueManager
    from pgqueuer.domain.settings import DBSettings, Durability
    from pgqueuer.domain.types import Channel
    from pgqueuer.models import Job
    from pydantic_settings import BaseSettings, PydanticBaseSettingsSource
except ImportError as error:
    raise MissingExtra("A worker fed by PgQueuer", "pgqueuer") from error

from psycopg import AsyncConnection

NAME = "pgqueuer"
_ENTRYPOINT = "counterfoil"
_CHANNEL = "counterfoil_pgqueuer"


class _Settings(DBSettings):
    """Its tables beside the journal's, whatever the environment says of another PgQueuer in the same database."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


_SETTINGS = _Settings(db_schema="counterfoil", channel=Channel(_CHANNEL), durability=Durability.balanced)
_TRIGGER = Trigger(
    NAME,
    """
    INSERT INTO counterfoil.pgqueuer (priority, status, entrypoint, dedupe_key, payload)
    VALUES (0, 'queued', 'counterfoil', key,
            convert_to(json_build_object('run', NEW.id, 'requester', NEW.requester)::text, 'UTF8'))
    ON CONFLICT DO NOTHING;""",
)


_OLD: tuple[LiteralString, ...] = (
    "DELETE FROM counterfoil.pgqueuer_log WHERE aggregated AND created < now() - interval '1 day'",
    "DELETE FROM counterfoil.pgqueuer_statistics WHERE created < now() - interval '30 days'",
)


class _Ready(msgspec.Struct):
    """What a job says."""

    run: str
    requester: str


class _Driver(PsycopgDriver):
    """Listens on a connection of its own: on a shared one each query would wait for a second's listening to end."""

    def __init__(self, connection: AsyncConnection, ears: AsyncConnection) -> None:
        super().__init__(connection)
        self._ears = PsycopgDriver(ears)

    async def add_listener(self, channel: str, callback: Any) -> None:
        await self._ears.add_listener(channel, callback)

    async def __aexit__(self, *error: object) -> None:
        await self._ears.__aexit__(*error)
        await super().__aexit__(*error)


class PgQueuerFeed:
    """Hands over what PgQueuer says is ready. A worker that was not heard of for `heartbeat` seconds is taken for dead.

    One worker needs two connections besides the journal's two.
    """

    def __init__(self, journal: PostgresJournal, *, heartbeat: float = 10.0) -> None:
        self.journal = journal
        self.heartbeat = timedelta(seconds=heartbeat)

    async def install(self) -> None:
        """Create PgQueuer's tables beside the journal's or bring them up to date, and have ready runs queued."""
        try:
            async with await _connect(await address(self.journal)) as connection:
                queries = _queries(PsycopgDriver(connection))
                await (queries.upgrade() if await queries.schema_is_installed() else queries.install())
        except DatabaseError as error:
            raise self.journal.server.explained(error) from error
        await install(self.journal, _TRIGGER)

    async def feed(self, work: Work, concurrency: int, stopping: anyio.Event) -> None:
        """Hand over runs until `stopping`."""
        where = await address(self.journal)
        async with await _connect(where) as connection, await _connect(where) as ears:
            manager = QueueManager(_queries(_Driver(connection, ears)), Channel(_CHANNEL))

            @manager.entrypoint(_ENTRYPOINT, accepts_context=False)
            async def ready(job: Job) -> None:
                said = msgspec.json.decode(job.payload or b"{}", type=_Ready)
                if (again := await work(said.run, said.requester)) is not None:
                    raise errors.RetryRequested(timedelta(seconds=again), "not here, or not now")

            async def stop() -> None:
                await stopping.wait()
                manager.shutdown.set()

            helpers = [asyncio.create_task(each) for each in (stop(), _tidy(where))]
            try:
                await manager.run(
                    dequeue_timeout=self.heartbeat,
                    batch_size=max(1, concurrency // 2),
                    max_concurrent_tasks=max(2, concurrency),
                    heartbeat_timeout=self.heartbeat,
                    shutdown_on_listener_failure=True,
                )
            finally:
                for each in helpers:
                    each.cancel()


async def _connect(where: str) -> AsyncConnection:
    return await AsyncConnection.connect(where, autocommit=True, application_name="counterfoil worker")


async def _tidy(where: str) -> None:
    """Now and then forget what PgQueuer has counted: it keeps a line for each step of each job, for ever."""
    while True:
        with suppress(DatabaseError):  # away, or not ours to remove
            async with await _connect(where) as connection:
                for statement in _OLD:
                    await connection.execute(statement)
        await asyncio.sleep(3600)


def _queries(driver: PsycopgDriver) -> Queries:
    return Queries(
        driver, QueryBuilderEnvironment(_SETTINGS), QueryQueueBuilder(_SETTINGS), QuerySchedulerBuilder(_SETTINGS)
    )
