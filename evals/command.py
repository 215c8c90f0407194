"""What the commands of the evaluations share: whatever goes wrong is a sentence, and what was done is kept."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

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
    from counterfoil.cli.output import Output  # noqa: PLC0415 - it needs the extra
    from counterfoil.cli.problem import sentence  # noqa: PLC0415 - the same

    out = Output(json=options.json)
    try:
        code = find()(options, out)
        out.flush()
    except KeyboardInterrupt:
        out.end_live()
        if options.out:
            out.note(f"stopped: {kept} is kept in {options.out}, and the same command goes on from there")
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


def positive(text: str) -> int:
    """Read a count, as a type for argparse."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no count: write a whole number from 1 up")
    return number
