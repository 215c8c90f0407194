"""Schema dialects: `get(name).lower(tools)` says tools as a provider takes them, with the plan that reads them back."""

from __future__ import annotations

from counterfoil.dialects import (
    anthropic_strict,
    bedrock_strict,
    cohere_strict,
    gemini_json,
    gemini_openapi,
    mistral_strict,
    openai_strict,
)
from counterfoil.dialects.dialect import Dialect, Lowered
from counterfoil.dialects.node import Step
from counterfoil.dialects.plan import Plan, Reversed
from counterfoil.dialects.rules import Limit, Rules

__all__ = ["Dialect", "Limit", "Lowered", "Plan", "Reversed", "Rules", "Step", "get", "names"]

_MODULES = (
    openai_strict,
    anthropic_strict,
    bedrock_strict,
    gemini_json,
    gemini_openapi,
    cohere_strict,
    mistral_strict,
)
_DIALECTS = {module.RULES.name: Dialect(module.RULES) for module in _MODULES}


def names() -> tuple[str, ...]:
    """The names of all dialects."""
    return tuple(_DIALECTS)


def get(name: str) -> Dialect:
    """The dialect of a name. Raises `ValueError` naming those there are."""
    if name not in _DIALECTS:
        raise ValueError(f"no dialect {name!r}: there are {', '.join(_DIALECTS)}")
    return _DIALECTS[name]
