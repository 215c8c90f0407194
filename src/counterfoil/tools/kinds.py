"""The JSON Schema of a Python type, and a JSON value as that type: msgspec's, with pydantic models taken in."""

from __future__ import annotations

from typing import Any

import msgspec

from counterfoil.types.json import is_array, is_object


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema 2020-12 of a type, self-contained. Raises `TypeError` when it has none."""
    (root,), components = msgspec.json.schema_components([kind], schema_hook=_describe, ref_template=_REF + "{name}")
    definitions = dict(components)
    if "$ref" in root:
        root = definitions.pop(root["$ref"].removeprefix(_REF))
    schema = {key: value for key, value in root.items() if key != "title"}
    if schema.get("type") == "object" and "properties" in schema:
        schema.setdefault("required", [])
    for each in [schema, *components.values()]:
        _hoist(each, definitions)
    if definitions:
        schema["$defs"] = definitions
    return schema


def from_json(value: Any, kind: Any) -> Any:
    """Turn a JSON value that fits `schema_of(kind)` into that type. Raises `msgspec.ValidationError`."""
    try:
        return msgspec.convert(value, kind, dec_hook=_decode)
    except msgspec.ValidationError:
        # JSON Schema counts 3.0 as an integer; Python does not.
        return msgspec.convert(_whole(value), kind, dec_hook=_decode)


_REF = "#/$defs/"


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_object(value):
        return {name: _whole(each) for name, each in value.items()}
    return [_whole(each) for each in value] if is_array(value) else value


def _is_pydantic(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "model_json_schema") and hasattr(kind, "model_validate")


def _describe(kind: Any) -> dict[str, Any]:
    if _is_pydantic(kind):
        schema: dict[str, Any] = kind.model_json_schema()
        return schema
    raise TypeError(f"{getattr(kind, '__name__', kind)} is not supported")


def _decode(kind: Any, value: Any) -> Any:
    if _is_pydantic(kind):
        try:
            return kind.model_validate(value)
        except ValueError as error:
            raise msgspec.ValidationError(str(error)) from error
    raise TypeError(f"{kind} is not supported")


def _hoist(schema: Any, definitions: dict[str, Any]) -> None:
    """Move `$defs` of nested schemas to the root, where their `$ref`s point."""
    if is_object(schema):
        nested: dict[str, Any] = schema.pop("$defs", None) or {}
        for name, each in nested.items():
            if definitions.setdefault(name, each) != each:
                raise ValueError(f"two different types are both named {name!r}")
            _hoist(each, definitions)
        for each in schema.values():
            _hoist(each, definitions)
    elif is_array(schema):
        for each in schema:
            _hoist(each, definitions)
