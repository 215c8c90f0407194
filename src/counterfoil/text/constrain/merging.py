"""Schemas that hold together, made one: only where all of an object is in one place can it be closed and bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from counterfoil.types.json import is_array, is_object

Follow = Callable[[str], Any]
"""Finds what a reference refers to; `None` if it is not there."""

_TIGHTER: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
_IMPLIED = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_UNENFORCED = frozenset({"unevaluatedProperties", "unevaluatedItems", "not", "if", "then", "else", "contains"})
"""Keywords that no engine enforces: that they were there is all that is kept of them."""
_DEEPEST = 8


def united(schema: dict[str, Any], follow: Follow, depth: int = 0) -> dict[str, Any]:
    """A schema without `allOf`, and without choices beside other keywords, where that can be said; else the same."""
    if depth > _DEEPEST:
        return schema
    if "$ref" in schema and schema.keys() & {*_IMPLIED["object"], *_IMPLIED["array"], "allOf"}:
        schema = _followed(schema, follow, depth)
    if is_array(parts := schema.get("allOf")):
        whole: dict[str, Any] | None = {key: held for key, held in schema.items() if key != "allOf"}
        for each in parts:
            whole = None if whole is None else both(whole, _followed(each, follow, depth))
        if whole is None:
            return schema
        schema = united(whole, follow, depth + 1)
    for key in ("anyOf", "oneOf"):
        base = {name: held for name, held in schema.items() if name != key}
        if is_array(branches := schema.get(key)) and base.keys() & set(_IMPLIED["object"]):
            found = [both(base, _followed(each, follow, depth)) for each in branches]
            kept = [united(each, follow, depth + 1) for each in found if each is not None]
            if len(kept) == len(branches):
                return {key: kept}
    return schema


def _followed(schema: Any, follow: Follow, depth: int) -> Any:
    if is_object(schema) and isinstance(reference := schema.get("$ref"), str):
        target = follow(reference)
        rest = {key: held for key, held in schema.items() if key != "$ref"}
        merged = both(rest, target) if is_object(target) else None
        schema = schema if merged is None else merged
    return united(schema, follow, depth + 1) if is_object(schema) else schema


def both(first: dict[str, Any], second: Any) -> dict[str, Any] | None:
    """What conforms to both of two schemas, as one; `None` where that takes more than their keywords side by side."""
    if second is True:
        return first
    if not is_object(second) or "$ref" in first or "$ref" in second:
        return None
    result = dict(first)
    for key, held in second.items():
        mine: Any = first.get(key)
        if key not in first or mine == held or key in _UNENFORCED:
            result[key] = held
        elif key in _TIGHTER:
            result[key] = _TIGHTER[key](mine, held)
        elif key == "properties":
            result[key] = {**mine, **{name: _pair(mine.get(name), each) for name, each in held.items()}}
        elif key == "required":
            result[key] = list(dict.fromkeys([*mine, *held]))
        elif key == "type":
            result[key] = _common(mine, held)
        elif key == "enum":
            result[key] = [each for each in mine if each in held]
        elif key in ("title", "description", "default", "examples", "$defs", "$comment"):
            continue
        else:
            return None
    closed = any("additionalProperties" in each or "patternProperties" in each for each in (first, second))
    if closed and first.get("properties", {}).keys() != second.get("properties", {}).keys():
        return None
    return result if result.get("type") != [] and result.get("enum") != [] else None


def _pair(first: Any, second: Any) -> Any:
    return second if first is None or first == second else {"allOf": [first, second]}


def _common(first: Any, second: Any) -> Any:
    theirs = _listed(second)
    found = [each for each in _listed(first) if each in theirs or (each == "integer" and "number" in theirs)]
    found += ["integer"] if "number" in _listed(first) and "integer" in theirs and "integer" not in found else []
    return found[0] if len(found) == 1 else found


def _listed(kinds: Any) -> list[Any]:
    return kinds if is_array(kinds) else [kinds]


def implied(schema: dict[str, Any]) -> str | None:
    """The type that a schema without one is about; `None` if its keywords do not say."""
    if schema.keys() & {"type", "enum", "const", "$ref", "anyOf", "oneOf"}:
        return None
    return next((kind for kind, words in _IMPLIED.items() if schema.keys() & set(words)), None)


def only(schema: Any, kinds: frozenset[str]) -> Any:
    """The part of a schema whose values are of some types; `None` if there is none. References stay as they are."""
    if not is_object(schema):
        return schema
    if "const" in schema:
        return schema if kind_of(schema["const"]) in kinds else None
    if is_array(options := schema.get("enum")):
        kept = [each for each in options if kind_of(each) in kinds]
        return {**schema, "enum": kept} if kept else None
    for key in ("anyOf", "oneOf"):
        if is_array(branches := schema.get(key)):
            found = [each for each in (only(branch, kinds) for branch in branches) if each is not None]
            return {**schema, key: found} if found else None
    if "type" in schema:
        held = [each for each in _listed(schema["type"]) if each in kinds]
        return {**schema, "type": held[0] if len(held) == 1 else held} if held else None
    return schema


def kind_of(value: Any) -> str:
    """The type of a JSON value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "number"
        case _:
            return "array" if is_array(value) else "object"
