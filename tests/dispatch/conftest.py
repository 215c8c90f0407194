"""One Postgres server for the tests of this folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "journal"))  # whose tests start such a server too

from postgres_server import PostgresServer  # type: ignore[import-not-found]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server that only these tests use, gone when they are done."""
    server = PostgresServer()
    try:
        yield server
    finally:
        server.stop()
