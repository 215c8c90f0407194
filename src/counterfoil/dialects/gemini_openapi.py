"""Gemini's `parameters`: a subset of OpenAPI 3.0 schema objects."""

from __future__ import annotations

from counterfoil.dialects.gemini_json import NAMES
from counterfoil.dialects.rules import ITEM_COUNTS, LENGTHS, Rules

RULES = Rules(
    name="gemini-openapi",
    source="WIRES.md section 2; `Schema` in google-genai 3.6; the API's error texts in public threads",
    strict=False,
    keywords=ITEM_COUNTS
    | LENGTHS
    | {"minimum", "maximum", "minProperties", "maxProperties", "pattern", "format", "nullable", "title"}
    | {"propertyOrdering", "default", "example"},
    # Other formats are documented as ignored, but some versions of the API refused them: the description keeps them.
    formats=frozenset({"float", "double", "int32", "int64", "date-time", "enum"}),
    names=NAMES,
    closed=False,
    optional="keep",
    null="flag",
    lone_unions=True,
    type_lists=False,
    refs="inline",
    tuples="union",
    enums=frozenset({"string"}),
    const=False,
    empty_properties=False,
)
