"""Runs out of a SQLite journal and into it, as they are stored."""

from __future__ import annotations

import sqlite3

from counterfoil.journal.log import BLOB_BYTES
from counterfoil.journal.portable import Transcript
from counterfoil.journal.sqlite_erase import erasure_of, keep
from counterfoil.types.error import JournalError, RunNotFound


def take(db: sqlite3.Connection, run_id: str) -> Transcript:
    """Read a run as it is stored, in one transaction. Raises `RunNotFound`."""
    found = db.execute(
        "SELECT requester, status, epoch, created, updated, head, hash FROM session WHERE id = ?", (run_id,)
    ).fetchone()
    if found is None:
        raise RunNotFound(f"there is no run {run_id!r} in this journal")
    requester, status, epoch, created, updated, head, hash = found
    rows = db.execute(
        "SELECT seq, epoch, at, v, coalesce(data, (SELECT bytes FROM blob WHERE sha256 = digest)), digest, hash, kind "
        "FROM event WHERE session = ? ORDER BY seq",
        (run_id,),
    ).fetchall()
    items = db.execute("SELECT n, at, by, kind, ref, data FROM inbox WHERE session = ? ORDER BY n", (run_id,))
    return Transcript(
        id=run_id,
        requester=requester,
        status=status,
        epoch=epoch,
        created=created,
        updated=updated,
        head=head,
        hash=hash,
        rows=rows,
        items=items.fetchall(),
        erasure=erasure_of(db, run_id),
    )


def adopt(db: sqlite3.Connection, run: Transcript) -> None:
    """Keep a run from elsewhere. Raises `JournalError` if there is one of its id."""
    if db.execute("SELECT 1 FROM session WHERE id = ?", (run.id,)).fetchone():
        raise JournalError(f"there is a run {run.id!r} already")
    db.execute(
        "INSERT INTO session (id, requester, status, owner, epoch, wake, created, updated, head, hash) "
        "VALUES (?, ?, ?, '', ?, ?, ?, ?, ?, ?)",
        (run.id, run.requester, run.at_rest, run.epoch, len(run.items), run.created, run.updated, run.head, run.hash),
    )
    for seq, epoch, at, v, body, digest, hash, kind in run.rows:
        large = len(body) > BLOB_BYTES
        if large:
            db.execute("INSERT OR IGNORE INTO blob VALUES (?, ?)", (digest, body))
        db.execute(
            "INSERT INTO event (session, seq, epoch, at, v, kind, data, digest, hash) VALUES (?,?,?,?,?,?,?,?,?)",
            (run.id, seq, epoch, at, v, kind, None if large else body, digest, hash),
        )
    if run.erasure is not None:
        keep(db, run.id, run.erasure)
    db.executemany("INSERT INTO inbox VALUES (?, ?, ?, ?, ?, ?, ?)", [(run.id, *item) for item in run.items])
