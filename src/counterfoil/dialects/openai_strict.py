"""OpenAI's strict function schemas (Chat Completions and Responses)."""

from __future__ import annotations

from counterfoil.dialects.rules import BOUNDS, ITEM_COUNTS, Limit, Rules

RULES = Rules(
    name="openai-strict",
    source="WIRES.md section 2; the Structured Outputs guide; `openai.lib._pydantic` (openai 3.57)",
    strict=True,
    keywords=BOUNDS | ITEM_COUNTS | {"pattern", "format", "title"},
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}),
    regex=("(?=", "(?!", "(?<=", "(?<!"),
    closed=True,
    optional="nullable",
    null="type",
    type_lists=True,
    refs="recursive",
    ref_siblings="wrap",
    tuples="object",
    limits=(
        Limit("properties", 5_000, "tool"),
        Limit("depth", 10, "tool"),
        Limit("enum values", 1_000, "tool"),
        Limit("name characters", 120_000, "tool"),
    ),
)
