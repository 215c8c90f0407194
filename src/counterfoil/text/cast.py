"""Values that a format writes without a type: what they are is said by the tool's JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from counterfoil.text.jsontext import dumps, read_value, same
from counterfoil.types.json import is_array, is_object
from counterfoil.types.message import ToolCall
from counterfoil.types.request import ToolSpec

Types = tuple[str, ...]
"""JSON types in the order in which they are tried; `any` where the schema does not say."""

ANY: Types = ("any",)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)


class Schemas:
    """What is known of the tools whose calls are read or written."""

    def __init__(self, tools: Sequence[ToolSpec] = ()) -> None:
        self._tools = {tool.name: tool.parameters for tool in tools}
        self._types: dict[tuple[str, str], Types] = {}
        self.assumed: set[str] = set()
        """The tools of which only calls are known."""

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __bool__(self) -> bool:
        return bool(self._tools)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def properties(self, name: str) -> list[str]:
        """The names of a tool's parameters, in the order declared."""
        declared = self._tools.get(name, {}).get("properties")
        return list(declared) if is_object(declared) else []

    def types(self, name: str, key: str) -> Types:
        """The types that one parameter of a tool may have."""
        found = self._types.get((name, key))
        if found is None:
            schema: Any = self._tools.get(name, {})
            declared = schema.get("properties")
            extra = schema.get("additionalProperties", {})
            held = declared[key] if is_object(declared) and key in declared else extra
            found = self._types[name, key] = tuple(dict.fromkeys(_types(held, schema, set()))) or ANY
        return found

    def assuming(self, calls: Sequence[ToolCall]) -> Schemas:
        """The same; and each tool that is not known takes arguments of the types that these calls give it."""
        held = Schemas()
        held._tools, held._types = dict(self._tools), dict(self._types)
        for call in calls:
            if call.name in self._tools or call.arguments is None:
                continue
            held.assumed.add(call.name)
            declared = held._tools.setdefault(call.name, {"properties": {}})["properties"]
            for key, value in call.arguments.items():
                declared[key] = {}
                known = held._types.get((call.name, key), ())
                held._types[call.name, key] = tuple(dict.fromkeys([*known, _kind(value)]))
        return held


def cast(text: str, types: Types) -> Any:
    """Read a value written without its type. Where nothing fits it stays a string, for the gate to refuse.

    A parameter that is a string takes the text as it is. Otherwise `null` counts first where it is allowed, then a
    string in JSON's quotes where strings are, then the types in their order.
    """
    if types == ("string",):
        return text
    bare = text.strip()
    if "null" in types and bare in ("null", "None"):
        return None
    if bare[:1] == '"' and not {"string", "any"}.isdisjoint(types):
        found, error = read_value(bare)
        if error is None and isinstance(found, str):
            return found
    for kind in types:
        if kind == "string":
            return text
        if kind == "boolean" and bare in ("true", "false", "True", "False"):
            return bare in ("true", "True")
        if kind in ("integer", "number") and not _NUMBER.fullmatch(bare):
            continue
        if kind == "boolean" or (kind == "object" and bare[:1] != "{") or (kind == "array" and bare[:1] != "["):
            continue
        found, error = read_value(bare)
        if error is None and _fits(found, kind):
            return found
    return text


def spell(value: Any, types: Types) -> str | None:
    """Write a value so that `cast` gives it back: strings as they are, others as JSON; `None` if nothing does."""
    written = dumps(value)
    for text in (value, written) if isinstance(value, str) else (written,):
        if same(cast(text, types), value):
            return text
    return None


def _fits(value: Any, kind: str) -> bool:
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return kind in ("any", "number") or _kind(value) == kind


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "null")


_KINDS: dict[Any, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
}


def _types(schema: Any, root: Any, seen: set[str]) -> Iterator[str]:
    """The types of a schema in order. Each reference is followed once, so a schema costs no more than its length."""
    if not is_object(schema):
        yield "any"
        return
    kind = schema.get("type")
    if isinstance(kind, str):
        yield kind
    elif is_array(kind):
        yield from (each for each in kind if isinstance(each, str))
    elif isinstance(reference := schema.get("$ref"), str):
        if reference not in seen:
            seen.add(reference)
            yield from _types(_resolve(root, reference), root, seen)
    elif is_array(options := schema.get("enum", [schema["const"]] if "const" in schema else None)):
        yield from map(_kind, options)
    elif is_array(branches := schema.get("anyOf", schema.get("oneOf"))):
        for branch in branches:
            yield from _types(branch, root, seen)
    elif is_array(parts := schema.get("allOf")):
        found = [tuple(_types(part, root, seen)) for part in parts]
        yield from next((each for each in found if each and each != ANY), ANY)
    else:
        yield "object" if "properties" in schema else "array" if "items" in schema else "any"


def _resolve(root: Any, reference: str) -> Any:
    found = root
    for step in reference.removeprefix("#").split("/")[1:]:
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if is_object(found) else None
    return found
