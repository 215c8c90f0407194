"""Cohere's `strict_tools` (Chat v2)."""

from __future__ import annotations

from counterfoil.dialects.rules import Limit, Rules

RULES = Rules(
    name="cohere-strict",
    source="WIRES.md section 2; Cohere's guide, Structured Outputs (its list of unsupported features)",
    strict=True,
    whole_request=True,
    keywords=frozenset({"pattern", "format"}),
    formats=frozenset({"date-time", "uuid", "date", "time"}),
    regex=("^", "$", "?=", "?!"),
    closed=False,
    optional="keep",
    null="none",
    unions=False,
    type_lists=False,
    # Whether references are taken is not documented: copies are.
    refs="inline",
    tuples="object",
    untyped_arrays=True,
    needs_required=True,
    limits=(Limit("properties", 200, "request"),),
)
