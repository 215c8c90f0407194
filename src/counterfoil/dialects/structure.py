"""How objects, arrays, tuples, dicts, scalars and literals are said under the rules of a dialect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from counterfoil.dialects.index import Schema, escape, is_array, is_object
from counterfoil.dialects.node import Field, Node, reword
from counterfoil.dialects.shapes import kind_of
from counterfoil.types.json import canonical
from counterfoil.types.loss import Loss

if TYPE_CHECKING:
    from counterfoil.dialects.lowering import Lowering

Body = tuple[Node, frozenset[str]]
"""A node, and the keywords of the schema that it says already."""

_KEYS = frozenset({"type", "properties", "required", "additionalProperties"})


def body(walk: Lowering, kind: str, schema: Schema, root: bool) -> Body:
    """Say a schema of one type."""
    if kind == "object":
        return obj(walk, schema, root)
    if kind == "array":
        return array(walk, schema)
    if kind == "null" and walk.rules.null != "type":
        return walk.text(schema, "null"), frozenset(schema)
    return Node(words={"type": kind}), frozenset({"type"})


# Objects


def obj(walk: Lowering, schema: Schema, root: bool) -> Body:
    """Say an object: properties, and the keys that have none."""
    rules = walk.rules
    properties: dict[str, Any] = dict(schema.get("properties") or {})
    required: list[str] = list(dict.fromkeys(schema.get("required") or ()))
    extras = _extras(schema)
    if extras == {} and rules.dicts == "list":
        extras = True
    said = _KEYS if "additionalProperties" in schema else _KEYS | {"unevaluatedProperties"}
    for name in required:
        properties.setdefault(name, extras if is_object(extras) else True)
    declared = root or "properties" in schema
    if rules.dicts == "list" and not properties and extras is not False and not (declared and extras is None):
        return _dict(walk, schema, True if extras is None else extras, said)
    # Where properties may not be empty, an object that has none would read as one that has any.
    hollow = not properties and not root and not rules.empty_properties
    node = _properties(walk, properties, required, hollow)
    words: Schema = {"type": "object"}
    if is_object(extras) or extras is True:
        node = _with_extras(walk, node, extras)
        if rules.closed:
            words["additionalProperties"] = False
    elif rules.closed or (extras is False and rules.dicts == "schema"):
        words["additionalProperties"] = False
        if extras is None:
            node = reword(node, walk.loss("properties that are not declared", "dropped"))
    elif extras is False:
        node = reword(node, walk.loss("additionalProperties: false", "dropped"))
    if node.words.get("required") == [] and "required" not in schema and rules.optional == "keep":
        node = reword(node, required=UNSET)
    if not node.properties and not (rules.empty_properties and (rules.closed or "properties" in schema)):
        node = msgspec.structs.replace(node, properties=None)
    return reword(node, **words), said


def _extras(schema: Schema) -> Schema | bool | None:
    """What the keys without a property may hold: a schema, anything, nothing, or (`None`) nobody said."""
    extras = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
    patterns = schema.get("patternProperties")
    if is_object(patterns) and patterns:
        only = list(patterns.values())
        return only[0] if extras is False and len(only) == 1 else True
    return extras if is_object(extras) or isinstance(extras, bool) else None


def _dict(walk: Lowering, schema: Schema, values: Schema | bool, said: frozenset[str]) -> Body:
    """Say an object without properties of its own."""
    if values is True:
        return walk.text(schema, "an object with any keys"), frozenset(schema)
    node = pairs(walk, values)
    return reword(node, walk.loss("an object with any keys, written as a list of keys and values", "envelope")), said


def pairs(walk: Lowering, values: Schema | bool) -> Node:
    """A dict as a list of objects with a key and a value."""
    words: Schema = {"type": "object", "required": ["key", "value"]}
    if walk.rules.closed:
        words["additionalProperties"] = False
    entry = Node(words=words, properties={"key": Node(words={"type": "string"}), "value": walk.lower(values)})
    return Node(words={"type": "array"}, items=entry, encoding="dict")


def _with_extras(walk: Lowering, node: Node, values: Schema | bool) -> Node:
    """Add the keys that have no property: as `additionalProperties`, or as a property that lists them."""
    rules = walk.rules
    if rules.dicts == "schema":
        if values is True:
            return reword(node, additionalProperties=True)
        return msgspec.structs.replace(node, extra=walk.lower(values))
    known = node.properties or {}
    name = _fresh("additional_properties", known)
    walk.optional += 1
    child = pairs(walk, values)
    walk.optional -= 1
    fields: dict[Field, str] = {"extras": ""}
    required = list(node.words.get("required", ()))
    if rules.optional == "nullable":
        fields["absent"] = ""
        child = walk.nullable(child)
        required.append(name)
    lost = walk.loss("keys without a property, written as a list of keys and values", "envelope")
    node = reword(node, lost, required=required)
    return msgspec.structs.replace(node, properties={**known, name: child}, fields={**node.fields, name: fields})


def _properties(walk: Lowering, properties: dict[str, Any], required: list[str], hollow: bool) -> Node:
    """Say the declared properties: their names, and which may be absent."""
    rules = walk.rules
    children: dict[str, Node] = {}
    fields: dict[str, dict[Field, str]] = {}
    needed = set(required)
    names: dict[str, str] = {}
    losses: list[Loss] = []
    for old, schema in properties.items():
        at = f"{walk.here}/properties/{escape(old)}"
        if schema is False:
            losses.append(Loss(at, "a property that must not be there", "dropped"))
            continue
        name = names[old] = _name(old, rules.names, properties, children)
        optional = old not in needed
        walk.optional += optional
        child = walk.lower(schema)
        walk.optional -= optional
        changes: dict[Field, str] = {}
        if name != old:
            changes["name"] = old
            losses.append(Loss(at, f"the name {old!r}", "renamed"))
        if optional and rules.optional == "nullable":
            if walk.takes_null(child):
                changes["kept"] = ""
                losses.append(
                    Loss(at, "whether it is null or absent: it may be both, and null stays null", "rewritten")
                )
            else:
                changes["absent"] = ""
                child = walk.nullable(child)
        children[name] = child
        if changes:
            fields[name] = changes
    given = [names[each] for each in required if each in names]
    if rules.optional == "nullable" and set(given) != set(children):
        given = list(children)
    if hollow or (rules.needs_required and children and not given):
        filler = _fresh("present", children)
        children[filler] = Node(words={"type": "string", "enum": ["yes"], "description": "Always yes."})
        fields[filler] = {"filler": ""}
        given = [filler]
    return Node(words={"required": given}, properties=children, fields=fields, losses=tuple(losses))


def _name(name: str, allowed: str | None, taken: dict[str, Any], children: dict[str, Node]) -> str:
    if allowed is None or re.fullmatch(allowed, name):
        return name
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[:56]
    return _fresh(plain if re.match("[A-Za-z_]", plain) else f"_{plain}", {**taken, **children})


def _fresh(name: str, taken: dict[str, Any]) -> str:
    number, fresh = 1, name
    while fresh in taken:
        number += 1
        fresh = f"{name}_{number}"
    return fresh


# Arrays


def array(walk: Lowering, schema: Schema) -> Body:
    """Say an array: of one kind of item, or a tuple."""
    rules = walk.rules
    items: Any = schema.get("items", True)
    said = frozenset({"type", "items"})
    if schema.get("prefixItems") or (is_array(schema.get("items")) and items):
        return _tuple(walk, schema)
    if items is False:
        return Node(words={"type": "array"}, items=walk.lower(True)), frozenset({"type"})
    if items is True or items == [] or (items == {} and not rules.untyped):
        if rules.untyped_arrays:
            return Node(words={"type": "array"}), said
        return Node(words={"type": "array"}, items=walk.lower(True)), said
    return Node(words={"type": "array"}, items=walk.lower(items)), said


def _tuple(walk: Lowering, schema: Schema) -> Body:
    older = is_array(schema.get("items"))
    prefix: list[Any] = schema["items"] if older else schema["prefixItems"]
    rest = schema.get("additionalItems" if older else "items", True)
    said = frozenset({"type", "items", "prefixItems", "additionalItems"})
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    ends = rest is False or (isinstance(most, int) and most <= len(prefix))
    opened = (rest is True or rest == {}) and not ends
    losses: tuple[Loss, ...] = (walk.loss("more items than the tuple names", "dropped"),) if opened else ()
    tail: Any = None if ends or opened else rest
    if walk.rules.tuples == "prefix":
        return _prefix(walk, schema, prefix, None if ends else rest, said)
    if walk.rules.tuples == "union":
        node = _items_union(walk, schema, prefix if tail is None else [*prefix, tail], ends=tail is None)
        return reword(node, *losses), said
    if least < len(prefix):
        return walk.text(schema, "a tuple that may be cut short"), frozenset(schema)
    children = {str(i): walk.lower(each) for i, each in enumerate(prefix)}
    if tail is not None:
        children["rest"] = Node(words={"type": "array"}, items=walk.lower(tail))
    words: Schema = {"type": "object", "required": list(children)}
    if walk.rules.closed:
        words["additionalProperties"] = False
    losses += (walk.loss("a tuple, written as an object with numbered keys", "envelope"),)
    # An object has no items to count: its numbered keys are all required, and only the rest can be of any number.
    if tail is not None and (least > len(prefix) or most is not None):
        losses += (walk.loss("how many items a tuple has beyond those it names", "dropped"),)
    return Node(words=words, properties=children, encoding="tuple", losses=losses), said | {"minItems", "maxItems"}


def _prefix(walk: Lowering, schema: Schema, prefix: list[Any], rest: Any, said: frozenset[str]) -> Body:
    node = Node(words={"type": "array"}, prefix=tuple(walk.lower(each) for each in prefix))
    if rest is None:
        most = min(schema.get("maxItems", len(prefix)), len(prefix))
        return reword(node, maxItems=most), said | {"maxItems"}
    if is_object(rest):
        node = msgspec.structs.replace(node, items=walk.lower(rest))
    return node, said


def _items_union(walk: Lowering, schema: Schema, options: list[Any], *, ends: bool) -> Node:
    """An array of whatever the tuple holds, as long as the tuple."""
    distinct = list({canonical(each): each for each in options}.values())
    items = walk.lower(distinct[0]) if len(distinct) == 1 else walk.union(distinct, {})
    lost = walk.loss("which item of the tuple is of which type", "rewritten")
    node = Node(words={"type": "array"}, items=msgspec.structs.replace(items, origin=walk.origin), losses=(lost,))
    if ends:
        return reword(node, maxItems=min(schema.get("maxItems", len(options)), len(options)))
    return node


# Literals


def literal(walk: Lowering, schema: Schema) -> Node:
    """Say `enum` and `const`: as they are, or as strings that stand for the values."""
    rules = walk.rules
    single = "const" in schema
    values: list[Any] = [schema["const"]] if single else list(schema["enum"])
    declared = schema.get("type")
    types: list[str] = [declared] if isinstance(declared, str) else list(declared or ())
    values = [each for each in values if not types or _is_of(each, types)]
    said = frozenset({"const", "enum", "type"})
    if not values:
        return walk.text(schema, "an enum without values")
    if rules.null == "flag" and None in values and len(values) > 1:
        rest = {key: value for key, value in schema.items() if key not in said}
        return walk.union([{"enum": [each for each in values if each is not None]}, {"type": "null"}], rest)
    found = list(dict.fromkeys(_type_of(each) for each in values))
    if all(each in rules.enums for each in found) and (len(found) == 1 or rules.type_lists):
        words: Schema = {"const": values[0]} if single and rules.const else {"enum": values}
        if declared is not None and (isinstance(declared, str) or rules.type_lists):
            words["type"] = declared
        elif rules.typed_enums or declared is not None:
            words["type"] = found[0] if len(found) == 1 else found
        return walk.annotate(Node(words=words), schema, said)
    names = _spelled(values)
    lost = walk.loss("values that are not strings, written as strings", "envelope")
    words = {"type": "string", "enum": list(names)}
    return walk.annotate(Node(words=words, encoding="values", values=names, losses=(lost,)), schema, said)


def _spelled(values: list[Any]) -> dict[str, Any]:
    """A string for each value: itself if it is one, else its JSON; all JSON if two would be spelled alike."""
    distinct = list({canonical(each): each for each in values}.values())
    plain = {each if isinstance(each, str) else canonical(each).decode(): each for each in distinct}
    return plain if len(plain) == len(distinct) else {canonical(each).decode(): each for each in distinct}


def _type_of(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return "integer"
    return kind_of(value)


def _is_of(value: Any, types: list[str]) -> bool:
    kind = _type_of(value)
    if kind in types or (kind == "integer" and "number" in types):
        return True
    return isinstance(value, float) and value.is_integer() and "integer" in types
