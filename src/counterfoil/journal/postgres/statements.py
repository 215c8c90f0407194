"""What is done on a Postgres connection, for as many runs at once as there are.

Each function sends its statements for some jobs and returns how to collect what became of each job: a result, or the
`JournalError` it failed with. So several of them share one trip to the server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from counterfoil.journal.log import Batch, ChainedLog
from counterfoil.journal.postgres.server import Connection
from counterfoil.types.error import Fenced, JournalError, RunBusy, RunNotFound

Collect = Callable[[], list[Any]]


ROWS = """
SELECT e.seq, e.epoch, e.at, e.v, coalesce(e.data, b.bytes), e.digest, e.hash, e.kind
FROM counterfoil.event e LEFT JOIN counterfoil.blob b ON e.data IS NULL AND b.sha256 = e.digest
WHERE e.session = %b ORDER BY e.seq"""
"""The records of a run, as `chain.faults` takes them."""


class Sending(NamedTuple):
    """A connection, and what `synchronous_commit` the transaction on it is to have."""

    db: Connection
    level: str


class Creation(NamedTuple):
    """A run to begin."""

    run_id: str
    requester: str
    owner: str
    at: float
    hash: str


class Release(NamedTuple):
    """A run to give up."""

    run_id: str
    epoch: int
    status: str
    at: float


class Claim(NamedTuple):
    """A run to take over."""

    run_id: str
    owner: str
    at: float


class Post(NamedTuple):
    """Something for a run's inbox."""

    run_id: str
    at: float
    by: str
    kind: str
    ref: str
    data: bytes


_CREATE = """
INSERT INTO counterfoil.session (id, requester, status, owner, epoch, created, updated, hash)
SELECT id, requester, 'running', owner, 1, at, at, hash
FROM unnest(%b::text[], %b::text[], %b::text[], %b::float8[], %b::text[]) AS u(id, requester, owner, at, hash)
ON CONFLICT (id) DO NOTHING RETURNING id"""

_APPEND = """
WITH moved AS (
    UPDATE counterfoil.session s SET head = u.head, hash = u.hash, updated = u.at
    FROM unnest(%b::text[], %b::int4[], %b::int4[], %b::int4[], %b::text[], %b::float8[])
        AS u(id, epoch, first, head, hash, at)
    WHERE s.id = u.id AND s.epoch = u.epoch AND s.head = u.first
    RETURNING s.id, s.epoch
), added AS (
    INSERT INTO counterfoil.event (session, seq, epoch, at, v, kind, data, digest, hash)
    SELECT e.session, e.seq, e.epoch, e.at, e.v, e.kind, nullif(e.data, ''), e.digest, e.hash
    FROM unnest(%b::text[], %b::int4[], %b::int4[], %b::float8[], %b::int4[], %b::text[], %b::bytea[], %b::text[],
                %b::text[]) AS e(session, seq, epoch, at, v, kind, data, digest, hash)
    JOIN moved m ON m.id = e.session AND m.epoch = e.epoch
)
SELECT id, epoch, (SELECT set_config('synchronous_commit', %b, true)) FROM moved"""

BLOBS = """
INSERT INTO counterfoil.blob (sha256, bytes) SELECT DISTINCT ON (1) * FROM unnest(%b::text[], %b::bytea[]) ORDER BY 1
ON CONFLICT (sha256) DO NOTHING"""

_RELEASE = """
UPDATE counterfoil.session s SET status = u.status, owner = '', updated = u.at
FROM unnest(%b::text[], %b::int4[], %b::text[], %b::float8[]) AS u(id, epoch, status, at)
WHERE s.id = u.id AND s.epoch = u.epoch"""

# The owner's lock is looked at with a shared one, which the owner's excludes and other lookers do not; it is gone with
# this transaction.
_CLAIM = """
WITH found AS MATERIALIZED (
    SELECT id, status, owner, epoch, head, hash FROM counterfoil.session WHERE id = %b FOR UPDATE
), judged AS MATERIALIZED (
    SELECT *, CASE WHEN status <> 'running' OR owner = '' OR owner = %b THEN true
                   ELSE pg_try_advisory_xact_lock_shared(split_part(owner, ':', 3)::bigint) END AS free FROM found
), taken AS (
    UPDATE counterfoil.session s SET status = 'running', owner = %b, epoch = s.epoch + 1, updated = %b
    FROM judged j WHERE s.id = j.id AND j.free
)
SELECT free, owner, epoch + 1, head, hash FROM judged"""

_TOUCH = "UPDATE counterfoil.session SET wake = wake + 1 WHERE id = %b"
# The row of the run is locked by now, so nobody else counts at the same time.
_POST = """
INSERT INTO counterfoil.inbox (session, n, at, by, kind, ref, data)
SELECT %b, coalesce(max(n), 0) + 1, %b, %b, %b, %b, %b FROM counterfoil.inbox WHERE session = %b
HAVING EXISTS (SELECT 1 FROM counterfoil.session WHERE id = %b)
ON CONFLICT (session, kind, ref) DO NOTHING"""
_POSTED = """
SELECT n, at, by, kind, ref, data FROM counterfoil.inbox WHERE session = %b AND kind = %b AND ref = %b"""


def create(to: Sending, creations: Sequence[Creation]) -> Collect:
    """Begin runs: `None`, or a `JournalError` where the id is taken."""
    cursor = to.db.execute(
        _CREATE, [list(column) for column in zip(*creations, strict=True)], prepare=True, binary=True
    )

    def collect() -> list[Any]:
        made = {id for (id,) in cursor.fetchall()}
        outcomes: list[Any] = []
        for creation in creations:
            taken = creation.run_id not in made
            made.discard(creation.run_id)  # of two with the same id the first has it
            outcomes.append(JournalError(f"there is a run {creation.run_id!r} already") if taken else None)
        return outcomes

    return collect


def append(to: Sending, batches: Sequence[Batch]) -> Collect:
    """Append to runs, each if this process still owns it and everything before is there: a log has no gaps."""
    ends: dict[ChainedLog, tuple[Any, ...]] = {}
    for log, _, _, at, first, head, hash in batches:
        if log.failed is None:
            earlier = ends.get(log)
            ends[log] = (log.run_id, log.epoch, first if earlier is None else earlier[2], head, hash, at)
    if not ends:
        return lambda: [batch.log.failed for batch in batches]
    if blobs := [blob for batch in batches if batch.log in ends for blob in batch.blobs]:
        to.db.execute(BLOBS, [list(column) for column in zip(*blobs, strict=True)], prepare=True)
    rows = [row for batch in batches if batch.log in ends for row in batch.rows]
    # In one order everywhere, so that two writers never wait for each other.
    columns: list[Any] = [list(column) for column in zip(*sorted(ends.values()), strict=True)]
    columns += [list(column) for column in zip(*rows, strict=True)] if rows else [None] * 9
    if rows:  # an array of nothing but NULLs has no type
        columns[12] = [data or b"" for data in columns[12]]
    cursor = to.db.execute(_APPEND, [*columns, to.level], prepare=True, binary=True)

    def collect() -> list[Any]:
        moved = {(id, epoch) for id, epoch, _ in cursor.fetchall()}
        return [_outcome(batch.log, moved) for batch in batches]

    return collect


def _outcome(log: ChainedLog, moved: set[tuple[str, int]]) -> JournalError | None:
    if log.failed is not None or (log.run_id, log.epoch) in moved:
        return log.failed
    return Fenced(
        f"run {log.run_id} has another owner by now, or its end is not where this process left it: "
        "it may not be written here any more; claim it again"
    )


def release(to: Sending, releases: Sequence[Release]) -> Collect:
    """Give runs up. Who does not own one any more changes nothing."""
    to.db.execute(_RELEASE, [list(column) for column in zip(*releases, strict=True)], prepare=True)
    return lambda: [None] * len(releases)


def claim(to: Sending, claims: Sequence[Claim]) -> Collect:
    """Take runs over: (epoch, head, hash), `RunNotFound`, or `RunBusy` where the owner lives."""
    cursors = [
        to.db.execute(_CLAIM, (run_id, owner, owner, at), prepare=True, binary=True) for run_id, owner, at in claims
    ]

    def collect() -> list[Any]:
        outcomes: list[Any] = []
        for each, cursor in zip(claims, cursors, strict=True):
            row = cursor.fetchone()
            if row is None:
                outcomes.append(RunNotFound(f"there is no run {each.run_id!r} in this journal"))
            elif not row[0]:
                host, pid, _ = row[1].rsplit(":", 2)
                outcomes.append(RunBusy(f"run {each.run_id} is being worked on by process {pid} on {host}"))
            else:
                outcomes.append(tuple(row[2:]))
        return outcomes

    return collect


def post(to: Sending, posts: Sequence[Post]) -> Collect:
    """Leave things in inboxes: the row that stands there and whether it is new, or `RunNotFound`."""
    sent: list[tuple[Any, Any, Any]] = []
    for each in posts:
        run_id, at, by, kind, ref, data = each
        touched = to.db.execute(_TOUCH, (run_id,), prepare=True)
        put = to.db.execute(_POST, (run_id, at, by, kind, ref, data, run_id, run_id), prepare=True)
        found = to.db.execute(_POSTED, (run_id, kind, ref), prepare=True, binary=True)
        sent.append((touched, put, found))

    def collect() -> list[Any]:
        outcomes: list[Any] = []
        for each, (touched, put, found) in zip(posts, sent, strict=True):
            if touched.rowcount == 0:
                outcomes.append(RunNotFound(f"there is no run {each.run_id!r} in this journal"))
            else:
                outcomes.append((put.rowcount == 1, found.fetchone()))
        return outcomes

    return collect
