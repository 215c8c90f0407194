"""Anthropic's strict tools (Messages)."""

from __future__ import annotations

from counterfoil.dialects.rules import Limit, Rules

FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
)
LIMITS = (Limit("tools", 20, "request"), Limit("optional", 24, "request"), Limit("unions", 16, "request"))

RULES = Rules(
    name="anthropic-strict",
    source="WIRES.md section 2; `anthropic.lib._parse._transform` (anthropic 2.14)",
    strict=True,
    keywords=frozenset({"format", "minItems", "title"}),
    formats=FORMATS,
    most_min_items=1,
    names=r"[A-Za-z0-9_.-]{1,64}",
    closed=True,
    optional="keep",
    null="type",
    type_lists=True,
    refs="acyclic",
    all_of=True,
    tuples="object",
    typed_enums=False,
    limits=LIMITS,
)
