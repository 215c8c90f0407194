"""AgentDojo in the worst case, through the product's own harness and gate: `counterfoil eval agentdojo`.

Data, environments and checks are those of the `agentdojo` package; nothing of them is copied into here.
"""

from evals.agentdojo.command import main

__all__ = ["main"]
