"""The tools of a harness: in order, under unique names, with one digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from counterfoil.tools.tool import Tool
from counterfoil.types.error import CatalogueError
from counterfoil.types.json import canonical
from counterfoil.types.request import ToolSpec
from counterfoil.types.session import Session


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
                    f"two tools are named {given.name!r}: rename one, or add a prefix to one catalogue"
                )
            self.by_name[given.name] = given
        self.secretive = any(each.secretive for each in self.by_name.values())
        """Whether a secret may be in a call or a result: most catalogues have none, and pay for none."""
        self.queues = any(each.limits.concurrent is not None for each in self.by_name.values())
        """Whether a call may have to wait for others of its tool."""
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
        return Catalogue([*self, *other])

    def __repr__(self) -> str:
        return f"Catalogue([{', '.join(self.by_name)}])"

    def get(self, name: str) -> Tool | None:
        """The tool of that name, or `None`."""
        return self.by_name.get(name)

    def subset(self, names: Iterable[str]) -> Catalogue:
        """Only these tools, in this order. Raises `CatalogueError` for a name that is not there."""
        names = list(names)
        if missing := [name for name in names if name not in self.by_name]:
            raise CatalogueError(f"no tool is named {', '.join(missing)}; the names are {', '.join(self.by_name)}")
        return Catalogue(self.by_name[name] for name in names)

    def prefixed(self, prefix: str) -> Catalogue:
        """The same tools under `prefix_name`, so that two sources can share a run. Permissions stay what they are."""
        return Catalogue(each.renamed(f"{prefix}_{each.name}") for each in self)

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
