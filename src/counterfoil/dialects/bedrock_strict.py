"""Bedrock's strict tools (Converse): Anthropic's subset, with string lengths and patterns."""

from __future__ import annotations

from counterfoil.dialects.anthropic_strict import FORMATS, LIMITS
from counterfoil.dialects.rules import LENGTHS, Rules

RULES = Rules(
    name="bedrock-strict",
    source="WIRES.md section 2; the Bedrock user guide, structured output",
    strict=True,
    keywords=LENGTHS | {"format", "minItems", "pattern", "title"},
    formats=FORMATS,
    regex=("(?=", "(?!", "(?<=", "(?<!", "\\1", "\\2", "\\3", "\\k", "\\b", "\\B"),
    most_min_items=1,
    names=r"[A-Za-z0-9_.-]{1,64}",
    closed=True,
    optional="keep",
    null="type",
    type_lists=True,
    refs="acyclic",
    tuples="object",
    typed_enums=False,
    limits=LIMITS,
)
