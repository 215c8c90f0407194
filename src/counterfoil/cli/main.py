"""The doorway: it needs nothing but the core, so that a missing extra is one sentence and no traceback."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from counterfoil.types.error import MissingExtra


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    if find_spec("rich") is None:
        sys.stderr.write(f"counterfoil: {MissingExtra('The command', 'cli')}\n")
        return 2
    from counterfoil.cli.app import run  # noqa: PLC0415 - it needs the extra

    return run(sys.argv[1:] if arguments is None else arguments)
