"""What the gate must remember of a run: counters that are part of the fold, so a resumed run counts on."""

from __future__ import annotations

from typing import Any

from counterfoil.types.session import Budget


class Past:
    """How much a run has used up. `identical` counts (tool, canonical arguments), refused calls included."""

    __slots__ = ("allowed", "by_tool", "cost", "identical", "spent", "tokens", "turns")

    def __init__(self) -> None:
        self.turns = 0
        self.allowed = 0
        self.tokens = 0
        self.cost = 0.0
        self.by_tool: dict[str, int] = {}
        self.identical: dict[tuple[str, bytes], int] = {}
        self.spent: dict[str, list[dict[str, Any]]] = {}
        """Per tool, the arguments of its allowed calls: what `Limits.sums` adds up."""

    def spent_up(self, budget: Budget) -> str | None:
        """The name of the first ceiling that is reached: after it no model is asked and no call runs."""
        if self.turns >= budget.turns:
            return "turns"
        if budget.tokens is not None and self.tokens >= budget.tokens:
            return "tokens"
        if budget.cost is not None and self.cost >= budget.cost:
            return "cost"
        return None

    def allow(self, name: str, arguments: dict[str, Any]) -> None:
        """Count an allowed call."""
        self.allowed += 1
        self.by_tool[name] = self.by_tool.get(name, 0) + 1
        self.spent.setdefault(name, []).append(arguments)

    def ask(self, name: str, canonical: bytes) -> None:
        """Count a call that the model asked for, whatever becomes of it."""
        key = (name, canonical)
        self.identical[key] = self.identical.get(key, 0) + 1

    def new_exchange(self) -> None:
        """Begin again with the next user message: the budget is per exchange, tokens and cost included."""
        self.turns = self.allowed = self.tokens = 0
        self.cost = 0.0
        self.by_tool.clear()
        self.identical.clear()
        self.spent.clear()
