"""Mistral's strict functions. The subset is not documented: the rules keep to what its own SDK sends."""

from __future__ import annotations

from counterfoil.dialects.rules import BOUNDS, ITEM_COUNTS, LENGTHS, Rules

RULES = Rules(
    name="mistral-strict",
    source="`mistralai.extra.utils._pydantic_helper` (mistralai 3.7): closes objects, keeps what pydantic writes",
    strict=True,
    keywords=BOUNDS | ITEM_COUNTS | LENGTHS | {"pattern", "format", "title", "default", "uniqueItems"},
    closed=True,
    optional="keep",
    null="type",
    type_lists=True,
    refs="recursive",
    ref_siblings="wrap",
    tuples="object",
    typed_enums=False,
)
