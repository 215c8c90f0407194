"""OpenAI Responses: the corners where others fail, by the name of the bug, and the rules for what cannot be said."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from counterfoil.types.error import ModelError
from counterfoil.types.message import Ext, Media, Message, Reasoning, Text, ToolCall, ToolResult, user
from counterfoil.types.request import Request, ToolChoice, ToolSpec
from counterfoil.types.stream import BlockStart, BlockStop, ReplyFold, fold
from counterfoil.wires import openai_responses as wire

OWN: Ext = {"openai-responses": {}}
CREATED: dict[str, Any] = {
    "type": "response.created",
    "response": {"id": "resp_1", "model": "m", "status": "in_progress"},
}


def completed(output: list[Any], **more: Any) -> dict[str, Any]:
    response = {"id": "resp_1", "model": "m", "status": "completed", "output": output, **more}
    return {"type": "response.completed", "response": response}


def call_item(name: str, arguments: str, call_id: str | None, id: str = "fc_1") -> dict[str, Any]:
    item = {"type": "function_call", "id": id, "name": name, "arguments": arguments, "status": "completed"}
    return item if call_id is None else {**item, "call_id": call_id}


@pytest.mark.parametrize("bug", ["vercel/ai#7099", "vercel/ai#8379"])
def test_reasoning_is_never_sent_without_the_item_it_led_to(bug: str) -> None:
    thought = Reasoning("hm", "sealed", id="rs_1", ext=OWN)
    alone = wire.write_request(Request((user("hi"), Message("assistant", (thought,)), user("go on")), model="m"))
    assert [item.get("type") for item in alone.body["input"]] == [None, None]
    assert "/messages/1/blocks/0" in [loss.path for loss in alone.losses]
    led = wire.write_request(Request((user("hi"), Message("assistant", (thought, Text("so")))), model="m"))
    assert led.body["input"][1] == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "sealed",
    }


def test_a_blank_call_id_gets_one_of_ours_vercel_ai_18440() -> None:
    items = [call_item("f", "{}", "", "fc_1"), call_item("g", "{}", None, "fc_2")]
    events: list[dict[str, Any]] = [CREATED]
    for index, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "arguments": ""}})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append(completed(items))
    streamed = fold(wire.read_stream(events))
    assert [call.id for call in streamed.message.calls] == ["h1", "h2"]
    assert wire.read_reply(completed(items)["response"]).message == streamed.message


def test_a_name_that_comes_late_is_waited_for_vercel_ai_14722() -> None:
    item = call_item("lookup", '{"a":1}', "call_1")
    events: list[Any] = [
        CREATED,
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "name": "", "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1", "delta": '{"a":1}'},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        completed([item]),
    ]
    read = list(wire.read_stream(events))
    told = [event.block for event in read if isinstance(event, BlockStart | BlockStop)]
    assert [block.name for block in told if isinstance(block, ToolCall)] == ["lookup", "lookup"]
    (called,) = fold(read).message.calls
    assert (called.id, called.name, called.arguments) == ("call_1", "lookup", {"a": 1})


def test_three_calls_of_one_tool_stay_three_sglang_39782() -> None:
    items = [call_item("f", f'{{"n":{n}}}', f"call_{n}", f"fc_{n}") for n in range(3)]
    events: list[dict[str, Any]] = [CREATED]
    for item in items:
        # Every call says that it is at place 0: the id counts for more.
        events.append({"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}})
        delta = {"delta": item["arguments"], "item_id": item["id"], "output_index": 0}
        events.append({"type": "response.function_call_arguments.delta", **delta})
        events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    calls = fold(wire.read_stream([*events, completed([])])).message.calls
    assert [(call.id, call.arguments) for call in calls] == [(f"call_{n}", {"n": n}) for n in range(3)]


def test_the_signature_is_that_of_the_finished_item() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "whole"}
    events = [
        CREATED,
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "encrypted_content": "part"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        completed([item]),
    ]
    assert fold(wire.read_stream(events)).message.blocks == (Reasoning("", "whole", id="rs_1", ext=OWN),)


@pytest.mark.parametrize("arguments", ['{"a": 1', "", "[1]", '{"a":1,"a":2}', "null"])
def test_arguments_that_do_not_parse_are_never_run_and_never_empty(arguments: str) -> None:
    (called,) = wire.read_reply(completed([call_item("f", arguments, "c")])["response"]).message.calls
    assert called.arguments is None
    assert (called.raw, bool(called.parse_error)) == (arguments, True)
    body = wire.write_request(Request((Message("assistant", (called,)),), model="m")).body
    assert body["input"][0]["arguments"] == arguments


def test_a_call_that_is_marked_incomplete_is_not_run_though_it_parses() -> None:
    item = {**call_item("f", "{}", "c"), "status": "incomplete"}
    body = completed([item], incomplete_details={"reason": "max_output_tokens"})["response"]
    reply = wire.read_reply({**body, "status": "incomplete"})
    assert (reply.stop, reply.stop_raw, reply.message.calls[0].arguments) == ("length", "max_output_tokens", None)


def test_a_cut_stream_has_no_end_and_no_runnable_call() -> None:
    item = call_item("f", "", "c")
    events: list[Any] = [
        CREATED,
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1", "delta": "{}"},
    ]
    adding = ReplyFold()
    for event in wire.read_stream(events):
        adding.add(event)
    assert not adding.done
    assert adding.reply.message.calls[0].arguments is None


def test_errors_of_the_host_are_model_errors() -> None:
    failed = {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow down"}}
    ends: list[dict[str, Any]] = [
        {"type": "response.failed", "response": failed},
        {"type": "error", "code": "rate_limit_exceeded", "message": "slow down"},
    ]
    for end in ends:
        with pytest.raises(ModelError, match="rate_limit_exceeded: slow down"):
            list(wire.read_stream([CREATED, end]))
    with pytest.raises(ModelError, match="slow down"):
        wire.read_reply(failed)


def test_an_error_flag_and_media_of_a_result_come_back() -> None:
    result = ToolResult("c", (Text("no"), Media("image/png", b"x")), is_error=True, name="f")
    messages = (user("hi"), Message("assistant", (ToolCall("c", "f", {}),)), Message("tool", (result,)))
    written = wire.write_request(Request(messages, model="m"))
    assert [(loss.path, loss.carried) for loss in written.losses] == [("/messages/2/blocks/0/is_error", "envelope")]
    assert wire.read_request(written.body, written.plan).messages[2].results == (result,)


def test_free_text_tools_and_subsets_are_native() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
    tools = (ToolSpec("sh", kind="custom", format=grammar), ToolSpec("f", parameters={"type": "object"}))
    called = ToolCall("c", "sh", raw="ls", kind="custom")
    answered = Message("tool", (ToolResult("c", (Text("a"),), name="sh"),))
    request = Request(
        (user("hi"), Message("assistant", (called,)), answered), tools, ToolChoice("any", ("sh", "f"), False), "m"
    )
    written = wire.write_request(request)
    assert written.losses == ()
    assert written.body["tools"][0] == {"type": "custom", "name": "sh", "format": grammar}
    assert [item.get("type") for item in written.body["input"]] == [None, "custom_tool_call", "custom_tool_call_output"]
    assert written.body["tool_choice"]["type"] == "allowed_tools"
    assert wire.read_request(written.body, written.plan) == request


def test_ids_are_the_providers_where_they_fit_and_mapped_where_they_do_not() -> None:
    calls = [ToolCall(f"1.{n}", "f", {}, provider_id=id) for n, id in enumerate(["call_a", "call_a", "x" * 65, ""])]
    results = Message("tool", tuple([ToolResult(call.id, (Text("r"),), name="f") for call in calls]))
    request = Request((user("hi"), Message("assistant", tuple(calls)), results), model="m")
    written = wire.write_request(request)
    ids = [item["call_id"] for item in written.body["input"] if item.get("type") == "function_call"]
    assert ids[:2] == ["call_a", "1.1"]
    assert len(set(ids)) == 4
    assert all(0 < len(id) <= 64 for id in ids)
    assert [call.id for call in wire.read_request(written.body, written.plan).messages[1].calls] == [
        call.id for call in calls
    ]


def test_another_wires_reasoning_is_dropped_and_said_so() -> None:
    thought = Reasoning("hm", "sig", ext={"elsewhere": {}})
    written = wire.write_request(Request((Message("assistant", (thought, Text("so"))),), model="m"))
    assert len(written.body["input"]) == 1
    assert written.losses[0].path == "/messages/0/blocks/0"


def test_unknown_items_stay_where_they_were() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    items: list[Any] = [{"role": "user", "content": "hi"}, search, {"role": "assistant", "content": "so"}]
    request = wire.read_request({"model": "m", "input": items})
    assert wire.write_request(request).body["input"] == items


def test_streamed_arguments_are_linear() -> None:
    text = '{"a":"' + "x" * 35_000 + '"}'
    item = call_item("f", text, "c")
    events: list[Any] = [CREATED, {"type": "response.output_item.added", "output_index": 0, "item": item}]
    delta = {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0}
    events += [{**delta, "delta": text[at : at + 4]} for at in range(0, len(text), 4)]
    events += [{"type": "response.output_item.done", "output_index": 0, "item": item}, completed([item])]
    read = list(wire.read_stream(events))
    assert [
        event.block.arguments for event in read if isinstance(event, BlockStop) and isinstance(event.block, ToolCall)
    ] == [msgspec.json.decode(text)]
