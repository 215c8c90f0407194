"""The tools of a harness: in order, under unique names, with one digest."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from counterfoil.tools.tool import Tool
from counterfoil.tools.trust import is_opaque
from counterfoil.types.error import CatalogueError
from counterfoil.types.json import canonical
from counterfoil.types.request import ToolSpec
from counterfoil.types.session import Session

if TYPE_CHECKING:
    from counterfoil.tools.pins import Difference, Pins

log = logging.getLogger("counterfoil.tools")


class Catalogue:
    """Tools with unique names. Iterates in order; looks up by name; compiled once, shared by every run: do not change.

    Raises `CatalogueError` when two tools share a name, or something is not a tool.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self.by_name: dict[str, Tool] = {}
        for each in tools:
            given: Any = each
            if not isinstance(given, Tool):
                hint = ": decorate it with @tool" if callable(given) else ""
                raise CatalogueError(f"{getattr(given, '__name__', given)!r} is not a tool{hint}")
            if given.name in self.by_name:
                raise CatalogueError(
                    f"two tools are named {given.name!r}: rename one, or give each source a prefix of its own, "
                    "like catalogue.prefixed('crm') + other.prefixed('erp')"
                )
            self.by_name[given.name] = given
        self.secretive = any(each.secretive for each in self.by_name.values())
        """Whether a secret may be in a call or a result: most catalogues have none, and pay for none."""
        self.opaque = any(is_opaque(each.trust) for each in self.by_name.values())
        """Whether a result may be kept from the model, so that what stands for one means something in arguments."""
        self.queues = any(each.limits.concurrent is not None for each in self.by_name.values())
        """Whether a call may have to wait for others of its tool."""
        self.quarantined: tuple[Difference, ...] = ()
        """What `pinned` withheld, each with how it differs from what was reviewed."""
        self._prefixes: frozenset[str] = frozenset()
        self._visible: dict[frozenset[str], tuple[ToolSpec, ...]] = {}
        self._digest = ""

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.by_name.values())

    def __len__(self) -> int:
        return len(self.by_name)

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def __getitem__(self, name: str) -> Tool:
        return self.by_name[name]

    def __add__(self, other: Catalogue) -> Catalogue:
        for one in self._prefixes:
            for two in other._prefixes:
                short, long = sorted((one, two), key=len)
                if long.startswith(f"{short}_"):  # whether or not a pair of tools meets today: an upstream may add one
                    raise CatalogueError(
                        f"the prefixes {short!r} and {long!r} could give two tools one name ({long}_x): "
                        f"choose two of which neither begins with the other and an underscore"
                    )
        quarantined = {each.name: each for each in (*self.quarantined, *other.quarantined)}
        return self._like([*self, *other], quarantined.values(), self._prefixes | other._prefixes)

    def __repr__(self) -> str:
        return f"Catalogue([{', '.join(self.by_name)}])"

    def get(self, name: str) -> Tool | None:
        """The tool of that name, or `None`."""
        return self.by_name.get(name)

    def subset(self, names: Iterable[str]) -> Catalogue:
        """Only these tools, in this order; of these, what is in quarantine stays there.

        Raises `CatalogueError` for a name that is not there.
        """
        names = list(names)
        held = [each for each in self.quarantined if each.name in names]
        known = {*self.by_name, *[each.name for each in held]}
        if missing := [name for name in names if name not in known]:
            raise CatalogueError(f"no tool is named {', '.join(missing)}; the names are {', '.join(self.by_name)}")
        return self._like([self.by_name[name] for name in names if name in self.by_name], held, self._prefixes)

    def prefixed(self, prefix: str) -> Catalogue:
        """The same tools under `prefix_name`, so that two sources can share a run. Permissions stay what they are.

        Names depend on the prefix alone, never on what else is there or in which order. Raises `CatalogueError`, here
        or when the sources are joined with `+`, for prefixes under which two tools could come to have one name.
        """
        if not prefix:
            raise CatalogueError("a prefix cannot be empty: name the source, like prefixed('crm')")
        held = [msgspec.structs.replace(each, name=f"{prefix}_{each.name}") for each in self.quarantined]
        return self._like([each.renamed(f"{prefix}_{each.name}") for each in self], held, frozenset({prefix}))

    def pinned(self, pins: Pins) -> Catalogue:
        """Only the tools that are what was reviewed, to the letter; what is new or has changed is quarantined.

        A tool in quarantine is not shown to the model and does not exist for a call of it. It is logged as a warning,
        and is in `quarantined` with the difference, until `pins` have it as it is now.
        """
        found = {each.name: each for each in pins.check(self) if each.now is not None}
        for each in found.values():
            log.warning("%s. It is in quarantine until it is pinned again", each)
        kept = {each.name: each for each in self.quarantined} | found
        return self._like([each for each in self if each.name not in found], kept.values(), self._prefixes)

    def _like(self, tools: list[Tool], quarantined: Iterable[Difference], prefixes: frozenset[str]) -> Catalogue:
        made = Catalogue(tools)
        made.quarantined = tuple(quarantined)
        made._prefixes = prefixes
        return made

    @property
    def secret_names(self) -> frozenset[str]:
        """The names under which some tool takes a secret: a call of a tool that is not there may use them too."""
        return frozenset[str]().union(*[each.secrets.names for each in self if each.secrets is not None])

    def visible_to(self, session: Session) -> tuple[ToolSpec, ...]:
        """The declarations of the tools that this session may call at all: a model is shown no others."""
        specs = self._visible.get(session.permissions)
        if specs is None:
            specs = tuple(each.spec for each in self if session.permits(each.permission))
            if len(self._visible) > 1000:  # sessions with ever new permission sets must not pile up
                self._visible.clear()
            self._visible[session.permissions] = specs
        return specs

    @property
    def digest(self) -> str:
        """SHA-256 over every declaration, effect and permission: changes when what a model may ask for changes."""
        if not self._digest:
            parts = [[msgspec.to_builtins(each.spec), each.effect, each.permission] for each in self]
            self._digest = hashlib.sha256(canonical(parts)).hexdigest()
        return self._digest


def token_cost(spec: ToolSpec) -> int:
    """About how many tokens a declaration costs in every request: one per four bytes of its JSON."""
    return len(canonical([spec.name, spec.description, spec.parameters])) // 4 + 1
