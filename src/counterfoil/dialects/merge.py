"""Saying `allOf`, and a `$ref` with company, as one schema.

What cannot be met exactly stays in the result as `allOf`: a remainder that is said in words, never silently lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from counterfoil.dialects.index import Index, Schema, is_array, is_object
from counterfoil.types.error import CatalogueError
from counterfoil.types.json import canonical

MAX_CHAIN = 60

ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment"}
    | {"discriminator", "contentMediaType", "contentEncoding", "propertyOrdering"}
)
IDENTITY = frozenset({"$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor", "$vocabulary"})
STRUCTURE = frozenset(
    {"type", "properties", "patternProperties", "additionalProperties", "items", "prefixItems", "enum", "const"}
    | {"$ref", "$dynamicRef", "anyOf", "oneOf", "allOf"}
)


def remarks(schema: Schema) -> Schema:
    """The part of a schema that constrains nothing."""
    return {key: value for key, value in schema.items() if key in ANNOTATIONS or key.startswith("x-")}


def constraints(schema: Schema) -> Schema:
    """The part of a schema that constrains."""
    return {
        key: value
        for key, value in schema.items()
        if key not in ANNOTATIONS and key not in IDENTITY and not key.startswith("x-")
    }


def reference(schema: Schema) -> str | None:
    """The target of a `$ref`, or of a `$dynamicRef` (one document: it means the same)."""
    ref = schema.get("$ref", schema.get("$dynamicRef"))
    return ref if isinstance(ref, str) else None


def flatten(schema: Schema, index: Index, seen: frozenset[str] = frozenset()) -> Schema:
    """The schema without `allOf`, and with `$ref` only where nothing but annotations stands beside it.

    A remainder that could not be merged is left under `allOf`.
    """
    ref = reference(schema)
    own = constraints(schema)
    own.pop("$ref", None)
    own.pop("$dynamicRef", None)
    members: list[Any] = list(own.pop("allOf", ()))
    if ref is not None:
        if not own and not members:
            return schema
        members.insert(0, {"$ref": ref})
    if not members:
        return schema
    notes = remarks(schema)
    if not own and len(members) == 1 and is_object(members[0]):
        return flatten({**members[0], **notes}, index, seen)
    merged = own
    for member in members:
        merged = meet(merged, _solid(member, index, seen))
    return {**merged, **notes}


def _solid(schema: Schema | bool, index: Index, seen: frozenset[str]) -> Schema:
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    flat = flatten(schema, index, seen)
    ref = reference(flat)
    if ref is None:
        return flat
    pointer = index.resolve(ref)
    if len(seen) > MAX_CHAIN:
        raise CatalogueError(f"more than {MAX_CHAIN} definitions are each part of the next by allOf")
    if pointer in seen:  # a schema that is defined as itself says nothing
        return remarks(flat)
    return {**_solid(index.at(pointer), index, seen | {pointer}), **remarks(flat)}


def meet(a: Schema, b: Schema) -> Schema:
    """One schema for what satisfies both, lazily: clashing subschemas become an `allOf` of the two."""
    merged = dict(a)
    rest: Schema = {}
    for key, value in b.items():
        if key in IDENTITY:
            continue
        if key not in merged:
            merged[key] = value
        elif key in ANNOTATIONS or canonical(merged[key]) == canonical(value):
            continue
        elif key in _MEET:
            both = _MEET[key](merged[key], value)
            if both is None:
                rest[key] = value
            else:
                merged[key] = both
        else:
            rest[key] = value
    left = [*a.get("allOf", ()), *b.get("allOf", ())] + ([rest] if rest else [])
    if left:
        merged["allOf"] = left
    return merged


def _types(a: Any, b: Any) -> Any:
    first = [a] if isinstance(a, str) else list(a)
    second = [b] if isinstance(b, str) else list(b)
    both = [each for each in first if each in second or (each == "integer" and "number" in second)]
    both += ["integer"] if "integer" in second and "number" in first and "integer" not in both else []
    return (both[0] if len(both) == 1 else both) or None


def _properties(a: Schema, b: Schema) -> Schema:
    return {
        **{name: {"allOf": [each, b[name]]} if name in b and each != b[name] else each for name, each in a.items()},
        **{name: each for name, each in b.items() if name not in a},
    }


def _subschemas(a: Any, b: Any) -> Any:
    if a is False or b is False:
        return False
    if is_array(a) or is_array(b):  # the tuples of older drafts
        return None
    return {"allOf": [a, b]}


def _enums(a: list[Any], b: list[Any]) -> list[Any] | None:
    known = {canonical(each) for each in b}
    return [each for each in a if canonical(each) in known] or None


def _largest(a: Any, b: Any) -> Any:
    return max(a, b)


def _smallest(a: Any, b: Any) -> Any:
    return min(a, b)


_MEET: dict[str, Callable[[Any, Any], Any]] = {
    "type": _types,
    "properties": _properties,
    "required": lambda a, b: [*a, *(each for each in b if each not in a)],
    "items": _subschemas,
    "additionalProperties": _subschemas,
    "enum": _enums,
    "allOf": lambda a, b: a,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), _largest),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), _smallest),
}
