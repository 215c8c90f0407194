"""What replies are made of, for every family: values of every type, and text that is as hostile as it can be."""

from __future__ import annotations

import json
import os
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from counterfoil import text
from counterfoil.text.reader import family_marks
from counterfoil.types.message import Block, Message, Reasoning, Text, ToolCall
from counterfoil.types.request import Reply, ToolSpec
from counterfoil.types.stream import fold

PROPERTIES: dict[str, Any] = {
    "word": {"type": "string"},
    "count": {"type": "integer"},
    "ratio": {"type": "number"},
    "flag": {"type": "boolean"},
    "place": {"type": "object"},
    "items": {"type": "array", "items": {"type": "string"}},
    "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "either": {"type": ["integer", "string"]},
    "grade": {"enum": ["good", "bad"]},
    "free": {},
}
LOOKUP = ToolSpec("look_up", "Look something up.", {"type": "object", "properties": PROPERTIES})
ASK = ToolSpec("ask", "Ask.", {"type": "object", "properties": {"question": {"type": "string"}}})
PING = ToolSpec("ping", "Nothing.", {"type": "object", "properties": {}})
TOOLS = (LOOKUP, ASK, PING)

# TEXT_EXAMPLES=3000 is over 100,000 inputs to each law.
laws = settings(max_examples=int(os.environ.get("TEXT_EXAMPLES", max(8, settings().max_examples // 8))))


def formats() -> list[text.Format]:
    return [text.get(name, TOOLS) for name in text.names()]


def hazards(family: text.Family) -> list[str]:
    """What a string must survive: the family's own markers, other families', and what JSON and Python escape."""
    return [
        *family_marks(family),
        *family.calls.openers(),
        *("</parameter>", "<parameter=", "</tool_call>", "```", "\n", "\\", '"', "'", "}", "]", ")", "{", "[", ","),
        *("\u2028", "\x00", "é", "\U0001f600", "\\u003c", ")]", ") ->", "Action: ", "007", "true", "null", "<", " "),
    ]


letters = st.text(st.characters(codec="utf-8"), max_size=8)


def strings(family: text.Family) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(hazards(family)) | letters, max_size=5).map("".join)


def values(word: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    numbers = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
    leaves = st.none() | st.booleans() | numbers | word
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=3), max_leaves=6
    )


def calls(family: text.Family) -> st.SearchStrategy[ToolCall]:
    word = strings(family)
    anything = values(word)
    given: dict[str, st.SearchStrategy[Any]] = {
        "word": word,
        "count": st.integers(),
        "ratio": st.floats(allow_nan=False, allow_infinity=False),
        "flag": st.booleans(),
        "place": st.dictionaries(word, anything, max_size=3),
        "items": st.lists(anything, max_size=3),
        "maybe": st.none() | word,
        "either": st.integers() | word,
        "grade": st.sampled_from(["good", "bad"]),
        "free": anything,
    }
    looking = st.fixed_dictionaries({}, optional=given)
    one = looking.map(lambda held: ToolCall("", "look_up", held))
    asking = word.map(lambda held: ToolCall("", "ask", {"question": held}))
    return st.one_of(one, asking, st.just(ToolCall("", "ping", {})))


plain = st.text("abc XYZ.,!?éß\n-*_#0123", min_size=1, max_size=30).filter(lambda each: bool(each.strip()))


def replies(family: text.Family) -> st.SearchStrategy[Reply]:
    said = st.one_of(plain.map(Text), plain.map(Reasoning))
    blocks: st.SearchStrategy[list[Block]] = st.lists(st.one_of(said, calls(family)), max_size=5)
    return blocks.map(reply)


def soups(family: text.Family) -> st.SearchStrategy[str]:
    """Text as a confused or hostile model might write it: markers, pieces of JSON and names, in any order."""
    bits = [
        *hazards(family),
        *('{"name": "ask", "arguments": {"question": "x"}}', '{"name": "ask"', '"arguments": {', '"parameters": {}'),
        *(
            "look_up",
            "ask",
            "ping",
            "functions.ask:0",
            '"question"',
            ":",
            '"a"',
            "1",
            "ask(question=",
            "ping()",
            "[ping(",
        ),
        *(
            "call:ping{}",
            "call:ask{",
            "question:",
            "Action",
            "Action Input",
            "Thought:",
            "Observation:",
            "to=functions.ping",
        ),
        *(
            "<toolcall>",
            "<TOOL_CALL>",
            "</think>",
            "<think>",
            "commentary",
            "function",
            "\n\n",
            "```json\n",
            "`",
            "all\n",
        ),
    ]
    return st.lists(st.sampled_from(bits) | letters, max_size=14).map("".join)


def reply(blocks: list[Block]) -> Reply:
    return Reply(Message("assistant", tuple(blocks)), "end")


def bare(found: Reply) -> list[Any]:
    """What a reply says, without ids: neighbours joined, white space alone left out."""
    said: list[Any] = []
    for block in found.message.blocks:
        if isinstance(block, ToolCall):
            said.append((block.name, json.dumps(block.arguments, sort_keys=True)))
        elif isinstance(block, Text | Reasoning) and block.text.strip():
            kind = type(block).__name__
            if said and said[-1][0] == f"-{kind}":
                said[-1] = (f"-{kind}", said[-1][1] + block.text)
            else:
                said.append((f"-{kind}", block.text))
    return said


def fed(form: text.Format, pieces: list[str]) -> Reply:
    """Read a reply in pieces."""
    reader = form.reader()
    return fold([event for piece in pieces for event in reader.feed(piece)] + reader.close())
