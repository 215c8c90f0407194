"""Requests, replies and streams for the laws, as varied as the types allow. Nothing here knows a single wire."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from counterfoil import wires
from counterfoil.types.message import Block, Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from counterfoil.types.request import Output, Reply, Request, Sampling, Stop, ToolChoice, ToolSpec, Usage
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, StreamEvent

laws = settings(
    max_examples=int(os.environ.get("WIRES_EXAMPLES", "30")),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink][: 3 if "WIRES_EXAMPLES" in os.environ else 4],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""How hard the laws are tried; WIRES_EXAMPLES=1000 tries harder."""

PNG = b"\x89PNG\r\n\x1a\n-"

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12)
said = st.one_of(
    words.filter(bool),
    st.sampled_from(["It ships today.", "<tool_error>", "<tool_error>no</tool_error>", "<tool_output>x</tool_output>"]),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
arguments = st.dictionaries(words, json_values, max_size=3)
tool_names = st.sampled_from(
    [
        "f",
        "get_weather",
        "a.b",
        "a_b",
        "a-b",
        "9lives",
        "größe",
        "x" * 63,
        "x" * 64,
        "x" * 65,
        "x" * 200,
        "mcp/server:do",
    ]
)
unparsable = st.sampled_from(['{"a": 1', "", "{", "[1]", "not json", '{"a":1}{"a":2}', '{"a":1,"a":2}', '{"a": NaN}'])
wire_names = st.sampled_from(wires.names())
schemas = st.sampled_from(
    [
        {},
        {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
        {"type": "object", "properties": {}, "additionalProperties": False},
        {"type": "object", "properties": {"input": {"type": "string", "description": "Free text, in one string."}}},
        {"properties": {"n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, "$defs": {"x": {"type": "number"}}},
    ]
)
exts = st.one_of(
    st.just({}),
    st.just({}),
    st.builds(lambda name, value: {name: {"x_extra": value}}, wire_names, json_values.filter(bool)),
)

texts = st.builds(Text, said, ext=exts)
plain_texts = st.builds(Text, said)
media = st.one_of(
    st.builds(
        Media,
        st.sampled_from(["image/png", "image/jpeg", "application/pdf", "audio/wav", "video/mp4"]),
        words.map(lambda w: PNG + w.encode()),
    ),
    st.builds(Media, st.just("text/plain"), words.filter(bool).map(str.encode), name=st.none() | st.just("notes.txt")),
    st.builds(
        Media, st.sampled_from(["image/*", "image/png", "application/pdf"]), url=st.just("https://example.org/a")
    ),
    st.builds(Media, st.sampled_from(["image/*", "application/pdf", "application/*"]), file_id=st.just("file_1")),
)
reasoning = st.one_of(
    st.builds(Reasoning, said, st.just("c2lnbmF0dXJl"), ext=st.builds(lambda name: {name: {}}, wire_names)),
    st.builds(
        Reasoning, st.just(""), st.none(), st.just("cmVkYWN0ZWQ="), ext=st.builds(lambda name: {name: {}}, wire_names)
    ),
    st.builds(Reasoning, said),
)
opaque = st.builds(Opaque, wire_names, st.just({"type": "x_unknown", "value": 1}))


@st.composite
def tools(draw: st.DrawFn) -> tuple[ToolSpec, ...]:
    names = draw(st.lists(tool_names, unique=True, max_size=4))
    return tuple([draw(tool(name)) for name in names])


def tool(name: str) -> st.SearchStrategy[ToolSpec]:
    formats = st.sampled_from(
        [None, {"type": "text"}, {"type": "grammar", "syntax": "lark", "definition": "start: /a+/"}]
    )
    function = st.builds(
        ToolSpec,
        st.just(name),
        words,
        schemas,
        strict=st.sampled_from([None, None, True, False]),
        output_schema=st.sampled_from([None, None, {"type": "string"}]),
        ext=exts,
    )
    custom = st.builds(ToolSpec, st.just(name), words, kind=st.just("custom"), format=formats)
    return st.one_of(function, function, custom)


@st.composite
def calls(draw: st.DrawFn, id: str, specs: tuple[ToolSpec, ...]) -> ToolCall:
    custom = [spec.name for spec in specs if spec.kind == "custom"]
    kind = draw(st.sampled_from(["good", "good", "good", "bad", "custom"]))
    if kind == "custom" and custom:
        return ToolCall(id, draw(st.sampled_from(custom)), raw=draw(said), kind="custom")
    name = draw(tool_names.filter(lambda name: name not in custom))
    if kind == "bad":
        return ToolCall(id, name, None, draw(unparsable), "it does not parse")
    provider_id = draw(st.sampled_from([None, "toolu_01A", "call_1", "a b", "x" * 90, "D681PevKs"]))
    return ToolCall(id, name, draw(arguments), provider_id=provider_id, ext=draw(exts))


@st.composite
def results(draw: st.DrawFn, call: ToolCall) -> ToolResult:
    content = draw(st.lists(st.one_of(texts, plain_texts, plain_texts, media), max_size=3))
    return ToolResult(call.id, tuple(content), draw(st.booleans()), name=call.name, ext=draw(exts))


@st.composite
def histories(draw: st.DrawFn, specs: tuple[ToolSpec, ...] = ()) -> tuple[Message, ...]:
    """Well-formed histories: every call has its result, in order, in the next message."""
    messages: list[Message] = []
    for _ in range(draw(st.integers(0, 2))):
        messages.append(Message("system", tuple(draw(st.lists(plain_texts, min_size=1, max_size=2)))))
    for turn in range(draw(st.integers(1, 4))):
        blocks: list[Block] = draw(st.lists(st.one_of(texts, plain_texts, media, opaque), min_size=1, max_size=3))
        messages.append(Message("user", tuple(blocks), draw(st.sampled_from([None, None, "ada"])), draw(exts)))
        prose: list[Block] = draw(st.lists(st.one_of(texts, plain_texts, reasoning, opaque), max_size=3))
        called = [draw(calls(f"{turn}.{index}", specs)) for index in range(draw(st.integers(0, 3)))]
        if not prose and not called:
            continue
        spoken: list[Block] = [*prose, *called]
        if draw(st.integers(0, 9)) == 0:
            spoken = draw(st.permutations(spoken))
        messages.append(Message("assistant", tuple(spoken), ext=draw(exts)))
        ordered = [block for block in spoken if isinstance(block, ToolCall)]
        if ordered:
            messages.append(Message("tool", tuple([draw(results(call)) for call in ordered])))
    return tuple(messages)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    specs = draw(tools())
    names = [spec.name for spec in specs]
    subset = (
        st.none() if not names else st.none() | st.lists(st.sampled_from(names), unique=True, min_size=1).map(tuple)
    )
    choice = st.builds(
        ToolChoice, st.sampled_from(["auto", "any", "none"]), subset, st.sampled_from([None, None, True, False])
    )
    sampling = st.builds(
        Sampling,
        st.none() | st.integers(1, 9999),
        st.sampled_from([None, 0, 0.5, 1]),
        st.sampled_from([None, 0.9]),
        st.sampled_from([None, 40]),
        st.sampled_from([None, 0, 7]),
        st.sampled_from([(), ("END",), ("a", "b")]),
    )
    output = st.none() | st.builds(Output, schemas.filter(bool), st.sampled_from(["answer", "order"]), words)
    return Request(
        draw(histories(specs)),
        specs,
        draw(choice),
        draw(st.sampled_from(["model-1", "vendor/model:2"])),
        draw(sampling),
        draw(output),
        draw(st.booleans()),
        draw(exts),
    )


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    prose: list[Block] = draw(st.lists(st.one_of(texts, plain_texts, reasoning, opaque), max_size=4))
    called = [draw(calls(f"call_{index}", ())) for index in range(draw(st.integers(0, 3)))]
    stop: Stop = "tool_calls" if called else draw(st.sampled_from(["end", "length", "refused"]))
    usage = st.none() | st.builds(
        Usage, st.integers(50, 99), st.integers(50, 99), st.integers(0, 40), st.integers(0, 9)
    )
    return Reply(
        Message("assistant", (*prose, *called)),
        stop,
        None,
        draw(usage),
        draw(st.sampled_from([None, "model-1"])),
        draw(st.sampled_from([None, "reply-1"])),
        draw(exts),
    )


Draw = Callable[[st.SearchStrategy[Any]], Any]


def cut(draw: Draw, text: str) -> list[str]:
    """A text in pieces, some of them empty."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def recut(draw: Draw, events: list[StreamEvent], *, overlap: bool) -> list[StreamEvent]:
    """The same stream with its deltas cut elsewhere; with `overlap` the blocks are also open at the same time."""
    blocks: dict[int, list[StreamEvent]] = {}
    outside: list[StreamEvent] = []
    for event in events:
        match event:
            case BlockDelta(index, text):
                blocks[index] += [BlockDelta(index, piece) for piece in cut(draw, text)]
            case BlockStart(index) | BlockStop(index):
                blocks.setdefault(index, []).append(event)
            case _:
                outside.append(event)
    middle: list[StreamEvent] = []
    if overlap:
        # Calls may be written at the same time; prose is over when a call begins.
        concurrent = [each for each in blocks.values() if isinstance(getattr(each[0], "block", None), ToolCall)]
        for each in blocks.values():
            if each not in concurrent:
                middle += each
        for each in concurrent:
            middle.append(each.pop(0))
        while concurrent := [each for each in concurrent if each]:
            middle.append(draw(st.sampled_from(concurrent)).pop(0))
    else:
        middle = [event for each in blocks.values() for event in each]
    return [outside[0], *middle, *outside[1:]]


def copy(value: Any) -> Any:
    """A JSON value of its own."""
    return msgspec.json.decode(msgspec.json.encode(value))
