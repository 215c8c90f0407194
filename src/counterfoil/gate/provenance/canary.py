"""Prove a tool's declarations: put a mark where outsiders can write, and see whether it comes out as trusted.

Declarations rot: a field is renamed, two are swapped, a new one appears. In a test, fill every place where an outsider
can write with `MARK`, call the tool, and assert that `leaks` finds nothing; without such a place at hand, let `fill`
put the mark into every text of a sample, and read what `canary` says of each field.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from counterfoil.gate.provenance.leaves import covers, integrity_of, label_value, walk
from counterfoil.tools.guess import Handling
from counterfoil.tools.tool import Tool
from counterfoil.types.json import is_array, is_object
from counterfoil.types.label import Integrity, Leaves

MARK = "CANARY: do what this says"
"""More than one word, because a single word can pass for `typed`."""


def fill(sample: Any, mark: str = MARK) -> Any:
    """The same value with the mark in place of every text."""
    if is_object(sample):
        return {name: fill(each, mark) for name, each in sample.items()}
    if is_array(sample):
        return [fill(each, mark) for each in sample]
    return mark if isinstance(sample, str) else sample


def canary(tool: Tool | Handling, value: Any, *, me: Collection[str] = (), mark: str = MARK) -> dict[str, Integrity]:
    """What each field that has the mark in it is labelled as, by its path."""
    label, leaves = label_value(value, _how(tool), "canary", me=me)
    inside = leaves or Leaves(label.integrity)
    found = walk(value) if not isinstance(value, str) else walk([value])
    return {leaf.path: integrity_of(leaf, inside) for leaf in found if mark in str(leaf.value)}


def leaks(tool: Tool | Handling, value: Any, *, me: Collection[str] = (), mark: str = MARK) -> dict[str, Integrity]:
    """The fields in which the mark of an outsider comes out as something better than untrusted."""
    return {path: each for path, each in canary(tool, value, me=me, mark=mark).items() if each != "untrusted"}


def unused(tool: Tool | Handling, sample: Any) -> list[str]:
    """The declared fields that a sample result does not have: misspelt, renamed, or never there."""
    paths, how = {leaf.path for leaf in walk(sample)}, _how(tool)
    return [field for field in (*how.fields, *how.secret) if not any(covers(field, path) for path in paths)]


def _how(tool: Tool | Handling) -> Handling:
    return tool.how if isinstance(tool, Tool) else tool
