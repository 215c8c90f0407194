"""Laws of the values: JSON as it is read, labels, repaired histories, closed schemas."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
from core_kit import assert_well_formed
from hypothesis import given
from hypothesis import strategies as st

from counterfoil import Label, Message, Reasoning, Text, ToolCall, ToolResult
from counterfoil.tools.closed import close
from counterfoil.types.history import repair
from counterfoil.types.json import MAX_DEPTH, depth, own, read_object
from counterfoil.types.label import join

# -- JSON

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | texts
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=12
)
objects = st.dictionaries(texts, values, max_size=4)


@given(objects, st.sampled_from([None, 2]), st.booleans())
def test_read_object_is_json_on_good_input(value: dict[str, Any], indent: int | None, ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)
    assert read_object(text) == (json.loads(text), None)


@given(objects, texts, st.integers(0, 5))
def test_a_repeated_key_is_refused_at_any_depth(value: dict[str, Any], key: str, nesting: int) -> None:
    written = json.dumps(key)
    text = f"{{{written}: {json.dumps(value)}, {written}: 1}}"
    for _ in range(nesting):
        text = f'{{"x": [{text}]}}'
    found, error = read_object(text)
    assert found is None
    assert error is not None
    assert "written twice" in error


@given(st.sampled_from(["NaN", "Infinity", "-Infinity", "1e400", "-1e999", "1" + "0" * 400 + ".0"]), st.integers(0, 3))
def test_no_number_is_refused_at_any_depth(number: str, nesting: int) -> None:
    text = number
    for _ in range(nesting):
        text = f"[{text}]"
    found, error = read_object(f'{{"x": {text}}}')
    assert found is None
    assert error


@given(objects, st.data())
def test_a_cut_text_is_never_an_object(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(0, len(text) - 1))
    found, error = read_object(text[:cut])
    assert found is None
    assert error


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    found, error = read_object(text)
    assert (found is None) != (error is None)
    if found is not None:
        assert found == json.loads(text)


@given(st.integers(1, 400))
def test_depth_is_bounded(levels: int) -> None:
    found, _ = read_object('{"x": ' + "[" * levels + "1" + "]" * levels + "}")
    assert (found is not None) == (levels + 1 <= MAX_DEPTH)
    if found is not None:
        assert depth(found) == levels + 1


@given(objects)
def test_an_own_copy_is_equal_and_shares_nothing_that_changes(value: dict[str, Any]) -> None:
    copy = own(value)
    assert copy == value
    stack: list[tuple[Any, Any]] = [(value, copy)]
    while stack:
        first, second = stack.pop()
        if isinstance(first, dict | list):
            assert first is not second
            stack.extend(
                zip(first.values(), second.values(), strict=True)
                if isinstance(first, dict)
                else zip(first, second, strict=True)
            )


# -- labels

names = st.sampled_from(["a", "b", "c"])
labels = st.builds(
    Label,
    st.sampled_from(["user", "config", "system", "typed", "untrusted"]),
    st.sampled_from(["", "web", "mail"]),
    st.none() | st.frozensets(names),
    st.booleans(),
)


@given(labels, labels, labels)
def test_labels_are_a_semilattice(a: Label, b: Label, c: Label) -> None:
    assert join(a, a) == a
    assert join(a, b) == join(b, a)
    assert join(join(a, b), c) == join(a, join(b, c))


@given(labels, labels)
def test_a_join_is_never_more_trusted_nor_more_public(a: Label, b: Label) -> None:
    both = join(a, b)
    order = ["user", "config", "system", "typed", "untrusted"]
    for each in (a, b):
        assert order.index(both.integrity) >= order.index(each.integrity)
        assert both.secret >= each.secret
        if each.readers is not None:
            assert both.readers is not None
            assert both.readers <= each.readers


# -- histories from elsewhere

ids = st.sampled_from(["", "a", "b", "h1"])
calls = st.builds(ToolCall, ids, st.sampled_from(["f", "g"]), st.just({}))
results = st.builds(ToolResult, ids, st.just((Text("r"),)))
blocks = st.lists(st.builds(Text, st.just("t")) | st.builds(Reasoning, st.just("r")) | calls | results, max_size=4)
messages = st.builds(Message, st.sampled_from(["system", "user", "assistant", "tool"]), blocks.map(tuple))
histories = st.lists(messages, max_size=7)


@given(histories)
def test_a_repaired_history_is_well_formed(history: list[Message]) -> None:
    assert_well_formed(repair(history)[0])


@given(histories)
def test_repair_is_idempotent_and_silent_on_what_is_well_formed(history: list[Message]) -> None:
    once, _ = repair(history)
    assert repair(once) == (once, [])


@given(histories)
def test_repair_loses_no_prose_and_no_call_of_the_model(history: list[Message]) -> None:
    once, notes = repair(history)
    assert "".join(each.text for each in once) == "".join(each.text for each in history)
    asked = [call.name for each in history if each.role == "assistant" for call in each.calls]
    assert [call.name for each in once for call in each.calls] == asked
    if once != history:
        assert notes, "what is changed is told"


# -- closed schemas


@st.composite
def shapes(draw: st.DrawFn, levels: int = 3) -> tuple[dict[str, Any], Any]:
    """A schema, and a value that fits it."""
    kinds = ["string", "number"] + (["object", "array", "optional", "allOf", "ref"] if levels else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "string":
        return {"type": "string"}, draw(texts)
    if kind == "number":
        return {"type": "number"}, draw(st.integers(-5, 5))
    if kind == "array":
        schema, value = draw(shapes(levels - 1))
        return {"type": "array", "items": schema}, [value] * draw(st.integers(0, 2))
    if kind == "optional":
        schema, value = draw(shapes(levels - 1))
        return {"anyOf": [schema, {"type": "null"}]}, draw(st.sampled_from([value, None]))
    fields = {name: draw(shapes(levels - 1)) for name in draw(st.lists(names, min_size=1, unique=True))}
    value = {name: each for name, (_, each) in fields.items()}
    properties = {name: each for name, (each, _) in fields.items()}
    if kind == "allOf":
        parts = [{"type": "object", "properties": {name: each}} for name, each in properties.items()]
        return {"allOf": parts}, value
    if kind == "ref":
        schema = {
            "type": "object",
            "properties": {"inner": {"$ref": "#/$defs/R"}},
            "$defs": {"R": {"type": "object", "properties": properties}},
        }
        return schema, {"inner": value}
    return {"type": "object", "properties": properties}, value


def root(shape: tuple[dict[str, Any], Any]) -> tuple[dict[str, Any], Any]:
    """The shape as the one argument of a tool, definitions at the root."""
    schema, value = shape
    definitions: dict[str, Any] = {}

    def lift(node: Any) -> Any:
        if isinstance(node, list):
            return [lift(each) for each in node]
        if not isinstance(node, dict):
            return node
        node = {key: lift(each) for key, each in node.items()}
        for each in node.pop("$defs", {}).values():
            name = f"D{len(definitions)}"
            definitions[name] = each
            node = json.loads(json.dumps(node).replace("#/$defs/R", f"#/$defs/{name}"))
        return node

    lifted = lift(schema)
    return {"type": "object", "properties": {"arg": lifted}, "$defs": definitions}, {"arg": value}


@given(shapes().map(root))
def test_what_fits_still_fits_when_closed(shape: tuple[dict[str, Any], Any]) -> None:
    schema, value = shape
    assert jsonschema_rs.validator_for(schema).is_valid(value)
    assert jsonschema_rs.validator_for(close(schema)).is_valid(value)


@given(shapes().map(root), st.data())
def test_an_invented_property_fits_nowhere(shape: tuple[dict[str, Any], Any], data: st.DataObject) -> None:
    schema, value = shape
    value = json.loads(json.dumps(value))
    places: list[dict[str, Any]] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            places.append(item)
        stack.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else [])
    data.draw(st.sampled_from(places))["invented"] = 1
    assert not jsonschema_rs.validator_for(close(schema)).is_valid(value)


@given(shapes().map(root))
def test_closing_is_idempotent_and_changes_nothing_in_place(shape: tuple[dict[str, Any], Any]) -> None:
    schema, _ = shape
    before = json.dumps(schema)
    closed = close(schema)
    assert close(closed) == closed
    assert json.dumps(schema) == before


def test_a_schema_that_says_what_it_wants_keeps_its_word() -> None:
    openers: tuple[dict[str, Any], ...] = (
        {"additionalProperties": True},
        {"patternProperties": {"^x-": {}}},
        {"additionalProperties": {"type": "string"}},
    )
    for opener in openers:
        schema = {"type": "object", "properties": {"a": {}}, **opener}
        assert close(schema) == schema
    assert close({}) == {}
