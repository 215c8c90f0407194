"""The grammar of a catalogue: prose, or calls of which each name is bound to its own arguments' schema.

The result is text in llguidance's Lark dialect; nothing here needs llguidance itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from counterfoil.text.embedded.family import TAIL, Family, head
from counterfoil.types.request import ToolSpec

MAX_STRING = 300
"""Characters of a string argument whose schema names no bound: a small greedy model may otherwise never stop."""
MAX_ITEMS = 8
"""The same for the items of an array."""

_NOTES = frozenset({"description", "title", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"})
_SCHEMAS = frozenset({"items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_FORMATS = frozenset("date-time time date duration email hostname ipv4 ipv6 uri uuid".split())  # noqa: SIM905 a list to read
"""What llguidance can hold a string to. Other formats are for who reads the schema; the gate checks what it can."""
_SPACING = {"whitespace_flexible": False, "key_separator": ": ", "item_separator": ", "}


def catalogue_grammar(
    tools: Sequence[ToolSpec], family: Family, *, prose: bool, calls: int, answer: dict[str, Any] | None = None
) -> str:
    """Write the grammar of one turn: up to `calls` calls in one marker style, or (if `prose`) text.

    Prose may not begin like a call, nor contain any of the family's markers: a call written there would escape every
    constraint. With no tools the turn is prose only. `answer` is a schema that the prose must conform to.
    """
    lines = ["%llguidance {}"]
    alternatives = (["prose"] if prose or not tools else []) + (["calls"] if tools else [])
    lines.append("start: " + " | ".join(alternatives))
    if "prose" in alternatives:
        free = f"PROSE\nPROSE: {_prose(family, bool(tools))}"
        lines.append("prose: " + (free if answer is None else f"%json {schema_source(answer)}"))
    if tools:
        styles = list(dict.fromkeys(family.markers))
        lines.append("calls: " + " | ".join(f"style{i}" for i in range(len(styles))))
        for i, (opening, closing) in enumerate(styles):
            one = " ".join(part for part in (_literal(opening), "call", _literal(closing)) if part)
            more = f" ({_literal(family.separator)} {one}){{0,{calls - 1}}}" if calls > 1 else ""
            lines.append(f"style{i}: {one}{more}")
        lines.append("call: " + " | ".join(f"call{i}" for i in range(len(tools))))
        for i, tool in enumerate(tools):
            lines.append(f"call{i}: {_literal(head(tool.name))} arguments{i} {_literal(TAIL)}")
            lines.append(f"arguments{i}: %json {schema_source(tool.parameters)}")
    return "\n".join(lines) + "\n"


def answer_grammar(schema: dict[str, Any]) -> str:
    """Write the grammar of a structured answer."""
    return f"%llguidance {{}}\nstart: %json {schema_source(schema)}\n"


def schema_source(schema: dict[str, Any]) -> str:
    """Write a schema for the grammar: compact spacing, no annotations, every string and array bounded."""
    bounded: dict[str, Any] = {"type": "object", "additionalProperties": False, **bound(schema)}
    bounded["x-guidance"] = {**_SPACING, **schema.get("x-guidance", {})}
    return json.dumps(bounded, ensure_ascii=False)


def bound(schema: Any) -> Any:
    """Drop a schema's annotations and give a length to every string and array that has none.

    What conforms to the result conforms to the schema given.
    """
    if not isinstance(schema, dict):
        return schema
    given = cast("dict[str, Any]", schema)
    result: dict[str, Any] = {}
    for key, value in given.items():
        if key in _MAPS:
            named: dict[str, Any] = value
            result[key] = {name: bound(each) for name, each in named.items()}
        elif key in _LISTS:
            listed: list[Any] = value
            result[key] = [bound(each) for each in listed]
        elif key in _SCHEMAS:
            result[key] = bound(value)
        elif key not in _NOTES and not (key == "format" and value not in _FORMATS):
            result[key] = value
    free = not result.keys() & {"enum", "const", "$ref", "pattern", "format"}
    if result.get("type") == "string" and free:
        result.setdefault("maxLength", max(MAX_STRING, result.get("minLength", 0)))
    if result.get("type") == "array":
        result.setdefault("maxItems", max(MAX_ITEMS, result.get("minItems", 0)))
    return result


def _prose(family: Family, tools: bool) -> str:
    if not tools:
        return "/(?s:.)+/"
    marks = sorted({opening.strip() for opening, _ in family.markers if opening} | {'{"name"', '[{"name'})
    within = "|".join(re.escape(mark).replace("/", r"\/") for mark in marks)
    # Brackets in front cover what no marker names: a call as an array, or in a style of its own.
    return rf"/[^<{{\[`\s](?s:.)*/ & ~/(?s:.)*({within})(?s:.)*/"


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if text else ""
