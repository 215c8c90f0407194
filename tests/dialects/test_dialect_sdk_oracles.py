"""The providers' own transformers and types as oracles: they must find nothing to change in what was lowered."""

from __future__ import annotations

import copy
import importlib
from typing import Any

from dialect_cases import Case, cases
from hypothesis import HealthCheck, given, settings

from counterfoil import dialects
from counterfoil.types.request import ToolSpec

Schema = dict[str, Any]

MANY = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


def lowered(name: str, schema: Schema) -> Schema:
    return copy.deepcopy(dialects.get(name).lower([ToolSpec("f", parameters=schema)]).tools[0].parameters)


def unordered(schema: Any) -> Any:
    """The schema with `required` as a set: its order means nothing."""
    if isinstance(schema, list):
        return [unordered(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: frozenset(each) if key == "required" else unordered(each) for key, each in schema.items()}


@MANY
@given(case=cases())
def test_openai_sdk_finds_nothing_to_change(case: Case) -> None:
    sdk = importlib.import_module("openai.lib._pydantic")
    schema = lowered("openai-strict", case.schema)
    again = sdk._ensure_strict_json_schema(copy.deepcopy(schema), path=(), root=copy.deepcopy(schema))
    # The SDK drops a null default, which is no keyword of the lowered schema anyhow.
    assert unordered(again) == unordered(schema)


def spelled_by_anthropic(schema: Any) -> Any:
    """Two spellings of the SDK: no type beside literals; a list of types is a union (it does not know lists)."""
    if isinstance(schema, list):
        return [spelled_by_anthropic(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        key: each if key in ("enum", "const", "required") else spelled_by_anthropic(each)
        for key, each in schema.items()
    }
    if "enum" in schema or "const" in schema:
        found.pop("type", None)
    if isinstance(found.get("type"), list):
        notes = {key: found.pop(key) for key in ("title", "description") if key in found}
        kinds = found.pop("type")
        keep = {"object": {"properties", "required", "additionalProperties"}, "array": {"items", "minItems"}}
        keep["string"] = {"format"}
        branches = [{"type": k, **{key: v for key, v in found.items() if key in keep.get(k, set())}} for k in kinds]
        return {**notes, "anyOf": branches}
    return found


@MANY
@given(case=cases())
def test_anthropic_sdk_finds_nothing_to_change(case: Case) -> None:
    sdk = importlib.import_module("anthropic.lib._parse._transform")
    schema = spelled_by_anthropic(lowered("anthropic-strict", case.schema))
    assert unordered(sdk.transform_schema(copy.deepcopy(schema))) == unordered(schema)


def test_anthropic_sdk_formats_are_ours() -> None:
    sdk = importlib.import_module("anthropic.lib._parse._transform")
    assert dialects.get("anthropic-strict").rules.formats == frozenset(sdk.SupportedStringFormats)


@MANY
@given(case=cases())
def test_google_types_take_parameters(case: Case) -> None:
    types = importlib.import_module("google.genai.types")
    schema = lowered("gemini-openapi", case.schema)
    read = types.Schema.model_validate(schema)
    written = read.model_dump(mode="json", exclude_none=True, by_alias=True)
    assert fields(written) == fields(schema)


def fields(schema: Any) -> Any:
    """What both sides of the Google types must agree on: their words for types are in capitals."""
    found = {key: schema[key] for key in ("required", "enum", "nullable", "maxItems", "pattern") if key in schema}
    if isinstance(schema.get("type"), str):
        found["type"] = schema["type"].upper()
    found["properties"] = {name: fields(child) for name, child in schema.get("properties", {}).items()}
    found["items"] = fields(schema["items"]) if "items" in schema else None
    found["anyOf"] = [fields(each) for each in schema.get("anyOf", [])]
    return found


@MANY
@given(case=cases())
def test_google_types_take_json_schema(case: Case) -> None:
    types = importlib.import_module("google.genai.types")
    schema = lowered("gemini-json", case.schema)
    declared = types.FunctionDeclaration(name="f", parameters_json_schema=schema)
    assert declared.parameters_json_schema == schema


def test_google_documents_the_keywords_of_gemini_json() -> None:
    types = importlib.import_module("google.genai.types")
    text = types.GenerateContentConfig.model_fields["response_json_schema"].description
    for keyword in dialects.get("gemini-json").rules.keywords | {
        "anyOf",
        "prefixItems",
        "additionalProperties",
        "enum",
    }:
        assert f"`{keyword}`" in text


@MANY
@given(case=cases())
def test_mistral_sdk_finds_nothing_to_change(case: Case) -> None:
    sdk = importlib.import_module("mistralai.extra.utils._pydantic_helper")
    schema = lowered("mistral-strict", case.schema)
    assert sdk.rec_strict_json_schema(copy.deepcopy(schema)) == schema


@MANY
@given(case=cases())
def test_botocore_takes_bedrock_tools(case: Case) -> None:
    loaders = importlib.import_module("botocore.loaders")
    model = importlib.import_module("botocore.model")
    validate = importlib.import_module("botocore.validate")
    service = model.ServiceModel(loaders.Loader().load_service_model("bedrock-runtime", "service-2"))
    schema = lowered("bedrock-strict", case.schema)
    tool = {"toolSpec": {"name": "f", "inputSchema": {"json": schema}, "strict": True}}
    errors = validate.ParamValidator().validate({"tools": [tool]}, service.shape_for("ToolConfiguration"))
    assert not errors.has_errors(), errors.generate_report()
