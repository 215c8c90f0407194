"""What one command does: load the model, annotate what is not annotated yet, tell."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import msgspec

from counterfoil import Harness, Session
from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem
from counterfoil.journal.memory import MemoryJournal
from counterfoil.journal.opening import open_journal
from counterfoil.models.local import WEIGHTS, find
from counterfoil.models.local.likelihood import LlamaLikelihood
from evals.toolformer.place import Passage, Placer, Settings
from evals.toolformer.record import Record, passages
from evals.toolformer.scorer import LocalScorer, Scorer
from evals.toolformer.tools import SHOWN, Shown, catalogue

CONTEXT = 2048


def annotate(options: argparse.Namespace, out: Output, scorer: Scorer | None = None) -> int:
    """Do what the options say; returns the exit code. Raises `Problem`, `CounterfoilError`, `OSError`."""
    texts = passages(options.text)[: options.limit]
    names = [name.strip() for name in options.tools.split(",") if name.strip()]
    shown = tuple(each for each in SHOWN if each.name in names)
    if not shown or len(shown) != len(set(names)):
        raise Problem(f"--tools takes {', '.join(each.name for each in SHOWN)}, with commas between")
    settings = Settings(options.tau_s, options.tau_f, options.k, options.m, options.seed)
    told: dict[str, Any] = {**msgspec.to_builtins(settings), "model": str(options.model), "tools": names}
    told["text"] = hashlib.sha256("\n".join(passages(options.text)).encode()).hexdigest()[:16]
    record = Record(options.out, told)
    if any(number not in record.done for number in range(len(texts))):
        if scorer is None:
            with out.bar("loading the model"):
                path = find(WEIGHTS[options.model]) if options.model in WEIGHTS else Path(options.model)
                engine = LlamaLikelihood(path, CONTEXT, options.threads)
            try:
                anyio.run(_place, options, out, texts, record, shown, settings, LocalScorer(engine))
            finally:
                engine.close()
        else:
            anyio.run(_place, options, out, texts, record, shown, settings, scorer)
    report(out, [record.done[number] for number in range(len(texts))], shown, settings)
    if options.out:
        out.note(f"the annotated corpus is in {options.out / 'corpus.jsonl'}")
    return 0


async def _place(
    options: argparse.Namespace,
    out: Output,
    texts: Sequence[str],
    record: Record,
    shown: tuple[Shown, ...],
    settings: Settings,
    scorer: Scorer,
) -> None:
    journal = open_journal(options.journal) if options.journal else MemoryJournal()
    async with aclosing(journal):
        harness = Harness(None, catalogue(shown), journal=journal)
        placer = Placer(
            scorer, harness, Session(requester="toolformer", permissions=frozenset({"toolformer:use"})), shown, settings
        )
        with out.bar("placing calls") as tick:
            for number, text in enumerate(texts):
                tick(f"passage {number + 1} of {len(texts)}", number / len(texts))
                if number not in record.done:
                    record.add(await placer.passage(number, text))


def report(out: Output, done: Sequence[Passage], shown: Sequence[Shown], settings: Settings) -> None:
    """Print how many calls were kept and why the others were not, and the gains."""
    rows: list[tuple[str, ...]] = []
    every = [each for passage in done for each in passage.candidates]
    for name in [*(each.name for each in shown), "all"]:
        held = [each for each in every if name in (each.tool, "all")]
        ran = [each for each in held if not each.code]
        kept = [each.gain for each in ran if each.kept]
        worse = [each for each in ran if each.gain < settings.tau_f]
        mean = f"{sum(kept) / len(kept):.2f}" if kept else "-"
        rest = len(ran) - len(kept) - len(worse)
        spread = f"{min(each.gain for each in ran):.2f} to {max(each.gain for each in ran):.2f}" if ran else "-"
        rows.append((name, *map(str, (len(held), len(held) - len(ran), len(worse), rest, len(kept))), mean, spread))
        counts = {"sampled": len(held), "failed": len(held) - len(ran), "below": len(worse), "second": rest}
        out.data({"tool": name, **counts, "kept": len(kept), "gains": kept})
    columns = ("tool", "sampled", "refused or failed", "gain below tau_f", "second best", "kept", "mean gain", "gains")
    out.table(columns, rows)
    for passage in done:
        for each in passage.candidates:
            if each.kept:
                before, behind = passage.text[max(0, each.at - 40) : each.at], passage.text[each.at : each.at + 24]
                out.say(f"+{each.gain:.2f}  ...{before} [{each.tool}({each.input}) -> {each.result}]{behind}...")
