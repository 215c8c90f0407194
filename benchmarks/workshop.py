"""Makes a venv for each harness under bench-work/, runs measures in it, and keeps what they found."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measures.instructions import DIVISORS
from benchmarks.peers import BARE, OURS, Peer

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "bench-work"
STEPS = dict.fromkeys(("reads", "mixed", "writes", "planned"), 60)
"""What `measures.provenance` counts, and over how many steps."""
SECONDS = 3600
"""No single measure takes longer."""

_NO_VALGRIND = "valgrind is not installed: no instructions are counted (apt-get install valgrind)"
_NO_COMPILER = "no C compiler or no valgrind/callgrind.h: no instructions are counted (apt-get install gcc valgrind)"


class Failure(Exception):
    """A venv could not be made, or a measure did not end well."""


def say(text: str, end: str = "\n") -> None:
    """Tell of progress, beside the results."""
    sys.stderr.write(text + end)
    sys.stderr.flush()


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say what is being done, and how long it took."""
    say(f"  {what} ...", end="")
    began = time.monotonic()
    try:
        yield
    except BaseException:
        say(" failed")
        raise
    say(f" {time.monotonic() - began:.1f} s")


def python(peer: Peer) -> Path:
    """The interpreter of a harness's own venv, made when it is not there or not finished."""
    venv = WORK / "venvs" / peer.name
    interpreter = venv / "bin" / "python"
    stamp = venv / "installed"
    wanted = " ".join(peer.requires)
    if not stamp.is_file() or stamp.read_text() != wanted:
        with progress(f"{peer.name}: installing {wanted}"):
            _run([sys.executable, "-m", "venv", "--clear", str(venv)])
            what = ["-c", "constraints.txt", "-e", "."] if peer is OURS else list(peer.requires)
            _run([str(interpreter), "-m", "pip", "install", "-q", "--disable-pip-version-check", *what])
        stamp.write_text(wanted)
    return interpreter


def _run(command: list[str], **environment: str) -> str:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, env={**os.environ, **environment}
    )
    if done.returncode:
        raise Failure(f"{' '.join(command[-4:])}: {done.stderr.strip()[-800:]}")
    return done.stdout


def _child(peer: Peer, measure: str, *arguments: str) -> Any:
    said = _run([str(python(peer)), "-m", f"benchmarks.measures.{measure}", *arguments])
    return json.loads(said.strip().splitlines()[-1])


class Results:
    """What is known of one harness. Kept on disk after every measure, so that an interrupted run goes on."""

    def __init__(self, peer: Peer, *, again: bool) -> None:
        self.peer = peer
        self._path = WORK / "results" / f"{peer.name}.json"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self.known: dict[str, Any] = {}
        if self._path.is_file() and not again:
            self.known = json.loads(self._path.read_text())

    def __getitem__(self, name: str) -> Any:
        return self.known.get(name)

    def add(self, name: str, measure: Callable[[Peer], Any]) -> None:
        """Measure something, unless it is known."""
        if name in self.known:
            return
        python(self.peer)
        try:
            with progress(f"{self.peer.name}: {name}"):
                self.known[name] = measure(self.peer)
        except (Failure, subprocess.TimeoutExpired) as failure:
            say(f"    {failure}")
            return
        self._path.write_text(json.dumps(self.known, indent=1))


def imports(peer: Peer, rounds: int = 9) -> dict[str, Any]:
    """What an import costs, in fresh interpreters, and how much was installed."""
    interpreter = str(python(peer))
    script = str(ROOT / "benchmarks" / "measures" / "imports.py")
    runs = [json.loads(_run([interpreter, script, peer.imports]).splitlines()[-1]) for _ in range(rounds)]
    packages = next((WORK / "venvs" / peer.name).glob("lib/python*/site-packages"))
    size = _size(packages) + (_size(ROOT / "src" / "counterfoil") if peer is OURS else 0)
    return {
        "cpu": min(run["cpu"] for run in runs),
        "modules": runs[0]["modules"],
        "distributions": len([each for each in packages.glob("*.dist-info") if not _is_tooling(each.name)]),
        "bytes": size,
        "version": _version(interpreter, peer.distribution),
    }


def _is_tooling(name: str) -> bool:
    return name.startswith(("pip", "setuptools", "pkg_resources", "_distutils_hack", "__pycache__"))


def _size(folder: Path) -> int:
    kept = (each for each in folder.iterdir() if not _is_tooling(each.name))
    files = (file for each in kept for file in (each.rglob("*") if each.is_dir() else [each]))
    return sum(file.stat().st_size for file in files if file.is_file() and "__pycache__" not in file.parts)


def _version(interpreter: str, distribution: str) -> str:
    code = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    return _run([interpreter, "-c", code]).strip()


def cpu(peer: Peer) -> Any:
    """See `measures.cpu`."""
    return _child(peer, "cpu", peer.name)


def sessions(count: int) -> Callable[[Peer], Any]:
    """See `measures.sessions`."""
    return lambda peer: _child(peer, "sessions", peer.name, str(count))


def journal(peer: Peer) -> Any:
    """See `measures.journal`."""
    return _child(peer, "journal")


def streaming(peer: Peer) -> Any:
    """See `measures.streaming`."""
    return _child(peer, "streaming")


def waiting(kind: str) -> Callable[[Peer], Any]:
    """See `measures.waiting`. It needs what the tests need, so it runs in this interpreter."""
    return lambda _: json.loads(_run([sys.executable, "-m", "benchmarks.measures.waiting", kind]).splitlines()[-1])


def no_callgrind() -> str | None:
    """Why instructions cannot be counted here; `None` if they can. Builds the switch that Python turns it on with."""
    if shutil.which("valgrind") is None:
        return _NO_VALGRIND
    source = ROOT / "benchmarks" / "measures" / "callgrind.c"
    library = WORK / "callgrind.so"
    if library.is_file() and library.stat().st_mtime >= source.stat().st_mtime:
        return None
    WORK.mkdir(exist_ok=True)
    try:
        _run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)])
    except (Failure, OSError):
        return _NO_COMPILER
    return None


def instructions(long: int) -> Callable[[Peer], dict[str, float]]:
    """Instructions per step and per call, and in early and late steps of a run of `long` steps; bare beside it."""

    def count(peer: Peer) -> dict[str, float]:
        found: dict[str, float] = {}
        for who, region, total in _counted(peer, f"{peer.name}-{long}", "instructions", peer.name, str(long)):
            if not (peer.threaded and who == peer.name and region != "step"):
                found[region if who == peer.name else f"bare_{region}"] = total / DIVISORS[region]
        if peer is BARE:
            found |= {f"bare_{region}": count for region, count in found.items()}
        return found

    return count


def provenance(peer: Peer) -> dict[str, float]:
    """See `measures.provenance`: instructions per step, `on_reads`, `off_reads` and so on."""
    return {
        f"{who}_{region}": total / STEPS[region] for who, region, total in _counted(peer, "provenance", "provenance")
    }


def _counted(peer: Peer, folder_name: str, measure: str, *arguments: str) -> Iterator[tuple[str, str, int]]:
    """Run a measure under callgrind: what it counted, as (who, region, instructions)."""
    folder = WORK / "callgrind" / folder_name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _run(
        [
            *("valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder / 'out'}"),
            *(str(python(peer)), "-m", f"benchmarks.measures.{measure}", str(WORK / "callgrind.so"), *arguments),
        ],
        PYTHONHASHSEED="0",
        PYTHONDONTWRITEBYTECODE="1",
    )
    for file in folder.iterdir():
        text = file.read_text(errors="replace")
        trigger = re.search(r"^desc: Trigger: Client Request: (\w+)", text, re.MULTILINE)
        total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
        if trigger and total:
            who, region = trigger[1].rsplit("_", 1)
            yield who, region, int(total[1])
