"""The way forward, for tests: an instance of the original as a value of the lowered schema, by the recorded steps."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs

from counterfoil.dialects import Plan
from counterfoil.types.json import canonical

Schema = dict[str, Any]


class Unsayable(Exception):
    """The lowered schema has no value for this instance."""


def plain(schema: Any) -> Any:
    """A lowered schema as JSON Schema that a validator can start anywhere in: OpenAPI's nullable, and `#`, said so."""
    if isinstance(schema, list):
        return [plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: plain(each) for key, each in schema.items() if key not in ("enum", "const", "default", "examples")}
    found |= {key: schema[key] for key in ("enum", "const") if key in schema}
    if found.get("$ref") == "#":
        found["$ref"] = "#/$defs/:root"
    if found.pop("nullable", None) is True:
        return {"anyOf": [found, {"type": "null"}]}
    return found


class Embedding:
    """`embed` an instance of the original: the lowered value, and what must come back from it."""

    def __init__(self, schema: Schema, plan: Plan) -> None:
        self.schema = schema
        self.steps: dict[str, dict[str, dict[str, Any]]] = {}
        for step in plan.steps:
            self.steps.setdefault(step.pointer, {})[step.op] = step.values
        body = {key: each for key, each in schema.items() if key != "$defs"}
        self.definitions = {**plain(schema.get("$defs", {})), ":root": plain(body)}
        self._validators: dict[str, Any] = {}

    def accepts(self, value: Any, schema: Schema | None = None, at: str = "") -> bool:
        if at not in self._validators:
            body = {key: each for key, each in (self.schema if schema is None else schema).items() if key != "$defs"}
            whole = {"$defs": self.definitions, "allOf": [plain(body)]}
            self._validators[at] = jsonschema_rs.Draft202012Validator(whole)
        return bool(self._validators[at].is_valid(value))

    def embed(self, instance: Any) -> tuple[Any, Any]:
        if "unwrap" in self.steps.get("", {}):
            value, back = self._embed(instance, self.schema["properties"]["arguments"], "/properties/arguments")
            return {"arguments": value}, back
        return self._embed(instance, self.schema, "")

    def _embed(self, value: Any, schema: Schema, at: str) -> tuple[Any, Any]:
        while "$ref" in schema:
            at = schema["$ref"][1:]
            schema = self.schema
            for token in at.split("/")[1:]:
                schema = schema[token.replace("~1", "/").replace("~0", "~")]
        steps = self.steps.get(at, {})
        if "json" in steps:
            return json.dumps(value), value
        if "values" in steps:
            return self._spelled(value, steps["values"], schema)
        if "dict" in steps and isinstance(value, dict):
            value = [{"key": key, "value": each} for key, each in value.items()]
            pairs = [self._embed(each, schema["items"], f"{at}/items") for each in value]
            return [pair[0] for pair in pairs], {pair[1]["key"]: pair[1]["value"] for pair in pairs}
        if "tuple" in steps and isinstance(value, list):
            return self._numbered(value, schema, at)
        if steps.keys() & {"dict", "tuple"} and value is not None:
            raise Unsayable
        if "anyOf" in schema:
            return self._branch(value, schema, at)
        if isinstance(value, dict):
            return self._object(value, schema, at)
        if isinstance(value, list):
            return self._array(value, schema, at)
        return value, value

    def _spelled(self, value: Any, values: dict[str, Any], schema: Schema) -> tuple[Any, Any]:
        for text, meant in values.items():
            if canonical(meant) == canonical(value):
                return text, value
        if value is None and schema.get("nullable"):
            return None, None
        raise Unsayable

    def _numbered(self, value: list[Any], schema: Schema, at: str) -> tuple[Any, Any]:
        size = sum(1 for name in schema["properties"] if name != "rest")
        numbered: dict[str, Any] = {str(i): each for i, each in enumerate(value[:size])}
        if len(value) < size or (len(value) > size and "rest" not in schema["properties"]):
            raise Unsayable
        if "rest" in schema["properties"]:
            numbered["rest"] = value[size:]
        found, back = self._object(numbered, schema, at)
        return found, [*(back[str(i)] for i in range(size)), *back.get("rest", [])]

    def _branch(self, value: Any, schema: Schema, at: str) -> tuple[Any, Any]:
        for i, branch in enumerate(schema["anyOf"]):
            pointer = f"{at}/anyOf/{i}"
            try:
                found, back = self._embed(value, branch, pointer)
            except Unsayable:
                continue
            if self.accepts(found, branch, pointer):
                return found, back
        raise Unsayable

    def _array(self, value: list[Any], schema: Schema, at: str) -> tuple[Any, Any]:
        prefix = schema.get("prefixItems", [])
        pairs = []
        for i, each in enumerate(value):
            if i < len(prefix):
                pairs.append(self._embed(each, prefix[i], f"{at}/prefixItems/{i}"))
            elif "items" in schema:
                pairs.append(self._embed(each, schema["items"], f"{at}/items"))
            else:
                pairs.append((each, each))
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    def _object(self, value: dict[str, Any], schema: Schema, at: str) -> tuple[Any, Any]:
        found: dict[str, Any] = {}
        back: dict[str, Any] = {}
        left = dict(value)
        extras: str | None = None
        for name, child in schema.get("properties", {}).items():
            pointer = f"{at}/properties/{name.replace('~', '~0').replace('/', '~1')}"
            steps = self.steps.get(pointer, {})
            if "filler" in steps:
                found[name] = child["enum"][0]
                continue
            if "extras" in steps:
                extras = name
                continue
            old = steps["name"]["name"] if "name" in steps else name
            if old not in left:
                if "absent" in steps or "kept" in steps:
                    found[name] = None
                if "kept" in steps:
                    back[old] = None
                continue
            each = left.pop(old)
            if each is None and "absent" in steps:
                # Null would come back as absent: nothing in the lowered schema means it, but JSON text does.
                found[name], back[old] = self._embed(None, child, pointer)
                if found[name] is None:
                    raise Unsayable
                continue
            found[name], back[old] = self._embed(each, child, pointer)
        if left:
            self._left_over(left, found, back, schema, at, extras)
        elif extras and "absent" in self.steps[f"{at}/properties/{extras}"]:
            found[extras] = None
        return found, back

    def _left_over(
        self,
        left: dict[str, Any],
        found: dict[str, Any],
        back: dict[str, Any],
        schema: Schema,
        at: str,
        name: str | None,
    ) -> None:
        if name is not None:
            found[name], more = self._embed(left, schema["properties"][name], f"{at}/properties/{name}")
            back |= more
            return
        allowed = schema.get("additionalProperties")
        if not isinstance(allowed, dict) and allowed is not True and "properties" in schema:
            raise Unsayable
        for key, each in left.items():
            if key in schema.get("properties", {}):
                raise Unsayable
            found[key], back[key] = (
                self._embed(each, allowed, f"{at}/additionalProperties") if isinstance(allowed, dict) else (each, each)
            )
