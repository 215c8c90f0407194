"""The port: what the local model asks of an inference engine. Blocking; call it on a worker thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

from counterfoil.types.request import Sampling


class Piece(msgspec.Struct, frozen=True):
    """One decoded token's text, and its log-probability under the model before any constraint."""

    text: str
    logprob: float | None = None


class Decoded(msgspec.Struct, frozen=True):
    """How decoding ended, in tokens. `prompt` includes the `cached` ones, reused from the key-value cache."""

    stop: Literal["end", "length", "cancelled"]
    prompt: int = 0
    cached: int = 0
    output: int = 0


Listener = Callable[[Piece | None], bool]
"""Takes each piece as it is decoded, and `None` while the prompt is read; returns whether to stop."""


class Engine(Protocol):
    """Decodes text, constrained by a grammar."""

    @property
    def context(self) -> int:
        """How many tokens fit, prompt and output together."""
        ...

    def check(self, grammar: str) -> str | None:
        """Say what is wrong with a grammar; `None` if it will be enforced."""
        ...

    def decode(self, prompt: str, grammar: str | None, sampling: Sampling, listener: Listener) -> Decoded:
        """Continue a prompt. Raises `ContextOverflow` when it does not fit, `ModelError` when the engine fails."""
        ...

    def close(self) -> None:
        """Free the memory."""
        ...
