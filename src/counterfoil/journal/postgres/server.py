"""Where a Postgres journal is: connections to it, its name without the secret, and its errors in words."""

from __future__ import annotations

import logging
import selectors
import time
from typing import Any

try:
    import psycopg
    from psycopg import conninfo, errors
except ImportError as error:
    from counterfoil.types.error import MissingExtra

    raise MissingExtra("A journal on Postgres", "postgres") from error

from counterfoil.types.error import JournalError

_log = logging.getLogger("counterfoil.journal")

Connection = psycopg.Connection[Any]
DatabaseError = psycopg.Error

_DEFAULTS: dict[str, Any] = {
    "application_name": "counterfoil",
    # A server whose machine is gone is noticed within half a minute, not after the hours that TCP would wait.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_SETTINGS = (
    "SET default_transaction_isolation TO 'read committed'",  # the statements are written for it
    "SET idle_session_timeout TO 0",
    # The same from the server's side: a worker whose machine is gone loses its lock, and with it its runs.
    "SET tcp_keepalives_idle TO 10",
    "SET tcp_keepalives_interval TO 5",
    "SET tcp_keepalives_count TO 3",
    # Every statement finds its rows by key, in tables that may never have been analysed; planning each anew costs more.
    "SET plan_cache_mode TO force_generic_plan",
    "SET enable_seqscan TO off",
    "SET client_min_messages TO warning",
)
_BAD_URL = (
    "the journal's URL cannot be read: write postgresql://user:password@host:port/database, and in the password "
    "%40 for @, %2F for /, %3A for :, %3F for ?, %23 for # and %25 for %"
)


class Server:
    """Makes connections to one database. Raises `JournalError` when the URL cannot be read.

    Nothing it says holds the password: not its name, not its `repr`, not an error.
    """

    def __init__(self, url: str, wait: float) -> None:
        self.wait = wait
        """How many seconds to wait: to be let in, for a server that starts, for a lock."""
        try:
            # A parser's complaint quotes what it stumbled over, and that may be the password: it goes no further.
            given: dict[str, Any] = dict(conninfo.conninfo_to_dict(url))
        except psycopg.Error:
            given = {}
        if not _plausible(given):
            raise JournalError(_BAD_URL)
        self._address = conninfo.make_conninfo("", **{**_DEFAULTS, "connect_timeout": max(2, round(wait)), **given})
        self._secrets = [str(given[each]) for each in ("password", "sslpassword") if given.get(each)]
        host, port, user = (given.get(each) for each in ("host", "port", "user"))
        self.database: str = given.get("dbname") or user or "?"
        socket = str(host or "").startswith("/")
        where = "" if socket else f"{host or ''}{f':{port}' if port else ''}"
        self.name = (
            f"postgresql://{f'{user}@' if user else ''}{where}/{self.database}{f'?host={host}' if socket else ''}"
        )

    def __repr__(self) -> str:
        return f"Server({self.name!r})"

    def connect(self, *, again: bool = False) -> Connection:
        """Connect, patiently where the server is just starting, or is `again` to be there. Raises `JournalError`."""
        deadline = time.monotonic() + self.wait
        while True:
            try:
                db = psycopg.connect(self._address, autocommit=True)
                break
            except psycopg.Error as error:
                text = str(error)
                hope = _starting(text) or (again and _silent(text))
                if time.monotonic() > deadline or not hope:
                    # The cause quotes the connection's parameters: what is said of it here is all there is.
                    raise self.cannot_connect(text) from None
                time.sleep(0.1)
        try:
            db.execute(b"SET lock_timeout TO %d" % (self.wait * 1000))
            for setting in _SETTINGS:
                db.execute(setting.encode())
        except psycopg.Error as error:
            db.close()
            raise self.explained(error) from error
        return db

    def cannot_connect(self, text: str) -> JournalError:
        """Say why a connection was refused, and what to do."""
        if "password authentication failed" in text or "no password supplied" in text:
            what = "the server refused the user or the password: check both (PGPASSWORD and ~/.pgpass work too)"
        elif "database" in text and "does not exist" in text:
            what = f"there is no such database: create it (createdb {self.database}), or name another"
        elif "role" in text and "does not exist" in text:
            what = "the server knows no such user: check the name, or create it (createuser)"
        elif "pg_hba.conf" in text:
            what = "the server does not let this user in from here: see its pg_hba.conf"
        elif "too many" in text:
            what = "the server has no connection left: a journal needs two per process; raise max_connections"
        elif "could not translate host name" in text or "resolve host" in text:
            what = "there is no host of that name: check it"
        elif _silent(text):
            what = "nobody answers there: check that the server runs and that host and port are right"
        else:
            what = self.scrubbed(" ".join(text.split()))
        return JournalError(f"cannot connect to {self.name}: {what}")

    def explained(self, error: BaseException) -> JournalError:
        """Say what a failure of the server means, and what to do."""
        if isinstance(error, JournalError):
            return error
        text = self.scrubbed(str(getattr(getattr(error, "diag", None), "message_primary", None) or error))
        match error:
            case errors.ReadOnlySqlTransaction():
                what = "it is read-only (a standby, or default_transaction_read_only): name the primary server"
            case errors.InsufficientPrivilege():
                what = f"{text}: grant this user the rights on schema counterfoil, or connect as its owner"
            case errors.DiskFull():
                what = "the server's disk is full. Free some space; nothing that was kept is lost"
            case errors.LockNotAvailable():
                what = "a row of the run stays locked: end the transaction that holds it, and try again"
            case errors.QueryCanceled():
                what = "the server cancelled it (statement_timeout?): try again"
            case psycopg.OperationalError() | psycopg.InterfaceError():
                why = text.splitlines()[0] if text else "no reason given"
                what = (
                    f"the connection was lost ({why}). Whether the last write was kept, the run says when claimed again"
                )
            case _:
                what = text
        return JournalError(f"{self.name}: {what}")

    def scrubbed(self, text: str) -> str:
        """A text of the server's without the password."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def warn_if_unsafe(self, db: Connection) -> None:
        """Say in the log when the server keeps nothing through a power cut."""
        if db.execute("SHOW fsync").fetchone() == ("off",):
            _log.warning("%s runs with fsync=off: a power cut may lose what it has acknowledged", self.name)


def durable_level(db: Connection) -> str:
    """What `synchronous_commit` to ask for where loss is not an option: the server's own, unless that is `off`."""
    row = db.execute("SHOW synchronous_commit").fetchone()
    return "on" if row is None or row[0] == "off" else str(row[0])


def usable(db: Connection) -> bool:
    """Whether an idle connection still stands. Asked only if the server has said something: most often, goodbye."""
    if db.closed or db.broken:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(db.fileno(), selectors.EVENT_READ)
        if not selector.select(0):
            return True
    try:
        db.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def _plausible(given: dict[str, Any]) -> bool:
    """Whether a URL was read as it was meant: a password with @ or / in it ends up in the other parts."""
    port = str(given.get("port") or "5432")
    names = [str(given.get(each) or "") for each in ("host", "dbname")]
    return bool(given) and all(part.isdigit() for part in port.split(",")) and not any("@" in name for name in names)


def _starting(text: str) -> bool:
    return "starting up" in text or "shutting down" in text or "not yet accepting" in text or "recovery" in text


def _silent(text: str) -> bool:
    return any(words in text for words in ("refused", "No such file", "timeout", "timed out", "closed the connection"))
