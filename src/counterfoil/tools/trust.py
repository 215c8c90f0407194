"""What a developer may declare of a tool for the provenance check. All of it is optional; the rest is guessed."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from typing import Any, Literal, cast, get_args

import msgspec

from counterfoil.tools.arguments import near
from counterfoil.types.error import CatalogueError
from counterfoil.types.json import is_object
from counterfoil.types.label import Integrity

Act = Literal["read", "fetch", "self", "send", "pay", "destroy", "admin"]
"""What a call does to the world, as the provenance check sees it.

`read` looks up, and nothing leaves; `fetch` reads, but its arguments leave (a URL); `self` is a write that can be taken
back and that only the requester sees; `send` reaches others; `pay` moves money or books; `destroy` deletes or cancels;
`admin` changes credentials, membership or sharing.
"""

RoleName = Literal["target", "critical", "resource", "content", "plain"]
"""What an argument is for: who or what is acted on; what changes the stakes; data that will go along; free text that is
delivered; none of these."""

ACTS: tuple[Act, ...] = get_args(Act)
ROLES: tuple[RoleName, ...] = get_args(RoleName)
INTEGRITIES: tuple[Integrity, ...] = get_args(Integrity)
_SHOWN = 60


def _shown(given: Any) -> str:
    """What was given instead, cut short."""
    text = repr(given)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _one_of(given: Any, allowed: tuple[str, ...], what: str) -> None:
    if not isinstance(given, str) or given not in allowed:
        raise CatalogueError(f"{what} must be one of {', '.join(allowed)}, not {_shown(given)}{near(given, allowed)}")


class Role(msgspec.Struct, frozen=True):
    """Marks a parameter: `to: Annotated[str, Target]`. Raises `CatalogueError`."""

    role: RoleName

    def __post_init__(self) -> None:
        _one_of(self.role, ROLES, "a role")


Target = Role("target")
Critical = Role("critical")
Resource = Role("resource")
Content = Role("content")
Plain = Role("plain")


class Trust(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How the provenance check is to treat a tool. `None` and what is absent is guessed from names and types.

    `returns` is the integrity of a whole result, or of its fields by path (`{"id": System, "body": Untrusted}`), and
    what is in neither is `untrusted`. `secret` names fields whose values never leave without a person; `private`
    results are for the requester alone. `keys` are the arguments of a look-up that single out a record. `author` is
    the field in which the service attests who wrote a record: what the requester wrote is theirs. `widens` are
    arguments whose presence makes the act another one (`{"participants": "send"}`). `words` are what a person says for
    a value of an argument (`{"permission": {"r": ["read"]}}`). What an `opaque` tool returns, and its errors, are not
    shown to the model: it reads a name (`$v3`) that it can hand on as a whole argument.
    One name may stand alone: `keys="order_id"`. Raises `CatalogueError`, as does the tool if it contradicts this.
    """

    act: Act | None = None
    roles: dict[str, RoleName | Role] = {}
    returns: Integrity | dict[str, Integrity] | None = None
    secret: tuple[str, ...] = ()
    private: bool = False
    keys: tuple[str, ...] | None = None
    author: str = ""
    widens: dict[str, Act] = {}
    words: dict[str, dict[str, tuple[str, ...]]] = {}
    opaque: bool = False
    foreign: bool = False
    """Whether the tool is somebody else's, so that what it claims may only make the check stricter."""

    def __post_init__(self) -> None:
        put = functools.partial(msgspec.structs.force_setattr, self)
        if self.act is not None:
            _one_of(self.act, ACTS, "act")
        roles = _mapping(self.roles, "roles", "target")
        put("roles", {argument: _role(role, argument) for argument, role in roles.items()})
        if isinstance(self.returns, dict):
            for field, integrity in _mapping(self.returns, "returns", "system").items():
                _one_of(integrity, INTEGRITIES, f"the integrity of {field}")
        elif self.returns is not None:
            _one_of(self.returns, INTEGRITIES, "the integrity of the result")
        put("secret", _names(self.secret, "secret"))
        if self.keys is not None:
            put("keys", _names(self.keys, "keys"))
        for argument, act in _mapping(self.widens, "widens", "send").items():
            _one_of(act, ACTS, f"the act that {argument} widens to")
        words = _mapping(self.words, "words", {"r": ["read"]})
        put("words", {argument: _spoken(said, argument) for argument, said in words.items()})
        for name in ("private", "opaque", "foreign"):
            if not isinstance(given := getattr(self, name), bool):
                raise CatalogueError(f"{name} must be True or False, not {_shown(given)}")
        author: Any = self.author
        if not isinstance(author, str):
            raise CatalogueError(f"author must be the name of one field, not {_shown(author)}")

    @classmethod
    def from_dict(cls, declared: Mapping[str, Any]) -> Trust:
        """Read the plain form, as it stands in a JSON or TOML file. Raises `CatalogueError` saying what is wrong."""
        given: Any = declared
        if not isinstance(given, Mapping):
            raise CatalogueError(f"trust must be an object like {{'act': 'read'}}, not {_shown(given)}")
        known = cls.__struct_fields__
        if unknown := [each for each in declared if each not in known]:
            raise CatalogueError(
                f"trust has no {', '.join(map(str, unknown))}: it takes {', '.join(known)}{near(unknown[0], known)}"
            )
        return cls(**declared)


def is_opaque(trust: Trust | None) -> bool:
    """Whether the results of a tool that is declared like that are not shown to the model."""
    return trust is not None and trust.opaque


def labelling(
    name: str, returns: Collection[str] | dict[str, Integrity] | None, trust: Trust | None
) -> tuple[tuple[str, ...] | None, Trust | None]:
    """Tell apart the two forms of a tool's `returns`: the fields to keep, and what the labels of its fields are."""
    given: Any = trust
    if given is not None and not isinstance(given, Trust):
        plain = ": write trust=Trust(...), or Trust.from_dict({...})" if isinstance(given, Mapping) else ""
        raise CatalogueError(f"{name}: trust must be a Trust, not {_shown(given)}{plain}")
    if isinstance(returns, str):
        raise CatalogueError(f"{name}: returns={returns!r} is no list of fields: for a label, trust=Trust(returns=...)")
    if not is_object(returns):
        return None if returns is None else tuple(returns), trust
    if trust is not None and trust.returns is not None:
        raise CatalogueError(f"{name}: its results are labelled twice: in returns, and in trust")
    return None, msgspec.structs.replace(trust or Trust(), returns=returns)


def role_name(role: RoleName | Role) -> RoleName:
    """The name of a role, however it was written."""
    return role.role if isinstance(role, Role) else role


def _role(given: Any, argument: str) -> RoleName:
    role = role_name(given)
    _one_of(role, ROLES, f"the role of {argument}")
    return role


def _names(given: Any, what: str) -> tuple[str, ...]:
    """Names, of which one may stand alone."""
    names: Any = (given,) if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(each, str) for each in cast("Any", names)):
        raise CatalogueError(f"{what} must be names like ('a', 'b'), not {_shown(given)}")
    return tuple(cast("Any", names))


def _mapping(given: Any, what: str, example: Any) -> dict[str, Any]:
    if not is_object(given) or not all(isinstance(name, str) for name in cast("dict[Any, Any]", given)):
        raise CatalogueError(f"{what} must say it by name, like {{'a': {example!r}}}, not {_shown(given)}")
    return given


def _spoken(given: Any, argument: str) -> dict[str, tuple[str, ...]]:
    said = _mapping(given, f"the words of {argument}", ["read"])
    return {value: _names(words, f"the words for {value!r} of {argument}") for value, words in said.items()}
