"""What a JSON Schema says of the names in a value: whether there can be anything at a path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from counterfoil.tools.arguments import resolve
from counterfoil.types.json import is_array, is_object

_SPEAKING = ("type", "properties", "patternProperties", "additionalProperties", "enum", "const", "items", "prefixItems")
_WRAPPING = ("$ref", "anyOf", "oneOf", "allOf")
_PARTS = ("if", "then", "else")


def absent(schema: dict[str, Any], path: Sequence[str]) -> tuple[str, list[str]] | None:
    """Say which step of a path leads nowhere, and which names there are instead; `None` if all may be there.

    Lists are transparent and `*` stands for any name, as in the paths of a label. An object that lists its properties
    has no others unless it says so; what says nothing may hold anything.
    """
    here = list(_expand(schema, schema, set()))
    for depth, step in enumerate(path):
        children: list[Any] = []
        names: list[str] = []
        for piece, silent in here:
            if silent:
                return None
            names += piece.get("properties") or ()
            children += _inside(piece, step.replace("\0", "."))
        if not children:
            whole = step == "*" and depth == 0  # of a scalar: all that there is
            return None if whole else (step, list(dict.fromkeys(names)))
        here = [found for child in children for found in _expand(schema, child, set())]
    return None


def _expand(root: Any, schema: Any, seen: set[int], *, part: bool = False) -> Iterator[tuple[dict[str, Any], bool]]:
    """The schemas that may describe a value or the items in it; each with whether it leaves the value to be anything.

    `part`: something beside it has spoken of the same value, so that its own silence opens nothing.
    """
    if not is_object(schema):
        if schema is not False:
            yield {}, not part
        return
    if id(schema) in seen:
        return
    seen.add(id(schema))
    speaks = any(key in schema for key in _SPEAKING)
    yield schema, not (part or speaks or any(key in schema for key in _WRAPPING))
    beside = part or speaks
    if isinstance(schema.get("$ref"), str):
        yield from _expand(root, resolve(root, schema["$ref"]), seen, part=beside)
    for key in ("anyOf", "oneOf"):
        for each in schema.get(key) or ():
            yield from _expand(root, each, seen, part=beside)
    parts = [*(schema.get("allOf") or ()), *(schema[key] for key in _PARTS if key in schema)]
    for each in parts:
        yield from _expand(root, each, seen, part=beside or len(parts) > 1)
    if "array" in _types(schema):
        listed = [*(schema.get("prefixItems") or ())]
        for each in [*listed, schema.get("items", not listed)]:
            yield from _expand(root, each, seen)


def _inside(schema: dict[str, Any], step: str) -> list[Any]:
    """The schemas of what an object has under a name, or under any."""
    named: dict[str, Any] = schema.get("properties") or {}
    patterns: dict[str, Any] = schema.get("patternProperties") or {}
    if step == "*":
        found = [*named.values(), *patterns.values()]
    elif step in named:
        return [named[step]]
    else:
        found = [each for pattern, each in patterns.items() if _matches(pattern, step)]
    rest = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
    if rest is None:
        rest = "object" in _types(schema) and not named and not patterns
    return found if rest is False else [*found, rest]


def _types(schema: dict[str, Any]) -> tuple[str, ...]:
    kind = schema.get("type")
    if is_array(kind):
        return tuple(kind)
    return (kind,) if isinstance(kind, str) else ()


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:  # written for another engine: it may well match
        return True
