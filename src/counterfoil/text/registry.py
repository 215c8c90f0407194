"""The families by name. Each is one file in `families/`, and nothing else."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from types import MappingProxyType

import msgspec

from counterfoil.text.family import Family
from counterfoil.text.format import Format
from counterfoil.types.error import TextError
from counterfoil.types.request import ToolSpec


@lru_cache(maxsize=1)
def families() -> Mapping[str, Family]:
    """Every family, by name."""
    found: dict[str, Family] = {}
    folder = resources.files("counterfoil.text") / "families"
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        if file.name.endswith(".toml"):
            name = file.name.removesuffix(".toml")
            held = {"name": name, **tomllib.loads(file.read_text(encoding="utf-8"))}
            found[name] = msgspec.convert(held, Family)
    return MappingProxyType(found)


def names() -> tuple[str, ...]:
    """The names of all families."""
    return tuple(families())


def family(name: str) -> Family:
    """The family of that name or alias. Raises `TextError` naming the nearest ones if there is none."""
    known = families()
    aliases = {alias: each for each in known.values() for alias in each.aliases}
    found = known.get(name) or aliases.get(name)
    if found is None:
        every = [*known, *aliases]
        near = difflib.get_close_matches(name.lower().replace("_", "-"), every, n=3, cutoff=0.4) or every
        raise TextError(f"no text family is called {name!r}: did you mean {' or '.join(near)}? All: {', '.join(known)}")
    return found


def get(name: str, tools: Sequence[ToolSpec] = ()) -> Format:
    """The format of a family, by its name or alias, for the tools whose calls it will read and write.

    Raises `TextError` naming the nearest names if there is none.
    """
    return Format(family(name), tools)
