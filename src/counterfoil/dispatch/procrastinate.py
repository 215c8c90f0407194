"""Procrastinate as the queue: it needs the extra `procrastinate`, and runs on asyncio."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio

from counterfoil.dispatch.port import Work
from counterfoil.dispatch.trigger import Trigger, address, install
from counterfoil.journal.postgres import PostgresJournal
from counterfoil.journal.postgres.server import DatabaseError
from counterfoil.types.error import MissingExtra

try:
    from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
    from procrastinate.exceptions import ConnectorException
    from procrastinate.schema import SchemaManager
    from procrastinate.worker import Worker
except ImportError as error:
    raise MissingExtra("A worker fed by Procrastinate", "procrastinate") from error

from psycopg import AsyncConnection

NAME = "procrastinate"
_SCHEMA = "counterfoil_procrastinate"
_TASK = "counterfoil"
# Its own functions name its tables without a schema, so the trigger looks there.
_TRIGGER = Trigger(
    NAME,
    """
    INSERT INTO counterfoil_procrastinate.procrastinate_jobs (queue_name, task_name, queueing_lock, args)
    VALUES ('counterfoil', 'counterfoil', key, jsonb_build_object('run', NEW.id, 'requester', NEW.requester))
    ON CONFLICT DO NOTHING;""",
    f"pg_catalog, {_SCHEMA}, pg_temp",
)


class _HandedBack(Exception):
    """Not here, or not now."""

    def __init__(self, again: float) -> None:
        self.again = again


class _Again(BaseRetryStrategy):
    """What was handed back is for the next worker."""

    def get_retry_decision(self, *, exception: BaseException, job: Any) -> RetryDecision | None:
        if not isinstance(exception, _HandedBack):
            return None
        return RetryDecision(retry_at=datetime.now(UTC) + timedelta(seconds=exception.again))


class ProcrastinateFeed:
    """Hands over what Procrastinate says is ready. A worker not heard of for `heartbeat` seconds is taken for dead.

    One worker needs up to three connections besides the journal's two.
    """

    def __init__(self, journal: PostgresJournal, *, heartbeat: float = 10.0) -> None:
        self.journal = journal
        self.heartbeat = heartbeat

    async def install(self) -> None:
        """Create Procrastinate's tables in a schema of their own, and have ready runs queued."""
        try:
            async with await AsyncConnection.connect(await address(self.journal), autocommit=True) as connection:
                found = await connection.execute("SELECT to_regclass(%s)", (f"{_SCHEMA}.procrastinate_jobs",))
                if await found.fetchone() == (None,):
                    async with connection.transaction():
                        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}".encode())
                        await connection.execute(f"SET LOCAL search_path TO {_SCHEMA}".encode())
                        await connection.execute(SchemaManager.get_schema().encode())
        except DatabaseError as error:
            raise self.journal.server.explained(error) from error
        await install(self.journal, _TRIGGER)

    async def feed(self, work: Work, concurrency: int, stopping: anyio.Event) -> None:
        """Hand over runs until `stopping`."""
        where = await address(self.journal)
        connector = PsycopgConnector(
            conninfo=where, kwargs={"options": f"-c search_path={_SCHEMA}"}, min_size=1, max_size=3
        )
        app = App(connector=connector)

        @app.task(name=_TASK, queue=_TASK, retry=_Again())
        async def ready(run: str, requester: str) -> None:
            if (again := await work(run, requester)) is not None:
                raise _HandedBack(again)

        async with app.open_async():
            worker: Any = Worker(  # its methods have no types
                app,
                queues=[_TASK],
                name="counterfoil",
                concurrency=concurrency,
                install_signal_handlers=False,
                delete_jobs="always",
                update_heartbeat_interval=self.heartbeat / 3,
                stalled_worker_timeout=self.heartbeat,
            )

            async def stop() -> None:
                await stopping.wait()
                worker.stop()

            helpers = [asyncio.create_task(each) for each in (stop(), self._redeliver(app))]
            try:
                await worker.run()
            finally:
                for each in helpers:
                    each.cancel()

    async def _redeliver(self, app: App) -> None:
        """Procrastinate leaves it to its user to hand on the jobs of workers that are dead."""
        while True:
            await asyncio.sleep(self.heartbeat / 2)
            with suppress(ConnectorException):  # away, or another worker was first
                jobs = app.job_manager
                for job in await jobs.get_stalled_jobs(queue=_TASK, seconds_since_heartbeat=self.heartbeat):
                    await jobs.retry_job(job)
