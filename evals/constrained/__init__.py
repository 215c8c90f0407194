"""Whether calls under constraint always parse and conform, over many catalogues. `counterfoil eval constrained`."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil.cli.interrupts import stoppable


def main(argv: Sequence[str] | None = None) -> int:
    """Run the evaluation; returns its exit code."""
    from evals.constrained.run import main as run  # noqa: PLC0415 it needs the extra `local`

    with stoppable():
        return run(argv)
