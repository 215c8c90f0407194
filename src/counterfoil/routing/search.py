"""Search a catalogue for the tools that fit a request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from counterfoil.routing.bm25 import Bm25
from counterfoil.types.request import ToolSpec

NAME_WEIGHT = 2
"""How often a tool's name counts: it is the shortest description of it."""

MAX_LEVEL = 3
"""How deep the parameters of a tool are searched."""

_JOINTS = re.compile(r"[,;]?\s+(?:and then|then|and also|and|also|plus)\s+|;\s+|(?<=[.?!])\s+(?=[A-Z])", re.IGNORECASE)


class Hit(msgspec.Struct, frozen=True):
    """One tool and how well it fits: 0 is not at all, and scores compare only within one search."""

    tool: ToolSpec
    score: float


class ToolSearch:
    """An index of a catalogue, by the words of names, descriptions, parameters and enumerated values."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.tools = tuple(tools)
        self._index = Bm25([document(tool) for tool in self.tools])

    def find(self, query: str, limit: int | None = None) -> list[Hit]:
        """Rank the tools that share a word with the query, best first; ties keep the catalogue's order."""
        scores = self._index.scores(query)
        order = sorted(range(len(scores)), key=lambda index: -scores[index])
        return [Hit(self.tools[index], scores[index]) for index in order if scores[index] > 0][:limit]


def document(tool: ToolSpec) -> str:
    """Say a tool as one text to search in."""
    parts = [tool.name.replace("_", " ")] * NAME_WEIGHT + [tool.description]
    _parameters(tool.parameters, parts, 0)
    return " ".join(parts)


def _parameters(schema: dict[str, Any], parts: list[str], level: int) -> None:
    properties: dict[str, Any] = schema.get("properties") or {}
    if level > MAX_LEVEL:
        return
    for name, each in properties.items():
        parts.append(name.replace("_", " "))
        if isinstance(each, dict):
            inner = cast("dict[str, Any]", each)
            parts.append(str(inner.get("description", "")))
            parts.extend(str(value) for value in inner.get("enum") or ())
            _parameters(inner, parts, level + 1)


def clauses(query: str, search: ToolSearch, least: float) -> list[str]:
    """Split a request that asks for several things, where every part fits some tool on its own; else leave it whole.

    `least` is the score from which a part counts as fitting.
    """
    parts = [part.strip(" ,.") for part in _JOINTS.split(query)]
    parts = [part for part in parts if part]
    if len(parts) < 2:
        return [query]
    fits = [bool(hits := search.find(part, 1)) and hits[0].score >= least for part in parts]
    return parts if all(fits) else [query]
