"""What is done on a Postgres connection, for as many runs at once as there are.

Each function sends its statements for some jobs and returns how to collect what became of each job: a result, or the
`JournalError` it failed with. So several of them share one trip to the server.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from counterfoil.journal.log import Batch, ChainedLog, Rest, lost
from counterfoil.journal.postgres.server import Connection
from counterfoil.types.error import JournalError, RunBusy, RunErased, RunNotFound
from counterfoil.types.grant import Grant

Collect = Callable[[], list[Any]]
_NO_END = 2**62

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
    """A run to begin, with its first entries."""

    requester: str
    owner: str
    batch: Batch


class Claim(NamedTuple):
    """A run to take over, from an owner whose process is gone, or was not seen for `lease` seconds."""

    run_id: str
    owner: str
    at: float
    lease: float


class Post(NamedTuple):
    """Something for a run's inbox."""

    run_id: str
    at: float
    by: str
    kind: str
    ref: str
    data: bytes


_ENTRIES = """
SELECT e.session, e.seq, e.epoch, e.at, e.v, e.kind, nullif(e.data, ''), e.digest, e.hash
FROM unnest(%b::text[], %b::int4[], %b::int4[], %b::float8[], %b::int4[], %b::text[], %b::bytea[], %b::text[],
            %b::text[]) AS e(session, seq, epoch, at, v, kind, data, digest, hash)"""

_CREATE = """
WITH made AS (
    INSERT INTO counterfoil.session (id, requester, status, owner, epoch, created, updated, head, hash)
    SELECT id, requester, 'running', owner, 1, at, at, head, hash
    FROM unnest(%b::text[], %b::text[], %b::text[], %b::float8[], %b::int4[], %b::text[])
        AS u(id, requester, owner, at, head, hash)
    ON CONFLICT (id) DO NOTHING RETURNING id
), added AS (
    INSERT INTO counterfoil.event (session, seq, epoch, at, v, kind, data, digest, hash)
    {entries} JOIN made m ON m.id = e.session
)
SELECT id FROM made""".replace("{entries}", _ENTRIES)

_APPEND = """
WITH moved AS (
    UPDATE counterfoil.session s SET head = u.head, hash = u.hash, updated = u.at
    FROM unnest(%b::text[], %b::int4[], %b::int4[], %b::int4[], %b::text[], %b::float8[])
        AS u(id, epoch, first, head, hash, at)
    WHERE s.id = u.id AND s.epoch = u.epoch AND s.head = u.first
    RETURNING s.id, s.epoch
), added AS (
    INSERT INTO counterfoil.event (session, seq, epoch, at, v, kind, data, digest, hash)
    {entries} JOIN moved m ON m.id = e.session AND m.epoch = e.epoch
)
SELECT id, epoch, (SELECT set_config('synchronous_commit', %b, true)) FROM moved""".replace("{entries}", _ENTRIES)

BLOBS = """
INSERT INTO counterfoil.blob (sha256, bytes) SELECT DISTINCT ON (1) * FROM unnest(%b::text[], %b::bytea[]) ORDER BY 1
ON CONFLICT (sha256) DO NOTHING"""

# It answers with those that were still ours, and whether nothing has come for them. All look at the rows as they were
# found, locked. No end (of what was seen, of the time to wait) stands for none: an array of nothing but NULLs has no
# type.
_RELEASE = """
WITH u AS (
    SELECT * FROM unnest(%b::text[], %b::int4[], %b::text[], %b::int8[], %b::float8[], %b::float8[])
        AS u(id, epoch, status, seen, due, at)
), found AS MATERIALIZED (
    SELECT u.*, s.wake FROM u JOIN counterfoil.session s ON s.id = u.id AND s.epoch = u.epoch
    ORDER BY s.id FOR UPDATE OF s
), parked AS (
    UPDATE counterfoil.session s SET status = f.status, owner = '', due = nullif(f.due, 'infinity'), updated = f.at
    FROM found f WHERE s.id = f.id AND f.wake <= f.seen
)
SELECT id, epoch, wake <= seen FROM found"""

SEEN = """
EXISTS (SELECT 1 FROM counterfoil.owner o
        WHERE o.lock = split_part(owner, ':', 3)::bigint AND o.seen > clock_timestamp() - make_interval(secs => %b))"""
"""Whether the owner's process was seen of late, by the server's clock."""

# The owner's lock is looked at with a shared one, which the owner's excludes and other lookers do not; it is gone with
# this transaction.
_CLAIM = """
WITH found AS MATERIALIZED (
    SELECT id, status, owner, epoch, head, hash FROM counterfoil.session WHERE id = %b FOR UPDATE
), judged AS MATERIALIZED (
    SELECT *, CASE WHEN status = 'erased' THEN false
                   WHEN status <> 'running' OR owner = '' OR owner = %b THEN true
                   ELSE pg_try_advisory_xact_lock_shared(split_part(owner, ':', 3)::bigint)
                        OR NOT {seen} END AS free FROM found
), taken AS (
    UPDATE counterfoil.session s SET status = 'running', owner = %b, epoch = s.epoch + 1, updated = %b
    FROM judged j WHERE s.id = j.id AND j.free
)
SELECT free, owner, epoch + 1, head, hash, status FROM judged""".replace("{seen}", SEEN)

_LOCK = "SELECT 1 FROM counterfoil.session WHERE id = %b FOR UPDATE"
# The row of the run is locked by now, so nobody else counts at the same time.
_POST = """
WITH put AS (
    INSERT INTO counterfoil.inbox (session, n, at, by, kind, ref, data)
    SELECT %b, coalesce(max(n), 0) + 1, %b, %b, %b, %b, %b FROM counterfoil.inbox WHERE session = %b
    HAVING EXISTS (SELECT 1 FROM counterfoil.session WHERE id = %b)
    ON CONFLICT (session, kind, ref) DO NOTHING RETURNING session, n
)
UPDATE counterfoil.session s SET wake = put.n,
    status = CASE WHEN status IN ('waiting', 'doubt', 'failed') THEN 'ready' ELSE status END
FROM put WHERE s.id = put.session"""
_POSTED = """
SELECT n, at, by, kind, ref, data FROM counterfoil.inbox WHERE session = %b AND kind = %b AND ref = %b"""


def create(to: Sending, creations: Sequence[Creation]) -> Collect:
    """Begin runs: `None`, or a `JournalError` where the id is taken."""
    # Of two with the same id the first has it.
    first = {each.batch.log.run_id: each for each in reversed(creations)}
    batches = [each.batch for each in first.values()]
    _keep_blobs(to, batches)
    sessions = [(id, each.requester, each.owner, each.batch.at, each.batch.head, each.batch.hash)
                for id, each in first.items()]  # fmt: skip
    cursor = to.db.execute(_CREATE, [*_columns(sessions, 6), *_rows(batches)], prepare=True, binary=True)

    def collect() -> list[Any]:
        made = {id for (id,) in cursor.fetchall()}
        outcomes: list[Any] = []
        for creation in creations:
            run_id = creation.batch.log.run_id
            ours = run_id in made and first[run_id] is creation
            outcomes.append(None if ours else JournalError(f"there is a run {run_id!r} already"))
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
    taken = [batch for batch in batches if batch.log in ends]
    _keep_blobs(to, taken)
    # In one order everywhere, so that two writers never wait for each other.
    columns = [*_columns(sorted(ends.values()), 6), *_rows(taken)]
    cursor = to.db.execute(_APPEND, [*columns, to.level], prepare=True, binary=True)

    def collect() -> list[Any]:
        moved = {(id, epoch) for id, epoch, _ in cursor.fetchall()}
        return [_outcome(batch.log, moved) for batch in batches]

    return collect


def _keep_blobs(to: Sending, batches: Sequence[Batch]) -> None:
    if blobs := [blob for batch in batches for blob in batch.blobs]:
        to.db.execute(BLOBS, _columns(blobs, 2), prepare=True)


def _rows(batches: Sequence[Batch]) -> list[Any]:
    """The rows of some batches as columns."""
    columns = _columns([row for batch in batches for row in batch.rows], 9)
    if columns[6]:  # an array of nothing but NULLs has no type
        columns[6] = [data or b"" for data in columns[6]]
    return columns


def _columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[Any]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [None] * width


def _outcome(log: ChainedLog, moved: set[tuple[str, int]]) -> JournalError | None:
    if log.failed is not None or (log.run_id, log.epoch) in moved:
        return log.failed
    return lost(log.run_id)


def release(to: Sending, rests: Sequence[Rest]) -> Collect:
    """Give runs up: `False` where something has come, `Fenced` where another process owns it by now."""
    rows = [
        (run_id, epoch, status, _NO_END if seen is None else seen, math.inf if due is None else due, at)
        for run_id, epoch, status, seen, due, at in rests
    ]
    cursor = to.db.execute(_RELEASE, _columns(rows, 6), prepare=True, binary=True)

    def collect() -> list[Any]:
        ours = {(id, epoch): parked for id, epoch, parked in cursor.fetchall()}
        return [ours.get((each.run_id, each.epoch), lost(each.run_id)) for each in rests]

    return collect


def claim(to: Sending, claims: Sequence[Claim]) -> Collect:
    """Take runs over: (epoch, head, hash), `RunNotFound`, or `RunBusy` where the owner lives."""
    cursors = [
        to.db.execute(_CLAIM, (run_id, owner, lease, owner, at), prepare=True, binary=True)
        for run_id, owner, at, lease in claims
    ]

    def collect() -> list[Any]:
        outcomes: list[Any] = []
        for each, cursor in zip(claims, cursors, strict=True):
            row = cursor.fetchone()
            if row is None:
                outcomes.append(RunNotFound(f"there is no run {each.run_id!r} in this journal"))
            elif row[5] == "erased":
                outcomes.append(RunErased(f"run {each.run_id}: its payloads were erased"))
            elif not row[0]:
                host, pid, _ = row[1].rsplit(":", 2)
                outcomes.append(RunBusy(f"run {each.run_id} is being worked on by process {pid} on {host}"))
            else:
                outcomes.append(tuple(row[2:5]))
        return outcomes

    return collect


def post(to: Sending, posts: Sequence[Post]) -> Collect:
    """Leave things in inboxes: the row that stands there and whether it is new, or `RunNotFound`."""
    sent: list[tuple[Any, Any, Any]] = []
    for each in posts:
        run_id, at, by, kind, ref, data = each
        locked = to.db.execute(_LOCK, (run_id,), prepare=True)
        put = to.db.execute(_POST, (run_id, at, by, kind, ref, data, run_id, run_id), prepare=True)
        found = to.db.execute(_POSTED, (run_id, kind, ref), prepare=True, binary=True)
        sent.append((locked, put, found))

    def collect() -> list[Any]:
        outcomes: list[Any] = []
        for each, (locked, put, found) in zip(posts, sent, strict=True):
            if locked.rowcount == 0:
                outcomes.append(RunNotFound(f"there is no run {each.run_id!r} in this journal"))
            else:
                outcomes.append((put.rowcount == 1, found.fetchone()))
        return outcomes

    return collect


def grant(to: Sending, grants: Sequence[Grant]) -> Collect:
    """Keep standing approvals."""
    for each in grants:
        row = (each.id, each.requester, msgspec.json.encode(each))
        to.db.execute("INSERT INTO counterfoil.granted (id, requester, data) VALUES (%b, %b, %b)", row, prepare=True)
    return lambda: [None] * len(grants)


def revoke(to: Sending, revocations: Sequence[tuple[float, str, str]]) -> Collect:
    """Take standing approvals back."""
    for each in revocations:
        to.db.execute("UPDATE counterfoil.granted SET revoked = %b, by = %b WHERE id = %b AND revoked IS NULL", each)
    return lambda: [None] * len(revocations)
