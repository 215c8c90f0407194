"""One Postgres server for all tests that ask for it, one database for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from postgres_server import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server that only these tests use, gone when they are done."""
    server = PostgresServer()
    try:
        yield server
    finally:
        server.stop()
