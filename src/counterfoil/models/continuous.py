"""Turns whose results stand in the text that asked for them, so that the model goes on where it had stopped.

For the run they are messages like any other: a reply that calls, its results, another reply. For the model they are one
text: prose, call, result, more prose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import msgspec

from counterfoil.text import Format
from counterfoil.text.family import Family
from counterfoil.text.grammars.react import ReactCalls
from counterfoil.types.message import Block, Message, Reasoning, Text, ToolCall
from counterfoil.types.request import Reply, ToolSpec

Safe = Callable[[str], str]
"""Takes the control tokens in a text apart."""


def is_continuous(family: Family) -> bool:
    """Whether a family's results go on in the assistant's own text."""
    return family.results.role == "assistant"


def sayable(family: Family, blocks: Sequence[Block], safe: Safe) -> tuple[Block, ...]:
    """What of a reply the model is told again. Thoughts only where they are a part of the format."""
    said: list[Block] = []
    for block in blocks:
        if isinstance(block, Text) or (isinstance(block, Reasoning) and isinstance(family.calls, ReactCalls)):
            said.append(msgspec.structs.replace(block, text=safe(block.text)))
        elif isinstance(block, ToolCall):
            said.append(block)
    return tuple(said)


def turns(
    family: Family, messages: Sequence[Message], tools: Sequence[ToolSpec], safe: Safe
) -> Iterator[tuple[str, str]]:
    """The turns of a conversation, without its instructions: who speaks, and what. Raises `Unwritable`."""
    spoken = [each for each in messages if each.role != "system"]
    for ours, group in groupby(spoken, key=lambda each: each.role == "assistant" or bool(each.results)):
        if ours:
            yield "assistant", one_text(family, list(group), tools, safe)
        else:
            for each in group:
                yield each.role, safe(each.text)


def one_text(family: Family, messages: Sequence[Message], tools: Sequence[ToolSpec], safe: Safe = str) -> str:
    """Replies and their results as the one text that the model wrote. Raises `Unwritable`."""
    form, marks = Format(family, tools), family.results
    results = {result.call_id: result for message in messages for result in message.results}
    parts: list[str] = []
    for message in messages:
        for piece in _pieces(sayable(family, message.blocks, safe)):
            text = form.render(Reply(Message("assistant", piece)))
            last = piece[-1]
            if isinstance(last, ToolCall) and (result := results.get(last.id)) is not None:
                told = msgspec.structs.replace(result, content=(Text(safe(result.text)),))
                # The call's own end is behind its result.
                text = text.removesuffix(marks.close) + form.results([told])
            parts.append(text)
    return "".join(parts)


def _pieces(blocks: Sequence[Block]) -> Iterator[tuple[Block, ...]]:
    """The blocks, parted behind each call."""
    piece: list[Block] = []
    for block in blocks:
        piece.append(block)
        if isinstance(block, ToolCall):
            yield tuple(piece)
            piece = []
    if piece:
        yield tuple(piece)
