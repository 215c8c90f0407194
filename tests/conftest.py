"""What every test may use."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from postgres_server import PostgresServer

# HYPOTHESIS_PROFILE=long looks for longer, and elsewhere each time; CI looks at the same examples until the code
# changes, so that it fails for what was changed. A shared box is slow at times, so no example has a deadline.
settings.register_profile("ci", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=2_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run each async test under both event loops."""
    return str(request.param)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests that ask for it, started for the first of them; each makes a database of its own."""
    server = PostgresServer()
    try:
        yield server
    finally:
        server.stop()
