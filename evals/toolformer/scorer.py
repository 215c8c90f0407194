"""What placing calls asks of a language model, and the local model behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from counterfoil.models.local.engine import Piece
from counterfoil.models.local.likelihood import LlamaLikelihood, Token
from counterfoil.types.error import ModelError
from counterfoil.types.request import Sampling

_INPUT = 32
"""Tokens of a call's input."""


class Scorer(Protocol):
    """A language model that reads and writes. Blocking."""

    def tokens(self, text: str) -> Sequence[Token]:
        """The tokens of a text."""
        ...

    def logprobs(self, before: Sequence[int], given: Sequence[int]) -> Sequence[float]:
        """The log-probability of each given token behind those before it."""
        ...

    def write(self, prompt: str, pattern: str, seed: int) -> str | None:
        """Sample a text that matches the pattern, up to a closing bracket; `None` if it found no end."""
        ...


class LocalScorer:
    """The embedded model, on its exact log-probabilities."""

    def __init__(self, engine: LlamaLikelihood, temperature: float = 1.0) -> None:
        self._engine, self._temperature = engine, temperature

    def tokens(self, text: str) -> Sequence[Token]:
        """The tokens of a text."""
        return self._engine.tokens(text)

    def logprobs(self, before: Sequence[int], given: Sequence[int]) -> Sequence[float]:
        """The log-probability of each given token behind those before it."""
        return self._engine.logprobs(before, given)

    def write(self, prompt: str, pattern: str, seed: int) -> str | None:
        """Sample a text that matches the pattern, under a grammar."""
        slashed = pattern.replace("/", r"\/")
        sampling = Sampling(temperature=self._temperature, seed=seed, max_tokens=_INPUT)
        said: list[str] = []

        def listen(piece: Piece | None) -> bool:
            said.append(piece.text if piece is not None else "")
            return False

        ended = self._engine.decode(prompt, f'%llguidance {{}}\nstart: INPUT ")"\nINPUT: /{slashed}/', sampling, listen)
        if ended.stop == "cancelled":
            raise ModelError("decoding was cancelled")
        text, closed, _ = "".join(said).partition(")")
        return text if closed else None
