"""Constrained decoding: replies that cannot be anything but prose, or calls that conform to their tools' schemas."""

from __future__ import annotations

from counterfoil.text.constrain.constraint import Constrainer, Constraint, chosen_of
from counterfoil.text.constrain.engines import Engine, LlGuidance
from counterfoil.text.constrain.fit import Bounds
from counterfoil.text.constrain.report import Feature, How, loosened
from counterfoil.text.constrain.servers import custom_tool, llama_cpp, sglang, vllm
from counterfoil.text.constrain.turn import Turn

__all__ = [
    "Bounds",
    "Constrainer",
    "Constraint",
    "Engine",
    "Feature",
    "How",
    "LlGuidance",
    "Turn",
    "chosen_of",
    "custom_tool",
    "llama_cpp",
    "loosened",
    "sglang",
    "vllm",
]
