"""What one command of the evaluation does: choose the cases, play, search, keep, tell."""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import anyio

from counterfoil import __version__
from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem
from counterfoil.models import registry
from evals.agentdojo import plot, report
from evals.agentdojo.adaptive import Found, search
from evals.agentdojo.facts import SUITES, VERSION
from evals.agentdojo.planner import Answer, Asked
from evals.agentdojo.play import Case, Play
from evals.agentdojo.policies import POLICIES, Policy, named, planned, planned_by
from evals.agentdojo.record import Lines, settings
from evals.agentdojo.world import suite
from evals.settings import agree

_PLANS_KEPT = "Choose another folder with --out; its plans.jsonl may be copied there, so that no model is asked again"
Tick = Callable[[str, float], None]
Task = tuple[str, str]


class Session(NamedTuple):
    """A session to be played."""

    suite: str
    task: str
    injection: str | None
    when: str
    policy: Policy

    @property
    def key(self) -> tuple[str | None, ...]:
        """What its line is known by."""
        return *self[:4], self.policy.name


class Kept(NamedTuple):
    """The lines in the folder."""

    cases: Lines[Case]
    found: Lines[Found]
    plans: Lines[Answer]


def evaluate(options: argparse.Namespace, out: Output) -> int:
    """Do what the options say; returns the exit code. Raises `Problem`, `CounterfoilError`, `OSError`."""
    folder: Path = options.out
    if options.report and not folder.is_dir():
        raise Problem(f"there is no folder {folder}, so nothing is known: leave out --report, or name the right --out")
    folder.mkdir(parents=True, exist_ok=True)
    if not options.report:
        wanted = settings({"agentdojo": version("agentdojo"), "suites": VERSION, "counterfoil": __version__})
        agree(folder, wanted, _PLANS_KEPT)
    with ExitStack() as stack:
        kept = Kept(
            stack.enter_context(Lines(folder / "cases.jsonl", Case)),
            stack.enter_context(Lines(folder / "adaptive.jsonl", Found)),
            stack.enter_context(Lines(folder / "plans.jsonl", Answer)),
        )
        policies = _policies(options)
        chosen = [task for name in options.suite or SUITES for task in sample(name, options.limit, options.seed)]
        names = [*[each.name for each in policies], *[planned(spec) for spec in options.planner or ()]]
        if not options.report:
            policies += _planners(options, out, kept.plans, stack)
            anyio.run(_work, out, kept, chosen, policies, options.what)
        elif not options.policy and not options.planner:
            names += sorted({each.policy for each in kept.cases.known.values()} - {*names})
        _tell(out, folder, kept, set(chosen), names)
    return 0


def _policies(options: argparse.Namespace) -> list[Policy]:
    try:
        chosen = [named(each) for each in options.policy or ()]
    except ValueError as error:
        raise Problem(str(error)) from None
    return chosen if chosen or options.planner else list(POLICIES)


def _planners(options: argparse.Namespace, out: Output, plans: Lines[Answer], stack: ExitStack) -> Iterator[Policy]:
    for spec in options.planner or ():
        with out.bar(f"loading {spec}") as tick:
            model = registry.model(spec, progress=tick)
        if close := getattr(model, "close", None):
            stack.callback(close)
        yield planned_by(Asked(spec, model, plans))


def sample(name: str, limit: int | None, seed: int) -> list[Task]:
    """Some of a suite's tasks, or all of them, in their order; a larger sample holds the smaller."""
    tasks = [(name, each) for each in suite(name).user_tasks]
    if limit is None:
        return tasks
    shuffled = random.Random(f"{seed}/{name}").sample(tasks, len(tasks))[:limit]  # noqa: S311 - a sample, no secret
    return [each for each in tasks if each in shuffled]


def sessions(tasks: Iterable[Task], policies: Iterable[Policy], what: str) -> Iterator[Session]:
    """Each task without an attack, and with each injection at two timings.

    All that are not attacked come first: a run that is stopped knows at least what every policy asks of a person.
    """
    if what == "adaptive":
        return
    for policy in policies:
        yield from (Session(*task, None, "benign", policy) for task in tasks)
    if what == "benign":
        return
    for policy in policies:
        for name, task in tasks:
            for injection in suite(name).injection_tasks:
                yield Session(name, task, injection, "before", policy)
                yield Session(name, task, injection, "after", policy)


async def _work(out: Output, kept: Kept, tasks: list[Task], policies: list[Policy], what: str) -> None:
    left = [each for each in sessions(tasks, policies, what) if each.key not in kept.cases.known]
    with out.bar("sessions") as tick:
        for number, each in enumerate(left):
            tick(f"{each.policy.name}: {each.suite}, {number} of {len(left)}", number / len(left))
            kept.cases.add(await Play(*each).run())
    if what not in ("adaptive", "all"):
        return
    searched = [
        (*task, policy)
        for policy in policies
        if policy.mode != "off"
        for task in tasks
        if (*task, policy.name) not in kept.found.known
    ]
    with out.bar("search") as tick:
        for number, (name, task, policy) in enumerate(searched):
            tick(f"search, {policy.name}: {name}, {number} of {len(searched)}", number / len(searched))
            kept.found.add(await search(name, task, policy))


def _tell(out: Output, folder: Path, kept: Kept, tasks: set[Task], policies: list[str]) -> None:
    cases = [each for each in kept.cases.known.values() if (each.suite, each.task) in tasks]
    found = [each for each in kept.found.known.values() if (each.suite, each.task) in tasks]
    answers = [each for each in kept.plans.known.values() if (each.suite, each.task) in tasks]
    parts = report.parts(cases, found, policies)
    tables = [*report.tables(parts), *report.plans(cases, answers, policies)]
    for table in tables:
        out.say((table.title, "bold"))
        out.table(table.columns, table.rows)
        out.say("")
    for part in parts:
        out.data(part)
    (folder / "report.md").write_text("\n".join(each.markdown for each in tables), encoding="utf-8")
    whole = [part for part in parts if part.of == parts[0].of] if parts else []
    (folder / "plot.svg").write_text(plot.draw(whole), encoding="utf-8")
    out.note(f"every case is in {folder}, the tables in {folder / 'report.md'}, the plot in {folder / 'plot.svg'}")
