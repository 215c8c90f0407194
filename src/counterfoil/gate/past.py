"""What the gate must remember of a run: counters that are part of the fold, so a resumed run counts on."""

from __future__ import annotations

from counterfoil.types.request import Usage


class Past:
    """How much a run has used up since the requester last spoke.

    `allowed` and `by_tool` count the calls that may run; `identical` counts by tool and canonical arguments, refused
    calls included.
    """

    __slots__ = ("allowed", "by_tool", "cost", "identical", "tokens", "turns", "unpriced")

    def __init__(self) -> None:
        self.turns = 0
        self.allowed = 0
        self.tokens = 0
        self.cost = 0.0
        self.unpriced = False
        """Whether a reply came with tokens and no price."""
        self.by_tool: dict[str, int] = {}
        self.identical: dict[tuple[str, bytes], int] = {}

    def use(self, usage: Usage) -> None:
        """Count what a reply took."""
        self.tokens += usage.input_tokens + usage.output_tokens
        self.cost += usage.cost or 0.0
        self.unpriced |= usage.cost is None

    def new_exchange(self) -> None:
        """Begin again with the next user message: the budget is per exchange, tokens and cost included."""
        self.turns = self.allowed = self.tokens = 0
        self.cost = 0.0
        self.unpriced = False
        self.by_tool.clear()
        self.identical.clear()
