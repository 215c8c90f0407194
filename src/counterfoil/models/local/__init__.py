"""Models that run in this process: no network, no account. Needs the extra `local`.

`load()` gives a `Model` for the harness; `python -m counterfoil.models.local fetch` brings the weights.
"""

from counterfoil.models.local.llama_model import LlamaModel
from counterfoil.models.local.loading import DEFAULT, load
from counterfoil.models.local.needle import NeedleModel
from counterfoil.models.local.policy import PLAIN, SMALL, Policy
from counterfoil.models.local.weights import WEIGHTS, Weights, fetch, find

__all__ = [
    "DEFAULT",
    "PLAIN",
    "SMALL",
    "WEIGHTS",
    "LlamaModel",
    "NeedleModel",
    "Policy",
    "Weights",
    "fetch",
    "find",
    "load",
]
