"""A journal on a Postgres server, for as many machines as like to share it. It needs the extra `postgres`."""

from counterfoil.journal.postgres.journal import PostgresJournal

__all__ = ["PostgresJournal"]
