"""Counting what providers limit, in one lowered schema and over a request."""

from __future__ import annotations

from typing import Any

import msgspec

from counterfoil.dialects.index import Schema, is_array, is_object
from counterfoil.dialects.rules import Limit

MAX_CHAIN = 30


class Counts(msgspec.Struct, frozen=True):
    """How much of each limited thing there is."""

    tools: int = 0
    optional: int = 0
    unions: int = 0
    properties: int = 0
    depth: int = 0
    enum_values: int = 0
    name_characters: int = 0

    def __add__(self, other: Counts) -> Counts:
        depth = max(self.depth, other.depth)
        return Counts(
            self.tools + other.tools,
            self.optional + other.optional,
            self.unions + other.unions,
            self.properties + other.properties,
            depth,
            self.enum_values + other.enum_values,
            self.name_characters + other.name_characters,
        )


def over(limits: tuple[Limit, ...], counts: Counts, used: Counts) -> str | None:
    """The first limit that a tool breaks, in words, beside what the request has used; `None` if it fits."""
    for limit in limits:
        field = limit.what.replace(" ", "_")
        found: int = getattr(counts if limit.per == "tool" else used + counts, field)
        if found > limit.most:
            return f"{found:,} {limit.what} in the {limit.per}, of at most {limit.most:,}"
    return None


def count(schema: Schema) -> Counts:
    """Count what is in a lowered schema, definitions included, each once; depth is counted through references."""
    counting = _Counting(schema)
    counting.visit(schema)
    definitions: dict[str, Schema] = schema.get("$defs", {})
    for name, each in definitions.items():
        counting.characters += len(name)
        counting.visit(each)
    return Counts(
        1,
        counting.optional,
        counting.unions,
        counting.properties,
        counting.depth(schema, frozenset()),
        counting.values,
        counting.characters,
    )


class _Counting:
    def __init__(self, root: Schema) -> None:
        self.root = root
        self.optional = self.unions = self.properties = self.values = self.characters = 0
        self._depths: dict[str, int] = {}

    def visit(self, schema: Schema) -> None:
        properties: dict[str, Schema] = schema.get("properties", {})
        needed = set(schema.get("required", ()))
        self.properties += len(properties)
        self.optional += sum(1 for name in properties if name not in needed)
        self.characters += sum(len(name) for name in properties)
        self.unions += "anyOf" in schema or is_array(schema.get("type"))
        literals: list[Any] = schema.get("enum", [])
        self.values += len(literals)
        self.characters += sum(len(each) for each in (*literals, schema.get("const")) if isinstance(each, str))
        for child in children(schema):
            self.visit(child)

    def depth(self, schema: Schema, seen: frozenset[str]) -> int:
        ref = schema.get("$ref")
        if isinstance(ref, str):
            # Recursion ends somewhere, and a chain this long is over any limit.
            if ref in seen or ref == "#" or len(seen) > MAX_CHAIN:
                return 0
            if ref not in self._depths:
                self._depths[ref] = self.depth(self.root["$defs"][_last(ref)], seen | {ref})
            return self._depths[ref]
        own = 1 if "properties" in schema or "items" in schema else 0
        return own + max((self.depth(child, seen) for child in children(schema)), default=0)


def _last(ref: str) -> str:
    return ref[len("#/$defs/") :].replace("~1", "/").replace("~0", "~")


def children(schema: Schema) -> list[Schema]:
    """The subschemas directly in a lowered schema, definitions aside."""
    found = list(schema.get("properties", {}).values())
    found += [schema[key] for key in ("items", "additionalProperties") if is_object(schema.get(key))]
    return found + [each for key in ("anyOf", "allOf", "prefixItems") for each in schema.get(key, ())]
