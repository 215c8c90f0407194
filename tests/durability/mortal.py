"""Moments at which a process may die: before and after everything that is done to a journal and to the world outside.

They are put around what is there, in the process that is to die; nothing in the package knows of them.
"""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sqlite3
import threading
from typing import Any

from psycopg import Connection

from counterfoil import Gate, Harness, SqliteJournal
from counterfoil.journal.group import Worker
from counterfoil.journal.log import ChainedLog
from counterfoil.journal.postgres import PostgresJournal
from counterfoil.journal.postgres.worker import Writer as PostgresWriter
from counterfoil.journal.writer import Writer as SqliteWriter


class Fate:
    """Counts the moments of this process, in all its threads, and sends it a signal at one of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.passed = 0
        self.at: int | None = None
        """At which moment, counted from 1; `None`: never."""
        self.signal = signal.SIGKILL
        self.only: tuple[str, ...] = ()
        """How the moments begin that count; none: all do."""
        self.last_words = -1
        """A file that is told where it was."""
        self.seen: list[str] | None = None
        """Where the moments were, if somebody wants to know."""

    def reach(self, where: str) -> None:
        """A moment."""
        if self.only and not where.startswith(self.only):
            return
        with self._lock:
            self.passed += 1
            if self.seen is not None:
                self.seen.append(where)
            if self.passed == self.at:
                if self.last_words >= 0:
                    os.write(self.last_words, f"{where}\n".encode())
                os.kill(os.getpid(), self.signal)


FATE = Fate()


def around(owner: Any, name: str) -> None:
    """Make a moment of the beginning of a method, and one of its end."""
    original = getattr(owner, name)
    said = f"{owner.__name__}.{name}"
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def waited(*arguments: Any, **options: Any) -> Any:
            FATE.reach(f"before {said}")
            result = await original(*arguments, **options)
            FATE.reach(f"after {said}")
            return result

        setattr(owner, name, waited)
    else:

        @functools.wraps(original)
        def done(*arguments: Any, **options: Any) -> Any:
            FATE.reach(f"before {said}")
            result = original(*arguments, **options)
            FATE.reach(f"after {said}")
            return result

        setattr(owner, name, done)


def around_statements(owner: Any, name: str) -> None:
    """Make moments before and after each statement that changes something."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def execute(self: Any, statement: Any, *arguments: Any, **options: Any) -> Any:
        text = statement.decode() if isinstance(statement, bytes) else str(statement)
        words = " ".join(text.split()[:3])
        # That a process lives it says when the time has come, which is not always the same moment.
        changes = not words.startswith(("SELECT", "PRAGMA", "SET", "SHOW", "INSERT INTO counterfoil.owner"))
        if changes:
            FATE.reach(f"before {words}")
        result = original(self, statement, *arguments, **options)
        if changes:
            FATE.reach(f"after {words}")
        return result

    setattr(owner, name, execute)


class MortalConnection(sqlite3.Connection):
    """A connection to SQLite with a moment before and after each statement."""


def make_mortal() -> None:
    """Put moments around everything, in this process and those that are forked from it."""
    for name in ("execute", "executemany"):
        around_statements(MortalConnection, name)
    SqliteJournal._connect = _mortal_connection  # type: ignore[method-assign]
    around_statements(Connection, "execute")
    around(Worker, "put")  # what is handed to the thread that writes
    for each in (SqliteWriter, PostgresWriter):  # between a commit and whoever waits for it
        around(each, "carry_out")
    for name in ("commit", "release"):
        around(ChainedLog, name)
    for journal in (SqliteJournal, PostgresJournal):
        for name in ("create", "claim", "post"):
            around(journal, name)
    for name in ("answer", "settle"):
        around(Harness, name)
    around(Gate, "judge")


def _mortal_connection(self: SqliteJournal) -> sqlite3.Connection:
    options: Any = {"isolation_level": None, "check_same_thread": False, "factory": MortalConnection}
    db: sqlite3.Connection = sqlite3.connect(self.path, timeout=self._busy, **options)
    return db
