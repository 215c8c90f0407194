"""Payloads and whole runs out of a Postgres journal. The server keeps dead rows until it vacuums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString, NamedTuple

from counterfoil.journal.erasure import Erased, Erasure, alias, refuse_open, sealed
from counterfoil.journal.postgres.server import Connection
from counterfoil.journal.postgres.statements import Collect, Sending
from counterfoil.types.error import JournalError, RunNotFound


class Forget(NamedTuple):
    """Whose runs to erase."""

    requester: str
    by: str
    at: float
    who: str


# Who adds a run that has a large body in common adds it before or after this, never in between.
_LOCK = "LOCK TABLE counterfoil.blob IN SHARE ROW EXCLUSIVE MODE"
_LARGE = "SELECT coalesce(array_agg(DISTINCT digest), '{}') FROM counterfoil.event WHERE session = %s AND data IS NULL"
_EMPTIED = "UPDATE counterfoil.inbox SET data = '{}' WHERE session = %s RETURNING n"
_REVOKED = "DELETE FROM counterfoil.granted WHERE requester = %s RETURNING n"
_DROP = """
DELETE FROM counterfoil.blob b WHERE sha256 = ANY(%s)
AND NOT EXISTS (SELECT 1 FROM counterfoil.event e WHERE e.digest = b.sha256 AND e.data IS NULL)"""


def erase(to: Sending, asked: Sequence[Forget]) -> Collect:
    """Erase the payloads of requesters' runs: `Erased`, or a `JournalError` if one is not done."""
    outcomes: list[Any] = []
    to.db.execute(_LOCK)
    for each in asked:
        try:
            outcomes.append(_erase(to.db, each))
        except JournalError as error:
            outcomes.append(error)
    return lambda: outcomes


def _erase(db: Connection, about: Forget) -> Erased:
    requester, by, at, who = about
    found = db.execute(
        "SELECT id, status, head, hash FROM counterfoil.session WHERE requester = %s ORDER BY id FOR UPDATE",
        (requester,),
    ).fetchall()
    refuse_open(requester, [(id, status) for id, status, _, _ in found])
    records = items = 0
    for id, _, head, hash in found:
        large = _one(db, _LARGE, id)
        # An empty body is one that was erased: no entry is.
        db.execute("UPDATE counterfoil.event SET data = '' WHERE session = %s", (id,))
        held = len(db.execute(_EMPTIED, (id,)).fetchall())
        db.execute("UPDATE counterfoil.inbox SET by = %s WHERE session = %s AND by = %s", (alias(who), id, requester))
        db.execute(_DROP, (large,))
        keep(db, id, sealed(hash, at, by, who, head, held))
        db.execute(
            "UPDATE counterfoil.session SET status = 'erased', requester = %s, due = NULL WHERE id = %s",
            (alias(who), id),
        )
        records, items = records + head, items + held
    grants = len(db.execute(_REVOKED, (requester,)).fetchall())
    return Erased(runs=tuple(id for id, *_ in found), records=records, items=items, grants=grants, who=who)


def keep(db: Connection, run_id: str, erasure: Erasure) -> None:
    """Record that a run was erased."""
    row = (run_id, erasure.at, erasure.by, erasure.who, erasure.records, erasure.items, erasure.hash)
    db.execute("INSERT INTO counterfoil.erasure VALUES (%s, %s, %s, %s, %s, %s, %s)", row)


def erasure_of(db: Connection, run_id: str) -> Erasure | None:
    """What is recorded of a run's erasure."""
    row = db.execute(
        "SELECT at, by, who, records, items, hash FROM counterfoil.erasure WHERE session = %s", (run_id,)
    ).fetchone()
    if row is None:
        return None
    at, by, who, records, items, hash = row
    return Erasure(at=at, by=by, who=who, records=records, items=items, hash=hash)


def remove(to: Sending, ends: Sequence[tuple[str, str]]) -> Collect:
    """Take runs out that are done and still end in that hash: `None`, or a `JournalError`."""
    to.db.execute(_LOCK)
    outcomes = [_remove(to.db, run_id, hash) for run_id, hash in ends]
    return lambda: outcomes


def _remove(db: Connection, run_id: str, hash: str) -> JournalError | None:
    ask = "SELECT status, hash FROM counterfoil.session WHERE id = %s FOR UPDATE"
    found = db.execute(ask, (run_id,)).fetchone()
    if found is None:
        return RunNotFound(f"there is no run {run_id!r} in this journal")
    if found[0] not in ("done", "erased") or found[1] != hash:
        return JournalError(f"run {run_id} has gone on in the meantime: it stays in the journal")
    large = _one(db, _LARGE, run_id)
    db.execute("DELETE FROM counterfoil.event WHERE session = %s", (run_id,))
    db.execute("DELETE FROM counterfoil.inbox WHERE session = %s", (run_id,))
    db.execute("DELETE FROM counterfoil.erasure WHERE session = %s", (run_id,))
    db.execute("DELETE FROM counterfoil.session WHERE id = %s", (run_id,))
    db.execute(_DROP, (large,))
    return None


def _one(db: Connection, ask: LiteralString, run_id: str) -> Any:
    row = db.execute(ask, (run_id,)).fetchone()
    return row[0] if row else []
