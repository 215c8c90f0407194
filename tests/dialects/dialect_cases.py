"""Generated tool schemas with instances of them: JSON Schema 2020-12 as pydantic, zod and MCP servers write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsonschema_rs
import msgspec
from hypothesis import strategies as st

Schema = dict[str, Any]
Make = Callable[[st.DrawFn, int], Any]
"""Draws an instance; the number is how much deeper recursion may go."""

NAMES = ["id", "name", "user-id", "$filter", "tags", "when", "0", "key", "value", "rest", "a/b", "class"]
TEXT = st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126), max_size=6)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 99), st.floats(-5, 5, width=16), TEXT)
ANYTHING = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2))


class Case(msgspec.Struct):
    """A schema, instances made for it (not all need be valid), and whether one is."""

    schema: Schema
    instances: list[dict[str, Any]]

    def valid(self, instance: Any) -> bool:
        return bool(jsonschema_rs.Draft202012Validator(self.schema).is_valid(instance))


class World:
    """The definitions of one document: `schemas` as they are written, `makes` for their instances."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}
        self.makes: dict[str, Make] = {}


Part = tuple[Schema, Make]


def described(draw: st.DrawFn, part: Part) -> Part:
    notes: Schema = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "description": st.sampled_from(["what it is", ""]),
                "title": st.just("Title"),
                "default": st.just(None),
                "$comment": st.just("ours"),
                "examples": st.just([1]),
            },
        )
        if draw(st.integers(0, 3)) == 0
        else st.just({})
    )
    return {**part[0], **notes}, part[1]


def string(draw: st.DrawFn) -> Part:
    words: Schema = draw(
        st.sampled_from(
            [
                {},
                {"minLength": 1},
                {"maxLength": 4},
                {"pattern": "^[a-z]*$"},
                {"pattern": "^(?!x)"},
                {"format": "date-time"},
                {"format": "uri"},
                {"format": "phone"},
            ]
        )
    )
    return {"type": "string", **words}, lambda d, _: d(st.from_regex("^[a-z]{1,4}$", fullmatch=True) | TEXT)


def number(draw: st.DrawFn) -> Part:
    kind = draw(st.sampled_from(["integer", "number"]))
    words: Schema = draw(
        st.sampled_from(
            [{}, {"minimum": 0}, {"exclusiveMaximum": 90}, {"multipleOf": 2}, {"minimum": 0, "maximum": 50}]
        )
    )
    values = st.integers(-5, 99) if kind == "integer" else st.integers(0, 49) | st.floats(-5, 5, width=16)
    return {"type": kind, **words}, lambda d, _: d(values)


def literal(draw: st.DrawFn) -> Part:
    values: list[Any] = draw(
        st.sampled_from(
            [
                ["a", "b"],
                ["only"],
                [1, 2, 3],
                ["1", 1],
                [None, "x"],
                [True, False],
                [1.5, "y", None],
                [[1, 2], {"k": 1}],
            ]
        )
    )
    make: Make = lambda d, _: d(st.sampled_from(values))  # noqa: E731
    if len(values) == 1:
        return {"const": values[0]}, make
    if draw(st.booleans()) and all(isinstance(each, str) for each in values):
        return {"type": "string", "enum": values}, make
    return {"enum": values}, make


def anything(draw: st.DrawFn) -> Part:
    return draw(st.sampled_from([{}, {"description": "whatever"}])), lambda d, _: d(ANYTHING)


def obj(draw: st.DrawFn, world: World, depth: int) -> Part:
    names = draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True))
    parts = {name: node(draw, world, depth - 1) for name in names}
    required = [name for name in names if draw(st.booleans())]
    schema: Schema = {"type": "object", "properties": {name: part for name, (part, _) in parts.items()}}
    if draw(st.booleans()) or required:
        schema["required"] = required
    extras = draw(st.sampled_from(["closed", "open", "typed", "any"]))
    extra_make: Make | None = None
    if extras == "closed":
        schema["additionalProperties"] = False
    elif extras == "typed":
        schema["additionalProperties"], extra_make = node(draw, world, depth - 1)
    elif extras == "any":
        schema["additionalProperties"], extra_make = True, anything(draw)[1]
    if draw(st.integers(0, 5)) == 0:
        schema["minProperties"] = 1

    def make(d: st.DrawFn, left: int) -> Any:
        value = {n: m(d, left - 1) for n, (_, m) in parts.items() if n in required or (left > 0 and d(st.booleans()))}
        if extra_make and left > 0 and d(st.booleans()):
            value.setdefault(d(TEXT), extra_make(d, left - 1))
        return value

    return schema, make


def mapping(draw: st.DrawFn, world: World, depth: int) -> Part:
    values, inner = node(draw, world, depth - 1)
    word = draw(st.sampled_from(["additionalProperties", "patternProperties"]))
    schema: Schema = {"type": "object"}
    if word == "additionalProperties":
        schema[word] = values
    else:
        schema |= {"patternProperties": {"^": values}, "additionalProperties": False}
    return schema, lambda d, left: {k: inner(d, left - 1) for k in d(st.lists(TEXT, max_size=2, unique=True))}


def array(draw: st.DrawFn, world: World, depth: int) -> Part:
    if draw(st.booleans()):
        items, inner = node(draw, world, depth - 1)
        words: Schema = draw(st.sampled_from([{}, {}, {"minItems": 1}, {"maxItems": 2}, {"uniqueItems": True}]))
        return {"type": "array", "items": items, **words}, lambda d, left: [
            inner(d, left - 1) for _ in range(d(st.integers(0, 2)) if left > 0 else words.get("minItems", 0))
        ]
    parts = [node(draw, world, depth - 1) for _ in range(draw(st.integers(1, 3)))]
    schema: Schema = {"type": "array", "prefixItems": [part for part, _ in parts], "minItems": len(parts)}
    ending = draw(st.sampled_from(["exact", "closed", "typed"]))
    if ending == "exact":
        schema["maxItems"] = len(parts)
    elif ending == "closed":
        schema["items"] = False
    else:
        schema["items"] = {"type": "integer"}
    more = st.lists(st.integers(0, 9), max_size=2) if ending == "typed" else st.just([])
    return schema, lambda d, left: [*(make(d, left - 1) for _, make in parts), *d(more)]


def union(draw: st.DrawFn, world: World, depth: int) -> Part:
    parts = [node(draw, world, depth - 1) for _ in range(draw(st.integers(1, 3)))]
    key = draw(st.sampled_from(["anyOf", "oneOf"]))
    schema: Schema = {key: [part for part, _ in parts]}
    return schema, lambda d, left: d(st.sampled_from(parts))[1](d, left)


def tagged(draw: st.DrawFn, world: World, depth: int) -> Part:
    """A discriminated union, as pydantic writes it, with its base outside or not."""
    parts: list[Part] = []
    for tag in ("cat", "dog"):
        schema, make = obj(draw, world, depth - 1)
        schema["properties"] = {"kind": {"const": tag, "type": "string"}, **schema["properties"]}
        schema["required"] = ["kind", *schema.get("required", [])]

        def tag_make(d: st.DrawFn, left: int, *, tag: str = tag, make: Make = make) -> Any:
            return {**make(d, left), "kind": tag}

        parts.append((schema, tag_make))
    schema = {"oneOf": [part for part, _ in parts], "discriminator": {"propertyName": "kind"}}
    return schema, lambda d, left: d(st.sampled_from(parts))[1](d, left)


def based(draw: st.DrawFn, world: World, depth: int) -> Part:
    """A union beside what holds in all branches, as people write by hand."""
    schema, make = obj(draw, world, depth - 1)
    schema.pop("additionalProperties", None)
    names = sorted(schema["properties"])
    if not names:
        return schema, make
    first = draw(st.sampled_from(names))
    if draw(st.booleans()):
        return {**schema, "anyOf": [{"required": [first]}, {"required": ["other"]}]}, make
    extra, make_extra = node(draw, world, depth - 1)
    branches: list[Schema] = [
        {"properties": {"more": extra}, "required": ["more"]},
        {"properties": {"less": {"type": "string"}}},
    ]

    def with_more(d: st.DrawFn, left: int) -> Any:
        value = make(d, left)
        return {**value, "more": make_extra(d, left - 1)} if d(st.booleans()) else {**value, "less": "x"}

    return {**schema, "anyOf": branches}, with_more


def nullable(draw: st.DrawFn, world: World, depth: int) -> Part:
    part, make = node(draw, world, depth - 1)
    schema: Schema = {"anyOf": [part, {"type": "null"}]}
    if isinstance(part.get("type"), str) and draw(st.booleans()) and "enum" not in part and "const" not in part:
        schema = {**part, "type": [part["type"], "null"]}
    return schema, lambda d, left: None if left <= 0 or d(st.booleans()) else make(d, left)


def together(draw: st.DrawFn, world: World, depth: int) -> Part:
    """An allOf: of two open objects, or of one schema and bounds."""
    if draw(st.booleans()):
        first, make_first = obj(draw, world, depth - 1)
        second, make_second = obj(draw, world, depth - 1)
        for each in (first, second):
            each.pop("additionalProperties", None)
        return {"allOf": [first, second]}, lambda d, left: {**make_first(d, left), **make_second(d, left)}
    part, make = node(draw, world, depth - 1)
    return {"allOf": [part], "description": "one of one"}, make


def reference(draw: st.DrawFn, world: World, depth: int) -> Part:
    # A node refers to itself where it may end; one that must contain itself has no instance to test with.
    names = [each for each in ("Node", "Item", "Odd/Name") if each not in world.schemas or world.schemas[each]]
    if not names:
        return literal(draw)
    name = draw(st.sampled_from(names))
    ref = {"$ref": f"#/$defs/{name.replace('/', '~1')}"}
    if name not in world.schemas:
        world.schemas[name] = {}
        world.makes[name] = lambda d, _: {}
        if name == "Node":
            value, make_value = node(draw, world, depth - 1)
            self_ref: Schema = {"anyOf": [ref, {"type": "null"}]}
            world.schemas[name] |= {
                "type": "object",
                "properties": {"payload": value, "next": self_ref, "children": {"type": "array", "items": ref}},
                "required": ["payload", *draw(st.sampled_from([[], ["next"], ["children"]]))],
                "additionalProperties": False,
            }
            needed = world.schemas[name]["required"]

            def make(d: st.DrawFn, left: int) -> Any:
                found: dict[str, Any] = {"payload": make_value(d, left - 1)}
                if "next" in needed or (left > 0 and d(st.booleans())):
                    found["next"] = world.makes["Node"](d, left - 2) if left > 1 and d(st.booleans()) else None
                if "children" in needed or (left > 0 and d(st.booleans())):
                    found["children"] = [world.makes["Node"](d, left - 2)] if left > 1 and d(st.booleans()) else []
                return found

            world.makes[name] = make
        else:
            part, make_part = node(draw, world, depth - 1)
            world.schemas[name] |= part
            world.makes[name] = make_part
    return ref, lambda d, left: world.makes[name](d, left)


def node(draw: st.DrawFn, world: World, depth: int) -> Part:
    """Any subschema."""
    simple = [string, number, literal, anything]
    deep = [obj, obj, mapping, array, union, nullable, tagged, together, reference, based]
    if depth <= 0 or draw(st.integers(0, 2)) == 0:
        return described(draw, draw(st.sampled_from(simple))(draw))
    return described(draw, draw(st.sampled_from(deep))(draw, world, depth))


@st.composite
def cases(draw: st.DrawFn, depth: int = 3) -> Case:
    """A tool's parameters with some instances."""
    world = World()
    schema, make = obj(draw, world, depth) if draw(st.integers(0, 5)) else node(draw, world, depth)
    schema = dict(schema)
    if world.schemas:
        schema["$defs"] = world.schemas
    made = [make(draw, 4) for _ in range(2)]
    instances = [each for each in made if isinstance(each, dict)]
    return Case(schema, instances)


@st.composite
def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """The value with one thing in it replaced, removed or added."""
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        name = draw(st.sampled_from(sorted(value)))
        if draw(st.integers(0, 4)) == 0:
            return {key: each for key, each in value.items() if key != name}
        return {**value, name: draw(spoiled(value[name]))}
    if isinstance(value, list) and value and draw(st.integers(0, 3)):
        i = draw(st.integers(0, len(value) - 1))
        if draw(st.integers(0, 4)) == 0:
            return value[:i] + value[i + 1 :]
        return [*value[:i], draw(spoiled(value[i])), *value[i + 1 :]]
    return draw(SCALARS)
