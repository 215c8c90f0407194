"""JSON values as rules, in the style that a family writes them: where an engine's own `json` would not do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from counterfoil.text.constrain.fit import KEYS
from counterfoil.text.constrain.merging import kind_of
from counterfoil.text.constrain.nodes import (
    NOTHING,
    Alt,
    Chars,
    Json,
    Lit,
    Node,
    Ref,
    Rep,
    alt,
    listed,
    maybe,
    seq,
)
from counterfoil.text.constrain.raw import lost, raw_text
from counterfoil.text.jsontext import dumps
from counterfoil.types.json import is_array, is_object

_MOST_LISTED = 300
"""Integers that are written out one by one where a range cannot be said otherwise."""
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_HEX = Chars("0-9a-fA-F", 4, 4)
CHARACTER: Node = Alt((Chars('^"\\\\\\x00-\\x1f'), seq(Lit("\\"), Alt((Chars('"\\\\/bfnrt'), seq(Lit("u"), _HEX))))))
"""One character of a JSON string."""


class Style(msgspec.Struct, frozen=True):
    """How values are spelt. `write` spells one that is known; `quote` are the marks around raw strings.

    `leaves`: scalars that are spelt as in JSON are left to the engine's own `json`.
    """

    write: Callable[[Any], str] = dumps
    true: str = "true"
    false: str = "false"
    null: str = "null"
    separator: str = ", "
    colon: str = ": "
    quote: str = ""
    without: tuple[str, ...] = ()
    bare_keys: bool = False
    leaves: bool = True


JSON = Style(leaves=False)
"""JSON, spelt out in full."""


class Values:
    """Makes nodes of schemas. The rules that they refer to gather in `rules`."""

    def __init__(self, style: Style, rules: dict[str, Node], defs: dict[str, Any], prefix: str = "v") -> None:
        self.style, self.rules, self.defs, self.prefix = style, rules, defs, prefix
        self.lost = set[str]()
        """Keywords of raw strings that could not be held to."""

    def value(self, schema: Any) -> Node:
        """Anything that conforms to a schema, as far as rules can say it."""
        if not is_object(schema):
            return self._kind("any", {})
        if (reference := schema.get("$ref")) is not None:
            return self._reference(reference)
        if "const" in schema:
            return Lit(self.style.write(schema["const"]))
        if is_array(options := schema.get("enum")):
            kinds = _kinds(schema.get("type"))
            fitting = [each for each in options if not kinds or any(_is(each, kind) for kind in kinds)]
            return alt([Lit(self.style.write(each)) for each in (fitting or options)])
        for key in ("anyOf", "oneOf"):
            if is_array(branches := schema.get(key)):
                base = {name: value for name, value in schema.items() if name != key}
                return alt([self.value(merge(base, each, self.defs) if base else each) for each in branches])
        if is_array(parts := schema.get("allOf")):
            whole: dict[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
            for each in parts:
                whole = merge(whole, each, self.defs)
            return self.value(whole)
        kinds = _kinds(schema.get("type"))
        return alt([self._kind(kind, schema) for kind in kinds]) if kinds else self._kind("any", schema)

    def _reference(self, reference: str) -> Node:
        name = f"{self.prefix}-{reference.rpartition('/')[2]}"
        if name not in self.rules:
            self.rules[name] = NOTHING
            self.rules[name] = self.value(self.defs.get(reference.rpartition("/")[2], {}))
        return Ref(name)

    def _kind(self, kind: str, schema: dict[str, Any]) -> Node:
        style = self.style
        match kind:
            case "string":
                return self._string(schema)
            case "integer" | "number":
                return self._number(kind, schema)
            case "boolean":
                return Alt((Lit(style.true), Lit(style.false)))
            case "null":
                return Lit(style.null)
            case "array":
                return self._array(schema)
            case "object":
                return self._object(schema)
            case _:
                if "properties" in schema:
                    return self._object(schema)
                return alt([self._kind(each, {}) for each in ("string", "number", "boolean", "null")])

    def _string(self, schema: dict[str, Any]) -> Node:
        style, least, most = self.style, schema.get("minLength", 0), schema.get("maxLength")
        if style.quote:
            self.lost.update(lost(schema))
            return seq(Lit(style.quote), raw_text(schema, (style.quote, *style.without), style.quote))
        if style.leaves:
            return self._json(schema, "string")
        self.rules.setdefault("char", CHARACTER)
        return seq(Lit('"'), Rep(Ref("char"), least, most), Lit('"'))

    def _json(self, schema: dict[str, Any], kind: str) -> Node:
        return Json({**schema, "type": kind})

    def _number(self, kind: str, schema: dict[str, Any]) -> Node:
        if self.style.leaves:
            return self._json(schema, kind)
        low = schema.get("minimum", _beyond(schema.get("exclusiveMinimum"), 1))
        high = schema.get("maximum", _beyond(schema.get("exclusiveMaximum"), -1))
        if kind == "integer" and low is not None and high is not None and high - low < _MOST_LISTED:
            step = schema.get("multipleOf", 1)
            held = [each for each in range(int(-(-low // 1)), int(high // 1) + 1) if each % step == 0]
            if held:
                return alt([Lit(str(each)) for each in held])
        sign = NOTHING if low is not None and low >= 0 else maybe(Lit("-"))
        whole = Alt((Lit("0"), seq(Chars("1-9"), Chars("0-9", 0, 14))))
        return seq(sign, whole) if kind == "integer" else seq(sign, whole, maybe(seq(Lit("."), Chars("0-9", 1, 6))))

    def _array(self, schema: dict[str, Any]) -> Node:
        style, first = self.style, schema.get("prefixItems", [])
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        items = schema.get("items", {})
        if not first:
            inner = NOTHING if items is False else listed(self.value(items), style.separator, least, most)
            return seq(Lit("["), inner, Lit("]"))
        tail: Node = NOTHING
        left = None if most is None else max(0, most - len(first))
        if items is not False and left != 0:
            tail = Rep(seq(Lit(style.separator), self.value(items)), max(0, least - len(first)), left)
        for index in range(len(first) - 1, -1, -1):
            one = seq(Lit(style.separator if index else ""), self.value(first[index]), tail)
            tail = one if index < least else maybe(one)
        return seq(Lit("["), tail, Lit("]"))

    def _object(self, schema: dict[str, Any]) -> Node:
        style, members = self.style, list(self.members(schema))
        if members:
            return seq(Lit("{"), self.row([(node, needed) for node, needed in members], style.separator), Lit("}"))
        held = next(iter(part(schema, "patternProperties").values()), schema.get("additionalProperties", True))
        if held is False:
            return Lit("{}")
        if any(pattern != KEYS for pattern in part(schema, "patternProperties")):
            self.lost.add("patternProperties")
        most = schema.get("maxProperties")
        one = seq(self._free_key(), Lit(style.colon), self.value(held))
        return seq(Lit("{"), listed(one, style.separator, schema.get("minProperties", 0), most), Lit("}"))

    def _free_key(self) -> Node:
        name = Chars("A-Za-z0-9_.-", 1, 40)
        if self.style.bare_keys:
            return name
        return seq(Lit('"'), name, Lit('"'))

    def members(self, schema: dict[str, Any]) -> Iterator[tuple[Node, bool]]:
        """Each declared member as it is written, and whether it is needed."""
        required = set(schema.get("required", ()))
        for name, held in part(schema, "properties").items():
            if held is not False:
                yield seq(Lit(self.key(name) + self.style.colon), self.value(held)), name in required

    def key(self, name: str) -> str:
        """A member's name as it is written."""
        plain = self.style.bare_keys and bool(_PLAIN.fullmatch(name))
        return name if plain else dumps(name)

    def row(self, members: list[tuple[Node, bool]], separator: str) -> Node:
        """Members with a separator between each two: the needed ones first, the others where they are wanted."""
        needed = [node for node, must in members if must]
        others = [node for node, must in members if not must]
        tail = seq(*(maybe(seq(Lit(separator), node)) for node in others))
        if needed:
            return seq(needed[0], *(seq(Lit(separator), node) for node in needed[1:]), tail)
        options: list[Node] = [NOTHING]
        rest: Node = NOTHING
        for node in reversed(others):
            options.append(seq(node, rest))
            rest = self._shared(seq(maybe(seq(Lit(separator), node)), rest))
        return alt(options)

    def _shared(self, node: Node) -> Node:
        name = f"{self.prefix}-tail{len(self.rules)}"
        self.rules[name] = node
        return Ref(name)


def part(schema: Any, key: str) -> dict[str, Any]:
    """A member of a schema that holds objects by name; empty if it is not there."""
    held = schema.get(key) if is_object(schema) else None
    return held if is_object(held) else {}


def merge(first: dict[str, Any], second: Any, defs: dict[str, Any]) -> dict[str, Any]:
    """One schema of two that both have to hold: members side by side, the later word where they differ."""
    if not is_object(second):
        return first
    if isinstance(reference := second.get("$ref"), str):
        target: Any = defs.get(reference.rpartition("/")[2], {})
        rest = {key: value for key, value in second.items() if key != "$ref"}
        second = {**target, **rest} if is_object(target) else rest
    result = {**first, **second}
    if "properties" in first and "properties" in second:
        mine, theirs = first["properties"], second["properties"]
        result["properties"] = mine | {
            name: merge(mine[name], held, defs) if is_object(mine.get(name)) else held for name, held in theirs.items()
        }
    if "required" in first and "required" in second:
        result["required"] = list(dict.fromkeys([*first["required"], *second["required"]]))
    return result


def _kinds(kinds: Any) -> list[str]:
    return [kinds] if isinstance(kinds, str) else [each for each in kinds or () if isinstance(each, str)]


def _is(value: Any, kind: str) -> bool:
    found = kind_of(value)
    if kind in ("number", "integer") and isinstance(value, int | float) and found != "boolean":
        return kind == "number" or float(value).is_integer()
    return found == kind


def _beyond(value: Any, step: int) -> Any:
    return None if not isinstance(value, int | float) else value + step
