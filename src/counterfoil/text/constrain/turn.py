"""The grammar of one reply: prose, or calls, or prose and then calls, as the request's tool choice has it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from counterfoil.text.constrain.calls import Caller
from counterfoil.text.constrain.fit import Bounds, Check, fit_answer
from counterfoil.text.constrain.nodes import (
    NOTHING,
    Json,
    Lit,
    Node,
    Rules,
    Seq,
    Words,
    after,
    alt,
    maybe,
    opening,
    seq,
    spread,
)
from counterfoil.text.constrain.report import Feature
from counterfoil.text.family import Family
from counterfoil.text.grammars import Unwritable
from counterfoil.text.grammars.grammar import misspellings, tokens
from counterfoil.text.grammars.json_calls import JsonCalls
from counterfoil.text.grammars.json_object import ARGUMENTS
from counterfoil.text.grammars.pythonic import PythonicCalls
from counterfoil.text.grammars.react import ReactCalls
from counterfoil.text.grammars.toolformer import ToolformerCalls
from counterfoil.types.request import ToolSpec

_LABELS = ("\nThought", "\nAction", "\nObservation", "\nFinal Answer")


class Turn(msgspec.Struct, frozen=True):
    """How a reply may be written.

    `calls` is how many there may be, `prose` whether there may be none, `lead` whether prose may come before them,
    `reasoning` whether the model may think first, and `thinking` whether the prompt has begun that already. With
    `sealed` prose may not begin like markup: for models so small that they write calls in styles of their own. An
    `answer` is the schema that prose must conform to.
    """

    calls: int = 8
    prose: bool = True
    lead: bool = True
    reasoning: bool = True
    thinking: bool = False
    sealed: bool = False
    answer: dict[str, Any] | None = None
    bounds: Bounds = Bounds()


def turn_rules(
    family: Family, tools: tuple[ToolSpec, ...], turn: Turn, check: Check | None
) -> tuple[Rules, tuple[Feature, ...]]:
    """Write the grammar of a reply, and what became of the schemas in it. Raises `Unwritable`."""
    caller = Caller(family, tools, turn.bounds, check)
    if turn.answer is not None:
        answer, features = fit_answer(turn.answer, turn.bounds, check)
        turn = msgspec.structs.replace(turn, answer=answer)
        caller.report.extend(features)
    options: list[Node] = []
    without, never = _forbidden(family, tools)
    first = " \t\n<{[`" if turn.sealed else ""
    if turn.prose or not turn.calls:
        options.append(_prose(family, turn, Words(without, never=never, not_first=first, least=1)))
    if turn.calls:
        calls = caller.calls(turn.calls)
        # Prose can begin like a call up to its marker: so the marker has to be in the first piece of every call.
        first_piece = calls.parts[0] if isinstance(calls, Seq) else calls
        marked = isinstance(first_piece, Lit) and any(mark in first_piece.text for mark in without)
        pieces = (calls,) if marked else spread(calls)
        options += pieces
        if turn.lead and turn.prose and turn.answer is None and not isinstance(family.calls, ReactCalls):
            said = Words(without, never=never, not_first=first, least=1)
            options += (
                [_closed(family, said, calls)] if family.answer.close else [_led(family, said, p) for p in pieces]
            )
    whole = alt(options)
    if turn.thinking:
        whole = seq(_thoughts(family), whole)
    elif turn.reasoning and family.reasoning.open.strip():
        whole = seq(maybe(seq(Lit(family.reasoning.open.rstrip()), _thoughts(family))), whole)
    if family.prefill and not turn.thinking:
        begun = after(whole, family.prefill)
        if begun is None:
            raise Unwritable(f"{family.name} has no reply that begins with {family.prefill!r}")
        whole = begun
    return Rules(whole, caller.rules), tuple(caller.report)


def _led(family: Family, said: Words, piece: Node) -> Node:
    """Prose, and then calls."""
    opener = opening(piece)
    behind = after(piece, opener)
    assert behind is not None, "a node matches what is behind its opening"
    return seq(Lit(family.answer.open), msgspec.structs.replace(said, then=family.gap + opener), behind)


def _closed(family: Family, said: Words, calls: Node) -> Node:
    """Prose in markers of its own, and then calls."""
    text = msgspec.structs.replace(said, then=family.answer.close)
    return seq(Lit(family.answer.open), text, Lit(family.gap), calls)


def _prose(family: Family, turn: Turn, words: Words) -> Node:
    opens, closes = family.answer.open, family.answer.close
    if isinstance(family.calls, ReactCalls):
        opens, closes = family.calls.answer
        if closes and turn.answer is not None:
            return seq(Lit(opens), Json(turn.answer), Lit(closes))
        if closes:
            return seq(Lit(opens), Words(("\n", closes), closes, least=1))
    if turn.answer is not None:
        return seq(Lit(opens), Json(turn.answer), maybe(Lit(closes)) if closes else NOTHING)
    both = [words, msgspec.structs.replace(words, then=closes)] if closes else [words]
    return alt([seq(Lit(opens), each) for each in both])


def _thoughts(family: Family) -> Node:
    """Reasoning, behind its opener, through its end."""
    if isinstance(family.calls, ReactCalls):
        return Words(("\n",), "\n")
    close = family.reasoning.close.strip()
    return Words((close,), close, blank=4 if family.reasoning.after else 0)


def _forbidden(family: Family, tools: tuple[ToolSpec, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What prose may not hold, since it would be read as something else: literals, and patterns for what is left."""
    calls = family.calls
    found: list[str] = [each for each in (*calls.openers(), *calls.misspelt()) if each not in "{["]
    never: list[str] = []
    if isinstance(calls, ReactCalls):
        found = [*_LABELS]
    elif isinstance(calls, ToolformerCalls):
        found = [f"[{tool.name}(" for tool in tools]
    elif calls.reads_all:
        found = [*calls.marks()]
    else:
        marks = family.reasoning, family.answer
        found += [part for each in marks for literal in (each.open, each.close) for part in tokens(literal)]
        found += [wrong for each in calls.openers() if each not in "{[" for wrong in misspellings(each)]
    if isinstance(calls, PythonicCalls) and tools:
        found += [f"[{tool.name}(" for tool in tools]
        never.append(r"\[\s*(" + "|".join(re.escape(tool.name) for tool in tools) + r")\(")
    # A call that was meant, in a fence or without its markers, would be lost in prose: there it is never begun.
    keys = calls.keys if isinstance(calls, JsonCalls) else None
    named = sorted({"name", *ARGUMENTS, *((keys.name, keys.arguments) if keys else ())})
    if tools and not isinstance(calls, ReactCalls | ToolformerCalls):
        found += [f'{{"{name}"' for name in named]
        never.append(r'\{\s*"(' + "|".join(map(re.escape, named)) + r')"')
    return tuple(dict.fromkeys(each for each in (*found, *family.stop) if each)), tuple(never)
