"""Reading arguments back: what has one meaning comes back, what has none is left for the gate or refused."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from jsonschema_rs import Draft202012Validator

from counterfoil import dialects
from counterfoil.dialects import Plan, Step
from counterfoil.types.error import CatalogueError
from counterfoil.types.loss import Loss
from counterfoil.types.request import ToolSpec

Schema = dict[str, Any]
STRING: Schema = {"type": "string"}


def plan(schema: Schema, name: str = "openai-strict") -> Plan:
    return dialects.get(name).lower([ToolSpec("f", parameters=schema)]).plans["f"]


def obj(properties: Schema, *required: str, **more: Any) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def test_a_key_written_twice_is_refused_and_never_one_of_the_two() -> None:
    made = plan(obj({"env": {"type": "object", "additionalProperties": STRING}}, "env"))
    twice = {"env": [{"key": "A", "value": "1"}, {"key": "A", "value": "2"}]}
    found = made.read(twice)
    assert found.arguments == twice
    assert found.problem == "at /env: the key 'A' is written twice: write it once"
    with pytest.raises(ValueError, match="written twice"):
        made.reverse(twice)


def test_other_keys_may_not_overwrite_a_property() -> None:
    made = plan(obj({"id": STRING}, "id", additionalProperties={"type": "integer"}))
    assert made.reverse({"id": "x", "additional_properties": [{"key": "n", "value": 1}]}) == {"id": "x", "n": 1}
    assert made.reverse({"id": "x", "additional_properties": None}) == {"id": "x"}
    with pytest.raises(ValueError, match="property of its own"):
        made.reverse({"id": "x", "additional_properties": [{"key": "id", "value": 1}]})


def test_the_list_of_other_keys_never_takes_the_name_of_a_property() -> None:
    made = plan(obj({"additional_properties": STRING}, "additional_properties", additionalProperties=STRING))
    sent = {"additional_properties": "mine", "additional_properties_2": [{"key": "k", "value": "v"}]}
    assert made.reverse(sent) == {"additional_properties": "mine", "k": "v"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ('"1"', "1"),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ('{"a": {"b": 1.5}}', {"a": {"b": 1.5}}),
        ("hello there", "hello there"),
        ("NaN", "NaN"),
        ("1} , {", "1} , {"),
        ('1, "x": 2', '1, "x": 2'),
        ("", ""),
    ],
)
def test_json_text_comes_back_as_the_value_and_other_text_stays_text(text: str, value: Any) -> None:
    assert plan(obj({"any": {}}, "any")).reverse({"any": text}) == {"any": value}


@pytest.mark.parametrize("text", ['{"a": 1', "[draft] hello", '{"a": 1, "a": 2}', '"open'])
def test_text_that_set_out_to_be_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="at /any: expected JSON text"):
        plan(obj({"any": {}}, "any")).reverse({"any": text})


def test_a_tuple_comes_back_with_its_rest_and_a_cut_one_is_left_to_the_gate() -> None:
    point = {"type": "array", "prefixItems": [{"type": "number"}, STRING], "minItems": 2, "items": {"type": "integer"}}
    schema = obj({"p": point}, "p")
    made = plan(schema)
    assert made.reverse({"p": {"0": 1.5, "1": "x", "rest": [7, 8]}}) == {"p": [1.5, "x", 7, 8]}
    for cut in ({"0": 1}, {"0": 1, "1": "x", "2": 3, "rest": []}, {"0": 1, "1": "x", "rest": 3}):
        assert made.reverse({"p": cut}) == {"p": cut}
        assert not Draft202012Validator(schema).is_valid({"p": cut})


def test_older_tuples_are_tuples_too() -> None:
    schema = obj(
        {"p": {"type": "array", "items": [STRING, {"type": "integer"}], "additionalItems": False, "minItems": 2}}, "p"
    )
    assert plan(schema).reverse({"p": {"0": "a", "1": 1}}) == {"p": ["a", 1]}


def test_branches_are_told_apart_by_their_literal() -> None:
    def branch(kind: str, **more: Schema) -> Schema:
        return obj({"kind": {"const": kind}, "note": STRING, **more}, "kind")

    tags = {"type": "object", "additionalProperties": STRING}
    schema = obj({"pet": {"oneOf": [branch("cat", tags=tags), branch("dog", tags=STRING)]}}, "pet")
    made = plan(schema)
    cat = {"kind": "cat", "note": None, "tags": [{"key": "a", "value": "b"}]}
    assert made.reverse({"pet": cat}) == {"pet": {"kind": "cat", "tags": {"a": "b"}}}
    assert made.reverse({"pet": {"kind": "dog", "note": None, "tags": "x"}}) == {"pet": {"kind": "dog", "tags": "x"}}


def test_branches_that_cannot_be_told_apart_are_one_text() -> None:
    # Null means absent in the first branch and null in the second, under the same keys.
    first = obj({"a": STRING})
    second = obj({"a": {"type": ["string", "null"]}}, "a")
    schema = obj({"u": {"anyOf": [first, second]}}, "u")
    made = plan(schema)
    assert made.steps == (Step("/properties/u", "json"),)
    assert made.reverse({"u": '{"a": null}'}) == {"u": {"a": None}}
    assert made.reverse({"u": "{}"}) == {"u": {}}


def test_a_dict_beside_a_list_is_one_text() -> None:
    listed = {"type": "array", "items": obj({"key": STRING, "value": STRING}, "key", "value")}
    schema = obj({"u": {"anyOf": [{"type": "object", "additionalProperties": STRING}, listed]}}, "u")
    assert plan(schema).reverse({"u": '[{"key": "a", "value": "b"}]'}) == {"u": [{"key": "a", "value": "b"}]}


def test_a_root_union_is_wrapped() -> None:
    schema = {"anyOf": [obj({"a": STRING}, "a"), obj({"b": {"type": "integer"}}, "b")]}
    done = dialects.get("openai-strict").lower([ToolSpec("f", parameters=schema)])
    assert done.tools[0].parameters["required"] == ["arguments"]
    assert done.reverse("f", {"arguments": {"b": 1}}) == {"b": 1}
    assert done.reverse("f", {"b": 1}) == {"b": 1}
    loose = dialects.get("openai-strict").lower([ToolSpec("f", parameters=schema)], strict=())
    assert loose.tools[0].strict is False
    assert loose.tools[0].parameters == {
        "type": "object",
        "properties": {"arguments": schema},
        "required": ["arguments"],
    }
    assert loose.reverse("f", {"arguments": {"b": 1}}) == {"b": 1}


def test_references_follow_a_root_that_was_wrapped() -> None:
    leaf = obj({"v": STRING}, "v")
    schema: Schema = {"oneOf": [{"$ref": "#/$defs/Leaf"}, obj({"in": {"$ref": "#"}}, "in")], "$defs": {"Leaf": leaf}}
    instance = {"in": {"in": {"v": "x"}}}
    for strict in (None, ()):
        done = dialects.get("openai-strict").lower([ToolSpec("f", parameters=schema)], strict=strict)
        sent = {"arguments": instance}
        assert Draft202012Validator(done.tools[0].parameters).is_valid(sent)
        assert not Draft202012Validator(done.tools[0].parameters).is_valid({"arguments": {"in": 1}})
        assert done.reverse("f", sent) == instance


def test_a_chain_of_definitions_longer_than_the_stack_is_kept() -> None:
    chain = {f"D{i}": obj({"next": {"$ref": f"#/$defs/D{i + 1}"}}) for i in range(400)}
    chain["D400"] = obj({"v": {"type": "object", "additionalProperties": STRING}})
    schema = obj({"first": {"$ref": "#/$defs/D0"}}, "first", **{"$defs": chain})
    for name in dialects.names():
        tool = dialects.get(name).lower([ToolSpec("f", parameters=schema)]).tools[0]
        assert len(tool.parameters.get("$defs", {})) in (401, 0) or name in (
            "anthropic-strict",
            "bedrock-strict",
            "gemini-json",
        )


def test_all_of_is_one_object_with_the_requirements_of_both() -> None:
    base = {"type": "object", "properties": {"id": {"type": "integer", "minimum": 1}}, "required": ["id"]}
    more = {"type": "object", "properties": {"id": {"minimum": 5}, "name": STRING}, "required": ["name"]}
    schema = obj({"x": {"allOf": [{"$ref": "#/$defs/Base"}, more]}}, "x", **{"$defs": {"Base": base}})
    for name in ("openai-strict", "anthropic-strict", "gemini-openapi"):
        found = dialects.get(name).lower([ToolSpec("f", parameters=schema)]).tools[0].parameters["properties"]["x"]
        assert found["required"] == ["id", "name"]
        assert list(found["properties"]) == ["id", "name"]
    assert plan(schema, "gemini-openapi").schema == {}
    lowered = dialects.get("openai-strict").lower([ToolSpec("f", parameters=schema)]).tools[0].parameters
    assert lowered["properties"]["x"]["properties"]["id"] == {"type": "integer", "minimum": 5}


def test_keywords_are_taken_by_their_value() -> None:
    schema = obj({f"a{n}": {"type": "array", "items": STRING, "minItems": n} for n in (1, 2)}, "a1", "a2")
    found = dialects.get("anthropic-strict").lower([ToolSpec("f", parameters=schema)]).tools[0].parameters["properties"]
    assert found["a1"] == {"type": "array", "items": STRING, "minItems": 1}
    assert found["a2"] == {"type": "array", "items": STRING, "description": "{minItems: 2}"}


def test_a_nullable_literal_does_not_hide_its_branch() -> None:
    dicts = {"type": "object", "additionalProperties": STRING}
    first = obj({"mode": {"enum": ["x", None]}, "tags": dicts}, "tags")
    schema = obj({"u": {"anyOf": [first, obj({"other": STRING}, "other")]}}, "u")
    sent = {"u": {"mode": None, "tags": [{"key": "a", "value": "b"}]}}
    assert plan(schema, "gemini-openapi").reverse(sent) == {"u": {"mode": None, "tags": {"a": "b"}}}


def test_what_stands_beside_a_union_holds_in_each_branch() -> None:
    base = {"type": "object", "properties": {"id": STRING}, "required": ["id"]}
    branches = [{"properties": {"a": STRING}, "required": ["a"]}, {"properties": {"b": STRING}, "required": ["b"]}]
    schema = obj({"u": {**base, "anyOf": branches}}, "u")
    found = dialects.get("openai-strict").lower([ToolSpec("f", parameters=schema)]).tools[0].parameters
    assert [each["required"] for each in found["properties"]["u"]["anyOf"]] == [["id", "a"], ["id", "b"]]
    both = obj({"u": {**base, "anyOf": branches, "oneOf": branches}}, "u")
    assert plan(both).steps == (Step("/properties/u", "json"),)
    only = obj({"u": {**base, "anyOf": [{"required": ["id"]}, {"required": ["x"]}]}}, "u")
    found = dialects.get("openai-strict").lower([ToolSpec("f", parameters=only)]).tools[0].parameters
    assert found["properties"]["u"]["description"] == '{anyOf: [{"required":["id"]},{"required":["x"]}]}'


def test_a_root_that_refers_keeps_its_description() -> None:
    schema = {"$ref": "#/$defs/A", "description": "the whole", "$defs": {"A": obj({"a": STRING}, "a")}}
    for name in dialects.names():
        found = dialects.get(name).lower([ToolSpec("f", parameters=schema)]).tools[0].parameters
        assert found["description"] == "the whole"
        assert found["properties"] == {"a": STRING}


def test_names_that_a_provider_refuses_are_renamed_and_put_back() -> None:
    schema = obj({"$filter": STRING, "_filter": STRING, "user-id": STRING}, "$filter")
    made = plan(schema, "gemini-openapi")
    assert list(made.schema["properties"]) == ["_filter_2", "_filter", "user_id"]
    assert made.schema["required"] == ["_filter_2"]
    sent = {"_filter_2": "a", "_filter": "b", "user_id": "c"}
    assert made.reverse(sent) == {"$filter": "a", "_filter": "b", "user-id": "c"}


def test_constraints_that_cannot_be_said_are_told_in_the_description_and_in_the_losses() -> None:
    schema = obj({"n": {"type": "integer", "minimum": 1, "maximum": 9, "description": "how many"}}, "n")
    done = dialects.get("anthropic-strict").lower([ToolSpec("f"), ToolSpec("g", parameters=schema)])
    assert done.tools[1].parameters["properties"]["n"] == {
        "type": "integer",
        "description": "how many\n\n{minimum: 1, maximum: 9}",
    }
    path = "/tools/1/parameters/properties/n"
    assert done.losses[-2:] == (Loss(path, "minimum", "moved"), Loss(path, "maximum", "moved"))


def test_one_of_and_undeclared_properties_are_losses() -> None:
    schema = {"type": "object", "properties": {"u": {"oneOf": [STRING, {"type": "integer"}]}}, "required": ["u"]}
    losses = dialects.get("openai-strict").lower([ToolSpec("f", parameters=schema)]).losses
    assert {(loss.path, loss.carried) for loss in losses} == {
        ("/tools/0/parameters", "dropped"),
        ("/tools/0/parameters/properties/u", "rewritten"),
    }


def test_custom_tools_and_tools_that_refuse_strict_mode_pass_unchanged() -> None:
    custom = ToolSpec("c", kind="custom", format={"type": "text"})
    loose = ToolSpec(
        "l", parameters={"type": "object", "properties": {"a": {"type": "string", "minLength": 3}}}, strict=False
    )
    done = dialects.get("openai-strict").lower([custom, loose])
    assert done.tools == (custom, loose)
    assert done.losses == ()
    assert set(done.plans) == {"l"}
    assert dialects.get("gemini-json").lower([loose]).tools[0].strict is False


def test_a_plan_is_a_value_that_survives_the_journal() -> None:
    made = plan(obj({"env": {"type": "object", "additionalProperties": STRING}, "e": {"enum": [[1], "x"]}}))
    read = msgspec.json.decode(msgspec.json.encode(made), type=Plan)
    assert read == made
    assert read.reverse({"env": [{"key": "A", "value": "1"}], "e": "[1]"}) == {"env": {"A": "1"}, "e": [1]}


def test_neither_schema_nor_arguments_are_written_to() -> None:
    schema = obj({"a": {"anyOf": [STRING, {"type": "null"}]}, "t": {"type": "object", "additionalProperties": {}}})
    before = copy.deepcopy(schema)
    made = plan(schema)
    sent = {"a": None, "t": [{"key": "k", "value": "[1]"}]}
    kept = copy.deepcopy(sent)
    made.reverse(sent)
    assert schema == before
    assert sent == kept


@pytest.mark.parametrize("schema", [{"type": "object", "properties": ["a"]}, {"type": 5}, {"enum": 3}, {"anyOf": [3]}])
def test_what_is_no_schema_is_refused_by_the_tools_name(schema: Schema) -> None:
    with pytest.raises(CatalogueError, match="tool 'f'"):
        plan({"type": "object", "properties": {"x": schema}})


def test_an_unknown_dialect_names_those_there_are() -> None:
    with pytest.raises(ValueError, match="openai-strict, anthropic-strict"):
        dialects.get("openai")
