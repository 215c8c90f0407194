"""The OpenAPI subset that older declarations are written in, as JSON Schema."""

from __future__ import annotations

from typing import Any

from counterfoil.wires import _fields as fields

_MAPS = ("properties", "defs", "$defs")
_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
_ONES = ("items", "additionalProperties", "not")
_NUMBERS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")


def json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of that subset as JSON Schema: types in lower case, `nullable` as a type, counts as numbers."""
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            result[key] = value.lower()
        elif key in _MAPS:
            result[key] = {name: json_schema(fields.obj(each)) for name, each in fields.obj(value).items()}
        elif key in _LISTS:
            result[key] = [json_schema(fields.obj(each)) for each in fields.arr(value)]
        elif key in _ONES and isinstance(value, dict):
            result[key] = json_schema(fields.obj(value))
        elif key in _NUMBERS and isinstance(value, str) and value.isdecimal():
            # 64-bit numbers are strings in the JSON of protocol buffers.
            result[key] = int(value)
        elif key not in ("nullable", "propertyOrdering"):
            result[key] = value
    if schema.get("nullable") is True and isinstance(result.get("type"), str):
        result["type"] = [result["type"], "null"]
        if isinstance(result.get("enum"), list):
            result["enum"] = [*result["enum"], None]
    return result
