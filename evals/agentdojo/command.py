"""The command: play every case that is not known yet, and print the tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from evals.agentdojo import report
from evals.agentdojo.adaptive import Found, search
from evals.agentdojo.play import Case, Play
from evals.agentdojo.policies import POLICIES, Policy, named
from evals.agentdojo.world import SUITES, suite

T = TypeVar("T", Case, Found)
Job = tuple[str, str, str | None, str, Policy]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m evals.agentdojo",
        description="AgentDojo in the worst case: the model is fully compromised as soon as it has read an injection.",
        epilog="Every case is kept as a line in DIR and is not played again: stop at any time and go on later.",
    )
    parser.add_argument("--suite", action="append", choices=SUITES, help="only this one (may be given again)")
    parser.add_argument("--policy", action="append", help=f"one of: {', '.join(each.name for each in POLICIES)}")
    parser.add_argument("--what", choices=("benign", "worst", "adaptive", "all"), default="all", help="which cases")
    parser.add_argument(
        "--out", type=Path, default=Path("agentdojo-results"), metavar="DIR", help="where lines are kept"
    )
    parser.add_argument("--report", action="store_true", help="play nothing: print what is known")
    options = parser.parse_args(argv)
    try:
        policies = [named(each) for each in options.policy] if options.policy else list(POLICIES)
    except ValueError as error:
        parser.error(str(error))
    suites = options.suite or list(SUITES)
    options.out.mkdir(parents=True, exist_ok=True)
    cases, found = options.out / "cases.jsonl", options.out / "adaptive.jsonl"
    if not options.report:
        anyio.run(_play, cases, list(jobs(suites, policies, options.what)))
        if options.what in ("adaptive", "all"):
            anyio.run(_search, found, suites, policies)
    known = [each for each in _read(cases, Case) if each.suite in suites]
    searched = [each for each in _read(found, Found) if each.suite in suites]
    sys.stdout.write(report.tables(known, searched, [each.name for each in policies]))
    (options.out / "plot.svg").write_text(report.plot(known, [each.name for each in policies]), encoding="utf-8")
    sys.stdout.write(f"\nPlot: {options.out / 'plot.svg'}\n")
    return 0


def jobs(suites: list[str], policies: list[Policy], what: str) -> Iterator[Job]:
    """The sessions to play: each task without an attack, and with each injection in two timings."""
    if what == "adaptive":
        return
    for policy in policies:
        for name in suites:
            for task in suite(name).user_tasks:
                yield name, task, None, "benign", policy
                if what != "benign":
                    for injection in suite(name).injection_tasks:
                        yield name, task, injection, "before", policy
                        yield name, task, injection, "after", policy


async def _play(path: Path, wanted: list[Job]) -> None:
    done = {(each.suite, each.task, each.injection, each.when, each.policy) for each in _read(path, Case)}
    left = [job for job in wanted if (*job[:4], job[4].name) not in done]
    with _progress() as progress, path.open("ab", buffering=0) as lines:
        bar = progress.add_task("sessions", total=len(left))
        for job in left:
            progress.update(bar, description=f"{job[4].name}, {job[0]}")
            lines.write(msgspec.json.encode(await Play(*job).run()) + b"\n")
            progress.advance(bar)


async def _search(path: Path, suites: list[str], policies: list[Policy]) -> None:
    done = {(each.suite, each.task, each.policy) for each in _read(path, Found)}
    left = [
        (name, task, policy)
        for policy in policies
        if policy.mode != "off"
        for name in suites
        for task in suite(name).user_tasks
        if (name, task, policy.name) not in done
    ]
    with _progress() as progress, path.open("ab", buffering=0) as lines:
        bar = progress.add_task("search", total=len(left))
        for name, task, policy in left:
            progress.update(bar, description=f"search: {policy.name}, {name}")
            lines.write(msgspec.json.encode(await search(name, task, policy)) + b"\n")
            progress.advance(bar)


def _progress() -> Progress:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _read(path: Path, kind: type[T]) -> list[T]:
    """The lines that are whole: the last may have been cut off."""
    if not path.exists():
        return []
    found: list[T] = []
    for line in path.read_bytes().splitlines():
        try:
            found.append(msgspec.json.decode(line, type=kind))
        except msgspec.DecodeError:
            continue
    return found
