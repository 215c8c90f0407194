"""How much help a model gets, and what becomes of one request with it: which tools, for which part of the words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from counterfoil.models.local.ground import grounded, identifiers, is_free, properties, regrounded
from counterfoil.models.local.likely import EDGES, is_capital, names_something
from counterfoil.models.local.situation import Situation
from counterfoil.routing.bm25 import words
from counterfoil.routing.search import Hit, ToolSearch, clauses
from counterfoil.types.request import ToolChoice, ToolSpec


class Policy(msgspec.Struct, frozen=True):
    """The help given to a model. Everything here narrows what it may write; nothing writes for it.

    `narrow` keeps the best so many tools in the grammar (never in the prompt, so that the key-value cache stays
    valid). `ground` takes arguments from the conversation. `split` asks for the parts of a request one by one. `least`
    is the score below which no tool fits. `answer` is who words what is not a call: the model, or plain sentences
    that quote the results and say when no tool fits (the model then still talks where no tools are offered).
    """

    narrow: int | None = None
    ground: bool = False
    split: bool = False
    least: float = 0.0
    answer: Literal["model", "quote"] = "model"


PLAIN = Policy()
"""For models that were taught to call tools: the constraint, and no more."""
SMALL = Policy(narrow=1, ground=True, split=True, least=1.0, answer="quote")
"""For models too small to pick a tool or to report a result (measured: `docs/local.md`)."""

SAID_ID = 2.0
"""What it adds to a tool's score that the words hold an identifier of the form that it takes."""
SURE = 2.0
"""The score from which a tool that takes somebody's name is believed without a capital letter in sight."""
CLOSE = 0.75
"""Tools within this ratio of the best score are as good as it; the one that needs less said then wins."""


class Step(msgspec.Struct, frozen=True):
    """One call to be written: for which words, by which tools (their schemas narrowed), best first."""

    words: str
    tools: tuple[ToolSpec, ...]


class Plan(msgspec.Struct, frozen=True):
    """The calls to be written, in order. None: no tool fits, or `missing` says what the best one still needs."""

    steps: tuple[Step, ...] = ()
    missing: tuple[str, tuple[str, ...]] | None = None


def choose(tools: Sequence[ToolSpec], choice: ToolChoice) -> tuple[ToolSpec, ...]:
    """Narrow a catalogue to what the tool choice allows."""
    if choice.mode == "none":
        return ()
    return tuple(tool for tool in tools if choice.names is None or tool.name in choice.names)


def plan(asked: str, earlier: Sequence[str], tools: Sequence[ToolSpec], choice: ToolChoice, policy: Policy) -> Plan:
    """Decide which tools may be called for which part of a request.

    `earlier` are the messages before it, nearest first, in which arguments may be found too. With the choice `any`
    there is always a step, if there is a tool.
    """
    search = ToolSearch(tools)
    split = policy.split and choice.parallel is not False
    parts = clauses(asked, search, policy.least) if split else [asked]
    steps: list[Step] = []
    missing: tuple[str, tuple[str, ...]] | None = None
    for part in parts:
        texts = [part, *([asked] if part != asked else []), *earlier]
        step, lacking = _step(part, texts, search, policy)
        missing = missing or lacking
        if step is not None:
            steps.append(step)
    if not steps and choice.mode == "any" and tools:
        best = search.find(asked, 1)
        return Plan((Step(asked, (best[0].tool,) if best else tuple(tools)),))
    return Plan(tuple(steps), None if steps else missing)


def repair(where: Situation, tools: Sequence[ToolSpec], policy: Policy) -> Plan:
    """Plan to write the failed calls of the last round anew, with other values for what was wrong in them."""
    steps: list[Step] = []
    for each in where.to_repair:
        for tool in tools:
            if tool.name != each.call.name:
                continue
            error = each.result.text
            narrowed = (
                regrounded(tool, each.call.arguments or {}, error, (where.asked, *where.earlier))
                if policy.ground
                else tool
            )
            if narrowed is not None:
                steps.append(Step(f"{where.asked}\n({error})", (narrowed,)))
    return Plan(tuple(steps))


def _step(
    part: str, texts: Sequence[str], search: ToolSearch, policy: Policy
) -> tuple[Step | None, tuple[str, tuple[str, ...]] | None]:
    found: list[Hit] = []
    lacking: tuple[str, tuple[str, ...]] | None = None
    named = identifiers(search.tools, part)
    scores = {hit.tool.name: hit.score for hit in search.find(part)}
    for tool in search.tools:
        score = scores.get(tool.name, 0.0) + (SAID_ID if tool.name in named else 0.0)
        if score < policy.least or score == 0:
            continue
        narrowed, missing = grounded(tool, texts) if policy.ground else (tool, [])
        if not missing and score < SURE and policy.ground and _nameless(tool, part):
            continue
        if not missing:
            found.append(Hit(narrowed, score))
        elif set(words(tool.name)) & set(words(part)) and (lacking is None or score > scores.get(lacking[0], 0.0)):
            # Only a tool that was as good as named is worth a question back.
            lacking = (tool.name, tuple(missing))
    if not found:
        return None, lacking
    best = max(hit.score for hit in found)
    found.sort(
        key=lambda hit: (hit.score < best * CLOSE, _needs(hit.tool) if hit.score >= best * CLOSE else -hit.score)
    )
    return Step(part, tuple(hit.tool for hit in found[: policy.narrow])), None


def _nameless(tool: ToolSpec, text: str) -> bool:
    # A tool that requires a name, and a text that has none in capitals: the words matched, but it is hardly meant.
    capitals = [word for word in text.split()[1:] if is_capital(word.strip(EDGES) or "-")]
    required: list[str] = tool.parameters.get("required") or []
    return not capitals and any(
        name in required and is_free(schema) and names_something(name, str(schema.get("description", "")))
        for name, schema in properties(tool).items()
    )


def _needs(tool: ToolSpec) -> int:
    return len(tool.parameters.get("required") or ())
