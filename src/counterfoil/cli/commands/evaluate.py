"""`counterfoil eval`: the evaluations of the repository, by name. They are not part of what pip installs."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from counterfoil.cli.options import EXIT_CODES, Commands
from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem

EVALUATIONS = {
    "agentdojo": "what prompt injection gets through the gate, with a model that is fully compromised",
    "bfcl": "the Berkeley function-calling leaderboard, through every wire and text family",
    "toolformer": "where a text would profit from calls, by the model's own judgement",
    "constrained": "how many calls parse and conform, with and without constrained decoding",
}


def add(commands: Commands) -> None:
    """Add the command."""
    listed = "\n".join(f"  {name:<12} {what}" for name, what in EVALUATIONS.items())
    parser = commands.add_parser(
        "eval",
        help="run an evaluation of the repository",
        description="Run an evaluation, from a checkout of the repository. Its own options follow its name.",
        epilog=f"evaluations:\n{listed}\n\nexamples:\n  counterfoil eval bfcl --help\n"
        f"  counterfoil eval agentdojo --suite banking\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("name", choices=list(EVALUATIONS), metavar="NAME", help=", ".join(EVALUATIONS))
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help="options of the evaluation")
    parser.set_defaults(run=_run, debug=False)


def _run(options: argparse.Namespace, out: Output) -> int:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    if importlib.util.find_spec("evals") is None or importlib.util.find_spec(f"evals.{options.name}") is None:
        raise Problem("the evaluations are in counterfoil's repository: run this in a checkout of it")
    main: Callable[[Sequence[str]], int] = importlib.import_module(f"evals.{options.name}").main
    try:
        return main(options.rest)
    except SystemExit as stop:  # its own argparse has said why
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
