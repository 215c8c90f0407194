"""What one command of the evaluation does: choose the cases, ask or send, keep, tell."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from counterfoil import __version__
from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem
from counterfoil.types.request import Sampling, ToolChoice
from evals.bfcl import plot, report, run
from evals.bfcl.data import Bench, Case, chosen, sample
from evals.bfcl.models import open_model
from evals.bfcl.record import Record
from evals.bfcl.through import Way, ways

_NOTES = 6


def evaluate(options: argparse.Namespace, out: Output) -> int:
    """Do what the options say; returns the exit code. Raises `Problem`, `CounterfoilError`, `OSError`."""
    told = [name for name in ("policy", "constrained", "unconstrained") if getattr(options, name)]
    if options.model == "oracle" and told:
        raise Problem(f"--{told[0]} is for a model that writes by itself: add --model local")
    if options.model != "oracle" and options.through:
        raise Problem(
            "--through is for the oracle, whose calls are written in that format: leave it out, or leave out --model. "
            "A provider's model is asked over its own wire"
        )
    categories = chosen(_list(options.categories))
    taken = ways(_list(options.through or "all"))
    bench = Bench()
    sampled = [sample(bench.cases(each), options.limit, options.seed) for each in categories]
    # One of each category at a time: a run that is stopped has asked about all of them.
    cases = [case for row in zip_longest(*sampled) for case in row if case is not None]
    settings = {"model": options.model, "seed": options.seed, "bfcl-eval": bench.version, "counterfoil": __version__}
    names = [each.name for each in categories]
    if options.model == "oracle":
        return _oracle(options, out, bench, cases, settings, taken)
    return _model(options, out, bench, cases, settings, names)


def _oracle(
    options: argparse.Namespace,
    out: Output,
    bench: Bench,
    cases: list[Case],
    settings: dict[str, Any],
    taken: list[Way],
) -> int:
    with Record(options.out, settings) as record, out.bar("the right calls") as tick:
        notes = run.oracle(bench, cases, taken, record, tick)
        ids = {case.id for case in cases}
        named = [way.name for way in taken]
        rows = [row for row in record.rows.values() if row.id in ids and row.way in named]
    kept = report.of_oracle(out, rows, named)
    _notes(out, notes)
    return 0 if kept else 1


def _model(
    options: argparse.Namespace,
    out: Output,
    bench: Bench,
    cases: list[Case],
    settings: dict[str, Any],
    categories: list[str],
) -> int:
    settings |= {"policy": options.policy, "tool choice": options.tool_choice, "max tokens": options.max_tokens}
    with Record(options.out, settings) as record:
        with out.bar("loading the model") as tick:
            asked = open_model(
                options.model,
                constrained=options.constrained,
                unconstrained=options.unconstrained,
                policy=options.policy,
                threads=options.threads,
                progress=tick,
            )
        named = [each.way for each in asked]
        with out.bar("asking") as tick:
            choice, sampling = ToolChoice(options.tool_choice), Sampling(max_tokens=options.max_tokens)
            notes = run.model(bench, cases, asked, record, choice, sampling, tick)
        ids = {case.id for case in cases}
        rows = [row for row in record.rows.values() if row.id in ids and row.way in named]
    report.of_model(out, rows, named, categories)
    _notes(out, notes)
    if options.out:
        path = options.out / "score.svg"
        title = f"BFCL, {options.model}: cases that are right"
        path.write_text(plot.draw(title, report.add_up(rows), named, categories), encoding="utf-8")
        out.note(f"every case is in {options.out / 'cases.jsonl'}, the plot in {path}")
    return 0


def _notes(out: Output, notes: Sequence[str]) -> None:
    for note in notes[:_NOTES]:
        out.note(f"could not be said in a schema: {note}")
    if len(notes) > _NOTES:
        out.note(f"and {len(notes) - _NOTES} more of that kind")


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
