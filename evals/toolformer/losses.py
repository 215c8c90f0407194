"""The filter's arithmetic (Schick et al. 2023, section 2): what a call is worth for the tokens behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HORIZON = 5
"""Tokens behind a position that weigh anything."""
_TOTAL = 3.0
"""The sum of 1 - 0.2 t over them."""


def weight(t: int) -> float:
    """How much the token `t` places behind a position counts: max(0, 1 - 0.2 t), made to add up to 1."""
    return max(0.0, (HORIZON - t) / HORIZON) / _TOTAL


def loss(logprobs: Sequence[float]) -> float:
    """The weighted loss, in nats, of the tokens behind a position, of which these are the log-probabilities."""
    return -sum(weight(t) * each for t, each in enumerate(logprobs[:HORIZON]))


def gain(without: float, unanswered: float, answered: float) -> float:
    """By how much a call with its result lowers the loss, against no call and the call alone, whichever is lower."""
    return min(without, unanswered) - answered


def is_kept(gained: float, tau_f: float) -> bool:
    """Whether a call stays."""
    return gained >= tau_f


def positions(chances: Mapping[int, float], tau_s: float, k: int) -> list[int]:
    """The `k` likeliest positions of those above `tau_s`, in the order of the text."""
    above = [at for at, chance in chances.items() if chance > tau_s]
    return sorted(sorted(above, key=lambda at: (-chances[at], at))[:k])
