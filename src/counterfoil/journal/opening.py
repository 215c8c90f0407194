"""One way to open a journal, wherever it is."""

from __future__ import annotations

import re

from counterfoil.journal.portable import Stored
from counterfoil.journal.sqlite import SqliteJournal
from counterfoil.types.error import JournalError

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
"""Two letters at least: `C:` is a drive."""


def is_url(spec: str) -> bool:
    """Whether that is meant as a URL and not as the path of a file."""
    return _URL.match(spec) is not None


def open_journal(spec: str, *, wait: float = 10.0, create: bool = True) -> Stored:
    """Open the SQLite file of that path, or the Postgres database of that URL (`postgresql://...`).

    `wait` is how many seconds to wait for a lock or a server. Only with `create` may the journal be new. Raises
    `JournalError`, and `MissingExtra` where the part for Postgres is not installed; neither shows a URL's password.
    """
    if not is_url(spec):
        return SqliteJournal(spec, busy_seconds=wait)
    _check_scheme(spec)
    from counterfoil.journal.postgres import PostgresJournal  # noqa: PLC0415 - it needs the extra

    return PostgresJournal(spec, wait=wait, create=create)


def migrate_journal(spec: str, *, wait: float = 10.0) -> tuple[int, int]:
    """Create a journal's tables or bring them up to date. Returns the schema's version before (0: none) and after.

    Raises `JournalError` when they are newer than this counterfoil.
    """
    if not is_url(spec):
        raise JournalError("only a journal on Postgres is migrated; a SQLite file has its tables from its first run on")
    _check_scheme(spec)
    from counterfoil.journal.postgres.schema import migrate  # noqa: PLC0415 - it needs the extra
    from counterfoil.journal.postgres.server import Server  # noqa: PLC0415 - the same

    server = Server(spec, wait)
    with server.connect() as db:
        return migrate(db, server)


def _check_scheme(url: str) -> None:
    scheme = url.partition(":")[0]
    if scheme.lower() not in ("postgresql", "postgres"):
        raise JournalError(
            f"a journal is the path of a file or a URL that begins with postgresql://, and this begins with {scheme}:"
        )
