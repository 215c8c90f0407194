"""Arguments as a model in a strict mode would write them: the way that a dialect's plan reverses, forwards.

Only what BFCL's declarations come to is known here: they have no references, and no unions of their own.
"""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import msgspec

from counterfoil.dialects import Plan
from counterfoil.types.json import canonical

Schema = dict[str, Any]


class Unsayable(Exception):
    """The format has no words for this."""


def say(arguments: dict[str, Any], schema: Schema, plan: Plan) -> dict[str, Any]:
    """Say arguments of the original schema as the lowered one wants them, which then takes them. Raises `Unsayable`."""
    steps: dict[str, dict[str, dict[str, Any]]] = {}
    for step in plan.steps:
        steps.setdefault(step.pointer, {})[step.op] = step.values
    written: dict[str, Any] = _Saying(steps).value(arguments, schema, "")
    if (error := next(iter(jsonschema_rs.validator_for(_plain(schema)).iter_errors(written)), None)) is not None:
        raise Unsayable(f"the lowered schema does not take it: {error.message[:200]}")
    return written


class _Saying:
    def __init__(self, steps: dict[str, dict[str, dict[str, Any]]]) -> None:
        self._steps = steps

    def value(self, value: Any, schema: Schema, at: str) -> Any:
        steps = self._steps.get(at, {})
        if "json" in steps:
            return msgspec.json.encode(value).decode()
        if "values" in steps:
            spelt = [text for text, meant in steps["values"].items() if canonical(meant) == canonical(value)]
            return spelt[0] if spelt else value
        if steps.keys() - {"absent", "name"}:
            raise Unsayable(f"a step of a kind that BFCL's schemas do not come to: {', '.join(steps)}")
        if "anyOf" in schema:
            return self._branch(value, schema, at)
        if isinstance(value, dict):
            return self._object(value, schema, at)
        if isinstance(value, list) and isinstance(schema.get("items"), dict):
            return [self.value(each, schema["items"], f"{at}/items") for each in value]
        return value

    def _branch(self, value: Any, schema: Schema, at: str) -> Any:
        for index, branch in enumerate(schema["anyOf"]):
            found = self.value(value, branch, f"{at}/anyOf/{index}")
            if jsonschema_rs.is_valid(_plain(branch), found):
                return found
        return value

    def _object(self, value: dict[str, Any], schema: Schema, at: str) -> dict[str, Any]:
        left, found = dict(value), dict[str, Any]()
        for name, child in schema.get("properties", {}).items():
            pointer = f"{at}/properties/{name.replace('~', '~0').replace('/', '~1')}"
            steps = self._steps.get(pointer, {})
            if "filler" in steps:
                found[name] = child["enum"][0]
                continue
            original = steps["name"]["name"] if "name" in steps else name
            if original in left:
                if left[original] is None and "absent" in steps:
                    raise Unsayable(f"null at {at}/{original}: here it means that the property is absent")
                found[name] = self.value(left.pop(original), child, pointer)
            elif "absent" in steps:
                found[name] = None
        return found | left


def _plain(schema: Any) -> Any:
    """A lowered schema as JSON Schema: OpenAPI's `nullable` said so."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: held if key in ("enum", "const", "default") else _plain(held) for key, held in schema.items()}
    return {"anyOf": [found, {"type": "null"}]} if found.pop("nullable", None) is True else found
