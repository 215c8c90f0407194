"""`counterfoil eval bfcl`: the Berkeley Function Calling Leaderboard's questions of one turn, by its own checker."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from counterfoil.types.error import MissingExtra

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
        "--limit", metavar="N", type=_positive, help="a sample of N cases of each category; a larger holds the smaller"
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
    top.add_argument("--max-tokens", metavar="N", type=_positive, default=256, help="of one reply (default: 256)")
    top.add_argument("--threads", metavar="N", type=_positive, default=1, help="of the embedded model (default: 1)")
    top.add_argument("--out", metavar="DIR", type=Path, help="keep every case and the plot there; resume")
    top.add_argument("--json", action="store_true", help="print JSON, one value a line")
    top.add_argument("--debug", action="store_true", help="show tracebacks")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the evaluation; returns its exit code."""
    try:
        options = parser().parse_args(sys.argv[1:] if argv is None else argv)
    except SystemExit as stop:  # argparse has said why
        return int(stop.code or 0)
    if find_spec("rich") is None:
        sys.stderr.write(f"counterfoil: {MissingExtra('The command', 'cli')}\n")
        return 2
    from counterfoil.cli.output import Output  # noqa: PLC0415 - it needs the extra
    from counterfoil.cli.problem import sentence  # noqa: PLC0415 - the same
    from evals.bfcl.evaluate import evaluate  # noqa: PLC0415 - the same

    out = Output(json=options.json)
    try:
        code = evaluate(options, out)
        out.flush()
    except KeyboardInterrupt:
        out.end_live()
        if options.out:
            out.note(f"stopped: what was answered is kept in {options.out}, and the same command goes on from there")
        return 128 + signal.SIGINT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BaseException as error:  # noqa: BLE001 - whatever it is, a user gets a sentence
        if options.debug:
            traceback.print_exception(error)
        out.error(sentence(error, options.debug))
        return 2
    return code


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no count: write a whole number from 1 up")
    return number
