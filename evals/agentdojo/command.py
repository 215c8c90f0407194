"""`counterfoil eval agentdojo`: what prompt injection gets through the gate, and what that asks of a person."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from evals.agentdojo.facts import PACKAGE, SUITES
from evals.agentdojo.policies import POLICIES
from evals.command import Work, carry_out, positive

_EXAMPLES = """examples:
  counterfoil eval agentdojo                                  # every policy on every suite: some five minutes
  counterfoil eval agentdojo --suite banking --policy default --policy strict
  counterfoil eval agentdojo --planner local --planner anthropic:NAME
  counterfoil eval agentdojo --report                         # only what is known already
The same as: python -m evals.agentdojo. It needs: pip install {package}

policies:
{policies}
With --planner each task's plan is what that model says when the harness asks it, before anything is read; everything
else stays as it is. Every case is kept as a line in DIR and is not played again, every plan not asked for again:
stop at any time, and go on with the same command.

exit codes: 0 done; 2 usage or bad input; 130 stopped"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    policies = "\n".join(f"  {each.name:<31}{each.about}" for each in POLICIES)
    top = argparse.ArgumentParser(
        prog="counterfoil eval agentdojo",
        description="AgentDojo in the worst case: the model is fully compromised as soon as it has read an injection.",
        epilog=_EXAMPLES.format(policies=policies, package=PACKAGE),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--suite", action="append", choices=SUITES, help="only this one (may be given again)")
    top.add_argument(
        "--policy", metavar="NAME", action="append", help="one of those below (may be given again); default: all"
    )
    top.add_argument(
        "--planner",
        metavar="SPEC",
        action="append",
        help="the default, planned by a model: local, local:needle, local:PATH.gguf, HOST:NAME, or ADDRESS#NAME "
        "(may be given again); with it and no --policy, only those",
    )
    top.add_argument(
        "--what",
        choices=("benign", "worst", "adaptive", "all"),
        default="all",
        help="sessions without an attack, the attacked ones as well, the search for attacks that know the gate, or all",
    )
    top.add_argument("--limit", metavar="N", type=positive, help="a sample of N tasks of each suite")
    top.add_argument("--seed", metavar="N", type=int, default=0, help="which sample (default: 0)")
    top.add_argument(
        "--out", metavar="DIR", type=Path, default=Path("agentdojo-results"), help="where everything is kept"
    )
    top.add_argument("--report", action="store_true", help="play nothing: tell what is known")
    top.add_argument("--json", action="store_true", help="print JSON, one value a line")
    top.add_argument("--debug", action="store_true", help="show tracebacks")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; returns its exit code."""
    return carry_out(parser(), argv, _work, "what was played")


def _work() -> Work:
    from evals.agentdojo.evaluate import evaluate  # noqa: PLC0415 - it needs AgentDojo, and the extra

    return evaluate
