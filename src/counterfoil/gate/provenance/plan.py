"""The consequential calls that were fixed before anything untrusted was read."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeGuard

from counterfoil.gate.provenance.leaves import Leaf, integrity_of, is_secret, records
from counterfoil.gate.provenance.spelt import LINK
from counterfoil.gate.provenance.words import fold, key, whole
from counterfoil.tools.guess import Handling
from counterfoil.types.json import is_array, is_object
from counterfoil.types.label import Leaves
from counterfoil.types.plan import Intent, Pick


class Result(Protocol):
    """A result as the plan's rules see it."""

    arguments: Mapping[str, Any]
    leaves: Leaves | None

    @property
    def value(self) -> Any:
        """What was returned, as JSON."""
        ...


Results = Callable[[str], Sequence[Result]]
"""The results of a tool's calls in this run, in order."""


class Plan:
    """The intents of a run, and which of them are spent."""

    def __init__(self) -> None:
        self.intents: list[Intent] = []
        self.spent: set[int] = set()
        self.guessed: set[int] = set()
        """Those that a model declared: it fixes what it can, so the requester's words are no value for the rest."""
        self.current = 0
        """From which on the intents are for what the requester said last."""
        self.declared = False
        """Whether somebody said what is meant; nothing may be."""

    def declare(self, intents: Sequence[Intent], *, by_model: bool = False) -> None:
        """Add intents."""
        self.declared = True
        if by_model:
            self.guessed.update(range(len(self.intents), len(self.intents) + len(intents)))
        self.intents.extend(intents)

    def retire(self) -> None:
        """The requester has spoken again: what was meant for their earlier words is meant no more."""
        self.current = len(self.intents)

    def _open(self) -> list[int]:
        """The numbers of the intents that may still be carried out."""
        return [number for number in range(self.current, len(self.intents)) if number not in self.spent]

    def find(self, tool: str, arguments: Mapping[str, Any], how: Handling, results: Results) -> int | None:
        """The intent, not yet spent, that a call carries out: of several the one that leaves the least open."""
        found: int | None = None
        for number in self._open():
            intent = self.intents[number]
            narrower = found is None or len(intent.open) < len(self.intents[found].open)
            if narrower and not differences(intent, tool, arguments, how, results):
                found = number
        return found

    def has_spent(self, tool: str, arguments: Mapping[str, Any], how: Handling, results: Results) -> bool:
        """Whether a call was meant, and has been carried out already."""
        meant = (self.intents[number] for number in self.spent if number >= self.current)
        return any(not differences(intent, tool, arguments, how, results) for intent in meant)

    def nearest(
        self, tool: str, arguments: Mapping[str, Any], how: Handling, results: Results
    ) -> tuple[Intent, dict[str, Any]] | None:
        """The unspent intent for the same tool that a call differs least from, and what it has where they differ."""
        found = [
            (intent, differences(intent, tool, arguments, how, results))
            for intent in map(self.intents.__getitem__, self._open())
            if intent.tool == tool
        ]
        return min(found, key=lambda each: len(each[1]), default=None)

    def has_look_up(self, tool: str, arguments: Mapping[str, Any], by: Collection[str]) -> bool:
        """Whether a look-up by these keys was meant from the beginning."""
        given = {name for name, value in arguments.items() if value is not None}
        keys = given.intersection(by)
        return any(
            intent.tool == tool
            and given == intent.fixed.keys()  # a page that somebody else chose singles out what they like
            and keys <= given
            and all(same(arguments.get(name), value) for name, value in intent.fixed.items())
            for intent in self.intents[self.current :]
        )

    def spend(self, number: int) -> None:
        """Use an intent up."""
        if not self.intents[number].many:
            self.spent.add(number)

    def restore(self, number: int) -> None:
        """Take that back: the call is judged again."""
        self.spent.discard(number)


def differences(
    intent: Intent, tool: str, arguments: Mapping[str, Any], how: Handling, results: Results
) -> dict[str, Any]:
    """Where a call is not what is meant: the argument, and what the plan has there (`None`: nothing)."""
    if intent.tool != tool:
        return {"": intent.tool}
    wrong: dict[str, Any] = {}
    for name, value in arguments.items():
        known = name in intent.fixed or name in intent.taken or name in intent.open
        if not known and how.role(name) != "plain" and says(name, value, how):
            wrong[name] = None
    for name, value in intent.fixed.items():
        if not same(arguments.get(name), value):
            wrong[name] = value
    for name, pick in intent.taken.items():
        meant = resolve(pick, results(pick.tool))
        given: Any = arguments.get(name)
        if is_array(given) and len(given) == 1 and not is_array(meant):
            given = given[0]
        if meant is None or not same(given, meant):
            wrong[name] = meant
    return wrong


_EMPTY: tuple[Any, ...] = (None, "", [], {})


def says(name: str, value: Any, how: Handling) -> bool:
    """Whether an argument says anything: not what it is when left out. To empty a target or what is critical does."""
    if value in _EMPTY:
        role = how.role(name)
        if name in how.preset:
            return how.preset[name] not in _EMPTY
        return role == "critical" or (role == "target" and name in how.required)
    return name not in how.preset or type(value) is not type(how.preset[name]) or bool(value != how.preset[name])


def same(first: Any, second: Any) -> bool:
    """Whether two JSON values are the same: to the letter, but numbers as 3, 3.0 and "3", or off by a calculation."""
    if type(first) is type(second) and isinstance(first, str | int):
        return bool(first == second)
    if is_object(first) and is_object(second):
        return first.keys() == second.keys() and all(same(value, second[name]) for name, value in first.items())
    if is_array(first) and is_array(second):
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    if _number(first) and _number(second):
        if first == second or (_whole(first) and _whole(second)):
            return first == second  # of what may be the number of an account every digit counts
        return math.isclose(first, second, rel_tol=1e-12, abs_tol=0.0)
    if isinstance(first, str) and _number(second):
        return key(second) == fold(first)
    if isinstance(second, str) and _number(first):
        return key(first) == fold(second)
    return first is None and second is None


def _number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(number: float) -> bool:
    return isinstance(number, int) or number.is_integer()


def resolve(pick: Pick, results: Sequence[Result]) -> Any:
    """The value that a rule finds; `None` while there is none, or more than one."""
    result = next((each for each in results if _asked(each.arguments, pick.arguments)), None)
    if result is None or (result.leaves is not None and result.leaves.text and not pick.link):
        return None
    found = records(result.value)
    chosen = [
        number
        for number, record in enumerate(found)
        if all(_matches(record, number, field, value, result.leaves) for field, value in pick.where.items())
    ]
    if by := pick.most or pick.least:
        chosen = _extreme(chosen, result, by, most=bool(pick.most))
        if len(chosen) != 1:  # a tie is no choice
            return None
    take = _links if pick.link else _field
    values = [take(found[number], number, pick.take, result.leaves) for number in chosen]
    if not values or values[0] is None or not all(same(each, values[0]) for each in values):
        return None
    value = values[0]
    if (pick.times, pick.plus) == (1, 0):
        return value
    return value * pick.times + pick.plus if _number(value) else None


def _asked(given: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    given = {name: value for name, value in given.items() if value is not None}
    return given.keys() == wanted.keys() and all(same(given[name], value) for name, value in wanted.items())


def _at(record: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        record = record.get(name) if is_object(record) else None
    return record


def _field(record: Any, number: int, path: str, leaves: Leaves | None) -> Any:
    """A field of a record; `None` if there is none, it is secret, or an outsider may have written text in it."""
    path = "" if path == "*" else path  # a record that is one value
    value = _at(record, path)
    parts = value if is_array(value) else [value]
    if leaves is None or not parts or is_secret(Leaf(number, path, None), leaves.secret):
        return None
    for part in parts:
        nested = part is None or is_object(part) or is_array(part)
        if nested or integrity_of(Leaf(number, path, part), leaves) == "untrusted":
            return None
    return value


def _links(record: Any, number: int, path: str, leaves: Leaves | None) -> Any:
    """The only link in a field, whoever may have written it."""
    value = _at(record, path)
    found = {each.rstrip(".,;:!?") for each in LINK.findall(value)} if isinstance(value, str) else set[str]()
    return found.pop() if len(found) == 1 else None


def _matches(record: Any, number: int, field: str, wanted: Any, leaves: Leaves | None) -> bool:
    value = _field(record, number, field, leaves)
    if isinstance(value, str) and isinstance(wanted, str):
        # What outsiders chose may have in it what is looked for: an address that goes on.
        chosen = leaves is not None and integrity_of(Leaf(number, field, value), leaves) == "typed"
        return fold(value) == fold(wanted) if chosen else whole(fold(value), fold(wanted))
    return value is not None and same(value, wanted)


def _extreme(chosen: Sequence[int], result: Result, by: str, *, most: bool) -> list[int]:
    """The records with the most or least of a field; none if one of them has it from an outsider, or not at all."""
    whole = records(result.value)
    values = [_field(whole[number], number, by, result.leaves) for number in chosen]
    if not (all(_number(each) for each in values) or all(isinstance(each, str) for each in values)):
        return []
    best = (max if most else min)(values, default=None)
    return [number for number, value in zip(chosen, values, strict=True) if value == best]
