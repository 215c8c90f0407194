"""Requests, replies and streams for the laws, as varied as the types allow. Nothing here knows a single wire."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

import msgspec
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from counterfoil import wires
from counterfoil.types.message import Block, Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from counterfoil.types.request import Output, Reply, Request, Sampling, Stop, ToolChoice, ToolSpec, Usage
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, StreamEvent

Draw = Callable[[st.SearchStrategy[Any]], Any]

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


# Every strategy is made once, here: to make one costs more than to draw from it.
functions = st.builds(
    ToolSpec,
    st.just(""),
    words,
    schemas,
    strict=st.sampled_from([None, None, True, False]),
    output_schema=st.sampled_from([None, None, {"type": "string"}]),
    ext=exts,
)
customs = st.builds(
    ToolSpec,
    st.just(""),
    words,
    kind=st.just("custom"),
    format=st.sampled_from(
        [None, {"type": "text"}, {"type": "grammar", "syntax": "lark", "definition": "start: /a+/"}]
    ),
)
specs_of_any_kind = st.one_of(functions, functions, customs)
some_names = st.lists(tool_names, unique=True, max_size=4)
kinds = st.sampled_from(["good", "good", "good", "bad", "custom"])
provider_ids = st.sampled_from([None, "toolu_01A", "call_1", "a b", "x" * 90, "D681PevKs"])
result_content = st.lists(st.one_of(texts, plain_texts, plain_texts, media), max_size=3).map(tuple)
user_blocks = st.lists(st.one_of(texts, plain_texts, media, opaque), min_size=1, max_size=3)
prose = st.lists(st.one_of(texts, plain_texts, reasoning, opaque), max_size=4)
system_blocks = st.lists(plain_texts, min_size=1, max_size=2).map(tuple)
few = st.integers(0, 2)
some = st.integers(0, 3)
turns = st.integers(1, 4)
booleans = st.booleans()
seldom = st.integers(0, 9).map(lambda number: number == 0)
user_names = st.sampled_from([None, None, "ada"])
modes: st.SearchStrategy[Literal["auto", "any", "none"]] = st.sampled_from(["auto", "any", "none"])
parallels = st.sampled_from([None, None, True, False])
samplings = st.builds(
    Sampling,
    st.none() | st.integers(1, 9999),
    st.sampled_from([None, 0, 0.5, 1]),
    st.sampled_from([None, 0.9]),
    st.sampled_from([None, 40]),
    st.sampled_from([None, 0, 7]),
    st.sampled_from([(), ("END",), ("a", "b")]),
)
outputs = st.none() | st.builds(Output, schemas.filter(bool), st.sampled_from(["answer", "order"]), words)
models = st.sampled_from(["model-1", "vendor/model:2"])
usages = st.none() | st.builds(Usage, st.integers(50, 99), st.integers(50, 99), st.integers(0, 40), st.integers(0, 9))
stops: st.SearchStrategy[Stop] = st.sampled_from(["end", "length", "refused"])
reply_models = st.sampled_from([None, "model-1"])
reply_ids = st.sampled_from([None, "reply-1"])


def tools(draw: Draw) -> tuple[ToolSpec, ...]:
    return tuple([msgspec.structs.replace(draw(specs_of_any_kind), name=name) for name in draw(some_names)])


def a_call(draw: Draw, id: str, specs: tuple[ToolSpec, ...]) -> ToolCall:
    custom = [spec.name for spec in specs if spec.kind == "custom"]
    kind = draw(kinds)
    if kind == "custom" and custom:
        return ToolCall(id, draw(st.sampled_from(custom)), raw=draw(said), kind="custom")
    name = draw(tool_names.filter(lambda name: name not in custom) if custom else tool_names)
    if kind == "bad":
        return ToolCall(id, name, None, draw(unparsable), "it does not parse")
    provider_id = draw(provider_ids)
    return ToolCall(id, name, draw(arguments), provider_id=provider_id, ext=draw(exts))


def a_result(draw: Draw, call: ToolCall) -> ToolResult:
    return ToolResult(call.id, draw(result_content), draw(booleans), name=call.name, ext=draw(exts))


@st.composite
def histories(draw: st.DrawFn, specs: tuple[ToolSpec, ...] = ()) -> tuple[Message, ...]:
    """Well-formed histories: every call has its result, in order, in the next message."""
    messages: list[Message] = []
    for _ in range(draw(few)):
        messages.append(Message("system", draw(system_blocks)))
    for turn in range(draw(turns)):
        messages.append(Message("user", tuple(draw(user_blocks)), draw(user_names), draw(exts)))
        spoken: list[Block] = list(draw(prose))
        spoken += [a_call(draw, f"{turn}.{index}", specs) for index in range(draw(some))]
        if not spoken:
            continue
        if draw(seldom):
            spoken = draw(st.permutations(spoken))
        messages.append(Message("assistant", tuple(spoken), ext=draw(exts)))
        ordered = [block for block in spoken if isinstance(block, ToolCall)]
        if ordered:
            messages.append(Message("tool", tuple([a_result(draw, call) for call in ordered])))
    return tuple(messages)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    specs = tools(draw)
    names = [spec.name for spec in specs]
    subset: tuple[str, ...] | None = None
    if draw(booleans) and names:
        subset = tuple(draw(st.lists(st.sampled_from(names), unique=True, min_size=1)))
    return Request(
        draw(histories(specs)),
        specs,
        ToolChoice(draw(modes), subset, draw(parallels)),
        draw(models),
        draw(samplings),
        draw(outputs),
        draw(booleans),
        draw(exts),
    )


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    called = [a_call(draw, f"call_{index}", ()) for index in range(draw(some))]
    stop: Stop = "tool_calls" if called else draw(stops)
    message = Message("assistant", (*draw(prose), *called))
    return Reply(message, stop, None, draw(usages), draw(reply_models), draw(reply_ids), draw(exts))


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
