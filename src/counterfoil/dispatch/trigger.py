"""A run that becomes ready goes onto a queue in the same transaction, by whichever process and in whatever way."""

from __future__ import annotations

from typing import NamedTuple

from counterfoil.journal.postgres import PostgresJournal
from counterfoil.journal.postgres.server import Connection, DatabaseError

VERSION = 1
_WHICH = """
SELECT obj_description(p.oid) FROM pg_proc p JOIN pg_namespace s ON s.oid = p.pronamespace
WHERE s.nspname = 'counterfoil' AND p.proname = 'enqueue'"""

# Each time that a run becomes ready is a key of its own: `wake` counts what came for it, and `epoch` its owners, for it
# is ready again when one of them stops before it is done, with nothing new in its inbox. (While the job of that first
# time is still being cleared away, a key without the epoch would be taken for it, and the run be left.)
#
# Whoever makes a run ready need have no rights on the queue: it is done with the rights of who has installed this. And
# that it is ready counts more than that it is queued: what fails here is found by the workers all the same.
_FUNCTION = """
CREATE OR REPLACE FUNCTION counterfoil.enqueue() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {path} AS $enqueue$
DECLARE
    key text := NEW.id || ':' || NEW.epoch || ':' || NEW.wake;
BEGIN
    {insert}
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'run % could not be queued: %', NEW.id, SQLERRM;
    RETURN NULL;
END $enqueue$;
COMMENT ON FUNCTION counterfoil.enqueue() IS '{name} {version}';
CREATE OR REPLACE TRIGGER enqueue AFTER INSERT OR UPDATE OF status, wake ON counterfoil.session
FOR EACH ROW WHEN (NEW.status = 'ready') EXECUTE FUNCTION counterfoil.enqueue();
UPDATE counterfoil.session SET wake = wake WHERE status = 'ready';
"""
_GONE = """
DROP TRIGGER IF EXISTS enqueue ON counterfoil.session;
DROP FUNCTION IF EXISTS counterfoil.enqueue();
"""


class Trigger(NamedTuple):
    """How a queue takes a run, in PL/pgSQL: `NEW` is the row of the run, `key` what it is queued under, once."""

    name: str
    insert: str
    path: str = "pg_catalog, pg_temp"


async def installed(journal: PostgresJournal) -> str | None:
    """The name of the queue that a journal's ready runs go onto; `None`: there is none."""
    row = await journal.reader.read(lambda db: db.execute(_WHICH).fetchone())
    return None if row is None or row[0] is None else str(row[0]).partition(" ")[0]


async def install(journal: PostgresJournal, trigger: Trigger | None) -> None:
    """Have ready runs queued from now on, those that are ready included; `None`: no longer. Safe to repeat.

    Raises `JournalError` where the user may not: who does it must own the journal's tables.
    """
    statements = _GONE
    if trigger is not None:
        name, insert, path = trigger
        for mark, text in (("{path}", path), ("{insert}", insert), ("{name}", name), ("{version}", str(VERSION))):
            statements = (statements if statements is not _GONE else _FUNCTION).replace(mark, text)

    def work(db: Connection) -> None:
        try:
            with db.transaction():
                db.execute(statements.encode())
        except DatabaseError as error:
            raise journal.server.explained(error) from error

    await journal.reader.read(work)


async def address(journal: PostgresJournal) -> str:
    """What a client needs to connect to the journal's server as the journal does; it holds the password."""

    def ask(db: Connection) -> str:
        info = db.info
        parameters = info.get_parameters()
        if info.password:
            parameters["password"] = info.password
        return _joined(parameters)

    found: str = await journal.reader.read(ask)
    return found


def _joined(parameters: dict[str, str]) -> str:
    from psycopg.conninfo import make_conninfo  # noqa: PLC0415 - a journal on Postgres has it

    return make_conninfo("", **parameters)
