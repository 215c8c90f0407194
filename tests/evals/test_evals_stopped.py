"""Evaluations that are stopped, or cannot begin: Ctrl-C is heard at once, and what is in the way is said first."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from agentdojo_kit import RUNTIME, install
from evals.constrained import main as constrained

ROOT = Path(__file__).parents[2]
SPINS = """
import pathlib

_run = FunctionsRuntime.run_function

def _spin(self, env, name, args):
    spin = pathlib.Path(__file__).with_name("spin")
    while name == "send_email" and spin.exists():
        spin.with_name("spinning").touch()
    return _run(self, env, name, args)

FunctionsRuntime.run_function = _spin
"""
"""A tool that computes and waits for nothing, for as long as there is a file `spin`."""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package of our own suites, with such a tool."""
    install(tmp_path / "site")
    (tmp_path / "site" / "agentdojo" / "functions_runtime.py").write_text(RUNTIME + SPINS)
    return tmp_path / "site" / "agentdojo"


@contextmanager
def begun(tmp_path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The evaluation as a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "evals.agentdojo", "--what", "benign", "--out", str(tmp_path / "lines"), *arguments],
        cwd=ROOT,
        env={"PYTHONPATH": str(tmp_path / "site")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def known(tmp_path: Path) -> list[str]:
    return (tmp_path / "lines" / "cases.jsonl").read_text().splitlines()


def test_one_ctrl_c_stops_what_computes_and_the_same_command_goes_on(package: Path, tmp_path: Path) -> None:
    (package / "spin").touch()
    arguments = ("--suite", "banking", "--suite", "travel", "--policy", "none")
    with begun(tmp_path, *arguments) as process:
        while not (package / "spinning").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
        assert (process.returncode, error) == (
            130,
            f"stopped: what was played is kept in {tmp_path / 'lines'}, and the same command goes on from there\n",
        )
    before = known(tmp_path)
    assert [json.loads(each)["suite"] for each in before] == ["banking", "banking"]
    (package / "spin").unlink()
    with begun(tmp_path, *arguments) as process:
        process.communicate(timeout=60)
        assert process.returncode == 0
    after = known(tmp_path)
    assert (after[:2], len(after)) == (before, 3)


def test_what_a_planner_lacks_is_said_first_and_once(package: Path, tmp_path: Path) -> None:
    with begun(tmp_path, "--suite", "banking", "--planner", "anthropic:claude") as process:
        _, error = process.communicate(timeout=60)
    assert process.returncode == 2
    assert error.startswith("counterfoil: anthropic:claude needs a key: set ANTHROPIC_API_KEY"), error
    assert error.count("ANTHROPIC_API_KEY") == 1
    assert "unforeseen" not in error


@pytest.mark.parametrize("folder", ["taken", "taken/within"])
def test_a_file_where_the_folder_should_be_is_said(package: Path, tmp_path: Path, folder: str) -> None:
    (tmp_path / "taken").write_text("somebody's")
    with begun(tmp_path, "--suite", "banking", "--out", str(tmp_path / folder)) as process:
        _, error = process.communicate(timeout=60)
    assert process.returncode == 2
    assert error.startswith(f"counterfoil: {tmp_path / folder} must be a folder, and there is a file in its place"), (
        error
    )
    assert (tmp_path / "taken").read_text() == "somebody's"


@pytest.mark.parametrize("option", ["--limit", "--tokens", "--free-every"])
def test_none_at_all_is_no_number_of_catalogues(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        constrained([option, "0"])
    assert "0 is no count: write a whole number from 1 up" in capsys.readouterr().err
