"""Secrets: what marks them, and where in a JSON value they are, by its schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from counterfoil.tools.arguments import resolve
from counterfoil.types.json import is_array, is_object
from counterfoil.types.verdict import Refusal

Secret = msgspec.Meta(extra_json_schema={"writeOnly": True, "format": "password"})
"""Marks what must not be kept: `password: Annotated[str, Secret]`, in a parameter, a field or a return type.

Only the tool sees such a value. A schema from elsewhere marks it with `writeOnly` or with the format `password`.
"""

Path = tuple[Any, ...]
_ANYTHING: dict[str, Any] = {}
_PARTS = ("allOf", "anyOf", "oneOf")
_SINGLE_PARTS = ("if", "then", "else")
_OBJECT = ("properties", "patternProperties", "additionalProperties", "unevaluatedProperties")
_ARRAY = ("items", "prefixItems", "contains", "unevaluatedItems")


class SecretLost(Exception):
    """The value that a placeholder stands for is not held any more. `refusal` is what the model is told."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def is_marked(schema: dict[str, Any]) -> bool:
    """Whether a schema says that its value is a secret."""
    return schema.get("writeOnly") is True or schema.get("format") == "password"


class Places:
    """Where the secrets are in values that a schema describes.

    It errs to the safe side: what may be a secret by one alternative is one; in a closed object what no property is
    named for is one, and so is a value of another shape than that which holds the secret.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        self._root = schema
        self._known: dict[int, bool] = {}
        self._targets: dict[str, Any] = {}
        self.any = self._holds(schema)
        self.names = frozenset(self._names(schema)) if self.any else frozenset[str]()
        """The property names under which there are secrets, at any depth."""

    def replace(self, value: Any, put: Callable[[Any], Any]) -> Any:
        """Copy a value, with `put(secret)` in place of each secret that is not null."""
        return self._walk(value, [self._root], (), lambda _, secret: put(secret))

    def found(self, value: Any) -> dict[Path, Any]:
        """The secrets of a value, by their path."""
        secrets: dict[Path, Any] = {}

        def note(path: Path, secret: Any) -> Any:
            secrets[path] = secret
            return secret

        self._walk(value, [self._root], (), note)
        return secrets

    def names_at_top(self, name: str) -> bool:
        """Whether a value's own property of that name is a secret, or holds one."""
        within, _ = self._inside(self._expand([self._root]), name)
        return any(self._holds(each) for each in within)

    def _walk(self, value: Any, schemas: list[dict[str, Any]], path: Path, put: Callable[[Path, Any], Any]) -> Any:
        if value is None:
            return None
        here = self._expand(schemas)
        if any(is_marked(each) for each in here):
            return put(path, value)
        shape = _OBJECT if is_object(value) else _ARRAY if is_array(value) else ()
        if any(self._holds(each) for each in here) and not any(key in each for each in here for key in shape):
            return put(path, value)
        if is_object(value):
            copy: dict[str, Any] = {}
            for name, each in value.items():
                within, closed = self._inside(here, name)
                unknown = closed and not within and each is not None
                copy[name] = put((*path, name), each) if unknown else self._walk(each, within, (*path, name), put)
            return copy
        if is_array(value):
            return [self._walk(each, _items(here, at), (*path, at), put) for at, each in enumerate(value)]
        return value

    def _expand(self, schemas: Iterable[Any]) -> list[dict[str, Any]]:
        """These schemas and all that apply to the same value, whichever alternative it is."""
        found: list[dict[str, Any]] = []
        queue = list(schemas)
        seen: set[int] = set()
        while queue:
            schema = queue.pop()
            if not is_object(schema) or id(schema) in seen:
                continue
            seen.add(id(schema))
            found.append(schema)
            if isinstance(schema.get("$ref"), str):
                queue.append(self._target(schema["$ref"]))
            for key in _PARTS:
                queue.extend(schema.get(key) or ())
            queue.extend(schema[key] for key in _SINGLE_PARTS if key in schema)
            dependent: dict[str, Any] = schema.get("dependentSchemas") or {}
            queue.extend(dependent.values())
        return found

    def _target(self, reference: str) -> Any:
        """What a reference leads to: one object each time, because answers are remembered by identity."""
        if reference not in self._targets:
            self._targets[reference] = resolve(self._root, reference)
        return self._targets[reference]

    def _inside(self, here: list[dict[str, Any]], name: str) -> tuple[list[dict[str, Any]], bool]:
        """The schemas of an object's property, and whether the object takes none that it does not name."""
        found: list[dict[str, Any]] = []
        closed = False
        for schema in here:
            properties: dict[str, Any] = schema.get("properties") or {}
            patterns: dict[str, Any] = schema.get("patternProperties") or {}
            named = [properties[name]] if name in properties else []
            named += [each for pattern, each in patterns.items() if _matches(pattern, name)]
            others = [schema.get("additionalProperties"), schema.get("unevaluatedProperties")]
            closed = closed or False in others
            found += [each if is_object(each) else _ANYTHING for each in named]
            if not named:
                found += [each for each in others if is_object(each)]
        return found, closed

    def _holds(self, schema: Any) -> bool:
        """Whether a secret is in it, at any depth."""
        if (known := self._known.get(id(schema))) is None:
            known = self._known[id(schema)] = any(is_marked(each) for each in self._all(schema))
        return known

    def _all(self, schema: Any) -> Iterable[dict[str, Any]]:
        """A schema and every one in it."""
        queue: list[Any] = [schema]
        seen: set[int] = set()
        while queue:
            each = queue.pop()
            if is_array(each):
                queue.extend(each)
            elif is_object(each) and id(each) not in seen:
                seen.add(id(each))
                yield each
                queue.extend(each.values())
                if isinstance(each.get("$ref"), str):
                    queue.append(self._target(each["$ref"]))

    def _names(self, schema: Any) -> Iterable[str]:
        for each in self._all(schema):
            properties = each.get("properties")
            if is_object(properties):
                yield from (
                    name for name, of in properties.items() if any(is_marked(part) for part in self._expand([of]))
                )


def by_name(value: Any, names: frozenset[str], put: Callable[[Any], Any]) -> Any:
    """Copy a value of which no schema is known, with `put` in place of what has one of these names."""
    if is_object(value):
        return {
            name: put(each) if name in names and each is not None else by_name(each, names, put)
            for name, each in value.items()
        }
    return [by_name(each, names, put) for each in value] if is_array(value) else value


def opened(schema: Any) -> Any:
    """Copy a schema so that any value is a fit one where there is a secret."""
    if is_object(schema):
        if is_marked(schema):
            return {"writeOnly": True}
        return {key: opened(each) for key, each in schema.items()}
    return [opened(each) for each in schema] if is_array(schema) else schema


def _items(here: list[dict[str, Any]], at: int) -> list[dict[str, Any]]:
    found: list[Any] = []
    for schema in here:
        prefix: list[Any] = schema.get("prefixItems") or []
        found.append(prefix[at] if at < len(prefix) else schema.get("items"))
        found += [schema.get("contains"), schema.get("unevaluatedItems")]
    return [each for each in found if is_object(each)]


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:  # written for another engine: it may well match
        return True
