"""What calls in text cost: `python -m benchmarks.text [--peers]`, in the environment of the tests.

One family of each class writes a reply of 1 MB, prose and calls in turn, and reads it: whole, and as it arrives in
pieces of 4 and 40 characters. `--peers` makes an environment under bench-work/ for the parsers of transformers and
vLLM, and has them read the same texts. Of vLLM only the parsers are run, with stand-ins for PyTorch and the server.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median
from typing import Any

from evals.constrained.masks import Vocabulary

from benchmarks import workshop
from benchmarks.measures import text
from benchmarks.peers import Peer
from counterfoil.models.local import WEIGHTS, find
from counterfoil.types.error import ModelError

SIZE = 1_000_000
SIZES = [SIZE // 2**halved for halved in range(8, -1, -1)]
_NEEDS = ("transformers", "regex", "openai", "partial-json-parser", "ijson", "prometheus-client", "mistral-common")
PARSERS = Peer("text_parsers", (*_NEEDS, "openai-harmony"), "import transformers")
NOT_HERE = "does not install here"
HEAD = [
    "family",
    "reader",
    "whole, 4 KB",
    "whole, 1 MB",
    "growth, 2n / n",
    "by 4, 4 KB",
    "by 4, 1 MB",
    "growth, 2n / n",
    "by 40, 1 MB",
]
MASKS = ["family", "make a grammar, ms", "compile it, ms", "mask, us: mean", "median", "p99", "tokens"]
# What MaskBench (github.com/guidance-ai/jsonschemabench), by llguidance's authors, says: TTFM, and then TBM.
PUBLISHED = ["*llguidance 0.6.7, as published*", "-", "1.6 (median 1.0, p99 14)", "47", "36", "460", "2.6M"]


def ours(size: int = SIZE, rounds: int = 5) -> dict[str, list[str]]:
    """The row of each family."""
    rows: dict[str, list[str]] = {}
    for name in text.NAMES:
        with workshop.progress(name):
            cost = text.measure(name, size, rounds)
        rows[name] = [
            name,
            "**counterfoil**",
            f"{cost.small:.1f}",
            f"{cost.whole:.1f}",
            f"{cost.growth:.2f}",
            f"{cost.small_by4:.1f}",
            f"{cost.by4:.1f}",
            f"{cost.growth_by4:.2f}",
            f"{cost.by40:.1f}",
        ]
    return rows


def theirs(folder: Path) -> list[dict[str, Any]]:
    """What the peers made of the same texts; where one cannot be installed, a row that says so."""
    text.write(folder, text.NAMES, SIZES)
    rows: list[dict[str, Any]] = []
    for which in ("transformers", "vllm"):
        try:
            interpreter = workshop.python(PARSERS)
            sources = [str(vllm_sources(interpreter))] if which == "vllm" else []
            command = [str(interpreter), "-m", "benchmarks.measures.text_peers", which, str(folder), *sources]
            with workshop.progress(which):
                said = _run(command, TRANSFORMERS_VERBOSITY="error")
            rows += [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        except (workshop.Failure, subprocess.SubprocessError) as failure:
            workshop.say(f"    {failure}")
            rows.append({"family": "all", "reader": which, "whole": None, "by4": None})
    return rows


def vllm_sources(interpreter: Path) -> Path:
    """The Python files of vLLM's wheel, which wants a GPU's libraries if it is installed."""
    kept = sorted(workshop.WORK.glob("vllm-*"))
    if kept:
        return kept[-1]
    with workshop.progress("vllm: downloading its wheel"), tempfile.TemporaryDirectory(dir=workshop.WORK) as scratch:
        _run(
            [str(interpreter), "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", scratch, "vllm"]
        )
        (wheel,) = Path(scratch).glob("*.whl")
        folder = workshop.WORK / "-".join(wheel.name.split("-")[:2])
        with zipfile.ZipFile(wheel) as files:
            files.extractall(f"{scratch}/files", [each for each in files.namelist() if each.endswith(".py")])
        Path(scratch, "files").rename(folder)
    return folder


def _run(command: list[str], **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=workshop.ROOT,
        capture_output=True,
        text=True,
        timeout=workshop.SECONDS,
        env={**os.environ, **environment},
    )
    if done.returncode:
        raise workshop.Failure(done.stderr.strip()[-800:])
    return done.stdout


def peer_row(row: dict[str, Any]) -> list[str]:
    """The cells of one peer and family."""
    if row["whole"] is None:
        return [row["family"], row["reader"], NOT_HERE, *["-"] * 6]
    cells: list[str] = []
    for held in (row["whole"], row["by4"]):
        if held["shape"] is None:
            cells += ["reads none", "-", "-"]
            continue
        note = "" if held["shape"] == "mixed" else f" ({held['shape']})"
        where = "" if held["bytes"] > 0.9 * SIZE else f" at {held['bytes'] / 1e3:,.0f} KB"
        growth = f"{held['growth']:.2f}" if "growth" in held else "-"
        cells += [_number(held["small"]) + note, _number(held["rate"]) + where, growth]
    return [row["family"], row["reader"], *cells, "-"]


def _number(rate: float) -> str:
    return f"{rate:.1f}" if rate >= 1 else f"{rate:.2g}"


def constrained() -> Iterable[list[str]]:
    """The rows of the grammars."""
    words = Vocabulary(find(WEIGHTS["smollm2"]))
    for name in text.NAMES:
        with workshop.progress(f"{name}: masks"):
            held = text.masks(name, words)
        taken = sorted(held.taken)
        yield [
            name,
            f"{held.made:.1f}",
            f"{held.compiled:.1f}",
            f"{mean(taken):.0f}",
            f"{median(taken):.0f}",
            f"{taken[int(len(taken) * 0.99)]:.0f}",
            str(len(taken)),
        ]


def markdown(head: list[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.text", description=__doc__)
    parser.add_argument("--peers", action="store_true", help="also transformers' and vLLM's parsers, in their own venv")
    options = parser.parse_args()
    mine = ours()
    others = theirs(workshop.WORK / "text") if options.peers else []
    rows: list[list[str]] = []
    for name in text.NAMES:
        rows += [mine[name], *(peer_row(row) for row in others if row["family"] == name)]
    rows += [peer_row(row) for row in others if row["family"] == "all"]
    print(f"{datetime.now(UTC).date()}, Python {platform.python_version()}, {platform.machine()}; MB/s of CPU\n")
    print(markdown(HEAD, rows) + "\n")
    try:
        found = [*constrained(), PUBLISHED]
    except ModelError as missing:
        workshop.say(f"no masks are measured: {missing}")
        return
    print(f"llguidance {importlib.metadata.version('llguidance')}, the 49,152 tokens of SmolLM2\n")
    print(markdown(MASKS, found))


if __name__ == "__main__":
    main()
