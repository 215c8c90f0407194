"""The twelfth rule, calls that are streamed, and the public bugs of others with them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from chatlike import chat, chunk, mistral, pieces

from counterfoil.types.json import read_object
from counterfoil.types.message import ToolCall
from counterfoil.types.stream import BlockDelta, BlockStart, fold
from counterfoil.wires import _chatstream

# 12. Streams


def test_rule_12_a_name_repeated_with_every_piece_is_one_call_and_is_parsed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """llama.cpp #13774, and in time that is linear: whether the call is complete is not asked of a parser each time."""
    parsed: list[str] = []

    def counted(text: str) -> Any:
        parsed.append(text)
        return read_object(text)

    monkeypatch.setattr(_chatstream, "read_object", counted)
    said = {"a": '}"\\{', "b": [{"c": {}}] * 50}
    text = msgspec.json.encode(said).decode()
    reply = pieces(*({"index": 0, "id": "c", "function": {"name": "f", "arguments": each}} for each in text))
    assert [call.arguments for call in reply.message.calls] == [said]
    assert len(parsed) <= 1


def test_rule_12_the_id_wins_over_the_index() -> None:
    """langchain PR35281, PR34671, sglang #39782: calls with one index were merged into one."""
    first, second, third = pieces(
        *[{"index": 0, "id": f"c{n}", "function": {"name": "f", "arguments": f'{{"n":{n}}}'}} for n in range(3)]
    ).message.calls
    assert [call.arguments for call in (first, second, third)] == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_rule_12_whole_calls_without_ids_and_with_one_index_are_not_merged() -> None:
    """sglang #39782, without the ids."""
    calls = pieces(
        *[{"index": 0, "function": {"name": "f", "arguments": f'{{"n":{n}}}'}} for n in range(3)]
    ).message.calls
    assert [call.arguments for call in calls] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert len({call.id for call in calls}) == 3


def test_rule_12_a_name_repeated_with_each_delta_is_one_name() -> None:
    """llama.cpp #13774."""
    (call,) = pieces(
        {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a"'}},
        {"index": 0, "id": "c", "function": {"name": "f", "arguments": ":{}"}},
        {"index": 0, "id": "c", "function": {"name": "f", "arguments": "}"}},
        {"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}},
    ).message.calls
    assert (call.name, call.arguments) == ("f", {"a": {}})


def test_rule_12_a_blank_id_gets_one_of_ours() -> None:
    """vercel/ai #18440."""
    (call,) = pieces({"index": 0, "id": "", "function": {"name": "f", "arguments": "{}"}}).message.calls
    assert call.id == "h1"


def test_rule_12_a_name_may_come_late() -> None:
    """vercel/ai #14722."""
    stream = [
        chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"arguments": '{"a"'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ":1}"}}]}),
        chunk({}, "tool_calls"),
    ]
    events = list(chat.read_stream(stream))
    assert next(event for event in events if isinstance(event, BlockStart)).block == ToolCall("c", "f")
    assert "".join([event.text for event in events if isinstance(event, BlockDelta)]) == '{"a":1}'
    assert fold(events).message.calls[0].arguments == {"a": 1}


def test_rule_12_the_index_may_be_missing() -> None:
    first, second = pieces(
        {"id": "a", "function": {"name": "f", "arguments": '{"n"'}},
        {"function": {"name": "", "arguments": ":1}"}},
        {"id": "b", "function": {"name": "f", "arguments": "{}"}},
    ).message.calls
    assert (first.arguments, second.arguments) == ({"n": 1}, {})


def test_rule_12_deltas_of_parallel_calls_may_be_mixed() -> None:
    """litellm #5231: the index of a block decides where a delta goes."""
    first, second = pieces(
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}},
        {"index": 1, "id": "b", "function": {"name": "g", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"n":1}'}},
        {"index": 1, "function": {"arguments": '{"n":2}'}},
    ).message.calls
    assert (first.arguments, second.arguments) == ({"n": 1}, {"n": 2})


def test_rule_12_mistral_sends_whole_calls_without_index_or_with_a_null_id() -> None:
    entries = [{"id": "null", "function": {"name": "f", "arguments": {"n": n}}} for n in (1, 2)]
    reply = fold(mistral.read_stream([chunk({"content": "", "tool_calls": entries}, "tool_calls")]))
    assert [call.arguments for call in reply.message.calls] == [{"n": 1}, {"n": 2}]
    assert [call.id for call in reply.message.calls] == ["h1", "h2"]


def test_usage_may_come_after_the_finish_reason() -> None:
    last = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}
    reply = fold(chat.read_stream([chunk({"content": "Hi"}), chunk({}, "stop"), last]))
    assert reply.usage is not None
    assert reply.usage.input_tokens == 5


def test_a_stream_that_was_cut_has_no_end_and_no_runnable_call() -> None:
    reply = pieces({"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a":1}'}}, finish=None)
    assert reply.stop == "other"
    assert reply.message.calls[0].arguments is None
