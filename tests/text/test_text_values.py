"""What a value is, the tool's schema says: it is cast as that, or stays text for the gate to refuse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_cases import laws, values

from counterfoil import text
from counterfoil.text.cast import cast, spell
from counterfoil.text.jsontext import same
from counterfoil.text.literals import Misread, read_keywords, write_keywords
from counterfoil.types.request import ToolSpec


def read(schema: dict[str, Any], written: str) -> Any:
    """One value, as a model of GLM's kind writes it."""
    tool = ToolSpec("f", "", {"type": "object", "properties": {"a": schema}, "$defs": {"number": {"type": "integer"}}})
    whole = f"<tool_call>f<arg_key>a</arg_key><arg_value>{written}</arg_value></tool_call>"
    (call,) = text.get("glm", (tool,)).parse(whole).message.calls
    assert call.arguments is not None
    return call.arguments["a"]


@pytest.mark.parametrize(
    ("schema", "written", "value"),
    [
        ({"type": "string"}, "007", "007"),
        ({"type": "string"}, '"quoted"', '"quoted"'),
        ({"type": "string"}, "null", "null"),
        ({"type": "integer"}, "12", 12),
        ({"type": "integer"}, " 12\n", 12),
        ({"type": "integer"}, "007", "007"),
        ({"type": "integer"}, "1.0", 1.0),
        ({"type": "integer"}, "1.5", "1.5"),
        ({"type": "integer"}, "twelve", "twelve"),
        ({"type": "number"}, "-1.5e3", -1500.0),
        ({"type": "number"}, "NaN", "NaN"),
        ({"type": "number"}, "1e999", "1e999"),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "boolean"}, "yes", "yes"),
        ({"type": "null"}, "None", None),
        ({"type": "array"}, "[1, 2]", [1, 2]),
        ({"type": "array"}, "1, 2", "1, 2"),
        ({"type": "object"}, '{"a": {"b": null}}', {"a": {"b": None}}),
        ({"type": "object"}, '{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        ({"type": "object"}, "[1]", "[1]"),
        ({"type": ["integer", "string"]}, "5", 5),
        ({"type": ["integer", "string"]}, '"5"', "5"),
        ({"type": ["string", "integer"]}, "5", "5"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "null", None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, '"null"', "null"),
        ({"oneOf": [{"type": "array"}, {"type": "string"}]}, "[1", "[1"),
        ({"allOf": [{}, {"type": "integer"}]}, "5", 5),
        ({"$ref": "#/$defs/number"}, "5", 5),
        ({"$ref": "#/$defs/nothing"}, "5", 5),
        ({"enum": ["1", "2"]}, "1", "1"),
        ({"enum": [1, 2]}, "1", 1),
        ({"const": "x"}, "x", "x"),
        ({"properties": {}}, "{}", {}),
        ({"items": {}}, "[]", []),
        ({}, "5", 5),
        ({}, "five", "five"),
        ({}, '"5"', "5"),
    ],
)
def test_a_value_is_what_its_schema_says(schema: dict[str, Any], written: str, value: Any) -> None:
    assert same(read(schema, written), value)


def test_a_schema_that_refers_to_itself_is_followed_once() -> None:
    schema: dict[str, Any] = {"$ref": "#/$defs/loop"}
    loop: dict[str, Any] = {"anyOf": [{"$ref": "#/$defs/loop"}, {"$ref": "#/$defs/loop"}, {"type": "integer"}]}
    tool = ToolSpec("f", "", {"properties": {"a": schema}, "$defs": {"loop": loop}})
    whole = "<tool_call>f<arg_key>a</arg_key><arg_value>5</arg_value></tool_call>"
    assert text.get("glm", (tool,)).parse(whole).message.calls[0].arguments == {"a": 5}


@laws
@given(
    value=values(st.text(st.characters(codec="utf-8"))),
    types=st.sampled_from([("any",), ("null", "string"), ("integer", "string")]),
)
def test_what_is_spelt_is_cast_back(value: Any, types: tuple[str, ...]) -> None:
    written = spell(value, types)
    assert written is None or same(cast(written, types), value)
    assert written is not None or types != ("any",)


@laws
@given(
    held=st.dictionaries(st.text(st.characters(codec="utf-8")), values(st.text(st.characters(codec="utf-8")))),
    json=st.booleans(),
)
def test_keywords_read_back(held: dict[str, Any], json: bool) -> None:
    assert same(read_keywords(write_keywords(held, json=json)), held)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("a='it\\'s', b=\"x\"", {"a": "it's", "b": "x"}),
        ("a=True, b=None, c=false, d=null,", {"a": True, "b": None, "c": False, "d": None}),
        ("a=(1, 2), b=[], c={'k': [1,]}", {"a": [1, 2], "b": [], "c": {"k": [1]}}),
        ("a='\\x41\\u00e9\\U0001f600\\101\\n\\q'", {"a": "Aé\U0001f600A\n\\q"}),
        ('a="\\ud83d\\ude00"', {"a": "\U0001f600"}),
        ("**{'a b': 1}, c=2", {"a b": 1, "c": 2}),
        ("", {}),
    ],
)
def test_python_and_json_literals_are_read(written: str, value: dict[str, Any]) -> None:
    assert same(read_keywords(written), value)


@pytest.mark.parametrize(
    "written",
    [
        "1",
        "a",
        "a=",
        "a=b",
        "a=f()",
        "a=1 b=2",
        "a=1, a=2",
        "a={1: 2}",
        "a={'k': 1, 'k': 2}",
        "a=[1",
        "a='x",
        "**[1]",
        "a=1+1",
        "a=__import__('os')",
        'a="\\ud83d"',
        "a=1e999",
        f"a={'[' * 300}",
        f"a={'1' * 2000}",
        "a=0x10",
        "a=nan",
    ],
)
def test_what_is_no_literal_is_refused(written: str) -> None:
    with pytest.raises(Misread):
        read_keywords(written)
