"""Close a JSON Schema: an object that lists its properties takes no others, at every depth."""

from __future__ import annotations

from typing import Any

from counterfoil.types.json import is_array, is_object

_OPENERS = ("additionalProperties", "unevaluatedProperties", "patternProperties")
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTS = ("prefixItems",)
_SINGLES = ("items", "additionalProperties", "unevaluatedProperties", "contains", "additionalItems")
_BRANCHES = ("allOf", "anyOf", "oneOf")


def close(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a copy in which every object schema that says nothing of further properties forbids them.

    Where an object is put together (`allOf`, `$ref` beside `properties`, ...) the whole is closed with
    `unevaluatedProperties`, not its parts (JSON Schema 2020-12, core section 11.3). A schema that already says what
    it wants of further properties keeps its word.
    """
    shared: set[str] = set()
    _find_parts(schema, shared, part=False)
    closed: dict[str, Any] = _close(schema, "#", shared, part=False)
    return closed


def _find_parts(schema: Any, shared: set[str], *, part: bool) -> None:
    """Collect the `$ref`s that are parts of a composed object: their targets must stay open."""
    if is_array(schema):
        for each in schema:
            _find_parts(each, shared, part=part)
    if not is_object(schema):
        return
    if isinstance(schema.get("$ref"), str) and (part or "properties" in schema):
        shared.add(schema["$ref"])
    for key, value in schema.items():
        if key in _MAPS and is_object(value):
            for each in value.values():
                _find_parts(each, shared, part=False)
        elif key in _BRANCHES:
            _find_parts(value, shared, part=part or key == "allOf" or "properties" in schema)
        elif key in ("if", "then", "else"):
            _find_parts(value, shared, part=True)
        elif key in _SINGLES or key in _LISTS:
            _find_parts(value, shared, part=False)


def _close(schema: Any, path: str, shared: set[str], *, part: bool) -> Any:
    if not is_object(schema):
        return schema
    composed = any(key in schema for key in ("allOf", "if", "then", "else", "dependentSchemas")) or (
        "properties" in schema and any(key in schema for key in ("anyOf", "oneOf", "$ref"))
    )
    closed: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _MAPS and is_object(value):
            inside = key == "dependentSchemas"
            closed[key] = {
                name: _close(each, f"{path}/{key}/{name}", shared, part=inside) for name, each in value.items()
            }
        elif key in _BRANCHES and is_array(value):
            inside = part or composed
            closed[key] = [_close(each, f"{path}/{key}/{i}", shared, part=inside) for i, each in enumerate(value)]
        elif key in ("if", "then", "else", "not"):
            closed[key] = _close(value, f"{path}/{key}", shared, part=True)
        elif key in _LISTS and is_array(value):
            closed[key] = [_close(each, f"{path}/{key}/{i}", shared, part=False) for i, each in enumerate(value)]
        elif key in _SINGLES:
            closed[key] = _close(value, f"{path}/{key}", shared, part=False)
        else:
            closed[key] = value
    if part or path in shared or any(key in schema for key in _OPENERS):
        return closed
    if composed and ("properties" in schema or schema.get("type") == "object" or "allOf" in schema):
        closed["unevaluatedProperties"] = False
    elif "properties" in schema:
        closed["additionalProperties"] = False
    return closed
