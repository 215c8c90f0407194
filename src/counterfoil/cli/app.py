"""The command line: parse, run, and turn whatever goes wrong into a sentence."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence

from counterfoil import __version__
from counterfoil.cli.commands import call, chat, convert, demo, evaluate, people, replay, runs, tools, worker
from counterfoil.cli.ending import exit_code
from counterfoil.cli.options import EXIT_CODES
from counterfoil.cli.output import Output

_EPILOG = f"""a first look:
  counterfoil demo                          an order desk, a real model, no key, no network
  counterfoil chat shop:catalogue           talk to your own tools
  counterfoil runs; counterfoil show last   what happened

{EXIT_CODES}"""


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="counterfoil",
        description="The tool-calling harness between a language model's requests and your systems.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"counterfoil {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for module in (demo, chat, call, tools, worker, runs, people, replay, convert, evaluate):
        module.add(commands)
    return top


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns its exit code."""
    try:
        options = parser().parse_args(arguments)
    except SystemExit as stop:  # argparse has said why: help, a version, or what is wrong with the usage
        return int(stop.code or 0)
    out = Output(json=getattr(options, "json", False))
    # What a tool raised is in the log, which is for whoever debugs it.
    log = logging.getLogger("counterfoil")
    log.addHandler(logging.StreamHandler() if options.debug else logging.NullHandler())
    if options.debug:
        log.setLevel(logging.DEBUG)
    return exit_code(lambda: int(options.run(options, out)), out, debug=options.debug)
