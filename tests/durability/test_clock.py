"""Clocks that differ by a day: who owns a run, who lives, and in what order things happened does not hang on them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from postgres_server import PostgresServer
from scale import times

WORKER = Path(__file__).with_name("clock_worker.py")
DAY = 86_400.0
SHIFTS = times(
    [(0.0, DAY), (0.0, -DAY), (DAY, -DAY)],
    [(a, b) for a in (0.0, DAY, -DAY) for b in (0.0, DAY, -DAY, 400 * DAY, -400 * DAY)],
)


class Process:
    """A worker, and the clock that it goes by."""

    def __init__(self, backend: str, spec: str, effects: Path, off: float, expire: float) -> None:
        command = [sys.executable, str(WORKER), backend, spec, str(effects), str(off), str(expire)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, what: str, *arguments: Any) -> Any:
        """Have something done; what came of it, or the error's name."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode([what, *arguments]) + b"\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline())

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def two(
    spec: str, effects: Path, offs: tuple[float, float], expire: float = 1_000 * DAY
) -> Iterator[tuple[Process, Process]]:
    """Two processes with clocks of their own, one on each event loop."""
    first, second = (
        Process(backend, spec, effects, off, expire) for backend, off in zip(("asyncio", "trio"), offs, strict=True)
    )
    try:
        yield first, second
    finally:
        first.kill()
        second.kill()


def name(said: Any) -> Any:
    """Of an error its name only: what it says has process numbers in it."""
    return said.split(":")[0] if isinstance(said, str) else said


def story(spec: str, effects: Path, first: float, second: float) -> dict[str, Any]:
    """What two processes see of each other's runs, step by step; one of them dies."""
    seen: dict[str, Any] = {}
    with two(spec, effects, (first, second)) as (one, other):
        seen["asked"] = one("run", "asks", "act|send act|act")[0]
        for run_id in ("held", "held too"):
            one("hold", run_id)
        seen["while its owner lives"] = [name(other("resume", "held")), other("statuses"), one("statuses")]
        one("off", second)  # a clock may also be put right while a process runs
        other("off", first)
        seen["while its owner lives still"] = [name(other("resume", "held")), other("statuses"), one("statuses")]
        seen["answered"] = [other("answer", "asks"), one("answer", "asks"), other("resume", "asks")]
        talk = [(one, "act"), (other, "act act"), (one, "act|act")]
        seen["talk"] = [process("run", "talk", prompt) for process, prompt in talk]
        one.kill()
        seen["after its death"] = [name(taken(other, "held")), other("statuses")]
        other("off", second)
        seen["settled"] = [other("settle", "held", "happened"), name(other("settle", "held", "abandon"))]
        seen["settled too"] = [name(other("resume", "held too")), other("settle", "held too", "abandon")]
        seen["gone on"] = [other("resume", "held"), other("resume", "held too"), other("statuses")]
        seen["said"] = other("prompts", "talk")
        seen["entries"] = {run_id: other("entries", run_id) for run_id in ("asks", "held", "held too", "talk")}
        seen["faults"] = other("verify")
    seen["effects"] = len(set(effects.read_text().split())), len(effects.read_text().split())
    return seen


def taken(process: Process, run_id: str) -> Any:
    """Take a dead process's run. A server may need a moment to see that it is dead."""
    for _ in range(100):
        said = process("resume", run_id)
        if name(said) != "RunBusy":
            break
        time.sleep(0.02)
    return said


class Places:
    """Fresh journals of one kind: in files, or on a server."""

    def __init__(self, folder: Path, server: PostgresServer | None = None) -> None:
        self._folder = folder
        self._server = server
        self._number = 0

    def next(self) -> tuple[str, Path]:
        """An empty journal, and a file for effects."""
        self._number += 1
        effects = self._folder / f"effects{self._number}"
        effects.touch()
        return self._server.database() if self._server else str(self._folder / f"runs{self._number}.db"), effects


@pytest.fixture(params=["sqlite", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Places:
    return Places(tmp_path, request.getfixturevalue("postgres") if request.param == "postgres" else None)


@pytest.mark.parametrize("offs", SHIFTS)
def test_a_wrong_clock_changes_nothing(places: Places, offs: tuple[float, float]) -> None:
    right = story(*places.next(), 0, 0)
    assert right["while its owner lives"][0] == "RunBusy"
    assert right["after its death"][0][0] == "in_doubt"
    assert right["effects"] == (9, 9)
    assert right["faults"] == []
    assert story(*places.next(), *offs) == right


def test_a_journal_that_tells_who_lives_by_the_clock_is_found_out(tmp_path: Path) -> None:
    places = Places(tmp_path)
    right = story(*places.next(), 0, 0)
    ahead, behind = (
        story(f"by clock:{spec}", effects, 0, off) for off in (DAY, -DAY) for spec, effects in [places.next()]
    )
    assert ahead["while its owner lives"] != right["while its owner lives"], "it takes a run away from the living"
    assert behind["after its death"] != right["after its death"], "it leaves a run to the dead"


@pytest.mark.parametrize(("off", "open"), [(0.0, 1), (-DAY, 1), (DAY, 0)])
def test_a_confirmation_expires_by_the_clock_of_who_looks(places: Places, off: float, open: int) -> None:
    with two(*places.next(), (0.0, off), expire=DAY / 2) as (asks, other):
        assert asks("run", "asks", "send")[0] == "waiting"
        assert other("answer", "asks") == open
        ((_, code, text),) = other("resume", "asks")[2]
        assert (code, text) == (None, "acted") if open else code == "expired"
        assert other("statuses") == {"asks": "done"}


def test_a_retry_is_not_said_too_early_where_the_clock_is_behind(places: Places) -> None:
    with two(*places.next(), (0.0, -DAY)) as (dies, other):
        dies("hold", "held")
        dies.kill()
        assert taken(other, "held")[0] == "in_doubt"
        said = other("settle", "held", "retry")
        assert said.startswith("SettlementError: call 1.1 may still be running: wait ")
        assert other("settle", "held", "happened") is None
