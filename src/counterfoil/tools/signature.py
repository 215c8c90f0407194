"""From a typed Python function to a JSON Schema, and from JSON arguments back to the function's own types."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from counterfoil.tools.context import Context
from counterfoil.tools.docstring import split_docstring
from counterfoil.tools.kinds import from_json, mentions_secret, schema_of
from counterfoil.tools.markers import inner_roles, reject_mistaken
from counterfoil.tools.secret import Places, Secret
from counterfoil.types.error import CatalogueError
from counterfoil.types.json import own

_PLAIN: frozenset[Any] = frozenset({str, bool, type(None), Any, dict, list})


class Signature:
    """What a function takes: `schema` for the model, `convert` for the arguments, `description` from the docstring."""

    __slots__ = (
        "_struct",
        "context",
        "description",
        "extras",
        "may_fail",
        "numbers",
        "result",
        "returned",
        "schema",
        "shared",
        "simple",
    )

    def __init__(self, function: Callable[..., Any]) -> None:
        label, written = getattr(function, "__name__", "the tool"), _written(function)
        self.description, described = split_docstring(written.__doc__)
        self.context: str | None = None
        self.extras: dict[str, tuple[Any, ...]] = {}
        """Per parameter, the annotations that are not JSON Schema's: markers of other parts of counterfoil."""
        fields: list[Any] = []
        hints = _hints(written, label)
        for name, parameter in inspect.signature(function).parameters.items():
            _reject_kind(parameter, label)
            if name not in hints:
                raise CatalogueError(
                    f"{label}: give parameter {name!r} a type, like `{name}: str`, "
                    "so that the model knows what to write"
                )
            if hints[name] is Context:
                self.context = name
                continue
            hint, markers = _annotated(hints[name], described.get(name))
            self.extras[name] = (*markers, *inner_roles(hint, f"{label}: {name}"))
            reject_mistaken(hints[name], f"{label}: {name}")
            fields.append((name, hint, *_default(parameter)))
        self.result = _secret_result(hints.get("return"), label)
        """The schema of what it returns, if there are secrets in that."""
        self.returned: Any = hints.get("return")
        """The type of what it returns; `None` where nobody says."""
        self.numbers = {name: kind for name, hint, *_ in fields if (kind := _number(hint)) is not None}
        """The parameters that are a number: JSON may write 3.0 for an integer, and 3 for a float."""
        self.simple = all(name in self.numbers or _is_plain(hint) for name, hint, *_ in fields)
        """Whether arguments that fit the schema are what Python wants, but for the spelling of numbers."""
        self.shared = any(not _is_scalar(hint) for _, hint, *_ in fields)
        """Whether an argument is a list or a dict, which a function may change."""
        self.may_fail = not self.simple or float in self.numbers.values()
        """Whether `convert` may find fault with arguments that fit the schema."""
        try:
            self._struct = msgspec.defstruct(label, fields, kw_only=True, forbid_unknown_fields=True)
            self.schema = schema_of(self._struct)
        except (TypeError, msgspec.ValidationError, ValueError) as error:
            raise CatalogueError(
                f"{label}: a parameter's type has no JSON form ({error}). Use str, int, float, bool, list, "
                "dict, Literal, an Enum, a dataclass, a TypedDict, a msgspec Struct or a pydantic model"
            ) from error

    def convert(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Turn valid JSON arguments into the function's own types, keeping its own defaults for what is absent.

        Raises `msgspec.ValidationError` for what the schema could not tell (a date that is none).
        """
        if self.shared:
            arguments = own(arguments)
        if self.simple:
            for name, kind in self.numbers.items():
                if name in arguments and type(arguments[name]) is not kind:
                    try:
                        arguments = {**arguments, name: kind(arguments[name])}
                    except OverflowError as error:
                        raise msgspec.ValidationError(f"$.{name}: the number is too large") from error
            return arguments
        values = from_json(arguments, self._struct)
        return {name: getattr(values, name) for name in arguments}


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where the type hints and the docstring are written: a partial or an object to call has them elsewhere."""
    if isinstance(function, functools.partial):
        return _written(function.func)
    given: Any = function
    return function if inspect.isroutine(function) else given.__call__


def _hints(function: Callable[..., Any], label: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise CatalogueError(
            f"{label}: cannot resolve a type hint ({error}). Define the type at module level, before the tool"
        ) from error


def _secret_result(hint: Any, label: str) -> dict[str, Any] | None:
    if hint is None or _is_plain(hint):
        return {**Secret.extra_json_schema} if mentions_secret(hint) and Secret.extra_json_schema else None
    try:
        schema = schema_of(hint)
    except Exception as error:  # a return type may be anything at all, and need have no schema
        if mentions_secret(hint):
            raise CatalogueError(f"{label}: a Secret in a return type that has no JSON form ({error})") from error
        return None
    return schema if Places(schema).any else None


def _reject_kind(parameter: inspect.Parameter, label: str) -> None:
    if hasattr(parameter.default, "metadata") and hasattr(parameter.default, "default_factory"):  # pydantic.Field(...)
        raise CatalogueError(
            f"{label}: parameter {parameter.name!r} has a field as its default: write "
            f"`{parameter.name}: Annotated[type, Field(...)] = value`, so that calling the function gives it the value"
        )
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise CatalogueError(
            f"{label}: a model passes arguments by name, so write {str(parameter).split(':')[0]!r} as named parameters"
        )


def _default(parameter: inspect.Parameter) -> tuple[Any, ...]:
    default: Any = parameter.default
    if default is parameter.empty:
        return ()
    if type(default) in (list, dict, set):
        return (msgspec.field(default_factory=default.copy),)
    return (default,)


def _annotated(hint: Any, described: str | None) -> tuple[Any, tuple[Any, ...]]:
    """Gather `Annotated` metadata of any library into msgspec's `Meta`; return what is left beside it."""
    base, metadata = (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())
    constraints: dict[str, Any] = {}
    metas: list[Any] = []
    rest: list[Any] = []
    queue = list(metadata)
    while queue:
        each = queue.pop(0)
        if isinstance(each, str):
            described = each
        elif isinstance(each, msgspec.Meta):
            metas.append(each)
        elif hasattr(each, "documentation"):  # typing_extensions.Doc
            described = each.documentation
        elif hasattr(each, "metadata") and hasattr(each, "description"):  # pydantic.Field(...)
            described = each.description or described
            queue[:0] = each.metadata
        elif found := _constraint(each):
            constraints.update(found)
        else:
            rest.append(each)
    if constraints:
        metas.append(msgspec.Meta(**constraints))
    for meta in metas:
        base = _constrained(base, meta)
    return Annotated[base, msgspec.Meta(description=described)] if described else base, tuple(rest)


def _constrained(base: Any, meta: msgspec.Meta) -> Any:
    """Put a constraint on a type; of an optional one, on what it is when it is there."""
    members = get_args(base) if get_origin(base) in (Union, UnionType) else ()
    if type(None) not in members:
        return Annotated[base, meta]
    return Union[tuple(each if each is type(None) else Annotated[each, meta] for each in members)]  # noqa: UP007 built at run time


# annotated_types' constraint classes, by attribute: read without importing a library that may be absent.
_CONSTRAINTS = {
    "gt": "gt",
    "ge": "ge",
    "lt": "lt",
    "le": "le",
    "multiple_of": "multiple_of",
    "min_length": "min_length",
    "max_length": "max_length",
    "pattern": "pattern",
}


def _constraint(each: Any) -> dict[str, Any]:
    if isinstance(each, type):
        return {}
    return {ours: value for theirs, ours in _CONSTRAINTS.items() if (value := getattr(each, theirs, None)) is not None}


def _number(hint: Any) -> type[int] | type[float] | None:
    base = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return base if base in (int, float) else None


def _is_scalar(hint: Any) -> bool:
    base = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return base in (str, bool, int, float, str | None, bool | None, int | None, float | None)


def _is_plain(hint: Any) -> bool:
    """Whether a JSON value that fits the schema is already what Python wants (a number may not be: 3 for 3.0)."""
    if hint in _PLAIN:
        return True
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_plain(get_args(hint)[0])
    if origin in (list, dict, Union, UnionType):
        return all(_is_plain(each) for each in get_args(hint))
    return False
