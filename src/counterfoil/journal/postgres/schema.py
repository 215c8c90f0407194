"""The tables of a Postgres journal, by version; they live in a schema of their own, `counterfoil`."""

from __future__ import annotations

from typing import LiteralString

from counterfoil.journal.postgres.server import Connection, DatabaseError, Server
from counterfoil.types.error import JournalError

_FIRST = """
CREATE TABLE counterfoil.version (version integer PRIMARY KEY, since timestamptz NOT NULL DEFAULT now());
CREATE TABLE counterfoil.session (
    id text PRIMARY KEY, n bigint GENERATED ALWAYS AS IDENTITY, requester text NOT NULL, status text NOT NULL,
    owner text NOT NULL, epoch integer NOT NULL, wake bigint NOT NULL DEFAULT 0, created double precision NOT NULL,
    updated double precision NOT NULL, head integer NOT NULL DEFAULT 0, hash text NOT NULL) WITH (fillfactor = 70);
CREATE INDEX session_latest ON counterfoil.session (created, n);
CREATE INDEX session_status ON counterfoil.session (status);
CREATE TABLE counterfoil.event (
    session text NOT NULL, seq integer NOT NULL, epoch integer NOT NULL, at double precision NOT NULL,
    v integer NOT NULL, kind text NOT NULL, data bytea, digest text NOT NULL, hash text NOT NULL,
    PRIMARY KEY (session, seq));
CREATE TABLE counterfoil.inbox (
    session text NOT NULL, n integer NOT NULL, at double precision NOT NULL, by text NOT NULL, kind text NOT NULL,
    ref text NOT NULL, data bytea NOT NULL, PRIMARY KEY (session, n), UNIQUE (session, kind, ref));
CREATE TABLE counterfoil.blob (sha256 text PRIMARY KEY, bytes bytea NOT NULL);
CREATE VIEW counterfoil.entry AS
    SELECT e.session, e.seq, e.epoch, to_timestamp(e.at) AS at, e.kind,
           convert_from(coalesce(e.data, b.bytes), 'UTF8')::json AS data
    FROM counterfoil.event e LEFT JOIN counterfoil.blob b ON e.data IS NULL AND b.sha256 = e.digest;
"""

# `wake` is the number of the last item that came for a run; the first version also counted what was sent twice.
# A worker that has stopped without dying (its machine sleeps, its thread hangs) still holds its lock: `owner` says when
# it was last seen, by the server's clock.
_SECOND = """
ALTER TABLE counterfoil.session ADD COLUMN due double precision;
CREATE INDEX session_due ON counterfoil.session (due) WHERE status = 'waiting' AND due IS NOT NULL;
UPDATE counterfoil.session s
    SET wake = (SELECT coalesce(max(n), 0) FROM counterfoil.inbox i WHERE i.session = s.id) WHERE wake > 0;
CREATE TABLE counterfoil.granted (
    id text PRIMARY KEY, n bigint GENERATED ALWAYS AS IDENTITY, requester text NOT NULL, data bytea NOT NULL,
    revoked double precision, by text NOT NULL DEFAULT '');
CREATE INDEX granted_requester ON counterfoil.granted (requester);
CREATE TABLE counterfoil.erasure (
    session text PRIMARY KEY, at double precision NOT NULL, by text NOT NULL, who text NOT NULL,
    records integer NOT NULL, items integer NOT NULL, hash text NOT NULL);
CREATE INDEX event_blob ON counterfoil.event (digest) WHERE data IS NULL;
CREATE OR REPLACE VIEW counterfoil.entry AS
    SELECT e.session, e.seq, e.epoch, to_timestamp(e.at) AS at, e.kind,
           convert_from(nullif(coalesce(e.data, b.bytes), ''), 'UTF8')::json AS data
    FROM counterfoil.event e LEFT JOIN counterfoil.blob b ON e.data IS NULL AND b.sha256 = e.digest;
CREATE TABLE counterfoil.owner (lock bigint PRIMARY KEY, seen timestamptz NOT NULL) WITH (fillfactor = 50);
"""

MIGRATIONS: list[str] = [_FIRST, _SECOND]
"""Step n brings version n to version n + 1. A step that was released is never edited: another is added."""


# The catalogue's own tables: what to_regclass says may be older than what another process has just created.
_SCHEMA: LiteralString = "SELECT nspname FROM pg_namespace WHERE nspname = 'counterfoil'"
_TABLES: LiteralString = (
    "SELECT relname FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE nspname = 'counterfoil'"
)


def version(db: Connection) -> int:
    """The version of the tables there; 0: there are none. Raises `JournalError` when they are somebody else's."""
    tables = _names(db, _TABLES)
    if "version" in tables:
        found = db.execute("SELECT coalesce(max(version), 0) FROM counterfoil.version").fetchone()
        return int(found[0]) if found else 0
    if tables:
        raise JournalError("the schema 'counterfoil' of that database belongs to something else: name another database")
    return 0


def _names(db: Connection, ask: LiteralString) -> set[str]:
    return {name for (name,) in db.execute(ask)}


def ensure(db: Connection, server: Server, *, create: bool) -> None:
    """Create the tables where there are none; refuse older ones, which only `migrate` changes, and newer ones."""
    found = version(db)
    if found == 0:
        if not create:
            raise JournalError(f"there is no journal in {server.name}: name another database, or begin one with a run")
        migrate(db, server)
    elif found < len(MIGRATIONS):
        raise JournalError(
            f"{server.name} has tables of an older counterfoil (schema {found}; this one needs {len(MIGRATIONS)}): "
            f"stop its workers and run `counterfoil journal migrate --journal {server.name}`"
        )
    else:
        _refuse_newer(found, server)


def migrate(db: Connection, server: Server) -> tuple[int, int]:
    """Create the tables or bring them up to date, in one transaction. Returns the versions before and after.

    Raises `JournalError`: they are newer, or not ours.
    """
    try:
        with db.transaction():
            # Two processes that start at once do not both create them.
            db.execute("SELECT pg_advisory_xact_lock(hashtextextended('counterfoil schema', 0))")
            before = version(db)
            _refuse_newer(before, server)
            # Somebody may have made it for a user who may not.
            if not _names(db, _SCHEMA):
                db.execute("CREATE SCHEMA counterfoil")
            for step, statements in enumerate(MIGRATIONS[before:], before):
                for statement in statements.split(";\n"):
                    if statement.strip():
                        db.execute(statement.encode())
                db.execute("INSERT INTO counterfoil.version (version) VALUES (%s)", (step + 1,))
    except DatabaseError as error:
        raise server.explained(error) from error
    return before, len(MIGRATIONS)


def _refuse_newer(found: int, server: Server) -> None:
    if found > len(MIGRATIONS):
        raise JournalError(
            f"{server.name} was written by a newer counterfoil (schema {found}; this one knows {len(MIGRATIONS)}): "
            "upgrade counterfoil"
        )
