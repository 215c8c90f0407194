"""Telling the branches of a union apart by one look at a value: what reversal relies on, and lowering makes sure of.

Only the type, the names of properties, and the literals of direct properties are looked at, so a look costs no more
than the value's own width. `disjoint` is proved with the same facts that `fits` looks at.
"""

from __future__ import annotations

from typing import Any

from counterfoil.dialects.index import Schema, escape, is_array, is_object, unescape
from counterfoil.types.json import canonical

KINDS = frozenset({"null", "boolean", "number", "string", "array", "object"})


def kind_of(value: object) -> str:
    """The JSON kind of a value; an integer is a `number`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if is_array(value) else "object"


def follow(schema: Schema, root: Schema) -> tuple[Schema, str | None]:
    """Follow references of a lowered schema: the schema meant, and its pointer if a reference was followed."""
    pointer: str | None = None
    seen: set[str] = set()
    while "$ref" in schema and schema["$ref"] not in seen:
        ref: str = schema["$ref"]
        seen.add(ref)
        pointer = ref[1:]
        schema = root if not pointer else root["$defs"][unescape(pointer[len("/$defs/") :])]
    return schema, pointer


def leaves(schema: Schema, root: Schema) -> list[Schema]:
    """The branches that a lowered schema comes down to, unions within unions and references followed."""
    found: list[Schema] = []
    seen: set[int] = set()
    stack = [schema]
    while stack:
        each, _ = follow(stack.pop(), root)
        if id(each) in seen:
            continue
        seen.add(id(each))
        if "anyOf" in each:
            stack.extend(reversed(each["anyOf"]))
        else:
            found.append(each)
    return found


def literals(schema: Schema) -> frozenset[bytes] | None:
    """The values that a leaf is limited to, in canonical JSON; `None` if it is not."""
    if "const" in schema:
        return frozenset({_key(schema["const"])})
    if "enum" in schema:
        listed = [*schema["enum"], None] if schema.get("nullable") else schema["enum"]
        return frozenset(_key(each) for each in listed)
    return None


def _key(value: Any) -> bytes:
    # In JSON Schema 1.0 is 1.
    return canonical(int(value) if isinstance(value, float) and value.is_integer() else value)


def kinds(leaf: Schema) -> frozenset[str]:
    """The JSON kinds that a leaf allows."""
    declared = leaf.get("type")
    if declared is None:
        if "const" in leaf:
            return frozenset({kind_of(leaf["const"])})
        return frozenset(kind_of(each) for each in leaf["enum"]) if "enum" in leaf else KINDS
    names = [declared] if isinstance(declared, str) else declared
    found = {"number" if each == "integer" else each for each in names}
    return frozenset(found | {"null"} if leaf.get("nullable") else found)


def disjoint(a: Schema, b: Schema, root: Schema) -> bool:
    """Whether no value but null can fit both of two lowered schemas (null is never written differently)."""
    return all(_apart(x, y, root) for x in leaves(a, root) for y in leaves(b, root))


def _apart(a: Schema, b: Schema, root: Schema) -> bool:
    shared = (kinds(a) & kinds(b)) - {"null"}
    if not shared:
        return True
    first, second = literals(a), literals(b)
    if first is not None and second is not None:
        return not (first & second) - {b"null"}
    if shared != frozenset({"object"}) or "properties" not in a or "properties" not in b:
        return False
    if _lacks(a, b) or _lacks(b, a):
        return True
    for name in set(a.get("required", ())) & set(b.get("required", ())):
        one, two = (follow(each["properties"][name], root)[0] for each in (a, b))
        first, second = literals(one), literals(two)
        if first is not None and second is not None and not first & second:
            return True
    return False


def _lacks(a: Schema, b: Schema) -> bool:
    """Whether `b`, which is closed, does not know a property that `a` requires."""
    if b.get("additionalProperties", False) is not False:
        return False
    return any(name not in b["properties"] for name in a.get("required", ()))


def fits(schema: Schema, value: Any, root: Schema, *, closed: bool = True) -> bool:
    """Whether a value looks like one of a lowered schema. Not closed: properties it does not know are overlooked."""
    return any(_fits(leaf, value, root, closed) for leaf in leaves(schema, root))


def _fits(leaf: Schema, value: Any, root: Schema, closed: bool) -> bool:
    if kind_of(value) not in kinds(leaf):
        return False
    allowed = literals(leaf)
    if allowed is not None:
        return _key(value) in allowed
    if not is_object(value) or "properties" not in leaf:
        return True
    known: dict[str, Schema] = leaf["properties"]
    if any(name not in value for name in leaf.get("required", ())):
        return False
    if closed and leaf.get("additionalProperties", False) is False and any(name not in known for name in value):
        return False
    for name, each in value.items():
        allowed = literals(follow(known[name], root)[0]) if name in known else None
        if allowed is not None and _key(each) not in allowed:
            return False
    return True


def tangled(schema: Schema, changed: frozenset[str]) -> list[str]:
    """The pointers of unions whose branches cannot be told apart, though a step changes one of them.

    `changed` are the pointers of the steps.
    """
    return _Tangle(schema, changed).found


class _Tangle:
    def __init__(self, root: Schema, changed: frozenset[str]) -> None:
        self.root = root
        self.changed = changed
        self.found: list[str] = []
        definitions: Schema = root.get("$defs", {})
        body = {key: value for key, value in root.items() if key != "$defs"}
        self.live: set[str] = set()
        # Which definitions hold a step, directly or through others: grown until nothing is added.
        size = -1
        while size != len(self.live):
            size = len(self.live)
            if self._visit(body, "", judge=False):
                self.live.add("#")
            for name, each in definitions.items():
                pointer = f"/$defs/{escape(name)}"
                if self._visit(each, pointer, judge=False):
                    self.live.add(f"#{pointer}")
        self._visit(body, "", judge=True)
        for name, each in definitions.items():
            self._visit(each, f"/$defs/{escape(name)}", judge=True)

    def _visit(self, schema: Schema, at: str, *, judge: bool) -> bool:
        if "$ref" in schema:
            return schema["$ref"] in self.live
        live = at in self.changed
        for name, child in schema.get("properties", {}).items():
            pointer = f"{at}/properties/{escape(name)}"
            live |= self._visit(child, pointer, judge=judge) or pointer in self.changed
        for key in ("items", "additionalProperties"):
            if is_object(schema.get(key)):
                live |= self._visit(schema[key], f"{at}/{key}", judge=judge)
        for key in ("prefixItems", "allOf"):
            for i, child in enumerate(schema.get(key, ())):
                live |= self._visit(child, f"{at}/{key}/{i}", judge=judge)
        branches: list[Schema] = schema.get("anyOf", [])
        lives = [self._visit(child, f"{at}/anyOf/{i}", judge=judge) for i, child in enumerate(branches)]
        if judge and any(lives) and not self._clear(branches, lives):
            self.found.append(at)
        return live or any(lives)

    def _clear(self, branches: list[Schema], lives: list[bool]) -> bool:
        return all(
            disjoint(a, b, self.root)
            for i, a in enumerate(branches)
            for j, b in enumerate(branches[:i])
            if lives[i] or lives[j]
        )
