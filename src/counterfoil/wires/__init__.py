"""Every provider's JSON format, by name. A wire is pure: bodies in, values out, and back."""

from __future__ import annotations

import difflib

from counterfoil.types.error import ModelError, WireError
from counterfoil.wires import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    gemini_interactions,
    mistral,
    ollama,
    openai_chat,
    openai_responses,
)
from counterfoil.wires.wire import Wire

__all__ = ["ModelError", "Wire", "WireError", "get", "names"]

_ALL: tuple[Wire, ...] = (
    anthropic,
    openai_chat,
    openai_responses,
    gemini,
    gemini_interactions,
    mistral,
    cohere,
    ollama,
    bedrock,
)
_WIRES = {wire.NAME: wire for wire in _ALL}


def names() -> tuple[str, ...]:
    """The names of all wires."""
    return tuple(_WIRES)


def get(name: str) -> Wire:
    """The wire of that name. Raises `WireError` naming the nearest ones if there is none."""
    wire = _WIRES.get(name)
    if wire is None:
        near = difflib.get_close_matches(name.lower().replace("_", "-"), _WIRES, n=3, cutoff=0.3) or list(_WIRES)
        raise WireError(f"no wire is called {name!r}: did you mean {' or '.join(near)}? All: {', '.join(_WIRES)}")
    return wire
