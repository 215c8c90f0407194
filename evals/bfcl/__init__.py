"""The Berkeley Function Calling Leaderboard: `python -m evals.bfcl`, `counterfoil eval bfcl`."""

from evals.bfcl.command import main

__all__ = ["main"]
