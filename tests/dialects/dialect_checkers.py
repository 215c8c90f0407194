"""What each provider accepts, written down a second time: from WIRES.md section 2 and the SDKs, not from the code.

`violations(name, schema)` lists what the provider would refuse (or silently ignore) in one tool's lowered parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Schema = dict[str, Any]

BASE = {"type", "properties", "required", "items", "enum", "description", "$ref", "$defs", "anyOf", "title"}
BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
OPENAI = BASE | BOUNDS | {"const", "pattern", "format", "minItems", "maxItems", "additionalProperties"}
ANTHROPIC = BASE | {"const", "allOf", "format", "minItems", "additionalProperties"}
BEDROCK = BASE | {"const", "format", "minItems", "additionalProperties", "pattern", "minLength", "maxLength"}
GEMINI_JSON = BASE | {"prefixItems", "minItems", "maxItems", "minimum", "maximum", "additionalProperties"}
GEMINI_JSON |= {"propertyOrdering"}
GEMINI_OPENAPI = {
    *("type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required"),
    *("minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering"),
    *("default", "items", "minimum", "maximum"),
}
COHERE = {"type", "properties", "required", "items", "enum", "const", "description", "pattern", "format"}
MISTRAL = OPENAI | {"minLength", "maxLength", "default", "uniqueItems"}

OPENAI_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
ANTHROPIC_FORMATS = OPENAI_FORMATS | {"uri"}


def nodes(schema: Schema, at: str = "") -> Iterator[tuple[str, Schema]]:
    """Every subschema with its pointer."""
    yield at, schema
    for key in ("properties", "$defs"):
        for name, child in schema.get(key, {}).items():
            yield from nodes(child, f"{at}/{key}/{name}")
    for key in ("anyOf", "allOf", "prefixItems"):
        for i, child in enumerate(schema.get(key, [])):
            yield from nodes(child, f"{at}/{key}/{i}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key], f"{at}/{key}")


def types(schema: Schema) -> set[str]:
    declared = schema.get("type", [])
    return {declared} if isinstance(declared, str) else set(declared)


def closed(node: Schema) -> Iterator[str]:
    if "object" in types(node) and "enum" not in node:
        if node.get("additionalProperties") is not False:
            yield "object not closed"
        if not isinstance(node.get("properties"), dict):
            yield "object without properties"


def typed(node: Schema) -> Iterator[str]:
    if not node.keys() & {"type", "anyOf", "allOf", "$ref", "enum", "const"}:
        yield "no type"
    if "array" in types(node) and not isinstance(node.get("items"), dict):
        yield "untyped array"


def look_around(node: Schema) -> Iterator[str]:
    if re.search(r"\(\?(=|!|<=|<!)", node.get("pattern", "")):
        yield "look-around"


def values(node: Schema) -> list[Any]:
    return [*node.get("enum", []), *([node["const"]] if "const" in node else [])]


def primitive(node: Schema) -> Iterator[str]:
    if any(isinstance(each, list | dict) for each in values(node)):
        yield "a structure among literals"


def openai(node: Schema) -> Iterator[str]:
    yield from closed(node)
    yield from typed(node)
    yield from look_around(node)
    yield from primitive(node)
    if "object" in types(node) and set(node.get("properties", {})) != set(node.get("required", ["?"])):
        yield "a property that is not required"
    if "$ref" in node and len(node.keys() - {"$defs"}) > 1:
        yield "$ref with siblings"
    if node.get("format", "date") not in OPENAI_FORMATS:
        yield "format"
    if values(node) and "type" not in node:
        yield "literal without type"


def anthropic(node: Schema) -> Iterator[str]:
    yield from closed(node)
    yield from typed(node)
    yield from primitive(node)
    if "$ref" in node and len(node.keys() - {"$defs"}) > 1:
        yield "$ref with siblings"
    if node.get("format", "date") not in ANTHROPIC_FORMATS:
        yield "format"
    if node.get("minItems", 0) > 1:
        yield "minItems"
    if any(not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in node.get("properties", {})):
        yield "property name"


def bedrock(node: Schema) -> Iterator[str]:
    yield from anthropic(node)
    yield from look_around(node)
    if re.search(r"\\[1-9bBk]", node.get("pattern", "")):
        yield "back reference or word boundary"


def gemini_json(node: Schema) -> Iterator[str]:
    if "$ref" in node and any(not key.startswith("$") for key in node if key != "$ref"):
        yield "$ref with siblings"
    if any(isinstance(each, bool | None | list | dict) for each in values(node)):
        yield "enum of other than strings and numbers"
    yield from gemini_names(node)


def gemini_names(node: Schema) -> Iterator[str]:
    if any(not re.fullmatch(r"[A-Za-z_]\w{0,63}", name, re.ASCII) for name in node.get("properties", {})):
        yield "property name"
    if set(node.get("required", [])) - set(node.get("properties", {})):
        yield "required but not a property"


def gemini_openapi(node: Schema) -> Iterator[str]:
    yield from gemini_names(node)
    if "anyOf" in node:
        if len(node) > 1:
            yield "anyOf with siblings"
        return
    if not isinstance(node.get("type"), str) or node["type"] == "null":
        yield "no single type"
    if node.get("type") == "array" and "items" not in node:
        yield "items: missing field"
    if node.get("properties") == {}:
        yield "properties: should be non-empty"
    if any(not isinstance(each, str) for each in values(node)) or ("enum" in node and node.get("type") != "string"):
        yield "enum of other than strings"
    if node.get("format", "enum") not in {"float", "double", "int32", "int64", "date-time", "enum"}:
        yield "format"


def cohere(node: Schema) -> Iterator[str]:
    yield from primitive(node)
    if not isinstance(node.get("type"), str) or node["type"] == "null":
        yield "no single type"
    if node.get("properties") and not node.get("required"):
        yield "no required property"
    if re.search(r"\^|\$|\?=|\?!", node.get("pattern", "")):
        yield "pattern"
    if node.get("format", "date") not in {"date-time", "uuid", "date", "time"}:
        yield "format"
    if node.get("type") == "object" and set(node.get("required", [])) - set(node.get("properties", {})):
        yield "required but not a property"


def mistral(node: Schema) -> Iterator[str]:
    yield from closed(node)
    yield from typed(node)
    yield from primitive(node)


def recursive(schema: Schema, *, optional_allowed: bool) -> bool:
    """Whether a definition contains itself (`optional_allowed`: other than inside a property that may be absent)."""

    def refs(node: Schema) -> Iterator[str]:
        if "$ref" in node:
            yield node["$ref"]
        needed = node.get("required", [])
        for name, child in node.get("properties", {}).items():
            if not optional_allowed or name in needed:
                yield from refs(child)
        rest = {key: each for key, each in node.items() if key not in ("properties", "$defs")}
        for at, child in nodes(rest):
            if at:
                yield from refs(child) if at.count("/") <= 2 else ()

    definitions: dict[str, Schema] = schema.get("$defs", {})
    graph = {f"#/$defs/{k.replace('~', '~0').replace('/', '~1')}": set(refs(v)) for k, v in definitions.items()}
    graph["#"] = set(refs({k: v for k, v in schema.items() if k != "$defs"}))
    state: dict[str, int] = {}

    def cyclic(name: str) -> bool:
        if state.get(name) == 1:
            return True
        if state.get(name) == 2:
            return False
        state[name] = 1
        found = any(cyclic(each) for each in graph[name])
        state[name] = 2
        return found

    return any(cyclic(name) for name in graph)


CHECKS: dict[str, tuple[set[str], Callable[[Schema], Iterator[str]]]] = {
    "openai-strict": (OPENAI, openai),
    "anthropic-strict": (ANTHROPIC, anthropic),
    "bedrock-strict": (BEDROCK, bedrock),
    "gemini-json": (GEMINI_JSON, gemini_json),
    "gemini-openapi": (GEMINI_OPENAPI, gemini_openapi),
    "cohere-strict": (COHERE, cohere),
    "mistral-strict": (MISTRAL, mistral),
}


def violations(name: str, schema: Schema) -> list[str]:
    """What a provider would not take in a tool's parameters."""
    allowed, check = CHECKS[name]
    found = [] if types(schema) == {"object"} and "anyOf" not in schema else ["the root is not an object"]
    for at, node in nodes(schema):
        found += [f"{at}: {key}" for key in sorted(node.keys() - allowed)]
        found += [f"{at}: {what}" for what in check(node)]
        if any(not re.fullmatch(r"[\w.-]+", each) for each in node.get("$defs", {})):
            found.append("a definition whose name has to be escaped in references")
        if "$ref" in node and node["$ref"] != "#":
            target = node["$ref"][len("#/$defs/") :].replace("~1", "/").replace("~0", "~")
            found += [] if target in schema.get("$defs", {}) else [f"{at}: refers to nothing"]
    if name in ("anthropic-strict", "bedrock-strict", "gemini-json") and recursive(
        schema, optional_allowed=name == "gemini-json"
    ):
        found.append("recursive")
    return found
