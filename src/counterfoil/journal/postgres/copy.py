"""Runs out of a Postgres journal and into it, as they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterfoil.journal.log import BLOB_BYTES
from counterfoil.journal.portable import Transcript
from counterfoil.journal.postgres.erase import erasure_of, keep
from counterfoil.journal.postgres.server import Connection
from counterfoil.journal.postgres.statements import BLOBS, ROWS, Collect, Sending
from counterfoil.types.error import JournalError, RunNotFound

_AT_ONCE = 500
"""Records that are sent in one statement."""

_SESSION = """
INSERT INTO counterfoil.session (id, requester, status, owner, epoch, wake, created, updated, head, hash)
VALUES (%s, %s, %s, '', %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING RETURNING id"""
_EVENTS = """
INSERT INTO counterfoil.event (session, seq, epoch, at, v, data, digest, hash, kind)
SELECT %b, seq, epoch, at, v, CASE WHEN %b THEN data ELSE nullif(data, '') END, digest, hash, kind
FROM unnest(%b::int4[], %b::int4[], %b::float8[], %b::int4[], %b::bytea[], %b::text[], %b::text[], %b::text[])
    AS e(seq, epoch, at, v, data, digest, hash, kind)"""
_INBOX = """
INSERT INTO counterfoil.inbox (session, n, at, by, kind, ref, data) VALUES (%b, %b, %b, %b, %b, %b, %b)"""


def take(db: Connection, run_id: str) -> Transcript:
    """Read a run as it is stored, in one snapshot. Raises `RunNotFound`."""
    with db.transaction():
        db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        found = db.execute(
            "SELECT requester, status, epoch, created, updated, head, hash FROM counterfoil.session WHERE id = %s",
            (run_id,),
        ).fetchone()
        if found is None:
            raise RunNotFound(f"there is no run {run_id!r} in this journal")
        rows = db.execute(ROWS, (run_id,), prepare=True, binary=True).fetchall()
        items = db.execute(
            "SELECT n, at, by, kind, ref, data FROM counterfoil.inbox WHERE session = %s ORDER BY n",
            (run_id,),
            binary=True,
        ).fetchall()
        erasure = erasure_of(db, run_id)
    requester, status, epoch, created, updated, head, hash = found
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
        items=items,
        erasure=erasure,
    )


def adopt(to: Sending, runs: Sequence[Transcript]) -> Collect:
    """Keep runs from elsewhere: `None`, or a `JournalError` where there is one of that id."""
    outcomes: list[Any] = [_adopt(to.db, run) for run in runs]
    return lambda: outcomes


def _adopt(db: Connection, run: Transcript) -> JournalError | None:
    about = (run.requester, run.at_rest, run.epoch, len(run.items), run.created, run.updated, run.head, run.hash)
    if db.execute(_SESSION, (run.id, *about)).fetchone() is None:
        return JournalError(f"there is a run {run.id!r} already")
    for first in range(0, len(run.rows), _AT_ONCE):
        columns = [list(column) for column in zip(*run.rows[first : first + _AT_ONCE], strict=True)]
        blobs = {digest: body for body, digest in zip(columns[4], columns[5], strict=True) if len(body) > BLOB_BYTES}
        if blobs:
            db.execute(BLOBS, (list(blobs), list(blobs.values())))
        columns[4] = [b"" if len(body) > BLOB_BYTES else body for body in columns[4]]
        db.execute(_EVENTS, [run.id, run.erasure is not None, *columns])
    if run.erasure is not None:
        keep(db, run.id, run.erasure)
    for item in run.items:
        db.execute(_INBOX, (run.id, *item))
    return None
