"""`counterfoil worker`: what it says, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from postgres_server import PostgresServer

from counterfoil import Catalogue, Harness, Scripted, Session
from counterfoil.journal.opening import open_journal

SHOP = '''
import os, anyio
from counterfoil import Catalogue, Function, Harness, Limits, Message, Reply, ToolCall, tool

@tool(effect="write", limits=Limits(timeout=60))
async def hold(seconds: float) -> str:
    """Hold."""
    os.write(2, b"holding\\n")
    await anyio.sleep(seconds)
    return "held"

def model(request):
    last = request.messages[-1]
    if last.role == "tool":
        return "done"
    return Reply(Message("assistant", (ToolCall("", "hold", {"seconds": float(last.text)}),)), "tool_calls")

harness = Harness(Function(model), Catalogue([hold]))
tools = [hold]
'''


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


class Worker:
    """A worker's process."""

    def __init__(self, shop: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "counterfoil", "worker", *arguments],
            cwd=shop,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.out, self.err = self.process.stdout, self.process.stderr

    def end(self) -> int:
        """How it ended."""
        self.process.communicate(timeout=30)
        return self.process.returncode


@pytest.fixture
def started(shop: Path) -> Iterator[Any]:
    workers: list[Worker] = []

    def start(*arguments: str) -> Worker:
        workers.append(Worker(shop, *arguments))
        return workers[-1]

    yield start
    for worker in workers:
        worker.process.kill()
        worker.process.communicate()


def submit(where: str, *prompts: str) -> list[str]:
    async def main() -> list[str]:
        journal = open_journal(where)
        harness = Harness(Scripted([]), Catalogue([]), journal=journal)
        ada = Session(requester="ada", permissions=frozenset({"*"}))
        found = [await harness.submit(each, ada) for each in prompts]
        await journal.aclose()
        return found

    return anyio.run(main)


def statuses(where: str) -> dict[str, str]:
    async def main() -> dict[str, str]:
        journal = open_journal(where)
        found: dict[str, str] = {info.id: info.status for info in await journal.runs()}
        await journal.aclose()
        return found

    return anyio.run(main)


def run(shop: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "counterfoil", *arguments], cwd=shop, capture_output=True, text=True, check=False
    )


def test_it_says_what_it_does_and_ends_in_order(shop: Path, started: Any) -> None:
    worker = started("shop:harness", "--journal", "runs.db")
    assert worker.out.readline() == "ready: 10 runs at once, 2 per requester, queue none\n"
    (run_id,) = submit(str(shop / "runs.db"), "0")
    assert worker.out.readline().endswith(f"  {run_id[:12]}  began for ada\n")
    assert f"  {run_id[:12]}  answered  " in worker.out.readline()
    (held,) = submit(str(shop / "runs.db"), "0.4")
    assert worker.err.readline() == worker.err.readline() == "holding\n"
    worker.process.send_signal(signal.SIGTERM)
    out, err = worker.process.communicate(timeout=30)
    assert worker.process.returncode == 0
    assert f"{held[:12]}  interrupted  " in out
    assert out.endswith("stopped after 2 runs\n")
    assert "stopping: 1 runs end their step first (at most 30 s)" in err
    assert statuses(str(shop / "runs.db")) == {run_id: "done", held: "ready"}


@pytest.mark.parametrize("how", ["grace", "twice"])
def test_what_does_not_end_is_cancelled_and_in_doubt(shop: Path, started: Any, how: str) -> None:
    worker = started("shop:harness", "--journal", "runs.db", "--json", "--grace", "0.1" if how == "grace" else "30")
    assert json.loads(worker.out.readline()) == {"worker": "ready", "queue": "none"}
    (run_id,) = submit(str(shop / "runs.db"), "50")
    assert worker.err.readline() == "holding\n"
    worker.process.send_signal(signal.SIGINT)
    if how == "twice":
        assert "stopping" in worker.err.readline()
        worker.process.send_signal(signal.SIGINT)
    out, _ = worker.process.communicate(timeout=30)
    assert worker.process.returncode == 0
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line.get("what") for line in lines] == ["began", None]
    assert (lines[0]["run"], lines[0]["requester"]) == (run_id, "ada")
    assert lines[-1] == {"worker": "stopped", "runs": 0}
    assert statuses(str(shop / "runs.db")) == {run_id: "doubt"}


def test_a_queue_is_installed_once_and_found_by_each_worker(shop: Path, started: Any, postgres: PostgresServer) -> None:
    where = postgres.database()
    said = run(shop, "worker", "--journal", where, "--install", "--queue", "pgqueuer")
    assert (said.returncode, said.stderr) == (0, "")
    assert "installed: pgqueuer" in said.stdout
    assert "INSERT, UPDATE and DELETE" in said.stdout
    worker = started("shop:harness", "--journal", where)
    assert worker.out.readline() == "ready: 10 runs at once, 2 per requester, queue pgqueuer\n"
    (run_id,) = submit(where, "0")
    assert f"{run_id[:12]}  began" in worker.out.readline()
    assert "answered" in worker.out.readline()
    worker.process.send_signal(signal.SIGTERM)
    assert worker.end() == 0
    said = run(shop, "worker", "shop:harness", "--journal", where, "--queue", "procrastinate")
    assert said.returncode == 2
    assert "run counterfoil worker --install --queue procrastinate once" in said.stderr
    said = run(shop, "worker", "--journal", where, "--install", "--queue", "none", "--json")
    assert json.loads(said.stdout) == {"queue": "none"}
    worker = started("shop:harness", "--journal", where, "--queue", "auto")
    assert worker.out.readline().endswith("queue none\n")
    worker.process.send_signal(signal.SIGTERM)
    assert worker.end() == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "say what to work with: counterfoil worker module:harness"),
        (["shop:tools"], "shop:tools has no model: name a Harness that has one, or a model with --model SPEC"),
        (["shop:harness", "--queue", "pgqueuer"], "a queue needs a journal on Postgres"),
        (["--install"], "say which queue to install: --queue pgqueuer"),
        (["--install", "--queue", "procrastinate"], "a queue needs a journal on Postgres"),
        (["shop:harness", "--concurrency", "0"], "must be 1 or more"),
        (["shop:harness", "--grace", "-1"], "--grace must be 0 or more seconds"),
        (["shop:nothing"], "shop has no 'nothing'"),
    ],
)
def test_what_is_wrong_is_a_sentence(shop: Path, arguments: list[str], sentence: str) -> None:
    said = run(shop, "worker", *arguments, "--journal", "runs.db")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("counterfoil: ")
    assert sentence in said.stderr
    assert "Traceback" not in said.stderr
