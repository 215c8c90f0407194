"""A journal without its fence, for the controls: whoever writes to a run writes at its end, whoever owns it by now."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from simulated_journal import Runs, SimulatedJournal, replace

from counterfoil.journal import sqlite
from counterfoil.journal.chain import link
from counterfoil.journal.liveness import Presence
from counterfoil.journal.log import Batch
from counterfoil.journal.postgres import journal as postgres
from counterfoil.journal.postgres import statements, worker
from counterfoil.journal.postgres.statements import Collect, Sending


def at_the_end(batch: Batch, epoch: int, head: int, hash: str) -> Batch:
    """A batch as if its log knew of everything that others have written."""
    rows: list[tuple[Any, ...]] = []
    for seq, (run_id, _, _, at, v, kind, body, digest, _) in enumerate(batch.rows, head):
        hash = link(hash, seq, epoch, at, v, digest)
        rows.append((run_id, seq, epoch, at, v, kind, body, digest, hash))
    return batch._replace(rows=rows, first=head, head=head + len(rows), hash=hash)


class Unfenced(SimulatedJournal):
    """Takes entries from whoever once owned the run."""

    def append(self, runs: Runs, batch: Batch) -> None:
        row = runs[batch.log.run_id]
        moved = at_the_end(batch, row.epoch, row.head, row.hash)
        runs[batch.log.run_id] = replace(row, head=moved.head, hash=moved.hash, rows=(*row.rows, *moved.rows))


def unfence_sqlite() -> None:
    """Switch the fence off, and have everybody take everybody else for dead."""

    def append(db: sqlite3.Connection, batches: Sequence[Batch]) -> None:
        for batch in batches:
            run_id = batch.log.run_id
            ask = "SELECT epoch, head, hash FROM session WHERE id = ?"
            moved = at_the_end(batch, *db.execute(ask, (run_id,)).fetchone())
            db.execute("UPDATE session SET head = ?, hash = ? WHERE id = ?", (moved.head, moved.hash, run_id))
            sqlite._insert(db, [moved])

    sqlite._append = append
    Presence.alive = lambda self, owner: False  # type: ignore[method-assign]


def unfence_postgres() -> None:
    """Switch the fence off."""
    fenced = statements.append

    def append(to: Sending, batches: Sequence[Batch]) -> Collect:
        moved: list[Batch] = []
        ends: dict[str, tuple[int, int, str]] = {}
        for batch in batches:
            run_id = batch.log.run_id
            ask = "SELECT epoch, head, hash FROM counterfoil.session WHERE id = %s FOR UPDATE"
            epoch, head, hash = ends.get(run_id) or to.db.execute(ask, (run_id,)).fetchone()  # type: ignore[misc]
            moved.append(at_the_end(batch, epoch, head, hash))
            ends[run_id] = (epoch, moved[-1].head, moved[-1].hash)
            batch.log.epoch = epoch
        return fenced(to, moved)

    worker._ORDER[append] = worker._ORDER[fenced]
    for module in (worker, postgres):
        setattr(module, "append", append)  # noqa: B010 they do not export it
