"""`counterfoil eval toolformer`: place calls in a text where the model itself finds that their results help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from evals.command import Work, carry_out, positive

_EXAMPLES = """examples:
  counterfoil eval toolformer --out annotated              # the passages of the repository, the embedded model
  counterfoil eval toolformer --text mine.txt --model some.gguf --tau-s 0.05 --out mine
The same as: python -m evals.toolformer

With --out, corpus.jsonl holds a passage a line: the text, the text with the calls that stay, and every call that was
sampled with its losses. Passages that are there already are not done again.

exit codes: 0 done; 2 usage or bad input"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="counterfoil eval toolformer",
        description="Annotate a text with calls by Toolformer's filter (Schick et al. 2023): sample positions and "
        "calls, run them through the gate, keep those whose results make what follows likelier.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--text", metavar="FILE", type=Path, help="one passage a line (default: the repository's own)")
    top.add_argument("--model", metavar="NAME", default="smollm2", help="smollm2, or the path of a GGUF file")
    top.add_argument("--tools", metavar="NAMES", default="Calculator,Calendar,Lookup", help="with commas between")
    top.add_argument(
        "--tau-s",
        metavar="P",
        type=_chance,
        default=0.0,
        help="a position counts where a call begins with more than this probability (default: 0, the "
        "paper's for its calculator; its others: 0.05)",
    )
    top.add_argument(
        "--tau-f",
        metavar="NATS",
        type=float,
        default=1.0,
        help="a call stays that lowers the weighted loss by this much (default: 1; for the paper's calculator: 0.5)",
    )
    top.add_argument("-k", metavar="N", type=positive, default=5, help="positions of a passage and tool (default: 5)")
    top.add_argument("-m", metavar="N", type=positive, default=5, help="calls sampled at each (default: 5)")
    top.add_argument("--seed", metavar="N", type=int, default=0, help="of the sampling (default: 0)")
    top.add_argument("--limit", metavar="N", type=positive, help="the first N passages only")
    top.add_argument("--threads", metavar="N", type=positive, default=1, help="of the model (default: 1)")
    top.add_argument("--journal", metavar="PATH", help="keep every call that was run there (default: nowhere)")
    top.add_argument("--out", metavar="DIR", type=Path, help="keep the annotated corpus there; resume")
    top.add_argument("--json", action="store_true", help="print JSON, one value a line")
    top.add_argument("--debug", action="store_true", help="show tracebacks")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; returns its exit code."""
    return carry_out(parser(), argv, _work, "what was annotated")


def _work() -> Work:
    from evals.toolformer.annotate import annotate  # noqa: PLC0415 - it needs the extra

    return annotate


def _chance(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no probability: write a number from 0 to below 1")
    return number
