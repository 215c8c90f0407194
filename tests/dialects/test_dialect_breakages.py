"""Public breakages of schema lowering, each as the right behaviour. The facts are the threads', the words ours."""

from __future__ import annotations

import time
from typing import Any

import pytest
from dialect_checkers import violations
from jsonschema_rs import Draft202012Validator

from counterfoil import dialects
from counterfoil.dialects import Lowered
from counterfoil.types.error import CatalogueError
from counterfoil.types.request import ToolSpec

Schema = dict[str, Any]

every_dialect = pytest.mark.parametrize("name", dialects.names())


def obj(properties: Schema, *required: str, **more: Any) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def lower(name: str, *schemas: Schema, **options: Any) -> Lowered:
    tools = [ToolSpec(f"f{i}", parameters=schema) for i, schema in enumerate(schemas)]
    return dialects.get(name).lower(tools, **options)


def refused(schema: Schema, arguments: Any) -> bool:
    return not Draft202012Validator(schema).is_valid(arguments)


NODE = obj({"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}, "name")
TREE = obj({"tree": {"$ref": "#/$defs/Node"}}, "tree", **{"$defs": {"Node": NODE}})


# Nulls handed on


def test_coder_xum_4206_null_of_an_optional_property_is_not_handed_on() -> None:
    schema = obj(
        {"path": {"type": "string"}, "lines": {"type": "integer"}, "deep": obj({"a": {"type": "number"}})}, "path"
    )
    done = lower("openai-strict", schema)
    assert done.tools[0].parameters["required"] == ["path", "lines", "deep"]
    sent = {"path": "x", "lines": None, "deep": {"a": None}}
    assert refused(schema, sent)
    assert done.reverse("f0", sent) == {"path": "x", "deep": {}}


def test_nemo_1269_optional_parameters_are_omitted_not_null() -> None:
    schema = {
        "type": "object",
        "properties": {"query": {"type": "string"}, "after": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["query"],
    }
    found = lower("openai-strict", schema).reverse("f0", {"query": "authenticate", "after": None, "limit": None})
    assert found == {"query": "authenticate"}
    assert not refused(schema, found)


def test_null_of_a_required_property_is_left_for_the_gate_to_refuse() -> None:
    schema = obj({"path": {"type": "string"}}, "path")
    assert lower("openai-strict", schema).reverse("f0", {"path": None}) == {"path": None}


def test_pydantic_ai_3538_null_of_an_optional_nullable_property_is_kept_and_flagged() -> None:
    schema = obj({"to": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}})
    done = lower("openai-strict", schema)
    found = done.plans["f0"].read({"to": None})
    assert found.arguments == {"to": None}
    assert found.doubts == ("/to",)
    assert [loss.path for loss in done.losses if "null or absent" in loss.what] == ["/tools/0/parameters/properties/to"]


# Recursion


def test_pydantic_ai_1598_recursion_reaches_gemini_as_text_and_comes_back() -> None:
    done = lower("gemini-openapi", TREE)
    assert violations("gemini-openapi", done.tools[0].parameters) == []
    sent = {"tree": {"name": "a", "children": ['{"name": "b", "children": [{"name": "c"}]}']}}
    found = done.reverse("f0", sent)
    assert found == {"tree": {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}}
    assert not refused(TREE, found)


def test_pydantic_ai_4425_gemini_json_keeps_recursion_only_where_it_may_be_absent() -> None:
    kept = lower("gemini-json", TREE).tools[0].parameters
    assert kept == TREE
    needed = obj({"tree": {"$ref": "#/$defs/Node"}}, **{"$defs": {"Node": {**NODE, "required": ["name", "children"]}}})
    done = lower("gemini-json", needed)
    assert violations("gemini-json", done.tools[0].parameters) == []
    assert [step.op for step in done.plans["f0"].steps] == ["json"]


@pytest.mark.parametrize("name", ["anthropic-strict", "bedrock-strict"])
def test_recursion_is_cut_where_a_grammar_cannot_recurse(name: str) -> None:
    done = lower(name, TREE)
    assert violations(name, done.tools[0].parameters) == []
    assert "#/$defs/Node" in str(done.tools[0].parameters)
    assert any("contains itself" in loss.what for loss in done.losses)


def test_openai_keeps_recursion_of_the_root() -> None:
    schema = obj({"value": {"type": "string"}, "next": {"$ref": "#"}}, "value")
    parameters = lower("openai-strict", schema).tools[0].parameters
    assert parameters["properties"]["next"] == {"anyOf": [{"$ref": "#"}, {"type": "null"}]}
    found = lower("openai-strict", schema).reverse("f0", {"value": "a", "next": {"value": "b", "next": None}})
    assert found == {"value": "a", "next": {"value": "b"}}


# Grammars that are too large


def test_anthropic_sdk_1185_a_grammar_too_large_can_be_retried_without_strict() -> None:
    deep = obj({"typeName": {"type": "string"}, "nullable": {"type": ["boolean", "null"]}}, "typeName", "nullable")
    mapper = obj({"name": {"type": "string"}, "inputKeyType": deep, "outputKeyType": deep}, "name")
    schema = obj({"mappers": {"type": "array", "items": mapper}}, "mappers")
    again = lower("anthropic-strict", schema, strict=())
    assert again.tools[0].strict is False
    assert again.tools[0].parameters == schema
    assert again.plans["f0"].steps == ()
    assert [loss.path for loss in again.losses] == ["/tools/0/strict"]


def test_anthropic_limits_are_counted_over_the_request() -> None:
    small = obj({"a": {"type": "string"}}, "a")
    done = lower("anthropic-strict", *[small] * 22)
    assert [tool.strict for tool in done.tools] == [True] * 20 + [False] * 2
    assert "21 tools in the request, of at most 20" in done.losses[-1].what

    optional = obj({str(i): {"type": "string"} for i in range(20)})
    done = lower("anthropic-strict", optional, optional, small)
    assert [tool.strict for tool in done.tools] == [True, False, True]
    assert "40 optional in the request, of at most 24" in done.losses[0].what

    unions = obj({str(i): {"type": ["string", "null"]} for i in range(9)}, *map(str, range(9)))
    assert [tool.strict for tool in lower("anthropic-strict", unions, unions, small).tools] == [True, False, True]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (obj({f"p{i}": {"type": "string"} for i in range(5_001)}), "5,001 properties"),
        (obj({"e": {"type": "string", "enum": [f"v{i}" for i in range(1_001)]}}, "e"), "1,001 enum values"),
        (obj({"n" * 120_001: {"type": "string"}}), "120,001 name characters"),
    ],
)
def test_openai_limits_leave_a_tool_out_of_strict_mode(schema: Schema, words: str) -> None:
    done = lower("openai-strict", schema)
    assert done.tools[0].strict is False
    assert done.tools[0].parameters == schema
    assert words in done.losses[0].what


@pytest.mark.parametrize(("levels", "strict"), [(10, True), (11, False)])
def test_openai_depth_is_ten(levels: int, strict: bool) -> None:
    schema = obj({"leaf": {"type": "string"}}, "leaf")
    for _ in range(levels - 1):
        schema = obj({"in": schema}, "in")
    assert lower("openai-strict", schema).tools[0].strict is strict


def test_cohere_is_strict_for_all_tools_or_none() -> None:
    wide = obj({f"p{i}": {"type": "string"} for i in range(150)}, "p0")
    done = lower("cohere-strict", wide, wide)
    assert [tool.strict for tool in done.tools] == [False, False]
    assert len(done.losses) == 2
    assert [tool.strict for tool in lower("cohere-strict", wide).tools] == [True]


def test_cohere_gets_a_required_property_where_all_are_optional() -> None:
    schema = obj({"a": {"type": "string"}})
    done = lower("cohere-strict", schema)
    assert violations("cohere-strict", done.tools[0].parameters) == []
    assert done.reverse("f0", {"present": "yes"}) == {}
    assert done.reverse("f0", {"present": "yes", "a": "x"}) == {"a": "x"}


# What Gemini's `parameters` refuses


def test_python_genai_1815_additional_properties_never_reach_gemini_parameters() -> None:
    schema = obj(
        {"item": obj({"name": {"type": "string"}}, "name"), "env": {"additionalProperties": {"type": "string"}}}
    )
    done = lower("gemini-openapi", schema)
    assert "additionalProperties" not in str(done.tools[0].parameters)
    found = done.reverse("f0", {"env": [{"key": "A", "value": "1"}, {"key": "B", "value": "2"}]})
    assert found == {"env": {"A": "1", "B": "2"}}
    assert lower("gemini-json", schema).tools[0].parameters["properties"]["item"]["additionalProperties"] is False


def test_litellm_6386_definitions_are_inlined_for_gemini_parameters() -> None:
    address = obj({"street": {"type": "string"}}, "street")
    user = obj({"home": {"$ref": "#/$defs/A", "description": "where"}, "work": {"$ref": "#/$defs/A"}}, "home")
    parameters = lower("gemini-openapi", {**user, "$defs": {"A": address}}).tools[0].parameters
    assert violations("gemini-openapi", parameters) == []
    street = {"street": {"type": "string"}}
    assert parameters["properties"]["home"]["properties"] == street
    assert parameters["properties"]["home"]["description"] == "where"
    assert parameters["properties"]["work"]["properties"] == street


def test_langchain_google_535_arrays_always_say_their_items() -> None:
    schema = obj({"rows": {"type": "array"}, "pairs": {"type": "array", "items": {"type": "array"}}}, "rows")
    done = lower("gemini-openapi", schema)
    assert violations("gemini-openapi", done.tools[0].parameters) == []
    found = done.reverse("f0", {"rows": ["1", '"a"', '{"k": null}', "plain"], "pairs": [["2"]]})
    assert found == {"rows": [1, "a", {"k": None}, "plain"], "pairs": [[2]]}


def test_gemini_properties_of_a_nullable_object_are_not_dropped() -> None:
    prop = {"type": ["object", "null"], **{k: v for k, v in obj({"a": {"type": "string"}}, "a").items() if k != "type"}}
    parameters = lower("gemini-openapi", obj({"p": prop}, "p")).tools[0].parameters
    assert parameters["properties"]["p"] == {
        "type": "object",
        "nullable": True,
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
    }


def test_gemini_required_names_only_what_there_is() -> None:
    schema = {"type": "object", "properties": {"o": {"type": "object"}}, "required": ["o", "ghost"]}
    parameters = lower("gemini-openapi", schema).tools[0].parameters
    assert violations("gemini-openapi", parameters) == []
    assert set(parameters["required"]) == set(parameters["properties"]) == {"o", "ghost"}


def test_gemini_enum_of_numbers_comes_back_as_numbers() -> None:
    schema = obj({"size": {"type": "integer", "enum": [1, 2, 10]}, "mixed": {"enum": ["1", 1, True]}}, "size")
    done = lower("gemini-openapi", schema)
    assert done.tools[0].parameters["properties"]["size"] == {"type": "string", "enum": ["1", "2", "10"]}
    found = done.reverse("f0", {"size": "10", "mixed": "true"})
    assert found == {"size": 10, "mixed": True}
    assert found["mixed"] is True
    assert done.reverse("f0", {"size": "1", "mixed": '"1"'}) == {"size": 1, "mixed": "1"}
    assert refused(schema, done.reverse("f0", {"size": "3"}))


def test_gemini_tuples_are_arrays_of_the_union() -> None:
    schema = obj(
        {"at": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "items": False}}, "at"
    )
    parameters = lower("gemini-openapi", schema).tools[0].parameters
    assert parameters["properties"]["at"]["items"] == {"anyOf": [{"type": "number"}, {"type": "string"}]}
    assert refused(schema, lower("gemini-openapi", schema).reverse("f0", {"at": ["swapped", 1]}))


# Lists of types


def test_ollama_10328_no_list_of_types_where_only_one_type_is_read() -> None:
    schema = obj({"v": {"type": ["string", "integer"], "description": "either"}}, "v")
    parameters = lower("gemini-openapi", schema).tools[0].parameters
    assert parameters["properties"]["v"] == {
        "anyOf": [{"type": "string", "description": "either"}, {"type": "integer"}]
    }
    assert lower("openai-strict", schema).tools[0].parameters == schema


# References


@every_dialect
def test_references_out_of_the_schema_are_refused_and_never_fetched(name: str) -> None:
    for ref in ("https://example.com/order.json", "order.json#/$defs/A", "//host/x"):
        with pytest.raises(CatalogueError, match=r"tool 'f0'.*never fetched"):
            lower(name, obj({"order": {"$ref": ref}}))
    with pytest.raises(CatalogueError, match="nothing"):
        lower(name, obj({"order": {"$ref": "#/$defs/Missing"}}))


@every_dialect
def test_a_schema_bomb_is_bounded(name: str) -> None:
    definitions: Schema = {"D0": {"type": "string"}}
    for i in range(1, 60):
        ref = {"$ref": f"#/$defs/D{i - 1}"}
        definitions[f"D{i}"] = obj({"a": {**ref, "description": "a"}, "b": ref}, "a", "b")
    bomb = obj({"x": {"$ref": "#/$defs/D59"}}, "x", **{"$defs": definitions})
    began = time.perf_counter()
    try:
        done = lower(name, bomb)
    except CatalogueError as error:
        assert "20000 parts" in str(error)  # noqa: PT017
    else:
        assert len(str(done.tools[0].parameters)) < 100_000
    assert time.perf_counter() - began < 5


@every_dialect
def test_a_definition_that_is_only_itself_is_bounded(name: str) -> None:
    lower(name, obj({"x": {"$ref": "#/$defs/A"}}, "x", **{"$defs": {"A": {"$ref": "#/$defs/A"}}}))
    lower(name, obj({"x": {"$ref": "#/$defs/A"}}, "x", **{"$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}]}}}))


def test_lowering_is_linear_in_the_schema() -> None:
    def seconds(size: int) -> float:
        inner = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}], "description": "d"}
        schema = obj({f"p{i}": obj({"a": inner, "b": {"$ref": "#/$defs/D"}}) for i in range(size)})
        schema["$defs"] = {"D": obj({"x": {"type": "integer"}}, "x")}
        best = 9.0
        for _ in range(3):
            began = time.perf_counter()
            lower("openai-strict", schema)
            best = min(best, time.perf_counter() - began)
        return best

    assert seconds(800) < 16 * seconds(100)


@pytest.mark.parametrize("bounds", [{"minItems": 1}, {"minItems": 3, "maxItems": 5}])
def test_a_tuple_written_as_an_object_counts_no_items(bounds: dict[str, int]) -> None:
    pair = {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}, **bounds}
    schema = {"type": "object", "properties": {"pair": pair}, "required": ["pair"], "additionalProperties": False}
    low = dialects.get("anthropic-strict").lower([ToolSpec("f", "", schema)], strict={"f"})
    written = low.tools[0].parameters["properties"]["pair"]
    assert written["type"] == "object"
    assert not {"minItems", "maxItems"} & set(written)
    assert low.reverse("f", {"pair": {"0": "a", "rest": [1, 2]}}) == {"pair": ["a", 1, 2]}
