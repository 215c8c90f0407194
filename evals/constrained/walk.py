"""Texts that a grammar allows, at random: what no model would write is written as well."""

from __future__ import annotations

import random
from typing import Any

import llguidance

_TOKENS = llguidance.LLTokenizer("byte")
_END: int = _TOKENS.eos_token
_MOST = 3_000
"""Bytes of one text."""


def walk(grammar: str, seed: int) -> tuple[str, bool]:
    """One text, byte by byte, and whether it is whole. Raises `ValueError` for a grammar that cannot be enforced."""
    rng = random.Random(seed)  # noqa: S311 - a seed, not a secret
    matcher: Any = llguidance.LLMatcher(_TOKENS, grammar)
    written = bytearray()
    while not matcher.is_stopped() and len(written) < _MOST:
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        allowed = [token for token, bias in enumerate(matcher.compute_logit_bias()) if bias]
        token = _choose(rng, allowed)
        if token is None:
            return written.decode("utf-8", "replace"), _END in allowed
        written.append(token)
        matcher.consume_token(token)
    return written.decode("utf-8", "replace"), bool(matcher.is_accepting())


def _choose(rng: random.Random, allowed: list[int]) -> int | None:
    plain = [each for each in allowed if 32 <= each < 127 or each == 10]
    # Of other letters only those that are called for: a marker's, not any.
    plain += [each for each in allowed if 127 < each < 256] if len(allowed) < 64 else []
    if not plain or (_END in allowed and rng.random() < 0.3):
        return None if _END in allowed or not plain else rng.choice(plain)
    ends = [each for each in plain if chr(each) in '<"}])|\n']
    return rng.choice(ends if ends and rng.random() < 0.35 else plain)
