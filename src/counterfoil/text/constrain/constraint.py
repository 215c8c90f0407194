"""From a catalogue and a tool choice to the grammar of the reply: made once, in every language that servers take."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from counterfoil.text.constrain.engines import Engine
from counterfoil.text.constrain.fit import short
from counterfoil.text.constrain.gbnf import formats, gbnf, lost
from counterfoil.text.constrain.lark import lark
from counterfoil.text.constrain.nodes import Rules
from counterfoil.text.constrain.report import Feature, loosened
from counterfoil.text.constrain.turn import Turn, turn_rules
from counterfoil.text.family import Family
from counterfoil.text.reader import family_marks
from counterfoil.types.json import canonical
from counterfoil.types.request import AUTO, ToolChoice, ToolSpec

_ANYTHING: dict[str, Any] = {"type": "object", "additionalProperties": True}
MOST_KEPT = 256
"""Grammars that are kept."""


class Constraint:
    """The grammar of one reply. `report` says of each schema feature what becomes of it."""

    def __init__(self, family: Family, rules: Rules, report: tuple[Feature, ...]) -> None:
        self.rules, self.report = rules, tuple(sorted(set(report)))
        self.marks = tuple(dict.fromkeys(family_marks(family)))
        """The family's markers. Those that are tokens of their own a server must not leave out of its text."""
        self._lark: dict[tuple[tuple[str, int], ...], str] = {}
        self._gbnf = ""
        self._tag: dict[str, Any] = {}

    @property
    def loosened(self) -> tuple[str, ...]:
        """The tools of which a call may not conform."""
        return loosened(self.report)

    def lark(self, special: Mapping[str, int] | None = None) -> str:
        """For llguidance. `special`: the markers that the tokenizer knows as control tokens, with their numbers."""
        key = tuple(sorted((special or {}).items()))
        if key not in self._lark:
            self._lark[key] = lark(self.rules, special)
        return self._lark[key]

    def gbnf(self) -> str:
        """For llama.cpp, and as EBNF for XGrammar. What is only approximated in it, `gbnf_report` says."""
        self._gbnf = self._gbnf or gbnf(self.rules)
        return self._gbnf

    @property
    def gbnf_report(self) -> tuple[Feature, ...]:
        """The report as it is for GBNF."""
        return lost(self.report)

    def structural_tag(self) -> dict[str, Any]:
        """For vLLM and SGLang with XGrammar, which takes schemas as they are."""
        self._tag = self._tag or formats(self.rules)
        return self._tag


class Constrainer:
    """Makes the grammars of one family, each once per catalogue and choice.

    With an `engine` every schema is compiled first, and what it cannot take is given up as narrowly as possible;
    without, only what every engine takes counts as enforced.
    """

    def __init__(self, family: Family, engine: Engine | None = None) -> None:
        self.family, self.engine = family, engine
        self._kept: dict[bytes, Constraint] = {}

    def constraint(self, tools: Sequence[ToolSpec], choice: ToolChoice = AUTO, turn: Turn | None = None) -> Constraint:
        """The grammar for a catalogue and a choice.

        `turn` says what the choice does not. Raises `ValueError` for a choice of tools that are not there, and
        `Unwritable` for a name that the family cannot write.
        """
        turn = turn or Turn()
        chosen = chosen_of(tools, choice)
        most = 0 if not chosen else 1 if choice.parallel is False else turn.calls
        turn = msgspec.structs.replace(turn, calls=most, prose=choice.mode != "any")
        held = chosen or tuple(tools)
        key = hashlib.sha256(canonical([[(each.name, each.parameters) for each in held], turn])).digest()
        found = self._kept.pop(key, None)
        if found is None:
            found = self._made(held, turn)
            while len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        self._kept[key] = found
        return found

    def _made(self, tools: tuple[ToolSpec, ...], turn: Turn) -> Constraint:
        check = self.engine.check_schema if self.engine is not None else None
        found = Constraint(self.family, *turn_rules(self.family, tools, turn, check))
        if self.engine is None or self.engine.check(found.lark()) is None:
            return found
        # What the engine takes as a schema it may not take in the family's words: then those tools take anything.
        kept: list[ToolSpec] = []
        refused: list[Feature] = []
        for tool in tools:
            rules, _ = turn_rules(self.family, (tool,), turn, check)
            wrong = self.engine.check(Constraint(self.family, rules, ()).lark())
            kept.append(tool if wrong is None else msgspec.structs.replace(tool, parameters=_ANYTHING))
            refused += [] if wrong is None else [Feature(tool.name, "/", "schema", "refused", short(wrong))]
        found = Constraint(self.family, *turn_rules(self.family, tuple(kept), turn, check))
        if (wrong := self.engine.check(found.lark())) is not None:
            raise ValueError(f"the grammar of the {self.family.name} family cannot be enforced: {short(wrong)}")
        return Constraint(self.family, found.rules, (*found.report, *refused))


def chosen_of(tools: Sequence[ToolSpec], choice: ToolChoice) -> tuple[ToolSpec, ...]:
    """The tools that may be called. Raises `ValueError` where one has to be and there is none."""
    if choice.mode == "none":
        return ()
    found = tuple(each for each in tools if choice.names is None or each.name in choice.names)
    if choice.mode == "any" and not found:
        raise ValueError(f"a call is asked for, of {choice.names or 'any tool'}, and there is no such tool: offer it")
    return found
