"""The tables of a SQLite journal, by version."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from counterfoil.types.error import JournalError

_FIRST = """
CREATE TABLE session (
    id TEXT PRIMARY KEY, requester TEXT NOT NULL, status TEXT NOT NULL, owner TEXT NOT NULL, epoch INTEGER NOT NULL,
    wake INTEGER NOT NULL DEFAULT 0, created REAL NOT NULL, updated REAL NOT NULL,
    head INTEGER NOT NULL DEFAULT 0, hash TEXT NOT NULL) STRICT;
CREATE INDEX session_status ON session(status);
CREATE TABLE event (
    pos INTEGER PRIMARY KEY, session TEXT NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL, at REAL NOT NULL,
    v INTEGER NOT NULL, kind TEXT NOT NULL, data BLOB, digest TEXT NOT NULL, hash TEXT NOT NULL,
    UNIQUE(session, seq)) STRICT;
CREATE TABLE inbox (
    session TEXT NOT NULL, n INTEGER NOT NULL, at REAL NOT NULL, by TEXT NOT NULL, kind TEXT NOT NULL,
    ref TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY(session, n), UNIQUE(session, kind, ref)) STRICT;
CREATE TABLE blob (sha256 TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
"""
# `wake` is the number of the last item that came for a run; the first version also counted what was sent twice.
_SECOND = """
ALTER TABLE session ADD COLUMN due REAL;
CREATE TABLE granted (
    id TEXT PRIMARY KEY, requester TEXT NOT NULL, data BLOB NOT NULL, revoked REAL, by TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX granted_requester ON granted(requester);
CREATE TABLE erasure (
    session TEXT PRIMARY KEY, at REAL NOT NULL, by TEXT NOT NULL, who TEXT NOT NULL, records INTEGER NOT NULL,
    items INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE INDEX event_blob ON event(digest) WHERE data IS NULL;
UPDATE session SET wake = (SELECT coalesce(max(n), 0) FROM inbox WHERE inbox.session = session.id);
"""

MIGRATIONS = (_FIRST, _SECOND)
"""Step n brings version n to version n + 1. A step that was released is never edited: another is added."""


def bring_up(db: sqlite3.Connection, path: Path) -> None:
    """Create the tables or bring them up to date, in the transaction that is open. Raises `JournalError`."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        raise JournalError(
            f"{path} was written by a newer counterfoil (schema {version}; this one knows "
            f"{len(MIGRATIONS)}): upgrade counterfoil"
        )
    if version == 0 and db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table'").fetchone():
        raise JournalError(f"{path} is a database of something else: choose another path")
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        for statement in statements.split(";\n"):
            if statement.strip():
                db.execute(statement)
        db.execute(f"PRAGMA user_version={number}")
