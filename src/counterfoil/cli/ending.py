"""How a command ends: its own exit code, or a sentence and the code for what came in between."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable
from contextlib import suppress

from counterfoil.cli.output import Output
from counterfoil.cli.problem import sentence

INTERRUPTED = 128 + signal.SIGINT
UNREAD = 128 + 13
"""As a shell says of a process that SIGPIPE has ended; Windows has no such signal."""


def exit_code(work: Callable[[], int], out: Output, *, debug: bool, stopped: str = "") -> int:
    """Do a command's work and let everything out; returns the exit code. `stopped` is said after Ctrl-C."""
    try:
        code = work()
        out.flush()
    except KeyboardInterrupt:
        out.end_live()
        if stopped:
            out.note(stopped)
        code = INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - whatever it is, a user gets a sentence
        if not out.unread:
            if debug:
                traceback.print_exception(error)
            out.error(sentence(error, debug))
        code = 2
    with suppress(OSError):  # it has been said already
        out.flush()
    return UNREAD if out.unread else code
