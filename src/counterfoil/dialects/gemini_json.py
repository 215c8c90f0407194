"""Gemini's `parametersJsonSchema`: JSON Schema, of which some keywords are ignored."""

from __future__ import annotations

from counterfoil.dialects.rules import ITEM_COUNTS, Rules

NAMES = r"[A-Za-z_][A-Za-z0-9_]{0,63}"

RULES = Rules(
    name="gemini-json",
    source="WIRES.md section 2; the list of honoured keywords at `response_json_schema` in google-genai 3.6",
    strict=False,
    keywords=ITEM_COUNTS | {"minimum", "maximum", "title", "propertyOrdering"},
    names=NAMES,
    closed=False,
    optional="keep",
    null="type",
    type_lists=True,
    refs="optional",
    ref_siblings="wrap",
    dicts="schema",
    tuples="prefix",
    enums=frozenset({"string", "integer", "number"}),
    const=False,
    typed_enums=False,
    untyped=True,
    untyped_arrays=True,
)
