"""Where a text would profit from calls, by the model's own judgement: `counterfoil eval toolformer`."""

from evals.toolformer.command import main

__all__ = ["main"]
