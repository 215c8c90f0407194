"""The four laws of lowering, for every dialect, over generated schemas."""

from __future__ import annotations

from typing import Any

import pytest
from dialect_cases import Case, cases, spoiled
from dialect_checkers import violations
from dialect_embedding import Embedding, Unsayable
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from counterfoil import dialects
from counterfoil.dialects import Plan
from counterfoil.types.json import canonical
from counterfoil.types.request import ToolSpec

Schema = dict[str, Any]

MANY = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
every_dialect = pytest.mark.parametrize("name", dialects.names())


def lowered(name: str, schema: Schema) -> tuple[Schema, Plan]:
    result = dialects.get(name).lower([ToolSpec("f", parameters=schema)])
    # A depth limit may leave the tool out of strict mode: that has its own tests.
    assume(result.tools[0].strict is not False)
    return result.tools[0].parameters, result.plans["f"]


def ajar(schema: Schema) -> Schema:
    """A part of an intersection: it may not be closed itself, what is in it may."""
    closed: Schema = shut(schema, root=False)
    for key in {"additionalProperties", "unevaluatedProperties"} - schema.keys():
        closed.pop(key, None)
    return closed


def shut(schema: Any, *, root: bool = True) -> Any:
    """The original without the keys that nobody declared: what lowering says that it loses."""
    if isinstance(schema, list):
        return [shut(each, root=False) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if root and not schema:
        return {"additionalProperties": False}
    found: Schema = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            found[key] = {name: shut(each, root=False) for name, each in value.items()}
        elif key in ("enum", "const", "default", "examples", "required"):
            found[key] = value
        else:
            found[key] = shut(value, root=False)
    mixed = "properties" in schema and "anyOf" in schema
    if mixed or ("allOf" in schema and len(schema["allOf"]) > 1):
        found |= {key: [ajar(each) for each in schema[key]] for key in ("allOf", "anyOf") if key in schema}
        found["unevaluatedProperties"] = False
    elif found.get("type") == "object" and ("properties" in found or root) and "additionalProperties" not in found:
        found["additionalProperties"] = False
    return found


@every_dialect
@MANY
@given(case=cases())
def test_lowered_schema_is_accepted(name: str, case: Case) -> None:
    schema, _ = lowered(name, case.schema)
    assert violations(name, schema) == []
    Draft202012Validator(schema)


@every_dialect
@MANY
@given(case=cases())
def test_valid_instances_go_there_and_come_back(name: str, case: Case) -> None:
    schema, plan = lowered(name, case.schema)
    embedding = Embedding(schema, plan)
    within = Draft202012Validator(shut(case.schema))
    for instance in case.instances:
        if not case.valid(instance) or not within.is_valid(instance):
            continue
        value, back = embedding.embed(instance)
        assert embedding.accepts(value)
        found = plan.read(value)
        assert found.problem is None
        assert canonical(found.arguments) == canonical(back)
        assert canonical(back) == canonical(instance) or found.doubts


@every_dialect
@MANY
@given(case=cases(), data=st.data())
def test_what_the_original_refuses_stays_refused(name: str, case: Case, data: st.DataObject) -> None:
    schema, plan = lowered(name, case.schema)
    embedding = Embedding(schema, plan)
    for wrong in [*case.instances, *(data.draw(spoiled(each)) for each in case.instances)]:
        if not isinstance(wrong, dict) or case.valid(wrong):
            continue
        try:
            value, back = embedding.embed(wrong)
        except Unsayable:
            continue
        if embedding.accepts(value) and canonical(back) == canonical(wrong):
            found = plan.read(value)
            assert canonical(found.arguments) == canonical(wrong)
            assert not case.valid(found.arguments)


@every_dialect
@MANY
@given(case=cases())
def test_what_is_accepted_is_left_alone(name: str, case: Case) -> None:
    schema, _ = lowered(name, case.schema)
    again, plan = lowered(name, schema)
    assert again == schema
    assert plan.steps == ()
    if not violations(name, case.schema):
        assert lowered(name, case.schema)[0] == case.schema


@every_dialect
@MANY
@given(case=cases())
def test_reversal_never_raises_and_never_writes_to_its_input(name: str, case: Case) -> None:
    _, plan = lowered(name, case.schema)
    for instance in case.instances:
        before = canonical(instance)
        plan.read(instance)
        assert canonical(instance) == before
