"""What a constraint costs for the embedded model's own vocabulary: compiling, and a mask for each token."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import llguidance

from counterfoil.models.local import gguf


class Vocabulary:
    """The tokens of a GGUF file (byte-level BPE), as llguidance wants to be shown them.

    Texts are cut greedily: for the time that a mask takes it does not matter how.
    """

    def __init__(self, path: Path) -> None:
        values = gguf.values(path)
        names: list[str] = values["tokenizer.ggml.tokens"]
        special = gguf.special(path)
        spelt = _spelling()
        self.tokens = [
            name.encode() if name in special else bytes(spelt[each] for each in name if each in spelt) for name in names
        ]
        self.special_token_ids = list(special.values())
        self.bos_token_id = values["tokenizer.ggml.bos_token_id"]
        self.eos_token_id = values["tokenizer.ggml.eos_token_id"]
        self._known = {token: number for number, token in enumerate(self.tokens) if names[number] not in special}
        self._longest = max(map(len, self._known))
        self.engine = llguidance.LLTokenizer(llguidance.TokenizerWrapper(self))

    def __call__(self, text: str | bytes) -> list[int]:
        """Cut a text into tokens."""
        data = text.encode() if isinstance(text, str) else text
        found: list[int] = []
        at = 0
        while at < len(data):
            size = next(n for n in range(min(self._longest, len(data) - at), 0, -1) if data[at : at + n] in self._known)
            found.append(self._known[data[at : at + size]])
            at += size
        return found


def _spelling() -> dict[str, int]:
    """The characters that stand for bytes in byte-level BPE: themselves where they can be seen, others further up."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(256 + number): byte for number, byte in enumerate(hidden)}


def cost(grammar: str, text: str, vocabulary: Vocabulary) -> tuple[float, list[float]]:
    """Milliseconds that compiling a grammar took, and the microseconds of each token's mask along a text."""
    began = time.perf_counter()
    matcher: Any = llguidance.LLMatcher(vocabulary.engine, grammar)
    matcher.compute_bitmask()
    compiled = (time.perf_counter() - began) * 1e3
    taken: list[float] = []
    for token in vocabulary(text):
        began = time.perf_counter()
        matcher.compute_bitmask()
        taken.append((time.perf_counter() - began) * 1e6)
        if not matcher.consume_token(token):
            break
    return compiled, taken
