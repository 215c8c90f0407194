"""What becomes of the keywords of a schema, as data; and that it is true."""

from __future__ import annotations

from typing import Any

import pytest
from constrain_kit import ENGINE, accepts, constraint, may_begin

from counterfoil.text.constrain import Bounds, Constraint, Feature, Turn
from counterfoil.text.constrain.fit import ascii_classes, fit
from counterfoil.types.request import ToolChoice, ToolSpec

ANY = ToolChoice("any")


def _held(schema: Any, bounds: Bounds | None = None) -> Constraint:
    whole = {"type": "object", "properties": {"v": schema}, "required": ["v"], "additionalProperties": False}
    turn = Turn(bounds=bounds or Bounds(), reasoning=False)
    return constraint("hermes", ANY, turn, (ToolSpec("t", "", whole),))


def _ways(held: Constraint) -> dict[tuple[str, str], str]:
    return {(each.path, each.feature): each.how for each in held.report}


def _can(held: Constraint, value: str) -> bool:
    return accepts(held.lark(), f'<tool_call>\n{{"name": "t", "arguments": {{"v": {value}}}}}\n</tool_call>')


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer", "minimum": 3, "maximum": 5}, "4", "6"),
        ({"type": "string", "pattern": r"^\d{2}$"}, '"12"', '"1"'),
        ({"type": "string", "format": "date"}, '"2028-02-29"', '"2027-02-29"'),
        ({"enum": ["a", 1]}, "1", "2"),
        ({"const": {"a": 1}}, '{"a": 1}', '{"a": 2}'),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, "[true, false]", "[true]"),
        ({"type": "array", "prefixItems": [{"type": "null"}], "items": False}, "[null]", "[1]"),
        ({"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 1}]}, '"x"', '"xy"'),
        ({"allOf": [{"type": "integer", "minimum": 2}, {"maximum": 3}]}, "3", "4"),
        ({"$ref": "#/properties/v/$defs/x", "$defs": {"x": {"type": "boolean"}}}, "true", "1"),
        (
            {"allOf": [{"properties": {"a": {"type": "integer"}}}, {"required": ["a"]}], "type": "object"},
            '{"a": 1}',
            "{}",
        ),
    ],
)
def test_what_is_enforced_is_enforced(schema: Any, good: str, bad: str) -> None:
    held = _held(schema)
    assert _can(held, good)
    assert not _can(held, bad)
    assert held.loosened == ()


@pytest.mark.parametrize(
    ("schema", "feature"),
    [
        ({"not": {"const": 3}, "type": "integer"}, "not"),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "uniqueItems"),
        ({"type": "array", "items": {}, "contains": {"const": 1}}, "contains"),
        ({"type": "object", "if": {"required": ["a"]}, "then": {"required": ["b"]}}, "then"),
        ({"type": "object", "dependentRequired": {"a": ["b"]}}, "dependentRequired"),
        ({"type": "string", "format": "byte"}, "format"),
        ({"type": "string", "pattern": "(?!a)b"}, "pattern"),
        ({"oneOf": [{"type": "integer", "minimum": 3}, {"type": "integer", "maximum": 9}]}, "oneOf"),
    ],
)
def test_what_no_engine_enforces_is_approximated_and_named(schema: Any, feature: str) -> None:
    held = _held(schema)
    assert _ways(held)["/properties/v", feature] == "approximated"
    assert held.loosened == ("t",)
    assert ENGINE.check(held.lark()) is None


def test_what_is_unbounded_is_bounded_and_still_conforms() -> None:
    held = _held({"type": "string"}, Bounds(string=3))
    assert _ways(held)["/properties/v", "maxLength"] == "narrowed"
    assert _can(held, '"abc"')
    assert not _can(held, '"abcd"')
    assert held.loosened == ()


def test_a_bound_never_contradicts_the_pattern() -> None:
    assert _can(_held({"type": "string", "pattern": "^[a-f]{20}$"}, Bounds(string=5)), f'"{"a" * 20}"')


def test_numbers_have_no_exponents_that_overflow() -> None:
    assert not _can(_held({"type": "number"}), "1e999")
    assert not _can(_held({}), "1e999")
    assert _can(_held({"type": "number"}), "-2.75")


def test_a_reference_to_nowhere_is_refused_and_takes_anything() -> None:
    schema = {"type": "object", "properties": {"v": {"$ref": "https://example.com/x"}}}
    found, report = fit(ToolSpec("t", "", schema), Bounds(), ENGINE.check_schema)
    assert Feature("t", "/properties/v", "$ref", "refused", "https://example.com/x is not in the schema") in report
    assert ENGINE.check_schema(found) is None


def test_only_the_part_that_an_engine_cannot_take_is_given_up() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "(?=x)"}, "b": {"type": "integer", "maximum": 2}},
        "required": ["a", "b"],
    }
    held = constraint("hermes", ANY, Turn(reasoning=False), (ToolSpec("t", "", schema),))
    assert _ways(held)["/properties/a", "pattern"] == "approximated"
    assert not may_begin(held.lark(), '<tool_call>\n{"name": "t", "arguments": {"a": "", "b": 3')


def test_without_an_engine_only_what_every_engine_takes_counts_as_enforced() -> None:
    schema = {"type": "object", "properties": {"v": {"oneOf": [{"type": "string"}, {"type": "null"}]}}}
    _, report = fit(ToolSpec("t", "", schema), Bounds(), None)
    assert [each.how for each in report if each.feature == "oneOf"] == ["approximated"]


def test_values_behind_tags_are_those_that_are_read_as_what_they_are() -> None:
    schema = {"type": "object", "properties": {"v": {"enum": ["a", None, 4]}}, "required": ["v"]}
    held = constraint("qwen3-coder", ANY, Turn(reasoning=False), (ToolSpec("t", "", schema),))
    text = "<tool_call>\n<function=t>\n<parameter=v>\n{}\n</parameter>\n</function>\n</tool_call>"
    assert accepts(held.lark(), text.format('"a"'))
    assert accepts(held.lark(), text.format("null"))
    # Where a string may stand, 4 would be read as "4", which is not on the list.
    assert not accepts(held.lark(), text.format("4"))


def test_a_reference_beside_other_keywords_is_one_closed_object() -> None:
    schema = {
        "type": "object",
        "$ref": "#/$defs/base",
        "properties": {"b": {"type": "null"}},
        "$defs": {"base": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}},
    }
    held = constraint("hermes", ANY, Turn(reasoning=False), (ToolSpec("t", "", schema),))
    text = '<tool_call>\n{{"name": "t", "arguments": {}}}\n</tool_call>'
    assert accepts(held.lark(), text.format('{"b": null, "a": 1}')) or accepts(
        held.lark(), text.format('{"a": 1, "b": null}')
    )
    assert not accepts(held.lark(), text.format('{"b": null}'))
    assert not accepts(held.lark(), text.format('{"a": 1, "c": 1}'))


def test_raw_text_that_is_long_leaves_out_what_its_markers_begin_with() -> None:
    schema = {"type": "object", "properties": {"v": {"type": "string", "maxLength": 200}}, "required": ["v"]}
    held = constraint("qwen3-coder", ANY, Turn(reasoning=False), (ToolSpec("t", "", schema),))
    text = "<tool_call>\n<function=t>\n<parameter=v>\n{}\n</parameter>\n</function>\n</tool_call>"
    assert accepts(held.lark(), text.format("x" * 200))
    assert not accepts(held.lark(), text.format("x" * 201))
    assert not accepts(held.lark(), text.format("1 < 2"))
    free = constraint("qwen3-coder", turn=Turn(reasoning=False))
    whole = (
        "<tool_call>\n<function=get_weather>\n<parameter=city>\n{}\n</parameter>\n<parameter=days>\n2\n</parameter>\n"
    )
    assert may_begin(free.lark(), whole.format("if 1 < 2: " * 100))


def test_digits_and_word_characters_are_those_of_ecma() -> None:
    assert ascii_classes(r"^\d+[\w-]\\d\s$") == r"^[0-9]+[A-Za-z0-9_-]\\d\s$"
