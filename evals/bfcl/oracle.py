"""The model that is always right: the first acceptable values of the ground truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from evals.bfcl.data import Bench, Calls, Case
from evals.bfcl.declared import Declared
from evals.bfcl.source import source

PROSE = "None of these functions does that."


def answer(bench: Bench, case: Case, declared: Declared) -> Calls:
    """The calls that are right, by BFCL's own names. None where none is to be made.

    Of several acceptable values the first that the parameter's own schema takes, else the first. Where any call will
    do (`live_relevance` has no ground truth), the first function with the emptiest arguments that it takes.
    """
    if case.category.wanted == "no call":
        return []
    if case.category.wanted == "a call":
        first = next(iter(declared.catalogue))
        return [(first.name, _least(first.spec.parameters))]
    functions = {each["name"]: each["parameters"] for each in case.functions}
    return [
        (name, _arguments(bench, case, functions.get(name, {}), declared.catalogue[name].spec.parameters, options))
        for call in case.truth
        for name, options in call.items()
    ]


def _arguments(
    bench: Bench, case: Case, given: dict[str, Any], schema: dict[str, Any], options: dict[str, list[Any]]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, values in options.items():
        if "" in values and name not in given.get("required", ()):
            continue
        declared = given.get("properties", {}).get(name, {})
        if case.category.language != "python":
            found[name] = source(bench.source_reader(case.category.language), case.category.language, declared, values)
        else:
            found[name] = _first(values, schema.get("properties", {}).get(name, {}))
    return found


def _first(values: list[Any], schema: dict[str, Any]) -> Any:
    written = [plain(value) for value in values if value != ""]
    fitting = (value for value in written if jsonschema_rs.is_valid(schema, value))
    return next(fitting, written[0] if written else "")


def plain(value: Any) -> Any:
    """A value of the ground truth as it would be written: inside objects each key has a list of acceptable values."""
    if isinstance(value, dict):
        return {key: plain(held) for key, held in _entries(value)}
    return [plain(each) for each in value] if isinstance(value, list) else value


def _entries(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, options in value.items():
        if not isinstance(options, list):
            yield key, options
        elif options and "" not in options:
            yield key, options[0]


def _least(schema: dict[str, Any]) -> Any:
    """The emptiest value that a schema takes."""
    if options := schema.get("enum"):
        return options[0]
    match schema.get("type"):
        case "object":
            properties: dict[str, Any] = schema.get("properties", {})
            return {name: _least(properties[name]) for name in schema.get("required", ())}
        case "array":
            return []
        case "integer" | "number":
            return 0
        case "boolean":
            return False
        case _:
            return ""
