"""The twelve rules for lossy corners, and the public bugs of others, for the chat-like wires and Anthropic's."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from chatlike import MINE, PNG, UNFLAGGED, anthropic, chat, chunk, cohere, mistral, names, ollama, pieces, turn

from counterfoil import wires
from counterfoil.types.error import ModelError, WireError
from counterfoil.types.message import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, user
from counterfoil.types.request import Reply, Request, ToolChoice, ToolSpec
from counterfoil.types.stream import events_of, fold
from counterfoil.wires._ids import Ids, Names
from counterfoil.wires.wire import Wire

# 1. Ids


def test_rule_1_ids_are_mapped_never_cut_and_the_plan_brings_them_back() -> None:
    long = "x" * 200
    request = turn(
        ToolCall("1.1", "f", {}), ToolCall("1_1", "f", {}), ToolCall(long, "f", {}), ToolCall(long + "y", "f", {})
    )
    for wire in (anthropic, chat, mistral, cohere):
        written = wire.write_request(request)
        assert len(set(written.plan.ids)) == len(written.plan.ids)
        back = wire.read_request(written.body, written.plan)
        assert [call.id for call in back.messages[1].calls] == [call.id for call in request.messages[1].calls]


def test_rule_1_the_providers_id_is_used_where_it_is_valid_and_free() -> None:
    request = turn(ToolCall("1.1", "f", {}, provider_id="toolu_01"), ToolCall("1.2", "f", {}, provider_id="toolu_01"))
    ids = [block["id"] for block in anthropic.write_request(request).body["messages"][1]["content"]]
    assert ids == ["toolu_01", "1_2"]


def test_rule_1_mistral_ids_have_nine_letters_or_digits() -> None:
    """langchain PR24668: ids of other providers were sent as they were."""
    request = turn(ToolCall("1.1", "f", {}, provider_id="toolu_01"), ToolCall("1.2", "f", {}, provider_id="D681PevKs"))
    made, kept = (call["id"] for call in mistral.write_request(request).body["messages"][1]["tool_calls"])
    assert kept == "D681PevKs"
    assert len(made) == 9
    assert made.isalnum()


def test_rule_1_maps_do_not_change_as_a_history_grows() -> None:
    short, long = Ids(), Ids()
    first = [short.add("1.1"), short.add("1.2")]
    assert [long.add("1.1"), long.add("1.2"), long.add("2.1")][:2] == first


# 2. Names


def test_rule_2_names_collide_into_a_hash_and_come_back() -> None:
    given = Names(["a.b", "a_b", "a-b", "a/b"])
    assert given("a_b") == "a_b"
    assert len({given(name) for name in ("a.b", "a_b", "a-b", "a/b")}) == 4
    assert {given.changed[given(name)] for name in ("a.b", "a/b")} == {"a.b", "a/b"}


@pytest.mark.parametrize("wire", MINE, ids=names(MINE))
def test_rule_2_a_reply_is_read_with_our_names(wire: Wire) -> None:
    request = Request((user("Hi"),), (ToolSpec("orders.find", parameters={"type": "object"}),), model="m")
    plan = wire.write_request(request).plan
    body = wire.write_reply(Reply(Message("assistant", (ToolCall("c1", "orders_find", {}),))))
    assert wire.read_reply(body, plan).message.calls[0].name == "orders.find"
    assert (
        fold(wire.read_stream(wire.write_stream(events_of(wire.read_reply(body))), plan)).message.calls[0].name
        == "orders.find"
    )


# 3. Arguments


@pytest.mark.parametrize("raw", ['{"a": 1', "", "[1]", "null", '{"a":1,"a":2}'])
@pytest.mark.parametrize("wire", MINE, ids=names(MINE))
def test_rule_3_what_does_not_parse_is_never_run_and_never_nothing(wire: Wire, raw: str) -> None:
    bad = Reply(Message("assistant", (ToolCall("c1", "f", None, raw, "it does not parse"),)), "tool_calls")
    for found in (wire.read_reply(wire.write_reply(bad)), fold(wire.read_stream(wire.write_stream(events_of(bad))))):
        (call,) = found.message.calls
        assert (call.arguments, call.raw) == (None, raw)
        assert call.parse_error


def test_rule_3_the_spelling_of_arguments_goes_back_as_it_came() -> None:
    text = '{"b" : 1.0, "a":123456789012345678901234567890}'
    body = {
        "message": {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": text}}],
        },
        "finish_reason": "tool_calls",
        "index": 0,
    }
    reply = chat.read_reply({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [body]})
    assert reply.message.calls[0].raw == text
    assert reply.message.calls[0].arguments == {"b": 1.0, "a": 123456789012345678901234567890}
    assert chat.write_reply(reply)["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == text


def test_rule_3_no_text_is_no_arguments_only_where_the_wire_says_so() -> None:
    start = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    }
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ""}}
    stop = {"type": "content_block_stop", "index": 0}

    def ended(reason: str) -> ToolCall:
        last = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}
        return fold(anthropic.read_stream([start, delta, stop, last, {"type": "message_stop"}])).message.calls[0]

    assert ended("tool_use").arguments == {}
    assert ended("max_tokens").arguments is None
    assert (
        pieces({"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}).message.calls[0].arguments is None
    )


# 4. Errors


@pytest.mark.parametrize("text", ["no such order", "", "<tool_error>", "<tool_output>x</tool_output>"])
@pytest.mark.parametrize("is_error", [True, False])
@pytest.mark.parametrize("wire", UNFLAGGED, ids=names(UNFLAGGED))
def test_rule_4_errors_travel_in_a_reversible_envelope(wire: Wire, text: str, is_error: bool) -> None:
    content = (Text(text),) if text else ()
    request = turn(ToolCall("c1", "f", {}), results=(ToolResult("c1", content, is_error, name="f"),))
    written = wire.write_request(request)
    assert [loss.carried for loss in written.losses] == (["envelope"] if is_error else [])
    (result,) = wire.read_request(written.body, written.plan).messages[2].results
    assert (result.content, result.is_error) == (content, is_error)


# 5. Media in results


@pytest.mark.parametrize("wire", [chat, cohere], ids=names([chat, cohere]))
def test_rule_5_media_of_a_result_follow_in_a_user_message(wire: Wire) -> None:
    content = (Text("see"), Media("image/png", PNG), Text("above"))
    request = turn(ToolCall("c1", "f", {}), results=(ToolResult("c1", content, name="f"),))
    written = wire.write_request(request)
    assert [message["role"] for message in written.body["messages"]] == ["user", "assistant", "tool", "user"]
    assert [loss.carried for loss in written.losses] == ["moved"]
    assert wire.read_request(written.body, written.plan).messages[2].results[0].content == content


def test_rule_5_media_that_a_wire_cannot_carry_leave_a_text() -> None:
    written = ollama.write_request(Request((user([Media("video/mp4", b"1", name="a.mp4")]),), model="m"))
    assert written.body["messages"][0]["content"] == "[video/mp4 a.mp4: not shown, this model cannot be sent it]"
    assert [loss.carried for loss in written.losses] == ["placeholder"]


# 6. Signatures


def test_rule_6_signatures_go_back_verbatim_and_only_where_they_come_from() -> None:
    body = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_sequence": None,
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": [
            {"type": "thinking", "thinking": "", "signature": "EqQB"},
            {"type": "redacted_thinking", "data": "EmwK"},
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
        ],
    }
    said = anthropic.read_reply(body).message
    request = Request((user("Hi"), said, Message("tool", (ToolResult("toolu_1", (Text("ok"),)),))), model="m")
    assert anthropic.write_request(request).body["messages"][1]["content"] == body["content"]
    for wire in UNFLAGGED:
        written = wire.write_request(request)
        assert "EqQB" not in str(written.body)
        assert [loss.path for loss in written.losses if loss.carried == "dropped"] == [
            "/messages/1/blocks/0",
            "/messages/1/blocks/1",
        ]


def test_rule_6_deepseek_wants_reasoning_with_every_assistant_message() -> None:
    message = Message("assistant", (Text("Hello."),))
    thought = Message("assistant", (Reasoning("hm", ext={"anthropic": {}}), Text("Hello.")))
    request = Request(
        (user("Hi"), message, thought), model="m", ext={"openai-chat": {"$reasoning": "reasoning_content"}}
    )
    _, first, second = chat.write_request(request).body["messages"]
    assert (first["reasoning_content"], second["reasoning_content"]) == ("", "hm")


def test_rule_6_reasoning_of_a_compatible_host_goes_back_in_its_field() -> None:
    for field in ("reasoning_content", "reasoning"):
        reply = fold(
            chat.read_stream([chunk({field: "h"}), chunk({field: "m"}), chunk({"content": "Hi"}), chunk({}, "stop")])
        )
        assert reply.message.blocks[0] == Reasoning("hm", ext={"openai-chat": {"$field": field}})
        assert chat.write_request(Request((reply.message,), model="m")).body["messages"][0][field] == "hm"


# 7. Choices

TOOLS = tuple([ToolSpec(name, parameters={"type": "object"}) for name in ("a", "b", "c")])


def chosen(wire: Wire, choice: ToolChoice, **ext: Any) -> dict[str, Any]:
    return wire.write_request(Request((user("Hi"),), TOOLS, choice, "m", ext=ext)).body


def test_rule_7_a_subset_is_said_or_sent_alone() -> None:
    subset = ToolChoice("any", ("a", "b"), parallel=False)
    assert chosen(chat, subset)["tool_choice"]["allowed_tools"]["mode"] == "required"
    for wire in (anthropic, mistral, cohere, ollama):
        assert len(chosen(wire, subset)["tools"]) == 2
    assert chosen(anthropic, subset)["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    assert chosen(cohere, ToolChoice("any", ("a",)))["tool_choice"] == "REQUIRED"
    assert len(chosen(cohere, ToolChoice("any", ("a",)))["tools"]) == 1


def test_rule_7_no_tool_may_be_called_is_said_or_no_tool_is_shown() -> None:
    none = ToolChoice("none")
    assert chosen(anthropic, none)["tool_choice"] == {"type": "none"}
    assert chosen(chat, none)["tool_choice"] == chosen(mistral, none)["tool_choice"] == "none"
    assert chosen(cohere, none)["tool_choice"] == "NONE"
    assert "tools" not in chosen(ollama, none)


def test_rule_7_a_thinking_model_is_not_forced() -> None:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    assert chosen(anthropic, ToolChoice("any"), anthropic=thinking)["tool_choice"] == {"type": "auto"}


# 8. Free-text tools


@pytest.mark.parametrize("wire", [anthropic, mistral, cohere, ollama], ids=names([anthropic, mistral, cohere, ollama]))
def test_rule_8_a_free_text_tool_is_a_json_tool_with_one_string(wire: Wire) -> None:
    spec = ToolSpec(
        "run", "Runs code.", kind="custom", format={"type": "grammar", "syntax": "regex", "definition": "a+"}
    )
    request = msgspec.structs.replace(turn(ToolCall("c1", "run", raw="aaa", kind="custom")), tools=(spec,))
    written = wire.write_request(request)
    back = wire.read_request(written.body, written.plan)
    assert back.tools == (spec,)
    assert (back.messages[1].calls[0].kind, back.messages[1].calls[0].raw) == ("custom", "aaa")
    reply = wire.read_reply(wire.write_reply(Reply(request.messages[1])), written.plan)
    assert (reply.message.calls[0].kind, reply.message.calls[0].raw) == ("custom", "aaa")


# 9. Stop reasons


@pytest.mark.parametrize("wire", MINE, ids=names(MINE))
def test_rule_9_a_reply_with_calls_stopped_for_them(wire: Wire) -> None:
    body = wire.write_reply(Reply(Message("assistant", (ToolCall("c1", "f", {}),)), "end"))
    assert wire.read_reply(body).stop == "tool_calls"


def test_rule_9_raw_words_are_kept() -> None:
    body = anthropic.write_reply(Reply(Message("assistant", (Text("Hi"),)))) | {"stop_reason": "stop_sequence"}
    assert (anthropic.read_reply(body).stop, anthropic.read_reply(body).stop_raw) == ("end", "stop_sequence")
    assert anthropic.write_reply(anthropic.read_reply(body))["stop_reason"] == "stop_sequence"


def test_rule_9_a_refusal_in_words_is_a_refusal() -> None:
    reply = fold(chat.read_stream([chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop")]))
    assert (reply.stop, reply.stop_raw, reply.message.text) == ("refused", "stop", "I cannot.")


# 10. Results in one message, in order


def test_rule_10_results_are_merged_in_the_order_of_their_calls() -> None:
    """litellm #15307, pydantic-ai #580: results of parallel calls came split, or in the order they were ready."""
    calls = Message("assistant", (ToolCall("a", "f", {}), ToolCall("b", "g", {})))
    split = (Message("tool", (ToolResult("b", (Text("2"),)),)), Message("tool", (ToolResult("a", (Text("1"),)),)))
    written = anthropic.write_request(Request((user("Hi"), calls, *split), model="m"))
    assert [block["tool_use_id"] for block in written.body["messages"][2]["content"]] == ["a", "b"]
    assert written.repairs


def test_rule_10_order_is_the_pairing_where_there_are_no_ids() -> None:
    written = ollama.write_request(turn(ToolCall("1.1", "f", {"n": 1}), ToolCall("1.2", "f", {"n": 2})))
    results = ollama.read_request(written.body).messages[2].results
    assert [result.call_id for result in results] == ["h1", "h2"]


@pytest.mark.parametrize("wire", MINE, ids=names(MINE))
def test_rule_10_each_call_has_one_result(wire: Wire) -> None:
    calls = Message("assistant", (ToolCall("a", "f", {}), ToolCall("b", "f", {})))
    stray = Message("tool", (ToolResult("a", (Text("1"),)), ToolResult("a", (Text("again"),)), ToolResult("zz", ())))
    written = wire.write_request(Request((user("Hi"), calls, stray), model="m"))
    (found,) = [message for message in wire.read_request(written.body, written.plan).messages if message.role == "tool"]
    assert [result.is_error for result in found.results] == [False, True]
    assert len(written.repairs) == 4


# 11. Unknown blocks


def test_rule_11_unknown_blocks_stay_in_their_place() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "x_new", "x": [1]}, {"type": "text", "text": "b"}]
    for wire in (anthropic, mistral, cohere, chat):
        body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]}
        request = wire.read_request(body)
        assert request.messages[0].blocks[1] == Opaque(wire.NAME, content[1])
        assert wire.write_request(request).body["messages"] == body["messages"]


def test_an_error_of_the_host_is_told_in_its_words() -> None:
    with pytest.raises(ModelError, match="Overloaded"):
        list(anthropic.read_stream([{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}]))
    for wire in (chat, mistral, ollama):
        with pytest.raises(ModelError, match="no such model"):
            list(wire.read_stream([{"error": {"message": "no such model"}}]))


def test_anthropic_results_come_first_in_the_next_user_message() -> None:
    """litellm #5652, #11273: text before the results, results in messages of their own."""
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look:"},
                    {"type": "tool_result", "tool_use_id": "t", "content": "1"},
                ],
            },
        ],
    }
    content = anthropic.write_request(anthropic.read_request(body)).body["messages"][2]["content"]
    assert [block["type"] for block in content] == ["tool_result", "text"]


def test_definitions_of_a_schema_stay_in_it() -> None:
    """any-llm #1094: `$defs` were lost on the way."""
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}
    for wire in MINE:
        request = Request((user("Hi"),), (ToolSpec("f", parameters=schema),), model="m")
        assert wire.read_request(wire.write_request(request).body).tools[0].parameters == schema


def test_an_unknown_wire_names_the_nearest() -> None:
    with pytest.raises(WireError, match="openai-chat"):
        wires.get("openai_chat")
