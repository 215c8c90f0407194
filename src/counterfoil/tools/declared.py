"""Whether what is declared of a tool can be so: names that it has, roles that agree, acts that fit its effect.

What is declared wrongly would otherwise be silently something else: a role that goes unchecked, a secret that is none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from counterfoil.tools.arguments import near
from counterfoil.tools.shape import absent
from counterfoil.tools.trust import Role, RoleName, Trust, role_name
from counterfoil.types.entry import Effect
from counterfoil.types.error import CatalogueError


def agreed(
    name: str,
    effect: Effect,
    trust: Trust | None,
    *,
    parameters: dict[str, Any],
    markers: Mapping[str, tuple[Any, ...]],
    shape: Callable[[], dict[str, Any] | None],
    kept: Collection[str] | None,
) -> Trust | None:
    """All that is declared of a tool in one place, with the roles that are marked on its parameters.

    `parameters` is the schema of its arguments, `shape` gives that of what it returns, where it is known; `kept` are
    the only fields of it that are kept. Raises `CatalogueError`.
    """
    trust = _with_markers(name, trust, markers)
    for field in kept or ():
        _require_field(name, shape(), "returns", field, (field,))
    if trust is not None:
        _check_act(name, effect, trust)
        _check_arguments(name, trust, parameters)
        if isinstance(trust.returns, dict) or trust.secret or trust.author or trust.opaque:
            _check_fields(name, trust, shape())
    return trust


def _with_markers(name: str, trust: Trust | None, markers: Mapping[str, tuple[Any, ...]]) -> Trust | None:
    roles: dict[str, RoleName | Role] = dict(trust.roles) if trust is not None else {}
    for argument, marks in markers.items():
        said: set[RoleName] = {each.role for each in marks if isinstance(each, Role)}
        if argument in roles:
            said.add(role_name(roles[argument]))
        if len(said) > 1:
            raise CatalogueError(f"{name}: {argument} is declared as {' and as '.join(sorted(said))}: it has one role")
        for role in said:
            roles[argument] = role
    return msgspec.structs.replace(trust or Trust(), roles=roles) if roles else trust


def _check_act(name: str, effect: Effect, trust: Trust) -> None:
    acts = {f"widens={{{argument!r}: {act!r}}}": act for argument, act in trust.widens.items()}
    if trust.act is not None:
        acts[f"act={trust.act!r}"] = trust.act
    for said, act in acts.items():
        if act == "read" and effect != "read":
            raise CatalogueError(
                f"{name}: {said} says that it only looks up, and effect={effect!r} that it changes something. If it "
                "changes nothing, say effect='read'; if it does, say how: self, send, pay, destroy or admin"
            )
        if act not in ("read", "fetch") and effect == "read":
            raise CatalogueError(
                f"{name}: {said} says that it changes something, and effect='read' that it does not. If it does, say "
                "effect='write', 'idempotent' or 'irreversible'; if it changes nothing, say read or fetch"
            )


def _check_arguments(name: str, trust: Trust, parameters: dict[str, Any]) -> None:
    said = {"roles": trust.roles, "keys": trust.keys or (), "widens": trust.widens, "words": trust.words}
    for what, arguments in said.items():
        for argument in arguments:
            if wrong := no_argument(parameters, argument):
                raise CatalogueError(f"{name}: {what} names {wrong}")


def _check_fields(name: str, trust: Trust, shape: dict[str, Any] | None) -> None:
    if shape == {"type": "null"} and trust.opaque:
        raise CatalogueError(f"{name}: it is opaque, and returns None: there is nothing that the model need not read")
    for field in trust.returns if isinstance(trust.returns, dict) else ():
        _require_field(name, shape, "returns", field, field.split("."))
    for field in trust.secret:
        _require_field(name, shape, "secret", field, field.split("."))
    if trust.author:
        _require_field(name, shape, "author", trust.author, (trust.author,))


def _require_field(name: str, shape: dict[str, Any] | None, what: str, field: str, path: Collection[str]) -> None:
    if shape is not None and (wrong := no_field(shape, field, path)):
        raise CatalogueError(f"{name}: {what} names {wrong}")


def no_argument(parameters: dict[str, Any], argument: str) -> str | None:
    """Why a tool cannot have an argument, as the end of a sentence; `None` if it can."""
    if (found := absent(parameters, (argument,))) is None:
        return None
    _, known = found
    return f"{argument!r}, which is no argument of it; it takes {', '.join(known) or 'none'}{near(argument, known)}"


def no_field(shape: dict[str, Any], field: str, path: Collection[str]) -> str | None:
    """Why a result cannot have a field, as the end of a sentence; `None` if it can."""
    if (found := absent(shape, tuple(path))) is None:
        return None
    step, known = found
    if not known:
        return f"{field!r}, and what it returns has no such fields: it is {_kind(shape)}; '*' is all of it"
    return f"{field!r}, which is no field of what it returns; there are {', '.join(known)}{near(step, known)}"


def _kind(shape: dict[str, Any]) -> str:
    kind = shape.get("type")
    return {"null": "None", "string": "a text", "array": "a list"}.get(str(kind), "another kind of value")
