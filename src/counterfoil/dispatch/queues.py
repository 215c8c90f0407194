"""The queues there are, by name."""

from __future__ import annotations

from typing import Protocol

from counterfoil.dispatch.port import Feed
from counterfoil.dispatch.trigger import install, installed
from counterfoil.journal.postgres import PostgresJournal

NAMES = ("pgqueuer", "procrastinate")


class Queue(Feed, Protocol):
    """A queue on the journal's own server."""

    async def install(self) -> None:
        """Create its tables or bring them up to date, and have ready runs queued from now on. Safe to repeat."""
        ...


def queue(name: str, journal: PostgresJournal) -> Queue:
    """The queue of that name, for a journal. Raises `MissingExtra`."""
    if name == "pgqueuer":
        from counterfoil.dispatch.pgqueuer import PgQueuerFeed  # noqa: PLC0415 - it needs the extra

        return PgQueuerFeed(journal)
    from counterfoil.dispatch.procrastinate import ProcrastinateFeed  # noqa: PLC0415 - it needs the extra

    return ProcrastinateFeed(journal)


async def uninstall(journal: PostgresJournal) -> None:
    """Queue nothing from now on. The queue's own tables stay."""
    await install(journal, None)


__all__ = ["NAMES", "Queue", "installed", "queue", "uninstall"]
