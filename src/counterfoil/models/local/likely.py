"""Rules of English for which words a free string is likely made of. They only choose among what was said."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from counterfoil.routing.bm25 import words

EDGES = " \t\n\r,.;:!?\"'()[]"
"""Characters that no argument begins or ends with."""

_PROPER = frozenset(words("name city town country person customer contact recipient street company"))
_INTRODUCTION = re.compile(r"[:,]\s+|\b(?:that|saying|says|because|since|reason(?: is)?|as)\s+", re.IGNORECASE)


def likely(tool: str, name: str, description: str, runs: list[str], claimed: Sequence[str]) -> list[str]:
    """Keep the likelier runs of words for one argument of a tool, where there are any.

    Not what other arguments have claimed, nor what begins with the tool's own name. A name is written with a capital
    letter, and not the sentence's first; prose is what follows `:`, `that`, `because` and their like.
    """
    verbs = set(words(tool))
    rules: list[Callable[[str], bool]] = [
        lambda run: not any(value.casefold() in run.casefold() for value in claimed),
        lambda run: not verbs & set(words(run.split()[0])),
    ]

    def later(run: str) -> bool:
        return run.split()[0] != opening

    opening = max(runs, key=len).split()[0]
    if names_something(name, description):
        rules += [is_capital, later]
    else:
        ends = _tails(max(runs, key=len))
        runs = [run for run in runs if run in ends] or runs
    for rule in rules:
        runs = [run for run in runs if rule(run)] or runs
    return runs


def names_something(name: str, description: str) -> bool:
    """Whether an argument is somebody's or some place's name, by its own words."""
    return bool(set(words(f"{name} {description}")) & _PROPER)


def is_capital(run: str) -> bool:
    """Whether every word begins with a capital letter."""
    return all(word[0].isupper() for word in run.split())


def in_role(name: str, values: list[Any], text: str) -> list[Any]:
    """Tell `from` and `to` apart among listed values: a unit behind a number is where it comes from."""
    role = set(name.casefold().split("_"))
    behind = [each for each in values if re.search(rf"\d\s*{re.escape(str(each)[:-1])}", text, re.IGNORECASE)]
    if not role & {"from", "to"} or not behind or len(values) < 2:
        return values
    return behind if "from" in role else [each for each in values if each not in behind] or values


def _tails(whole: str) -> set[str]:
    return {whole[match.end() :].strip(EDGES) for match in _INTRODUCTION.finditer(whole)}
