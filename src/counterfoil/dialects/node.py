"""A lowered schema with what reverses it, and how the two are written apart: a JSON Schema and a flat plan."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET

from counterfoil.dialects.index import Schema, escape
from counterfoil.types.loss import Loss

MAX_EXPANDED = 20_000
"""Subschemas in one lowered tool. Beyond it the references multiply (a schema bomb), or no model could read it."""

Encoding = Literal["json", "values", "dict", "tuple"]
"""How a value is written: as JSON text; one of several as a string; a dict as a list; a tuple as a numbered object."""

Field = Literal["absent", "kept", "extras", "name", "filler"]
"""What a property is: null if absent; null, whether absent or not; the keys that have no property; renamed; ours."""


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change: where, as a JSON pointer into the lowered schema, and what reverses it."""

    pointer: str
    op: Encoding | Field | Literal["unwrap"]
    values: dict[str, Any] = {}
    """For `values`: what each string means. For `name`: the original name, under `name`."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A lowered subschema before it is written: children are nodes, so that what reverses them stays with them."""

    words: Schema = {}
    """Keywords without subschemas."""
    properties: dict[str, Node] | None = None
    items: Node | None = None
    prefix: tuple[Node, ...] = ()
    extra: Node | None = None
    any_of: tuple[Node, ...] = ()
    all_of: tuple[Node, ...] = ()
    ref: str | None = None
    encoding: Encoding | None = None
    values: dict[str, Any] = {}
    fields: dict[str, dict[Field, str]] = {}
    losses: tuple[Loss, ...] = ()
    origin: int = 0
    """The `id` of the original subschema that it says, or that encloses what it says."""


def reword(node: Node, *losses: Loss, **words: Any) -> Node:
    """The node with other keywords (`UNSET` removes one; null is a value) and more losses."""
    merged = {key: value for key, value in {**node.words, **words}.items() if value is not UNSET}
    return msgspec.structs.replace(node, words=merged, losses=node.losses + losses)


_FIRST = ("type", "title", "description", "const", "enum")


class Emission:
    """A node written apart: `schema`, `steps`, `losses`, and the `origins` of unions by pointer."""

    def __init__(self, root: Node, definitions: dict[str, Node]) -> None:
        self.steps: list[Step] = []
        self.origins: dict[str, int] = {}
        self._losses: dict[Loss, None] = {}
        self.schema = self._write(root, "")
        if definitions:
            written = {name: self._write(node, f"/$defs/{escape(name)}") for name, node in definitions.items()}
            self.schema["$defs"] = written

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What was lost, in order, each once."""
        return tuple(self._losses)

    def _write(self, node: Node, at: str) -> Schema:
        if node.encoding:
            self.steps.append(Step(at, node.encoding, node.values))
        self._losses.update(dict.fromkeys(node.losses))
        if node.ref is not None:
            return {"$ref": node.ref, **node.words}
        # What it is first, then its parts, then what binds them: the order that people write and models read.
        last = ("required", "additionalProperties")
        schema = {key: node.words[key] for key in (*_FIRST, *node.words) if key in node.words and key not in last}
        if node.properties is not None:
            schema["properties"] = {
                name: self._write(child, f"{at}/properties/{escape(name)}") for name, child in node.properties.items()
            }
            for name, fields in node.fields.items():
                pointer = f"{at}/properties/{escape(name)}"
                self.steps.extend(
                    Step(pointer, op, {"name": old} if op == "name" else {}) for op, old in fields.items()
                )
        if node.prefix:
            schema["prefixItems"] = [self._write(each, f"{at}/prefixItems/{i}") for i, each in enumerate(node.prefix)]
        if node.items is not None:
            schema["items"] = self._write(node.items, f"{at}/items")
        if node.extra is not None:
            schema["additionalProperties"] = self._write(node.extra, f"{at}/additionalProperties")
        if node.any_of:
            self.origins[at] = node.origin
            schema["anyOf"] = [self._write(each, f"{at}/anyOf/{i}") for i, each in enumerate(node.any_of)]
        if node.all_of:
            schema["allOf"] = [self._write(each, f"{at}/allOf/{i}") for i, each in enumerate(node.all_of)]
        return schema | {key: node.words[key] for key in last if key in node.words}


def too_large() -> str:
    """What to say of a schema that multiplies when its references are copied."""
    return (
        f"the schema has more than {MAX_EXPANDED} parts when its references are followed: do its definitions refer to "
        "one another many times over? Split the tool, or leave the deep part untyped"
    )
