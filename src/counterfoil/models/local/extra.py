"""The wheels of the extra `local`, imported where they are needed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from counterfoil.types.error import MissingExtra

LLAMA = ("xllamacpp", "llguidance", "minijinja")
NEEDLE = ("needle_rs",)


def need(module: str) -> Any:
    """Import one of the extra's modules (untyped wheels, so `Any`); `MissingExtra` says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra("A local model", "local") from error


def check(modules: tuple[str, ...]) -> None:
    """Raise `MissingExtra` if any of the modules is not installed, without importing it."""
    if any(find_spec(module) is None for module in modules):
        raise MissingExtra("A local model", "local")
