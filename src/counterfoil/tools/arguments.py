"""Validate a call's arguments and say what is wrong so that a model can put it right."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import jsonschema_rs
import msgspec

from counterfoil.types.error import CatalogueError
from counterfoil.types.json import is_array, is_object

MAX_PROBLEMS = 10
HIDDEN = "(hidden)"
_SHOWN = 60

SECRET_NAME = re.compile(r"passw|secret|token|api_?key|credential|authorization|private_?key|\bpin\b|cvv", re.I)
_SECRET_VALUE = re.compile(r"(sk|pk|ghp|xox[bp]|AKIA|eyJ)[-_A-Za-z0-9]{12,}|-----BEGIN")
_KINDS: dict[Any, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
}


def refuse_retrieval(uri: str) -> Any:
    """Stand in for the network: a schema's `$ref` may point only into the schema itself."""
    raise ValueError(f"{uri} is elsewhere, and counterfoil never fetches a schema: copy it into $defs")


def compile_schema(schema: dict[str, Any], what: str) -> jsonschema_rs.Validator:
    """Compile a JSON Schema 2020-12 once. Patterns run on a linear-time engine where they can, else with a bound.

    Raises `CatalogueError` naming `what` when the schema is not one, or refers to the network.
    """
    options: list[Any] = [jsonschema_rs.RegexOptions(), jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)]
    for last, patterns in enumerate(options):
        try:
            return jsonschema_rs.Draft202012Validator(
                schema, retriever=refuse_retrieval, pattern_options=patterns, validate_formats=True
            )
        except ValueError as error:
            if last:
                raise CatalogueError(f"{what}: not a usable JSON Schema: {str(error).splitlines()[0]}") from error
    raise AssertionError("unreachable")


def problems(validator: jsonschema_rs.Validator, arguments: Any, schema: dict[str, Any]) -> list[str]:
    """Say everything that is wrong: path, what was expected, what was found, what is allowed.

    Empty when the arguments fit. Values that look secret are masked.
    """
    found = [line for error in validator.iter_errors(arguments) for line in _lines(error, schema)]
    found = list(dict.fromkeys(found))
    if len(found) > MAX_PROBLEMS:
        return [*found[:MAX_PROBLEMS], f"... and {len(found) - MAX_PROBLEMS} more"]
    return found


def veiled_problems(
    validator: jsonschema_rs.Validator,
    arguments: Any,
    veiled: Any,
    schema: dict[str, Any],
    secrets: Collection[tuple[Any, ...]],
) -> list[str]:
    """Say what is wrong without a word of what is at these paths: of that only what was expected.

    Everything else is said of `veiled`, the same arguments with nothing in those places, so that it cannot tell.
    """

    def place(error: jsonschema_rs.ValidationError) -> tuple[Any, ...] | None:
        path = tuple(error.instance_path)
        return next((each for each in secrets if path[: len(each)] == each), None)

    wrong = {(tuple(each.instance_path), each.kind.name) for each in validator.iter_errors(arguments)}
    found = [
        line
        for error in validator.iter_errors(veiled)
        if place(error) is None and (tuple(error.instance_path), error.kind.name) in wrong
        for line in _lines(error, schema)
    ]
    for error in validator.iter_errors(arguments):
        if (path := place(error)) is not None:
            found.append(f"{json_path(list(path))}: {_expected(error)} (what it is, is not shown)")
    found = list(dict.fromkeys(found)) or ["$: a secret argument does not fit (it is not shown)"]
    return [
        *found[:MAX_PROBLEMS],
        *([f"... and {len(found) - MAX_PROBLEMS} more"] if len(found) > MAX_PROBLEMS else []),
    ]


def _expected(error: jsonschema_rs.ValidationError) -> str:
    """What the schema wants of a value that must not be shown: nothing of it depends on the value."""
    data: dict[str, Any] = error.kind.as_dict()
    match error.kind.name:
        case "type":
            return f"expected {' or '.join(data['types'])}"
        case "enum":
            return f"expected one of {', '.join(show(option) for option in data['options'][:20])}"
        case "pattern" if "pattern" in data:
            return f"must match the pattern {data['pattern']}"
        case "format":
            return f"must be a {data['format']}"
        case name if name.startswith(("min", "max", "exclusive", "multiple")):
            return _bound(name, data)
        case _:
            return "does not fit the schema"


def show(value: Any, path: list[Any] | None = None) -> str:
    """A value as it may be shown to a model or a person: short, and masked when it looks secret."""
    if path and any(isinstance(step, str) and SECRET_NAME.search(step) for step in path):
        return "(hidden)"
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        text = type(value).__name__
    text = _SECRET_VALUE.sub("(hidden)", text)
    text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    # A terminal or a page must not act on what a model wrote: control and bidi characters are shown as escapes.
    return text if text.isprintable() else "".join([c if c.isprintable() else f"\\u{ord(c):04x}" for c in text])


def json_path(path: list[Any]) -> str:
    """A list of steps as a JSONPath (RFC 9535): `$.to.lines[0].sku`."""
    steps = [
        f"[{step}]" if isinstance(step, int) else f".{step}" if re.fullmatch(r"\w+", step) else f"[{step!r}]"
        for step in path
    ]
    return "$" + "".join(steps)


def _lines(error: jsonschema_rs.ValidationError, schema: dict[str, Any]) -> Iterator[str]:
    path: list[Any] = list(error.instance_path)
    where, kind, value = json_path(path), error.kind, error.instance
    found = f"found {show(value, path)}"
    data: dict[str, Any] = kind.as_dict()
    match kind.name:
        case "required":
            yield f"{where}: missing required property {data['property']!r}"
        case "additionalProperties" | "unevaluatedProperties":
            known = sorted(_known(schema, list(error.schema_path)[:-1]))
            unexpected: list[str] = data["unexpected"]
            for name in unexpected:
                allowed = ", ".join(known) or "none"
                yield f"{where}: there is no property {name!r}; allowed: {allowed}{near(name, known)}"
        case "type":
            found_kind = _KINDS.get(type(value), "null")
            yield f"{where}: expected {' or '.join(data['types'])}, found {found_kind} {show(value, path)}"
        case "enum":
            options = ", ".join(show(option) for option in data["options"][:20])
            yield f"{where}: expected one of {options}, {found}{near(value, data['options'])}"
        case "const":
            yield f"{where}: expected {show(data['expected_value'])}, {found}"
        case "anyOf" | "oneOf":
            yield from _alternatives(where, data, found)
        case "falseSchema":
            yield f"{where}: nothing is allowed here, {found}"
        case "pattern" if "pattern" not in data:
            yield f"{where}: the value took too long to check against its pattern, {found}"
        case "pattern":
            yield f"{where}: must match the pattern {data['pattern']}, {found}"
        case "format":
            yield f"{where}: must be a {data['format']}, {found}"
        case _:
            yield f"{where}: {_bound(kind.name, data)}, {found}"


def _bound(name: str, data: dict[str, Any]) -> str:
    limit = data.get("limit", data.get("value"))
    words = {
        "minimum": f"must be at least {limit}",
        "maximum": f"must be at most {limit}",
        "exclusiveMinimum": f"must be more than {limit}",
        "exclusiveMaximum": f"must be less than {limit}",
        "multipleOf": f"must be a multiple of {data.get('multiple_of', limit)}",
        "minLength": f"must have at least {limit} characters",
        "maxLength": f"must have at most {limit} characters",
        "minItems": f"must have at least {limit} items",
        "maxItems": f"must have at most {limit} items",
        "uniqueItems": "must not have the same item twice",
        "minProperties": f"must have at least {limit} properties",
        "maxProperties": f"must have at most {limit} properties",
    }
    return words.get(name, f"does not satisfy {name}")


def _alternatives(where: str, data: dict[str, Any], found: str) -> Iterator[str]:
    branches: list[str] = []
    context: list[list[jsonschema_rs.ValidationError]] = data.get("context") or []
    if sum(not errors for errors in context) > 1:
        yield f"{where}: fits more than one of the alternatives, but must fit exactly one, {found}"
        return
    for errors in context:
        reasons = [line for each in errors for line in _lines(each, {})]
        if reasons:
            branches.append("; ".join(reasons[:3]))
    yield f"{where}: fits none of the alternatives, {found}" + "".join(
        f"\n    ({number}) {reason}" for number, reason in enumerate(branches[:5], 1)
    )


def near(value: Any, options: Iterable[Any]) -> str:
    """The end of a sentence that says which of the options was probably meant; empty when none is near."""
    if not isinstance(value, str):
        return ""
    by_case = {option.lower(): option for option in options if isinstance(option, str)}
    found = difflib.get_close_matches(value.lower(), list(by_case), 1)
    return f"; did you mean {by_case[found[0]]!r}?" if found else ""


def _known(schema: Any, path: list[Any]) -> list[str]:
    """The property names of the object schema at `path`, following local references."""
    root = schema
    for step in path:
        if is_object(schema) and step == "$ref":
            schema = resolve(root, schema["$ref"])
        elif is_object(schema):
            schema = schema.get(step, {})
        elif is_array(schema) and isinstance(step, int) and step < len(schema):
            schema = schema[step]
        else:
            return []
    return list(schema.get("properties", {})) if is_object(schema) else []


def resolve(root: Any, reference: str) -> Any:
    """Follow a local `#/...` reference; `{}` when it leads nowhere."""
    value = root
    nothing: dict[str, Any] = {}
    for step in reference.removeprefix("#").split("/")[1:]:
        value = value.get(step.replace("~1", "/").replace("~0", "~"), nothing) if is_object(value) else nothing
    return value
