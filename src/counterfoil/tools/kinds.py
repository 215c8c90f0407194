"""The JSON Schema of a Python type, and a JSON value as that type: msgspec's, with pydantic models taken in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import msgspec

from counterfoil.tools.secret import Secret
from counterfoil.types.json import is_array, is_object


def schema_of(kind: Any, *, written: bool = False) -> dict[str, Any]:
    """The JSON Schema 2020-12 of a type, self-contained: of what is read as it, or of what is `written` of it.

    Raises `TypeError` when it has none.
    """
    hook = _describe_written if written else _describe
    (root,), components = msgspec.json.schema_components([kind], schema_hook=hook, ref_template=_REF + "{name}")
    definitions = dict(components)
    if "$ref" in root:
        root = definitions.pop(root["$ref"].removeprefix(_REF))
    schema = {key: value for key, value in root.items() if key != "title"}
    if schema.get("type") == "object" and "properties" in schema:
        schema.setdefault("required", [])
    for each in [schema, *components.values()]:
        _hoist(each, definitions)
    if definitions:
        schema["$defs"] = definitions
    return schema


def from_json(value: Any, kind: Any) -> Any:
    """Turn a JSON value that fits `schema_of(kind)` into that type. Raises `msgspec.ValidationError`."""
    try:
        return msgspec.convert(value, kind, dec_hook=_decode)
    except msgspec.ValidationError:
        # JSON Schema counts 3.0 as an integer; Python does not.
        return msgspec.convert(_whole(value), kind, dec_hook=_decode)


_REF = "#/$defs/"


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_object(value):
        return {name: _whole(each) for name, each in value.items()}
    return [_whole(each) for each in value] if is_array(value) else value


def _is_pydantic(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "model_json_schema") and hasattr(kind, "model_validate")


def _describe(kind: Any) -> dict[str, Any]:
    if _is_pydantic(kind):
        schema: dict[str, Any] = kind.model_json_schema()
        for model in _models(kind):
            _mark_secrets(model, schema)
        return schema
    raise TypeError(f"{getattr(kind, '__name__', kind)} is not supported")


def _describe_written(kind: Any) -> dict[str, Any]:
    """How `to_json` writes a model: with what is computed, and by the names of its fields."""
    if _is_pydantic(kind):
        by_alias: bool = kind.model_config.get("serialize_by_alias") is True
        schema: dict[str, Any] = kind.model_json_schema(by_alias=by_alias, mode="serialization")
        return schema
    raise TypeError(f"{getattr(kind, '__name__', kind)} is not supported")


def mentions_secret(kind: Any, *, models: bool = True) -> bool:
    """Whether a type has the mark somewhere: in itself, in its fields, in pydantic `models` if they are looked into."""
    queue, seen = [kind], list[Any]()
    while queue:
        each = queue.pop()
        if each is Secret:
            return True
        if any(each is other for other in seen):
            continue
        seen.append(each)
        queue += [*get_args(each), *getattr(each, "__metadata__", ())]
        if _is_pydantic(each):
            for field in each.model_fields.values() if models else ():
                queue += [field.annotation, *field.metadata]
        elif isinstance(each, type) and hasattr(each, "__annotations__"):
            try:
                queue += get_type_hints(each, include_extras=True).values()
            except (NameError, TypeError):  # what cannot be read may be a mark
                if "Secret" in repr(each.__annotations__):
                    return True
    return False


def _models(kind: Any, seen: tuple[Any, ...] = ()) -> Iterator[Any]:
    """A pydantic model and those in it."""
    if _is_pydantic(kind) and kind not in seen:
        yield kind
        for field in kind.model_fields.values():
            yield from _models(field.annotation, (*seen, kind))
    for each in get_args(kind):
        yield from _models(each, seen)


def _mark_secrets(model: Any, schema: dict[str, Any]) -> None:
    """Mark a model's secret fields in the schema that pydantic wrote: it knows nothing of the mark.

    Raises `TypeError` where the field is not found, rather than to leave it unmarked.
    """
    for name, field in model.model_fields.items():
        if Secret not in field.metadata and not mentions_secret(field.annotation, models=False):
            continue
        written = field.validation_alias or field.alias or name
        parts = [schema, *schema.get("$defs", {}).values()]
        places = [
            part["properties"]
            for part in parts
            if part.get("title") == (model.model_config.get("title") or model.__name__)
        ]
        if not any(written in each for each in places):
            raise TypeError(f"the secret field {model.__name__}.{name} is not found in its schema")
        for each in places:
            if written in each:
                each[written] |= Secret.extra_json_schema


def _decode(kind: Any, value: Any) -> Any:
    if _is_pydantic(kind):
        try:
            return kind.model_validate(value)
        except ValueError as error:
            raise msgspec.ValidationError(str(error)) from error
    raise TypeError(f"{kind} is not supported")


def _hoist(schema: Any, definitions: dict[str, Any]) -> None:
    """Move `$defs` of nested schemas to the root, where their `$ref`s point."""
    if is_object(schema):
        nested: dict[str, Any] = schema.pop("$defs", None) or {}
        for name, each in nested.items():
            if definitions.setdefault(name, each) != each:
                raise ValueError(f"two different types are both named {name!r}")
            _hoist(each, definitions)
        for each in schema.values():
            _hoist(each, definitions)
    elif is_array(schema):
        for each in schema:
            _hoist(each, definitions)
