"""What a dialect is: data. The accepted keywords, how a few shapes are said, and the limits."""

from __future__ import annotations

from typing import Literal

import msgspec

LENGTHS = frozenset({"minLength", "maxLength"})
BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
ITEM_COUNTS = frozenset({"minItems", "maxItems"})
PRIMITIVES = frozenset({"string", "integer", "number", "boolean", "null"})

Measure = Literal["tools", "optional", "unions", "properties", "depth", "enum values", "name characters"]


class Limit(msgspec.Struct, frozen=True):
    """A ceiling of a dialect: `most` of `what`, in one tool or over all strict tools of a request."""

    what: Measure
    most: int
    per: Literal["tool", "request"]


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """How one dialect differs from JSON Schema 2020-12. Everything that lowering needs to know of a provider."""

    name: str
    source: str
    """Where the rules were read."""
    strict: bool
    """Whether it is a mode that a tool may be left out of. If not, every tool is lowered and no limit applies."""
    whole_request: bool = False
    """Whether strictness is one switch for all tools of a request."""
    keywords: frozenset[str]
    """Accepted besides type, properties, required, items, enum and description."""
    formats: frozenset[str] | None = None
    """Accepted values of `format`; `None`: any (if the keyword is)."""
    regex: tuple[str, ...] = ()
    """What a `pattern` may not contain."""
    most_min_items: int | None = None
    names: str | None = None
    """What a property's name must match; others are renamed."""
    closed: bool
    """Whether every object says `additionalProperties: false`."""
    optional: Literal["keep", "nullable"]
    """`nullable`: every property is required, and null stands for an absent one."""
    null: Literal["type", "flag", "none"]
    """How null is said: `{"type": "null"}`, `nullable: true`, or not at all."""
    unions: bool = True
    lone_unions: bool = False
    """Whether `anyOf` must stand alone: what would stand beside it goes into its first branch."""
    type_lists: bool
    refs: Literal["recursive", "optional", "acyclic", "inline"]
    """`$ref`: freely, recursive only inside properties that may be absent, never recursive, or not at all."""
    ref_siblings: Literal["wrap", "inline"] = "inline"
    """What becomes of a description beside a `$ref`: `anyOf: [$ref]` takes it, or the target is copied."""
    all_of: bool = False
    dicts: Literal["schema", "list"] = "list"
    """An open set of keys: `additionalProperties` with a schema, or a list of key and value."""
    tuples: Literal["prefix", "object", "union"] = "object"
    """A tuple: `prefixItems`, an object with numbered keys, or an array of the union of its items."""
    enums: frozenset[str] = PRIMITIVES
    """The kinds of value that an enum may hold; an enum with others becomes one of strings."""
    const: bool = True
    typed_enums: bool = True
    """Whether an enum needs a type beside it."""
    untyped: bool = False
    untyped_arrays: bool = False
    needs_required: bool = False
    """Whether an object with properties must require one."""
    empty_properties: bool = True
    """Whether `properties` may be `{}`."""
    limits: tuple[Limit, ...] = ()
