"""What a reply costs, by a list of prices that the caller gives: they change too often to be ours."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from counterfoil.types.request import Usage

PER = 1_000_000


class Prices(msgspec.Struct, frozen=True, omit_defaults=True):
    """Money per million tokens, in any one currency.

    `None` is unknown: without a price for tokens that were counted, a cost is unknown too. Tokens that were read from
    or written to a cache, and have no price of their own, count as `input`.
    """

    input: float | None = None
    output: float | None = None
    cached: float | None = None
    cache_write: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """What these tokens cost."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_write is None else self.cache_write
        fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
        counted = (
            (fresh, self.input),
            (usage.cached_tokens, cached),
            (usage.cache_write_tokens, written),
            (usage.output_tokens, self.output),
        )
        total = 0.0
        for tokens, price in counted:
            if tokens and price is None:
                return None
            total += tokens * (price or 0.0)
        return total / PER


def prices_of(given: Prices | Mapping[str, float] | None) -> Prices | None:
    """Prices from what a caller wrote: `{"input": 3, "output": 15, "cached": 0.3}`. Raises `ValueError`."""
    if given is None or isinstance(given, Prices):
        return given
    known = Prices.__struct_fields__
    if unknown := [key for key in given if key not in known]:
        raise ValueError(f"prices have no {unknown[0]!r}: they are {', '.join(known)}, per million tokens")
    if bad := [key for key, price in given.items() if not 0 <= price < float("inf")]:
        raise ValueError(f"the price of {bad[0]} must be a number from 0 on")
    return Prices(**given)


def with_cost(usage: Usage | None, prices: Prices | None, field: str | None, wire: str) -> Usage | None:
    """The usage with its cost: by the prices, else as the host itself says in a `field` of its usage."""
    if usage is None or usage.cost is not None:
        return usage
    cost = prices.cost(usage) if prices is not None else None
    if cost is None and field is not None:
        said = usage.ext.get(wire, {}).get(field)
        cost = float(said) if isinstance(said, int | float) and said >= 0 else None
    return usage if cost is None else msgspec.structs.replace(usage, cost=cost)
