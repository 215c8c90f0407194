"""The walk-through of the page on scaling, on Postgres and each queue: it prints what the page shows of a file."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from dispatch_world import World
from postgres_server import PostgresServer

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", ["postgres", "pgqueuer", "procrastinate"])
def test_two_workers_on_postgres_do_what_the_page_shows(postgres: PostgresServer, kind: str) -> None:
    async def install() -> str:
        world = World(kind, postgres.database())
        await world.install()
        await world.close()
        return world.where

    where = anyio.run(install)
    script = [sys.executable, str(ROOT / "docs_src" / "two_workers.py"), where]
    ran = subprocess.run(script, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    page = (ROOT / "docs" / "scaling.md").read_text()
    shown = re.search(r"<!-- output: docs_src/two_workers.py -->\n```\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    assert ran.stdout == shown[1]
