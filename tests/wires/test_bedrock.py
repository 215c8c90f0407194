"""Bedrock Converse: the corners where others fail, the rules for what cannot be said, and the binary framing."""

from __future__ import annotations

import datetime
import uuid
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import laws

from counterfoil.types.error import ModelError, WireError
from counterfoil.types.message import Media, Message, Reasoning, Text, ToolCall, ToolResult, user
from counterfoil.types.request import Reply, Request, ToolChoice, ToolSpec
from counterfoil.types.stream import ReplyFold, events_of, fold
from counterfoil.wires import bedrock as wire
from counterfoil.wires._eventstream import Frame, FrameReader, encode_frame, read_event, read_events, write_event

TOOL = ToolSpec("f", parameters={"type": "object", "properties": {}})


def start(index: int, id: str, name: str = "f") -> dict[str, Any]:
    return {"contentBlockStart": {"start": {"toolUse": {"toolUseId": id, "name": name}}, "contentBlockIndex": index}}


def delta(index: int, text: str) -> dict[str, Any]:
    return {"contentBlockDelta": {"delta": {"toolUse": {"input": text}}, "contentBlockIndex": index}}


def stop(index: int) -> dict[str, Any]:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def test_parallel_results_are_one_message_in_the_order_of_the_calls_litellm_15307() -> None:
    calls = (ToolCall("a", "f", {"n": 1}), ToolCall("b", "f", {"n": 2}))
    results = (ToolResult("b", (Text("2"),)), ToolResult("a", (Text("1"),)))
    apart = tuple([Message("tool", (result,)) for result in results])
    written = wire.write_request(Request((user("hi"), Message("assistant", calls), *apart), (TOOL,), model="m"))
    assert [message["role"] for message in written.body["messages"]] == ["user", "assistant", "user"]
    answered = [part["toolResult"]["toolUseId"] for part in written.body["messages"][2]["content"]]
    assert answered == ["a", "b"]
    assert written.repairs


def test_streamed_arguments_are_not_lost_crewai_7243() -> None:
    events = [
        start(0, "a"),
        delta(0, '{"city":'),
        delta(0, ' "Paris"}'),
        stop(0),
        {"messageStop": {"stopReason": "tool_use"}},
    ]
    assert fold(wire.read_stream(events)).message.calls[0].arguments == {"city": "Paris"}


def test_interleaved_calls_do_not_merge_langchain_35281() -> None:
    events = [start(0, "a"), start(1, "b"), delta(1, '{"n":'), delta(0, '{"n":1}'), delta(1, "2}"), stop(1), stop(0)]
    events.append({"messageStop": {"stopReason": "tool_use"}})
    calls = fold(wire.read_stream(events)).message.calls
    assert [(call.id, call.arguments) for call in calls] == [("a", {"n": 1}), ("b", {"n": 2})]


@pytest.mark.parametrize("metadata_first", [True, False])
def test_usage_and_stop_come_in_either_order(metadata_first: bool) -> None:
    ends: list[dict[str, Any]] = [
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}, "metrics": {"latencyMs": 1}}},
    ]
    reply = fold(wire.read_stream([{"messageStart": {"role": "assistant"}}, *(ends[::-1] if metadata_first else ends)]))
    assert reply.usage is not None
    assert (reply.stop, reply.usage.input_tokens, reply.usage.output_tokens) == ("end", 3, 2)


@pytest.mark.parametrize(("reason", "arguments"), [("tool_use", {}), ("max_tokens", None)])
def test_a_call_without_arguments_is_empty_only_if_it_was_not_cut(reason: str, arguments: Any) -> None:
    events = [start(0, "a"), delta(0, ""), stop(0), {"messageStop": {"stopReason": reason}}]
    (call,) = fold(wire.read_stream(events)).message.calls
    assert call.arguments == arguments
    body = wire.write_reply(fold(wire.read_stream([start(0, "a"), delta(0, "{}"), stop(0)])))
    whole = wire.read_reply({**body, "stopReason": reason})
    assert whole.message.calls[0].arguments == arguments


def test_a_cut_stream_has_no_end_and_no_runnable_call() -> None:
    adding = ReplyFold()
    for event in wire.read_stream([start(0, "a"), delta(0, "{}")]):
        adding.add(event)
    assert not adding.done
    assert adding.reply.message.calls[0].arguments is None


def test_unparsable_arguments_travel_wrapped_and_are_never_empty() -> None:
    broken = ToolCall("a", "f", None, '{"n": 1', "cut off")
    request = Request(
        (user("hi"), Message("assistant", (broken,)), Message("tool", (ToolResult("a"),))), (TOOL,), model="m"
    )
    written = wire.write_request(request)
    assert written.body["messages"][1]["content"][0]["toolUse"]["input"] not in ({}, None)
    (back,) = wire.read_request(written.body, written.plan).messages[1].calls
    assert (back.arguments, back.raw) == (None, '{"n": 1')


def test_no_tools_may_be_called() -> None:
    choice = ToolChoice("none")
    plain = wire.write_request(Request((user("hi"),), (TOOL,), choice, "m"))
    assert "toolConfig" not in plain.body
    called = (user("hi"), Message("assistant", (ToolCall("a", "f", {}),)), Message("tool", (ToolResult("a"),)))
    kept = wire.write_request(Request(called, (TOOL,), choice, "m"))
    assert kept.body["toolConfig"]["tools"]
    for written in (plain, kept):
        assert ("/tool_choice", "rewritten") in [(loss.path, loss.carried) for loss in written.losses]


def test_a_history_with_calls_always_has_a_catalogue() -> None:
    called = (user("hi"), Message("assistant", (ToolCall("a", "f", {}),)), Message("tool", (ToolResult("a"),)))
    written = wire.write_request(Request(called, model="m"))
    assert written.body["toolConfig"]["tools"][0]["toolSpec"]["name"] == "f"
    assert [loss.path for loss in written.losses] == ["/tools"]


def test_a_subset_is_a_smaller_catalogue() -> None:
    tools = (TOOL, ToolSpec("g", parameters={"type": "object"}), ToolSpec("h", parameters={"type": "object"}))
    written = wire.write_request(Request((user("hi"),), tools, ToolChoice("any", ("f", "h"), True), "m"))
    assert [tool["toolSpec"]["name"] for tool in written.body["toolConfig"]["tools"]] == ["f", "h"]
    assert {loss.path for loss in written.losses} == {"/tools/1", "/tool_choice/names", "/tool_choice/parallel"}


def test_media_of_results_are_said_where_there_is_a_format() -> None:
    content = (Media("image/png", b"x"), Media("application/pdf", b"y", name="a"), Media("audio/wav", b"z"))
    result = ToolResult("a", content, name="f")
    request = Request(
        (user("hi"), Message("assistant", (ToolCall("a", "f", {}),)), Message("tool", (result,))), (TOOL,), model="m"
    )
    written = wire.write_request(request)
    parts = written.body["messages"][2]["content"][0]["toolResult"]["content"]
    assert [next(iter(part)) for part in parts] == ["image", "document", "text"]
    assert [(loss.path, loss.carried) for loss in written.losses] == [("/messages/2/blocks/0/content/2", "placeholder")]


@pytest.mark.parametrize(
    ("name", "said"), [("notes.txt", "notes-txt"), ("a  b", "a b"), (None, "document"), ("Plan [2]", "Plan [2]")]
)
def test_documents_are_named_as_this_wire_allows(name: str | None, said: str) -> None:
    document = Media("application/pdf", b"x", name=name)
    written = wire.write_request(Request((Message("user", (document,)),), model="m"))
    assert written.body["messages"][0]["content"][0]["document"]["name"] == said
    assert [loss.carried for loss in written.losses] == ([] if name == said else ["rewritten"])


def test_signatures_go_back_to_this_wire_only() -> None:
    own = Reasoning("hm", "sig", ext={"bedrock": {}})
    hidden = Reasoning(redacted="aGlkZGVu", ext={"bedrock": {}})
    foreign = Reasoning("hm", "sig", ext={"elsewhere": {}})
    written = wire.write_request(
        Request((user("hi"), Message("assistant", (own, hidden, foreign, Text("so")))), model="m")
    )
    assert written.body["messages"][1]["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
        {"reasoningContent": {"redactedContent": "aGlkZGVu"}},
        {"text": "so"},
    ]
    assert [loss.path for loss in written.losses] == ["/messages/1/blocks/2"]


def test_an_exception_in_the_stream_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="throttlingException: slow down"):
        list(wire.read_stream([{"throttlingException": {"message": "slow down"}}]))


def test_free_text_tools_travel_as_json_and_come_back() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
    shell = ToolSpec("sh", "Runs a line.", kind="custom", format=grammar)
    asked = ToolCall("a", "sh", raw="ls", kind="custom")
    history = (user("hi"), Message("assistant", (asked,)), Message("tool", (ToolResult("a", (Text("x"),), name="sh"),)))
    written = wire.write_request(Request(history, (shell,), model="m"))
    assert {loss.carried for loss in written.losses} == {"envelope"}
    back = wire.read_request(written.body, written.plan)
    assert (back.tools, back.messages) == ((shell,), history)
    answer = Reply(Message("assistant", (ToolCall("b", "sh", {"input": "pwd"}),)), "tool_calls")
    for reply in (
        wire.read_reply(wire.write_reply(answer), written.plan),
        fold(wire.read_stream(wire.write_stream(events_of(answer)), written.plan)),
    ):
        (called,) = reply.message.calls
        assert (called.kind, called.raw, called.arguments) == ("custom", "pwd", None)


# The framing


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
headers = st.dictionaries(
    st.text(st.characters(codec="ascii"), min_size=1, max_size=9),
    st.one_of(
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.binary(max_size=9),
        st.text(st.characters(codec="utf-8"), max_size=9),
        st.uuids(),
        st.integers(-(10**13), 10**13).map(lambda milliseconds: EPOCH + datetime.timedelta(milliseconds=milliseconds)),
    ),
    max_size=4,
)


@laws
@given(frames=st.lists(st.builds(Frame, headers, st.binary(max_size=99)), max_size=4), size=st.integers(1, 40))
def test_frames_come_back_however_their_bytes_are_cut(frames: list[Frame], size: int) -> None:
    data = b"".join([encode_frame(frame.headers, frame.payload) for frame in frames])
    reader = FrameReader()
    found = [frame for at in range(0, len(data), size) for frame in reader.feed(data[at : at + size])]
    reader.close()
    assert found == frames


@laws
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_a_flipped_bit_is_noticed(place: int, bit: int) -> None:
    data = bytearray(write_event({"contentBlockStop": {"contentBlockIndex": 0}}))
    data[place % len(data)] ^= 1 << bit
    reader = FrameReader()
    with pytest.raises(WireError):
        read_to_the_end(reader, bytes(data))


def read_to_the_end(reader: FrameReader, data: bytes) -> list[Frame]:
    frames = list(reader.feed(data))
    reader.close()
    return frames


def test_every_type_of_header_is_understood() -> None:
    id = uuid.uuid4()
    head = b"\x01a\x02\xff\x01b\x03\xff\xfe\x01c\x04\x00\x00\x00\x07\x01d\x09" + id.bytes
    frame = encode_frame({}, b"{}")
    lengths = (len(frame) + len(head)).to_bytes(4, "big") + len(head).to_bytes(4, "big")
    body = lengths + zlib.crc32(lengths).to_bytes(4, "big") + head + b"{}"
    (found,) = FrameReader().feed(body + zlib.crc32(body).to_bytes(4, "big"))
    assert found.headers == {"a": -1, "b": -2, "c": 7, "d": id}


def test_a_stream_that_ends_inside_a_frame_was_cut() -> None:
    whole = write_event({"messageStop": {"stopReason": "end_turn"}})
    with pytest.raises(WireError, match="cut inside a frame"):
        list(read_events([whole, whole[:-1]]))


def test_an_error_frame_is_a_model_error_and_an_exception_an_event() -> None:
    error = Frame({":message-type": "error", ":error-code": "Boom", ":error-message": "it broke"}, b"")
    with pytest.raises(ModelError, match="Boom: it broke"):
        read_event(error)
    event = {"validationException": {"message": "no"}}
    assert list(read_events([write_event(event)])) == [event]
