"""Reversing what lowering changed, on the arguments that come back."""

from __future__ import annotations

from typing import Any

import msgspec

from counterfoil.dialects.index import Schema, escape, is_array, is_object
from counterfoil.dialects.node import Step
from counterfoil.dialects.shapes import fits, follow
from counterfoil.types.json import read_object

WRAPPER = "arguments"
"""The one property of a lowered root that holds all arguments, when the original root is not a plain object."""


class Reversed(msgspec.Struct, frozen=True):
    """Arguments as the original schema has them."""

    arguments: dict[str, Any]
    problem: str | None = None
    """Why they cannot be trusted, in words for the model: what it wrote has no one meaning in the original schema."""
    doubts: tuple[str, ...] = ()
    """JSON pointers of nulls that may have meant an absent property: it was optional and nullable."""


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """How to reverse the lowering of one tool. No steps: there is nothing to reverse."""

    tool: str = ""
    schema: Schema = {}
    """The lowered schema, which the pointers of the steps refer to."""
    steps: tuple[Step, ...] = ()

    def read(self, arguments: dict[str, Any]) -> Reversed:
        """Reverse the arguments of a call, and say what is doubtful. Never raises; what does not fit is left as it is,
        for the gate to refuse."""
        if not self.steps:
            return Reversed(arguments)
        walk = _Reversal(self)
        value = walk.root(arguments)
        return Reversed(value, walk.problem, tuple(walk.doubts))

    def reverse(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Reverse the arguments of a call. Raises `ValueError`, in words for the model, where they have no one meaning:
        a key written twice in a list of keys and values, or text that set out to be JSON and is not."""
        result = self.read(arguments)
        if result.problem is not None:
            raise ValueError(result.problem)
        return result.arguments


class _Reversal:
    def __init__(self, plan: Plan) -> None:
        self.schema = plan.schema
        self.steps: dict[str, dict[str, Step]] = {}
        for step in plan.steps:
            self.steps.setdefault(step.pointer, {})[step.op] = step
        self.problem: str | None = None
        self.doubts: list[str] = []

    def root(self, arguments: dict[str, Any]) -> dict[str, Any]:
        value = self.value(arguments, self.schema, "", "")
        if "unwrap" in self.steps.get("", {}) and is_object(value) and list(value) == [WRAPPER]:
            value = value[WRAPPER]
        return value if is_object(value) else arguments

    def fail(self, where: str, what: str) -> None:
        if self.problem is None:
            self.problem = f"at {where or '/'}: {what}"

    def value(self, value: Any, schema: Schema, at: str, where: str) -> Any:
        """Reverse one value; `at` is the schema's pointer, `where` the value's."""
        schema, pointer = follow(schema, self.schema)
        at = at if pointer is None else pointer
        steps = self.steps.get(at, {})
        if isinstance(value, str):
            if "json" in steps:
                return self.text(value, where)
            if "values" in steps and value in steps["values"].values:
                return steps["values"].values[value]
        if is_array(value):
            return self.array(value, schema, at, where, steps)
        if "anyOf" in schema:
            return self.union(value, schema, at, where)
        if is_object(value):
            result = self.object(value, schema, at, where)
            return self.numbered(value, result, schema) if "tuple" in steps else result
        return value

    def union(self, value: Any, schema: Schema, at: str, where: str) -> Any:
        branches: list[Schema] = schema["anyOf"]
        for closed in (True, False):
            for i, branch in enumerate(branches):
                if fits(branch, value, self.schema, closed=closed):
                    return self.value(value, branch, f"{at}/anyOf/{i}", where)
        return value

    def text(self, value: str, where: str) -> Any:
        # Inside an object, so that the reader of arguments judges it: repeated keys, NaN and overflows are no JSON.
        wrapped, _ = read_object('{"":' + value + "}")
        if wrapped is not None and len(wrapped) == 1:
            return wrapped[""]
        if value.lstrip()[:1] in ("{", "[", '"'):
            self.fail(where, "expected JSON text in this string, and it does not parse")
        return value

    def array(self, value: list[Any], schema: Schema, at: str, where: str, steps: dict[str, Step]) -> Any:
        if "anyOf" in schema:
            return self.union(value, schema, at, where)
        prefix: list[Schema] = schema.get("prefixItems", [])
        items = schema.get("items")
        result: list[Any] = []
        for i, each in enumerate(value):
            if i < len(prefix):
                each = self.value(each, prefix[i], f"{at}/prefixItems/{i}", f"{where}/{i}")
            elif is_object(items):
                each = self.value(each, items, f"{at}/items", f"{where}/{i}")
            result.append(each)
        return self.pairs(value, result, where) if "dict" in steps else result

    def pairs(self, raw: list[Any], result: list[Any], where: str) -> Any:
        found: dict[str, Any] = {}
        for each in result:
            if not is_object(each) or each.keys() != {"key", "value"} or not isinstance(each["key"], str):
                return raw
            if each["key"] in found:
                self.fail(where, f"the key {each['key']!r} is written twice: write it once")
                return raw
            found[each["key"]] = each["value"]
        return found

    def object(self, value: dict[str, Any], schema: Schema, at: str, where: str) -> dict[str, Any]:
        properties: dict[str, Schema] = schema.get("properties", {})
        extra = schema.get("additionalProperties")
        result: dict[str, Any] = {}
        more: dict[str, Any] = {}
        for name, each in value.items():
            here = f"{where}/{escape(name)}"
            if name not in properties:
                result[name] = self.value(each, extra, f"{at}/additionalProperties", here) if is_object(extra) else each
                continue
            pointer = f"{at}/properties/{escape(name)}"
            steps = self.steps.get(pointer, {})
            if "filler" in steps or ("absent" in steps and each is None):
                continue
            if "kept" in steps and each is None:
                self.doubts.append(here)
            each = self.value(each, properties[name], pointer, here)
            if "extras" in steps and is_object(each):
                more = each
            else:
                result[steps["name"].values["name"] if "name" in steps else name] = each
        return self.extras(result, more, schema, at, where)

    def extras(
        self, result: dict[str, Any], more: dict[str, Any], schema: Schema, at: str, where: str
    ) -> dict[str, Any]:
        if not more:
            return result
        names = {self.original(name, at) for name in schema.get("properties", {})}
        for name in more:
            if name in names or name in result:
                self.fail(where, f"the key {name!r} is a property of its own: it does not belong with the others")
        return {**more, **result}

    def original(self, name: str, at: str) -> str:
        steps = self.steps.get(f"{at}/properties/{escape(name)}", {})
        return steps["name"].values["name"] if "name" in steps else name

    def numbered(self, raw: dict[str, Any], result: dict[str, Any], schema: Schema) -> Any:
        size = sum(1 for name in schema["properties"] if name.isdigit())
        rest = result.get("rest", [])
        if any(str(i) not in result for i in range(size)) or not is_array(rest):
            return raw
        if len(result) != size + ("rest" in result):
            return raw
        return [*(result[str(i)] for i in range(size)), *rest]
