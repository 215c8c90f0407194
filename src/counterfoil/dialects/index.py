"""Where everything is in one JSON Schema document, and what its references point at."""

from __future__ import annotations

from typing import Any, TypeGuard
from urllib.parse import unquote

from counterfoil.types.error import CatalogueError

Schema = dict[str, Any]

MAX_DEPTH = 200
MAX_NODES = 200_000

_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DATA = frozenset({"enum", "const", "default", "examples", "example", "required"})


def is_object(value: Any) -> TypeGuard[Schema]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


def escape(token: str) -> str:
    """Write one token of a JSON pointer (RFC 6901)."""
    return token.replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    """Read one token of a JSON pointer (RFC 6901)."""
    return token.replace("~1", "/").replace("~0", "~")


class Index:
    """A schema document: `pointers` of its subschemas by `id`, and `resolve` for its references.

    Raises `CatalogueError` for a reference out of the document (nothing is ever fetched), one to nowhere, a document
    nested deeper than `MAX_DEPTH` or larger than `MAX_NODES`.
    """

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.pointers: dict[int, str] = {}
        self._anchors: dict[str, str] = {}
        self._own = root.get("$id") if isinstance(root.get("$id"), str) else None
        refs, resources = self._walk()
        if refs and resources:
            raise CatalogueError(
                f"the subschema at {resources[0] or '/'} has an $id of its own, which changes what references mean: "
                "bundle the schema into one document with $defs"
            )
        for ref in refs:
            self.at(self.resolve(ref))

    def _walk(self) -> tuple[list[str], list[str]]:
        refs: list[str] = []
        resources: list[str] = []
        stack: list[tuple[Any, str, int, bool]] = [(self.root, "", 0, True)]
        count = 0
        while stack:
            node, pointer, level, schema = stack.pop()
            count += 1
            if level > MAX_DEPTH:
                raise CatalogueError(f"the schema is nested more than {MAX_DEPTH} levels deep")
            if count > MAX_NODES:
                raise CatalogueError(f"the schema has more than {MAX_NODES} parts")
            if is_array(node):
                stack.extend((each, f"{pointer}/{i}", level + 1, True) for i, each in enumerate(node))
                continue
            if not is_object(node):
                continue
            self.pointers.setdefault(id(node), pointer)
            if schema:
                self._note(node, pointer, refs, resources)
            for key, value in node.items():
                if not schema or key not in _DATA:
                    stack.append((value, f"{pointer}/{escape(key)}", level + 1, not (schema and key in _MAPS)))
        return refs, resources

    def _note(self, node: Schema, pointer: str, refs: list[str], resources: list[str]) -> None:
        for key in ("$ref", "$dynamicRef"):
            if isinstance(node.get(key), str):
                refs.append(node[key])
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(node.get(key), str):
                self._anchors.setdefault(node[key], pointer)
        own = node.get("$id")
        if pointer and isinstance(own, str) and not own.startswith("#"):
            resources.append(pointer)

    def resolve(self, ref: str) -> str:
        """The JSON pointer that a `$ref` means. Raises `CatalogueError` if it leaves the document."""
        if self._own and ref.startswith(self._own):
            ref = ref[len(self._own) :] or "#"
        if not ref.startswith("#"):
            raise CatalogueError(
                f"the schema refers to {ref!r}, outside itself: references are never fetched. Put what it refers to "
                "into the schema's $defs"
            )
        fragment = unquote(ref[1:])
        if not fragment or fragment.startswith("/"):
            return fragment
        if fragment not in self._anchors:
            raise CatalogueError(f"the schema refers to {ref!r}, and has no such anchor")
        return self._anchors[fragment]

    def at(self, pointer: str) -> Schema | bool:
        """The subschema at a pointer. Raises `CatalogueError` if there is none."""
        node: Any = self.root
        for token in pointer.split("/")[1:]:
            key = unescape(token)
            if is_object(node) and key in node:
                node = node[key]
            elif is_array(node) and key.isdigit() and int(key) < len(node):
                node = node[int(key)]
            else:
                raise CatalogueError(f"the schema refers to '#{pointer}', where it has nothing")
        if is_object(node) or isinstance(node, bool):
            return node
        raise CatalogueError(f"the schema refers to '#{pointer}', which is not a schema")
