"""The markers in a function's type hints that are not JSON Schema's: roles of parameters, and what is no marker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from counterfoil.tools.kinds import schema_of
from counterfoil.tools.trust import ROLES, Role, Trust
from counterfoil.types.error import CatalogueError
from counterfoil.types.label import Label
from counterfoil.types.message import Media, Text

_TEXT: dict[str, Any] = {"type": "string"}


def inner_roles(hint: Any, where: str) -> tuple[Role, ...]:
    """The roles inside a parameter's type: `Annotated[str, Target] | None` and `list[Annotated[str, Target]]` mean it.

    Raises `CatalogueError` for a role on a field of a class: an argument has one role.
    """
    found: list[Role] = []
    queue, seen = [(hint, "")], list[Any]()
    while queue:
        each, owner = queue.pop()
        if any(each is other for other in seen):
            continue
        seen.append(each)
        roles = [mark for mark in getattr(each, "__metadata__", ()) if isinstance(mark, Role)]
        if roles and owner:
            raise CatalogueError(
                f"{where}: a role is of a whole argument, and here a field has one, {owner}. "
                "Mark the parameter, with the strictest that it needs"
            )
        found += roles
        queue += [(part, owner) for part in get_args(each)]
        queue += [(field, f"{each.__name__}.{name}") for name, field in _fields(each).items()]
    return tuple(found)


def _fields(hint: Any) -> dict[str, Any]:
    if not isinstance(hint, type) or not hasattr(hint, "__annotations__"):
        return {}
    try:
        return get_type_hints(hint, include_extras=True)
    except (NameError, TypeError):  # what cannot be read has no schema either
        return {}


def reject_mistaken(hint: Any, where: str) -> None:
    """Raise `CatalogueError` for what stands where a marker should, and is none."""
    for each in _parts(hint):
        if get_origin(each) is not Annotated:
            continue
        for mark in get_args(each)[1:]:
            if mark is Role:
                raise CatalogueError(f"{where}: Role is the class of the markers: write one of {_MARKERS}")
            if isinstance(mark, str) and mark.lower() in ROLES:
                raise CatalogueError(
                    f"{where}: Annotated[..., {mark!r}] describes it by that word. Its role is {mark.title()}, without "
                    "quotes; a description says more than one word"
                )
            if isinstance(mark, Trust | Label):
                name = type(mark).__name__
                raise CatalogueError(
                    f"{where}: a {name} says nothing of a parameter: write one of {_MARKERS}, and "
                    "@tool(trust=Trust(...)) for the tool"
                )


_MARKERS = ", ".join(f"Annotated[..., {each.title()}]" for each in ROLES)


def shape_of(hint: Any) -> dict[str, Any] | None:
    """The JSON Schema of what a function returns; `None` where its annotation does not say, or there is none."""
    if hint is None:
        return None
    if hint in (Text, Media):
        return _TEXT  # a block is content: it has no fields
    if any(each in (Text, Media) for each in _parts(hint)):
        return None
    try:
        return schema_of(hint, written=True)
    except Exception:  # noqa: BLE001 a return type may be anything at all, and need have no schema
        return None


def _parts(hint: Any) -> Iterator[Any]:
    """A type hint and those that it is put together of."""
    yield hint
    for each in get_args(hint):
        yield from _parts(each)
