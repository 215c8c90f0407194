"""The arguments of calls that are not one JSON object: keywords, tags, braces."""

from __future__ import annotations

from typing import Any

from counterfoil.text.cast import Schemas, Types
from counterfoil.text.constrain.merging import only
from counterfoil.text.constrain.nodes import NOTHING, Json, Lit, Node, alt, maybe, seq, spread
from counterfoil.text.constrain.raw import lost, raw_text
from counterfoil.text.constrain.report import Feature
from counterfoil.text.constrain.values import Style, Values, merge, part
from counterfoil.text.grammars.grammar import json_of, misspellings, tokens
from counterfoil.text.grammars.tagged import TaggedCalls
from counterfoil.text.literals import KEY
from counterfoil.text.source import Markers
from counterfoil.types.json import is_array, is_object

MOST_SHAPES = 16
"""Forms that the arguments of one tool may take, where its schema offers a choice of objects."""


def shapes(schema: Any, defs: dict[str, Any], left: int = MOST_SHAPES) -> list[dict[str, Any]]:
    """The objects that a schema offers, each without a choice in it."""
    if not is_object(schema):
        return [{"type": "object"}]
    if "$ref" in schema:
        return shapes(merge({}, schema, defs), defs, left - 1) if left > 0 else []
    held = [schema["const"]] if "const" in schema else schema.get("enum")
    if is_array(held):
        return [_listed(each) for each in held if is_object(each)]
    if is_array(parts := schema.get("allOf")):
        whole: dict[str, Any] = {key: held for key, held in schema.items() if key != "allOf"}
        for each in parts:
            whole = merge(whole, each, defs)
        return shapes(whole, defs, left - 1) if left > 0 else []
    for key in ("anyOf", "oneOf"):
        if is_array(branches := schema.get(key)):
            base = {name: held for name, held in schema.items() if name != key}
            found = [each for branch in branches for each in shapes(merge(base, branch, defs), defs, left - 1)]
            return [each for each in found if each.get("type", "object") == "object"][:MOST_SHAPES]
    return [schema]


def _listed(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {key: {"const": held} for key, held in value.items()}, "required": [*value]}


def keywords(values: Values, schema: Any) -> Node:
    """`a=1, b="x"`: what stands between the parentheses of a Python call. Other names stand in `**{...}`."""
    return alt([_keywords(values, each) for each in shapes(schema, values.defs)])


def _keywords(values: Values, schema: dict[str, Any]) -> Node:
    required = set(schema.get("required", ()))
    members: list[tuple[Node, bool]] = []
    others: dict[str, Any] = {}
    for name, held in part(schema, "properties").items():
        if held is False:
            continue
        if KEY.fullmatch(name):
            members.append((seq(Lit(f"{name}="), values.value(held)), name in required))
        else:
            others[name] = held
    rest = {"type": "object", "properties": others, "required": [each for each in others if each in required]}
    if others:
        members.append((seq(Lit("**"), values.value(rest)), bool(rest["required"])))
    elif schema.get("patternProperties"):
        free = {key: held for key, held in schema.items() if key not in ("properties", "required")}
        members.append((seq(Lit("**"), values.value(free)), bool(schema.get("minProperties"))))
    return values.row(members, ", ") if members else NOTHING


class Tags:
    """Writes each argument between its tags, as the reader casts it back. `notes` is what could not be held to."""

    def __init__(
        self, grammar: TaggedCalls, tool: str, schemas: Schemas, shielded: Markers, stop: tuple[str, ...]
    ) -> None:
        self._grammar, self._tool, self._schemas, self._shielded = grammar, tool, schemas, shielded
        end, key = tokens(grammar.end_value)[0], tokens(grammar.key)[0]
        self._without = (end, key, *misspellings(end), *stop)
        self.notes: list[Feature] = []

    def body(self, schema: Any, defs: dict[str, Any]) -> Node:
        """All arguments: the needed ones, and those that are wanted, in the order declared."""
        return alt([self._row(each, defs) for each in shapes(schema, defs)])

    def _row(self, schema: dict[str, Any], defs: dict[str, Any]) -> Node:
        required = set(schema.get("required", ()))
        parts: list[Node] = []
        for name, held in part(schema, "properties").items():
            if held is not False:
                one = self._argument(name, held, defs)
                parts.append(one if name in required else maybe(one))
        return seq(*parts)

    def _argument(self, name: str, schema: Any, defs: dict[str, Any]) -> Node:
        grammar = self._grammar
        head, raw = f"{grammar.key}{name}", f"{grammar.value}{grammar.pad}"
        tail = f"{grammar.pad}{grammar.end_value}"
        types = self._schemas.types(self._tool, name)
        if types == ("string",):
            return alt(spread(seq(Lit(head), self._text(name, merge({}, schema, defs), raw, tail))))
        schema = readable(schema, types)
        value = Json({**schema, "$defs": defs} if defs and is_object(schema) else schema)
        before = f"{grammar.json_value}{grammar.pad}" if grammar.json_value else raw
        return seq(Lit(f"{head}{before}"), value, Lit(tail))

    def _text(self, name: str, schema: dict[str, Any], raw: str, tail: str) -> Node:
        options = [schema["const"]] if "const" in schema else schema.get("enum")
        if is_array(options):
            return alt([self._listed(each, raw, tail) for each in options if isinstance(each, str)])
        if any(key in schema for key in ("anyOf", "oneOf", "allOf")):
            self._note(name, "anyOf", "raw text is held to no choice")
            schema = {}
        for key in lost(schema):
            self._note(name, key, "raw text is not held to it")
        return seq(Lit(raw), raw_text(schema, self._without, tail))

    def _listed(self, value: str, raw: str, tail: str) -> Node:
        grammar = self._grammar
        if not self._shielded.pattern.search(value):
            return Lit(f"{raw}{value}{tail}")
        before = f"{grammar.json_value}{grammar.pad}" if grammar.json_value else raw
        return Lit(f"{before}{json_of(value, self._shielded)}{tail}")

    def _note(self, name: str, feature: str, why: str) -> None:
        self.notes.append(Feature(self._tool, f"/properties/{name}", feature, "approximated", why))


def readable(schema: Any, types: Types, *bare: str) -> Any:
    """The part of a parameter's schema that is read as what it is.

    Where a string may stand, a value of a type named behind it is read as one; `bare` are the types that are never.
    """
    if "string" not in types or types[-1] == "string":
        return schema
    first = types[: types.index("string") + 1]
    found = only(schema, frozenset({*first, "null", *bare, *({"integer"} if "number" in first else ())}))
    return schema if found is None else found


def python_style(written: Any) -> Style:
    """Python's spelling of values."""
    return Style(write=written, true="True", false="False", null="None")
