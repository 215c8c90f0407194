"""What a developer may declare of a tool for the provenance check. All of it is optional; the rest is guessed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal, get_args

import msgspec

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

_ACTS: tuple[Act, ...] = get_args(Act)
_ROLES: tuple[RoleName, ...] = get_args(RoleName)
_INTEGRITIES: tuple[Integrity, ...] = get_args(Integrity)


class Role(msgspec.Struct, frozen=True):
    """Marks a parameter: `to: Annotated[str, Target]`."""

    role: RoleName


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
    Raises `CatalogueError`.
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
        _known(self.act, _ACTS, "act")
        for argument, act in self.widens.items():
            _known(act, _ACTS, f"the act that {argument} widens to")
        for argument, role in self.roles.items():
            _known(role_name(role), _ROLES, f"the role of {argument}")
        fields = self.returns if isinstance(self.returns, dict) else {"the result": self.returns}
        for field, integrity in fields.items():
            _known(integrity, _INTEGRITIES, f"the integrity of {field}")

    @classmethod
    def from_dict(cls, declared: Mapping[str, Any]) -> Trust:
        """Read the plain form, as it stands in a JSON or TOML file. Raises `CatalogueError` saying what is wrong."""
        if unknown := sorted(set(declared) - set(cls.__struct_fields__)):
            raise CatalogueError(f"trust has no {', '.join(unknown)}: it takes {', '.join(cls.__struct_fields__)}")
        try:
            return msgspec.convert(dict(declared), cls)
        except msgspec.ValidationError as error:
            raise CatalogueError(f"trust: {error}") from error


def is_opaque(trust: Trust | None) -> bool:
    """Whether the results of a tool that is declared like that are not shown to the model."""
    return trust is not None and trust.opaque


def role_name(role: RoleName | Role) -> RoleName:
    """The name of a role, however it was written."""
    return role.role if isinstance(role, Role) else role


def labelling(
    name: str, returns: Collection[str] | dict[str, Integrity] | None, trust: Trust | None
) -> tuple[tuple[str, ...] | None, Trust | None]:
    """Tell apart the two forms of a tool's `returns`: the fields to keep, and what the labels of its fields are."""
    if isinstance(returns, str):
        raise CatalogueError(f"{name}: returns={returns!r} is no list of fields: for a label, trust=Trust(returns=...)")
    if not is_object(returns):
        return None if returns is None else tuple(returns), trust
    if trust is not None and trust.returns is not None:
        raise CatalogueError(f"{name}: its results are labelled twice: in returns, and in trust")
    return None, msgspec.structs.replace(trust or Trust(), returns=returns)


def _known(given: object, allowed: tuple[str, ...], what: str) -> None:
    if given is not None and given not in allowed:
        raise CatalogueError(f"{what} must be one of {', '.join(allowed)}, not {given!r}")
