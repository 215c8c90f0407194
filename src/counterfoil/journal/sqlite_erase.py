"""Payloads and whole runs out of a SQLite journal, for good: no copy of them stays in the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from counterfoil.journal.erasure import Erased, Erasure, alias, refuse_open, sealed
from counterfoil.types.error import JournalError, RunNotFound


def erase(db: sqlite3.Connection, requester: str, by: str, at: float, who: str) -> Erased:
    """Erase the payloads of one requester's runs. Raises `JournalError` if one is not done."""
    found = db.execute(
        "SELECT id, status, head, hash FROM session WHERE requester = ? ORDER BY rowid", (requester,)
    ).fetchall()
    refuse_open(requester, [(id, status) for id, status, _, _ in found])
    records = items = 0
    for id, _, head, hash in found:
        (held,) = db.execute("SELECT count(*) FROM inbox WHERE session = ?", (id,)).fetchone()
        large = _large(db, id)
        # An empty body is one that was erased: no entry is.
        db.execute("UPDATE event SET data = x'' WHERE session = ?", (id,))
        db.execute("UPDATE inbox SET data = CAST('{}' AS BLOB) WHERE session = ?", (id,))
        db.execute("UPDATE inbox SET by = ? WHERE session = ? AND by = ?", (alias(who), id, requester))
        _drop_blobs(db, large)
        keep(db, id, sealed(hash, at, by, who, head, held))
        db.execute("UPDATE session SET status = 'erased', requester = ?, due = NULL WHERE id = ?", (alias(who), id))
        records, items = records + head, items + held
    grants = db.execute("DELETE FROM granted WHERE requester = ?", (requester,)).rowcount
    return Erased(runs=tuple(id for id, *_ in found), records=records, items=items, grants=grants, who=who)


def keep(db: sqlite3.Connection, run_id: str, erasure: Erasure) -> None:
    """Record that a run was erased."""
    row = (run_id, erasure.at, erasure.by, erasure.who, erasure.records, erasure.items, erasure.hash)
    db.execute("INSERT INTO erasure VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def erasure_of(db: sqlite3.Connection, run_id: str) -> Erasure | None:
    """What is recorded of a run's erasure."""
    row = db.execute("SELECT at, by, who, records, items, hash FROM erasure WHERE session = ?", (run_id,)).fetchone()
    if row is None:
        return None
    at, by, who, records, items, hash = row
    return Erasure(at=at, by=by, who=who, records=records, items=items, hash=hash)


def remove(db: sqlite3.Connection, run_id: str, hash: str) -> None:
    """Take a run out of the journal that is done and still ends in `hash`. Raises `JournalError`."""
    found = db.execute("SELECT status, hash FROM session WHERE id = ?", (run_id,)).fetchone()
    if found is None:
        raise RunNotFound(f"there is no run {run_id!r} in this journal")
    if found[0] not in ("done", "erased") or found[1] != hash:
        raise JournalError(f"run {run_id} has gone on in the meantime: it stays in the journal")
    large = _large(db, run_id)
    for table in ("event", "inbox", "erasure"):
        db.execute(f"DELETE FROM {table} WHERE session = ?", (run_id,))  # noqa: S608 - a name of ours
    db.execute("DELETE FROM session WHERE id = ?", (run_id,))
    _drop_blobs(db, large)


def _large(db: sqlite3.Connection, run_id: str) -> list[tuple[str]]:
    """The digests of a run's large bodies."""
    return db.execute("SELECT DISTINCT digest FROM event WHERE session = ? AND data IS NULL", (run_id,)).fetchall()


def _drop_blobs(db: sqlite3.Connection, digests: Iterable[tuple[str]]) -> None:
    """Delete those of these bodies that no other run has too."""
    db.executemany(
        "DELETE FROM blob WHERE sha256 = ?1 AND NOT EXISTS (SELECT 1 FROM event WHERE digest = ?1 AND data IS NULL)",
        digests,
    )


def truncate_log(db: sqlite3.Connection) -> None:
    """Empty the write-ahead log, which still has what was there before. Raises `JournalError` if it is being read."""
    (busy, _, _) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise JournalError(
            "it is out of the journal, but not yet out of its write-ahead log, because another process is reading: "
            "do it again when that is done"
        )
