"""Lowering one schema: a walk that says each subschema as the rules of a dialect take it.

Two ideas make most cases disappear. A lowered schema only ever *widens* the original, because the gate validates
against the original. And whatever a dialect cannot say in its own terms is carried as JSON text in a string.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import UNSET

from counterfoil.dialects import structure
from counterfoil.dialects.index import Index, Schema, escape, is_array, is_object, unescape
from counterfoil.dialects.merge import ANNOTATIONS, IDENTITY, STRUCTURE, constraints, flatten, reference, remarks
from counterfoil.dialects.node import MAX_EXPANDED, Emission, Node, reword, too_large
from counterfoil.dialects.rules import Rules
from counterfoil.types.error import CatalogueError
from counterfoil.types.json import canonical
from counterfoil.types.loss import Carried, Loss

MAX_NESTING = 60
"""How many subschemas may be lowered within one another; what is deeper is carried as JSON text."""

MAX_QUOTED = 500
"""Characters of a constraint or a schema quoted in a description."""

NULL: Schema = {"type": "null"}

_OF_KIND = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}),
    "array": frozenset(
        {"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains"}
        | {"maxContains", "unevaluatedItems"}
    ),
    "object": frozenset(
        {"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"}
        | {"maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties", "propertyOrdering"}
    ),
}
_OF_KIND["integer"] = _OF_KIND["number"]
_SOME_KIND = frozenset[str]().union(*_OF_KIND.values())


class Lowering:
    """One walk over one schema: `lower` its parts; `definitions` is what they refer to."""

    def __init__(self, rules: Rules, index: Index, texted: frozenset[int], *, wrapped: bool) -> None:
        self.rules = rules
        self.index = index
        self.texted = texted
        """Subschemas, by `id`, that are to be carried as JSON text."""
        self.definitions: dict[str, Node] = {}
        self.here = ""
        self.optional = 0
        """How many properties that may be absent enclose the walk."""
        self.origin = id(index.root)
        self._names: dict[str, str] = {}
        """The names of definitions, by the pointer of the original."""
        self._refs: dict[str, str] = {}
        self._active: dict[str, int] = {} if wrapped else {"": 0}
        self._left = MAX_EXPANDED
        self._level = 0
        self._later: dict[str, Schema] = {}
        """Definitions promised where the walk was already deep."""

    def finish(self) -> None:
        """Lower the definitions that were put off."""
        while self._later:
            name, target = self._later.popitem()
            self.definitions[name] = self.lower(target)

    def loss(self, what: str, carried: Carried) -> Loss:
        """A loss at the place of the walk."""
        return Loss(self.here, what, carried)

    def lower(self, schema: Schema | bool, *, root: bool = False) -> Node:
        """Say one subschema. Raises `CatalogueError` when the whole has become too large."""
        self._left -= 1
        if self._left < 0:
            raise CatalogueError(too_large())
        if isinstance(schema, bool):
            return self.untyped({} if schema else {"not": {}})
        if self._level > MAX_NESTING:
            return self.text(schema, f"what is nested more than {MAX_NESTING} levels deep")
        outside = self.here, self.origin
        if id(schema) in self.index.pointers:
            self.here, self.origin = self.index.pointers[id(schema)], id(schema)
        self._level += 1
        try:
            if id(schema) in self.texted:
                return self.text(schema, "a union whose branches could not be told apart afterwards")
            return msgspec.structs.replace(self._lower(schema, root), origin=self.origin)
        finally:
            self._level -= 1
            self.here, self.origin = outside

    def _lower(self, schema: Schema, root: bool) -> Node:
        if self.rules.all_of and (kept := self._all_of(schema)) is not None:
            return kept
        schema = flatten(schema, self.index)
        for union in ("anyOf", "oneOf"):
            if is_array(schema.get(union)):
                return self._union(schema, union, root)
        if reference(schema) is not None:
            return self._reference(schema)
        return self._leaf(schema, root)

    def _leaf(self, schema: Schema, root: bool) -> Node:
        if "const" in schema or "enum" in schema:
            return structure.literal(self, schema)
        return self._typed(schema, root)

    def _all_of(self, schema: Schema) -> Node | None:
        """An `allOf` that the dialect takes as it stands: alone, of parts that nothing has to be changed in."""
        members = schema.get("allOf")
        if not is_array(members) or constraints(schema).keys() != {"allOf"}:
            return None
        if any(not is_object(each) or reference(each) for each in members):
            return None
        nodes = tuple(self.lower(each) for each in members)
        written = [Emission(each, {}) for each in nodes]
        if any(each.steps or each.schema != member for each, member in zip(written, members, strict=True)):
            return None
        return self.annotate(Node(all_of=nodes), schema, frozenset({"allOf"}))

    # Unions

    def _union(self, schema: Schema, key: str, root: bool) -> Node:
        rest = constraints(schema)
        branches: list[Any] = rest.pop(key)
        if rest:
            plain = all(is_object(each) and not STRUCTURE & each.keys() for each in branches)
            if plain:
                return self._leaf({k: v for k, v in schema.items() if k != key} | {"allOf": [{key: branches}]}, root)
            if "oneOf" in rest or not self.rules.unions:
                return self.text(schema, f"{key} beside other constraints")
            # What stands beside a union holds in each branch.
            branches = [{"allOf": [rest, each]} for each in branches]
        return self.union(branches, remarks(schema), key)

    def union(self, branches: list[Any], notes: Schema, key: str = "anyOf") -> Node:
        """Say a union of subschemas, beside annotations only."""
        rules = self.rules
        losses = () if key == "anyOf" else (self.loss("that exactly one branch of oneOf holds", "rewritten"),)
        whole = {key: branches, **notes}
        branches = [each for each in branches if each is not False]
        flag = rules.null == "flag" and any(_is_null(each) for each in branches)
        if flag:
            branches = [each for each in branches if not _is_null(each)]
        if not branches or (not rules.unions and len(branches) > 1):
            return self.text(whole, "a union")
        nodes = [self.lower(each) for each in branches]
        if flag:
            nodes = [self.nullable(each) for each in nodes]
        if len(nodes) == 1 and (flag or not rules.unions):
            return self.annotate(reword(nodes[0], *losses), notes, frozenset())
        if rules.lone_unions:
            nodes[0] = self.annotate(nodes[0], notes, frozenset())
            return Node(any_of=tuple(nodes), losses=losses)
        return self.annotate(Node(any_of=tuple(nodes), losses=losses), notes, frozenset())

    def nullable(self, node: Node) -> Node:
        """The node, or null, as the dialect says null."""
        words = node.words
        if self.rules.null == "flag":
            if node.any_of:
                return msgspec.structs.replace(node, any_of=tuple(self.nullable(each) for each in node.any_of))
            return reword(node, nullable=True)
        if self.rules.type_lists and "type" in words and "const" not in words and node.ref is None:
            types = [words["type"]] if isinstance(words["type"], str) else list(words["type"])
            enum = {"enum": [*words["enum"], None]} if "enum" in words else {}
            return reword(node, type=[*types, "null"], **enum)
        if node.any_of and node.encoding is None:
            return msgspec.structs.replace(node, any_of=(*node.any_of, Node(words=NULL)))
        return Node(any_of=(node, Node(words=NULL)), origin=node.origin)

    def takes_null(self, node: Node) -> bool:
        """Whether null is among the values of a lowered node. Where it is not known yet: whether it may be."""
        words = node.words
        if node.ref is not None:
            pointer = next((each for each, ref in self._refs.items() if ref == node.ref), "")
            known = self.definitions.get(self._names.get(pointer, ""))
            return self._may_be_null(self.index.at(pointer), set()) if known is None else self.takes_null(known)
        if node.any_of:
            return any(self.takes_null(each) for each in node.any_of)
        if "const" in words or "enum" in words:
            return None in words.get("enum", [words.get("const")])
        return "type" not in words or "null" in words["type"] or words.get("nullable") is True

    def _may_be_null(self, schema: Schema | bool, seen: set[int]) -> bool:
        if isinstance(schema, bool) or id(schema) in seen:
            return schema is True
        seen.add(id(schema))
        flat = flatten(schema, self.index)
        if (ref := reference(flat)) is not None:
            return self._may_be_null(self.index.at(self.index.resolve(ref)), seen)
        if "const" in flat or "enum" in flat:
            return None in flat.get("enum", [flat.get("const")])
        for union in ("anyOf", "oneOf"):
            if is_array(flat.get(union)):
                return any(self._may_be_null(each, seen) for each in flat[union])
        return "null" in flat.get("type", "null")

    # References

    def _reference(self, schema: Schema) -> Node:
        rules = self.rules
        pointer = self.index.resolve(reference(schema) or "")
        target = self.index.at(pointer)
        if isinstance(target, bool):
            return self.lower(target)
        cyclic = pointer in self._active
        loose = rules.refs == "optional" and self.optional > self._active.get(pointer, 0)
        if cyclic and rules.refs != "recursive" and not loose:
            return self.text({**target, **remarks(schema)}, "a definition that contains itself")
        beside = self.annotate(Node(), remarks(schema), frozenset())
        copied = rules.refs == "inline" or (bool(beside.words) and rules.ref_siblings == "inline")
        if copied and not cyclic:
            return self._enter(pointer, {**target, **remarks(schema)} if beside.words else target)
        if pointer == "" and cyclic and "" not in self._names:
            ref = "#"
        else:
            name = self._name(pointer)
            ref = f"#/$defs/{escape(name)}"
            if rules.refs == "recursive" and self._level > MAX_NESTING // 2 and name not in self.definitions:
                self._later[name] = target
            elif name not in self.definitions and not cyclic:
                self.definitions[name] = self._enter(pointer, target)
        self._refs[pointer] = ref
        if not beside.words:
            return Node(ref=ref, losses=beside.losses)
        return msgspec.structs.replace(beside, any_of=(Node(ref=ref),))

    def _enter(self, pointer: str, target: Schema) -> Node:
        before = self._active.get(pointer)
        self._active[pointer] = self.optional
        try:
            return self.lower(target)
        finally:
            if before is None:
                del self._active[pointer]
            else:
                self._active[pointer] = before

    def _name(self, pointer: str) -> str:
        if pointer not in self._names:
            name = re.sub(r"[^\w.-]", "_", unescape(pointer.rsplit("/", 1)[-1])) or "root"
            while name in self._names.values():
                name += "_"
            self._names[pointer] = name
        return self._names[pointer]

    # One type, or several

    def _typed(self, schema: Schema, root: bool) -> Node:
        declared = schema.get("type")
        if declared is None:
            return self._inferred(schema, root)
        kinds: list[str] = [declared] if isinstance(declared, str) else list(declared)
        if len(kinds) == 1:
            node, said = structure.body(self, kinds[0], schema, root)
            # A list of one type stays a list where lists are taken: what is taken already is not touched.
            if is_array(declared) and self.rules.type_lists and node.encoding is None:
                node = reword(node, type=declared)
            return self.annotate(node, schema, said)
        parts = {kind: _of_kind(schema, kind) for kind in kinds}
        if self.rules.type_lists:
            bodies = [structure.body(self, kind, part, False) for kind, part in parts.items()]
            if all(node.encoding is None for node, _ in bodies):
                return self.annotate(_together(kinds, [node for node, _ in bodies]), schema, _said(bodies))
        notes = {key: value for key, value in schema.items() if key not in _SOME_KIND and key != "type"}
        return self.union(list(parts.values()), notes)

    def _inferred(self, schema: Schema, root: bool) -> Node:
        """A schema without a type: of the type that its keywords are about, if it has any."""
        about = constraints(schema).keys()
        kind = next((kind for kind in ("object", "array", "string", "number") if _OF_KIND[kind] & about), None)
        if kind is None:
            return self.untyped(schema)
        node, said = structure.body(self, kind, schema, root)
        if self.rules.untyped and node.encoding is None:
            return self.annotate(reword(node, type=UNSET), schema, said)
        lost = self.loss(f"values of other types than {kind}: the schema names no type", "rewritten")
        return self.annotate(reword(node, lost), schema, said)

    def untyped(self, schema: Schema) -> Node:
        """A value of any type."""
        if self.rules.untyped:
            return self.annotate(Node(), schema, frozenset())
        return self.text(schema, "a value of any type")

    # Words

    def text(self, schema: Schema, what: str) -> Node:
        """Carry a value as JSON text in a string: what is left when a dialect has no other way to say it."""
        lines = [schema["description"]] if isinstance(schema.get("description"), str) else []
        if (ref := reference(schema)) is not None and is_object(target := self.index.at(self.index.resolve(ref))):
            schema = {**target, **remarks(schema)}  # what it refers to may not be there to be looked up
        asked = constraints(schema)
        lines.append(
            "Write this value as JSON text" + (f", following this JSON Schema: {quote(asked)}" if asked else "")
        )
        words = {"type": "string", "description": "\n\n".join(lines)}
        return Node(words=words, encoding="json", losses=(self.loss(what, "envelope"),), origin=self.origin)

    def takes(self, key: str, value: Any) -> bool:
        """Whether the dialect takes a keyword with this value."""
        rules = self.rules
        if key not in rules.keywords:
            return False
        if key == "format":
            return rules.formats is None or value in rules.formats
        if key == "pattern":
            return isinstance(value, str) and not any(each in value for each in rules.regex)
        return key != "minItems" or rules.most_min_items is None or value <= rules.most_min_items

    def annotate(self, node: Node, schema: Schema, said: frozenset[str]) -> Node:
        """Add to a node what the schema says besides `said`: as a keyword, as text in the description, or as a loss."""
        words: Schema = {}
        notes: list[tuple[str, Any]] = []
        losses: list[Loss] = []
        for key, value in _spread(schema, said):
            if key in said or key in IDENTITY or key == "description":
                continue
            if self.takes(key, value):
                words[key] = value
            elif key in _MUTE or key.startswith("x-"):
                losses.append(self.loss(key, "dropped"))
            else:
                notes.append((key, value))
                losses.append(self.loss(key, "moved"))
        told = "{" + ", ".join(f"{key}: {quote(value)}" for key, value in notes) + "}" if notes else ""
        given = schema.get("description") if "description" not in said else None
        lines = [each for each in (given, node.words.get("description"), told) if isinstance(each, str) and each]
        if lines:
            words["description"] = "\n\n".join(lines)
        elif isinstance(given, str):
            words["description"] = given
        if words and node.any_of and self.rules.lone_unions:
            first = self.annotate(node.any_of[0], {"description": words.pop("description", ""), **words}, frozenset())
            return msgspec.structs.replace(node, any_of=(first, *node.any_of[1:]), losses=node.losses + tuple(losses))
        return reword(node, *losses, **words)


_MUTE = ANNOTATIONS - {"default", "examples", "example"} | {"nullable"}
"""Keywords that tell a model nothing: left out, not moved to the description."""


def quote(value: Any) -> str:
    """JSON for a description, cut when it is long."""
    text = canonical(value).decode()
    return text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "..."


def _spread(schema: Schema, said: frozenset[str] = frozenset()) -> list[tuple[str, Any]]:
    """The keywords, with what could not be merged out of an `allOf` beside the others."""
    rest = [each for each in schema.get("allOf", ()) if is_object(each) and "allOf" not in said]
    own = [(key, value) for key, value in schema.items() if key != "allOf"]
    return own + [pair for each in rest for pair in _spread(each)]


def _of_kind(schema: Schema, kind: str) -> Schema:
    """What a schema of several types says about one of them."""
    own = _OF_KIND.get(kind, frozenset())
    return {"type": kind, **{key: value for key, value in schema.items() if key in own}}


def _said(bodies: list[tuple[Node, frozenset[str]]]) -> frozenset[str]:
    return frozenset[str]().union(*(said for _, said in bodies))


def _together(kinds: list[str], bodies: list[Node]) -> Node:
    """One node of several types: no keyword belongs to two of them."""
    node = Node(words={"type": kinds}, losses=tuple(loss for each in bodies for loss in each.losses))
    for each in bodies:
        changes: dict[str, Any] = {"words": {**each.words, **node.words}}
        if each.properties is not None:
            changes |= {"properties": each.properties, "fields": each.fields, "extra": each.extra}
        if each.items is not None or each.prefix:
            changes |= {"items": each.items, "prefix": each.prefix}
        node = msgspec.structs.replace(node, **changes)
    return node


def _is_null(schema: Any) -> bool:
    return is_object(schema) and constraints(schema) in (NULL, {"const": None}, {"enum": [None]})
