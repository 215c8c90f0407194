"""Which runs are ready? Asked often, so in the cheapest way that each journal has."""

from __future__ import annotations

import sqlite3
import sys
import time
from typing import TYPE_CHECKING, Any, TypeGuard

from counterfoil.journal.journal import Journal, RunInfo, Status
from counterfoil.journal.sqlite import SqliteJournal

if TYPE_CHECKING:
    from counterfoil.journal.postgres import PostgresJournal

MOST = 10_000
"""Runs that are looked at in one go."""

Found = list[tuple[str, str]]
"""Runs and their requesters, those first that have been there for longest."""


class Lookout:
    """Looks into any journal."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    async def glance(self) -> Found:
        """The runs that are ready, without looking at whose owner has died; fewer where nothing has changed since."""
        return await self.look()

    async def look(self) -> Found:
        """The runs that are ready: submitted, answered, due, or left by an owner that is gone."""
        return [(info.id, info.requester) for info in await self.of("ready")]

    async def of(self, status: Status) -> list[RunInfo]:
        """The runs that stand like that."""
        return list(reversed(await self.journal.runs(status=status, limit=MOST)))

    async def worthwhile(self, run_id: str) -> bool:
        """Whether there is still something to do for a run; it may be somebody's who is at it."""
        return True

    def close(self) -> None:
        """Let go of what was opened to look."""


class _SqliteLookout(Lookout):
    """Reads the file's counter of changes; only when it has moved are there runs to ask for."""

    def __init__(self, journal: SqliteJournal) -> None:
        super().__init__(journal)
        self._db = sqlite3.connect(journal.path, isolation_level=None, check_same_thread=False)
        self._version = -1

    async def glance(self) -> Found:
        try:
            version: int = self._db.execute("PRAGMA data_version").fetchone()[0]
            if version == self._version:
                return []
            found = self._db.execute(
                "SELECT id, requester FROM session WHERE status = 'ready' ORDER BY rowid LIMIT ?", (MOST,)
            ).fetchall()
        except sqlite3.OperationalError:  # locked by whoever repairs or rebuilds it: it is looked at again
            return []
        self._version = version
        return found

    async def worthwhile(self, run_id: str) -> bool:
        row = self._db.execute("SELECT status, due FROM session WHERE id = ?", (run_id,)).fetchone()
        return row is not None and _worthwhile(*row)

    def close(self) -> None:
        self._db.close()


_GLANCE = """
SELECT id, requester FROM counterfoil.session WHERE status = 'ready'
UNION ALL SELECT id, requester FROM counterfoil.session WHERE status = 'waiting' AND due <= %b LIMIT %b"""
_ONE = "SELECT status, due FROM counterfoil.session WHERE id = %b"


class _PostgresLookout(Lookout):
    """Asks by index, on the connection that the journal reads with anyway."""

    def __init__(self, journal: PostgresJournal) -> None:
        super().__init__(journal)
        self._reader = journal.reader

    async def glance(self) -> Found:
        given = (time.time(), MOST)
        rows: Found = await self._reader.read(lambda db: db.execute(_GLANCE, given, prepare=True).fetchall())
        return rows

    async def worthwhile(self, run_id: str) -> bool:
        row = await self._reader.read(lambda db: db.execute(_ONE, (run_id,), prepare=True).fetchone())
        return row is not None and _worthwhile(*row)


def _worthwhile(status: Status, due: float | None) -> bool:
    if status == "waiting":
        return due is not None and due <= time.time()
    return status in ("ready", "running")


def lookout(journal: Journal) -> Lookout:
    """The lookout that fits a journal."""
    if isinstance(journal, SqliteJournal):
        return _SqliteLookout(journal)
    if is_postgres(journal):
        return _PostgresLookout(journal)
    return Lookout(journal)


def is_postgres(journal: Journal) -> TypeGuard[PostgresJournal]:
    """Whether a journal is on a Postgres server. Without the extra no journal is."""
    module: Any = sys.modules.get("counterfoil.journal.postgres")
    return module is not None and isinstance(journal, module.PostgresJournal)
