"""What the commands of the evaluations share: whatever goes wrong is a sentence, and what was done is kept."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from counterfoil.cli.interrupts import stoppable
from counterfoil.types.error import MissingExtra

if TYPE_CHECKING:
    from counterfoil.cli.output import Output

Work = Callable[[argparse.Namespace, "Output"], int]


def carry_out(parser: argparse.ArgumentParser, argv: Sequence[str] | None, find: Callable[[], Work], kept: str) -> int:
    """Parse and run; returns the exit code. `find` imports what does the work; `kept` is what `--out` has when stopped.

    The options must have `json`, `out` and `debug`.
    """
    try:
        options = parser.parse_args(sys.argv[1:] if argv is None else argv)
    except SystemExit as stop:  # argparse has said why
        return int(stop.code or 0)
    if find_spec("rich") is None:
        sys.stderr.write(f"counterfoil: {MissingExtra('The command', 'cli')}\n")
        return 2
    from counterfoil.cli.ending import exit_code  # noqa: PLC0415 - it needs the extra
    from counterfoil.cli.output import Output  # noqa: PLC0415 - the same

    out = Output(json=options.json)
    if not options.debug:  # what goes wrong is said once, as a sentence
        logging.getLogger("counterfoil").addHandler(logging.NullHandler())

    def work() -> int:
        with stoppable():
            return find()(options, out)

    stopped = f"stopped: {kept} is kept in {options.out}, and the same command goes on from there"
    return exit_code(work, out, debug=options.debug, stopped=stopped if options.out else "")


def positive(text: str) -> int:
    """Read a count, as a type for argparse."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no count: write a whole number from 1 up")
    return number
