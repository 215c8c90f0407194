"""`counterfoil eval bfcl`: the Berkeley Function Calling Leaderboard's questions of one turn, by its own checker."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from evals.command import Work, carry_out, positive

_EXAMPLES = """examples:
  counterfoil eval bfcl                                    # nothing is lost: the right calls through every format
  counterfoil eval bfcl --through openai-chat,hermes --categories live
  counterfoil eval bfcl --model local --limit 20 --out bfcl-smollm2
  counterfoil eval bfcl --model anthropic:NAME --categories simple_python,irrelevance --limit 50 --out bfcl-claude
The same as: python -m evals.bfcl

With --model oracle the ground truth's calls are written in each format, read back, and judged. With any other model
they are what it answers. With --out, what is there already is not asked again.

exit codes: 0 done; 1 the oracle's calls were not what they had been; 2 usage or bad input"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="counterfoil eval bfcl",
        description="Measure a model, or our own formats, with BFCL's data and BFCL's own checker of calls.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument(
        "--model",
        metavar="SPEC",
        default="oracle",
        help="oracle (the default), local, local:needle, local:PATH.gguf, HOST:NAME, or ADDRESS#NAME",
    )
    top.add_argument(
        "--categories",
        metavar="NAMES",
        default="all",
        help="with commas between: simple_python, multiple, ... or live, non_live, python, all (default: all)",
    )
    top.add_argument(
        "--limit", metavar="N", type=positive, help="a sample of N cases of each category; a larger holds the smaller"
    )
    top.add_argument("--seed", metavar="N", type=int, default=0, help="which sample (default: 0)")
    top.add_argument(
        "--through",
        metavar="NAMES",
        help="oracle: which wires, dialects and text families; or wires, dialects, families, all (default: all)",
    )
    top.add_argument("--constrained", action="store_true", help="the embedded model under its grammar (default: both)")
    top.add_argument("--unconstrained", action="store_true", help="the embedded model without it")
    top.add_argument(
        "--policy",
        choices=("small", "unsplit", "plain"),
        help="the help the embedded model gets: small (the words pick the tool, and part a request), unsplit (they do "
        "not part it) or plain (none); default: its own, which is small for smollm2",
    )
    top.add_argument(
        "--tool-choice", choices=("auto", "any"), default="auto", help="any: it must call something (default: auto)"
    )
    top.add_argument("--max-tokens", metavar="N", type=positive, default=256, help="of one reply (default: 256)")
    top.add_argument("--threads", metavar="N", type=positive, default=1, help="of the embedded model (default: 1)")
    top.add_argument("--out", metavar="DIR", type=Path, help="keep every case and the plot there; resume")
    top.add_argument("--json", action="store_true", help="print JSON, one value a line")
    top.add_argument("--debug", action="store_true", help="show tracebacks")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; returns its exit code."""
    return carry_out(parser(), argv, _work, "what was answered")


def _work() -> Work:
    from evals.bfcl.evaluate import evaluate  # noqa: PLC0415 - it needs the extra

    return evaluate
