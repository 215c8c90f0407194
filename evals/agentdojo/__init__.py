"""AgentDojo in the worst case: a fully compromised model. `python -m evals.agentdojo`, `counterfoil eval agentdojo`."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the evaluation; returns its exit code. Raises `CounterfoilError` when AgentDojo is not installed."""
    from evals.agentdojo.command import main as run  # noqa: PLC0415 it needs AgentDojo

    return run(argv)
