"""Gemini generateContent: the corners where others fail, and the rules for signatures, streams and stops."""

from __future__ import annotations

from typing import Any

import pytest

from counterfoil.types.error import ModelError
from counterfoil.types.message import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, user
from counterfoil.types.request import Reply, Request, ToolChoice, ToolSpec
from counterfoil.types.stream import BlockStop, ReplyFold, events_of, fold
from counterfoil.wires import gemini as wire

SIGNED = {"gemini": {"thoughtSignature": "c2ln"}}


def chunk(*parts: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **more}


def called(name: str, args: Any = None, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args or {}}, **more}


def test_signatures_survive_streaming_and_go_back_on_their_part_litellm_16893() -> None:
    events = [
        chunk({"text": "hm", "thought": True}),
        chunk(called("f", {"n": 1}, thoughtSignature="c2ln")),
        chunk(called("f", {"n": 2})),
        chunk({"text": ""}, finish="STOP"),
    ]
    reply = fold(wire.read_stream(events))
    first, second = reply.message.calls
    assert first.ext["gemini"]["thoughtSignature"] == "c2ln"
    answers = Message("tool", tuple([ToolResult(call.id, (Text("ok"),)) for call in (first, second)]))
    written = wire.write_request(Request((user("hi"), reply.message, answers), model="gemini-3-pro"))
    assert written.body["contents"][1]["parts"][1:] == [
        called("f", {"n": 1}, thoughtSignature="c2ln"),
        called("f", {"n": 2}),
    ]


def test_a_signature_on_an_empty_text_at_the_end_is_kept() -> None:
    events = [chunk({"text": "so"}), chunk({"text": "", "thoughtSignature": "c2ln"}, finish="STOP")]
    assert fold(wire.read_stream(events)).message.blocks == (Text("so", ext=SIGNED),)


def test_parallel_results_are_one_content_pydantic_ai_580() -> None:
    calls = (ToolCall("a", "f", {}), ToolCall("b", "g", {}), ToolCall("c", "f", {}))
    apart = tuple([Message("tool", (ToolResult(id, (Text(id),)),)) for id in "cab"])
    body = wire.write_request(Request((user("hi"), Message("assistant", calls), *apart), model="gemini-2.5-pro")).body
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
    answers = [part["functionResponse"] for part in body["contents"][2]["parts"]]
    assert [(each["id"], each["name"], each["response"]) for each in answers] == [
        ("a", "f", {"output": "a"}),
        ("b", "g", {"output": "b"}),
        ("c", "f", {"output": "c"}),
    ]


def test_stop_with_calls_is_a_stop_for_calls() -> None:
    reply = wire.read_reply(chunk(called("f"), finish="STOP"))
    assert (reply.stop, reply.stop_raw) == ("tool_calls", "STOP")


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("STOP", "end"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "refused"),
        ("MALFORMED_FUNCTION_CALL", "other"),
        ("UNEXPECTED_TOOL_CALL", "other"),
        ("MISSING_THOUGHT_SIGNATURE", "other"),
        ("SOMETHING_NEW", "other"),
    ],
)
def test_why_a_reply_ended_is_derived_and_kept(finish: str, stop: str) -> None:
    body = chunk(finish=finish)
    body["candidates"][0]["finishMessage"] = "print(f(1))"
    reply = wire.read_reply(body)
    assert (reply.stop, reply.stop_raw) == (stop, finish)
    assert fold(wire.read_stream([body])) == reply


def test_a_blocked_prompt_is_a_refusal() -> None:
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 3}}
    reply = wire.read_reply(body)
    assert (reply.stop, reply.stop_raw, reply.message.blocks) == ("refused", "SAFETY", ())
    assert fold(wire.read_stream([body])) == reply
    assert wire.write_reply(reply) == body


@pytest.mark.parametrize(("model", "placed"), [("gemini-3-pro", True), ("gemini-2.5-pro", False)])
def test_foreign_calls_get_the_stand_in_for_a_signature_where_one_is_demanded(model: str, placed: bool) -> None:
    calls = (ToolCall("a", "f", {}, ext={"elsewhere": {}}), ToolCall("b", "f", {}))
    answers = Message("tool", (ToolResult("a", name="f"), ToolResult("b", name="f")))
    request = Request((user("hi"), Message("assistant", calls), answers), model=model)
    written = wire.write_request(request)
    signatures = [part.get("thoughtSignature") for part in written.body["contents"][1]["parts"]]
    assert signatures == ["skip_thought_signature_validator" if placed else None, None]
    assert all(not call.ext for call in wire.read_request(written.body, written.plan).messages[1].calls)


def test_calls_without_ids_get_ours_and_pair_by_order() -> None:
    body = {
        "contents": [
            {"role": "model", "parts": [called("f"), called("g"), called("f")]},
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": name, "response": {"output": str(n)}}}
                    for n, name in enumerate(["f", "g", "f"])
                ],
            },
        ]
    }
    request = wire.read_request(body)
    assert [call.id for call in request.messages[0].calls] == ["h1", "h2", "h3"]
    assert [(result.call_id, result.text) for result in request.messages[1].results] == [
        ("h1", "0"),
        ("h2", "1"),
        ("h3", "2"),
    ]
    assert wire.write_request(request).body == body


def partial(path: str, more: bool = False, **value: Any) -> dict[str, Any]:
    return {"jsonPath": path, **value, **({"willContinue": True} if more else {})}


def test_arguments_that_come_in_pieces_are_put_together() -> None:
    def piece(*args: Any, more: bool = True) -> dict[str, Any]:
        return chunk({"functionCall": {"partialArgs": list(args)} | ({"willContinue": True} if more else {})})

    events = [
        chunk({"functionCall": {"name": "f", "willContinue": True}, "thoughtSignature": "c2ln"}),
        piece(partial("$.city", more=True, stringValue="Bos")),
        piece(partial("$.city", stringValue="ton"), partial("$.days", numberValue=3)),
        piece(partial("$.legs[0].by", stringValue="car"), partial("$.legs[0]['a b']", boolValue=False)),
        piece(partial("$.legs[1]", nullValue="NULL_VALUE")),
        chunk({"functionCall": {}}),
        chunk({"functionCall": {"name": "f", "partialArgs": [partial("$.n", numberValue=1)]}}),
        chunk(called("g", {"x": 1})),
        chunk(finish="STOP"),
    ]
    calls = fold(wire.read_stream(events)).message.calls
    assert [(call.name, call.arguments) for call in calls] == [
        ("f", {"city": "Boston", "days": 3, "legs": [{"by": "car", "a b": False}, None]}),
        ("f", {"n": 1}),
        ("g", {"x": 1}),
    ]
    assert calls[0].ext["gemini"]["thoughtSignature"] == "c2ln"


@pytest.mark.parametrize("path", ["city", "$", "$[0]", "$.a[5]", "$..a", "$.a[*]", "$.a[999999999999]"])
def test_a_path_to_nowhere_makes_a_call_that_is_not_run(path: str) -> None:
    events = [
        chunk({"functionCall": {"name": "f", "partialArgs": [partial(path, numberValue=1)]}}),
        chunk(finish="STOP"),
    ]
    (call,) = fold(wire.read_stream(events)).message.calls
    assert call.arguments is None
    assert call.parse_error


@pytest.mark.parametrize("then", [None, called("g"), {"functionCall": {"name": "g", "willContinue": True}}])
def test_a_call_that_is_cut_is_never_run(then: Any) -> None:
    events = [
        chunk({"functionCall": {"name": "f", "willContinue": True}}),
        chunk({"functionCall": {"partialArgs": [partial("$.n", numberValue=1)], "willContinue": True}}),
    ]
    adding = ReplyFold()
    for event in wire.read_stream([*events, chunk(then)] if then else events):
        adding.add(event)
    call = adding.reply.message.calls[0]
    assert (call.name, call.arguments, bool(call.parse_error)) == ("f", None, True)


def test_pieces_of_arguments_are_linear() -> None:
    piece = partial("$.a", more=True, stringValue="xxxx")
    part = {"functionCall": {"partialArgs": [piece], "willContinue": True}}
    events = [
        chunk({"functionCall": {"name": "f", "willContinue": True}}),
        *[chunk(part)] * 8750,
        chunk({"functionCall": {}}),
    ]
    stops = [event for event in wire.read_stream(events) if isinstance(event, BlockStop)]
    assert isinstance(stops[0].block, ToolCall)
    assert stops[0].block.arguments == {"a": "x" * 35_000}


def test_media_and_errors_of_results_are_said() -> None:
    result = ToolResult("a", (Text("no"), Media("image/png", b"x", name="a.png")), is_error=True, name="f")
    request = Request(
        (user("hi"), Message("assistant", (ToolCall("a", "f", {}),)), Message("tool", (result,))), model="m"
    )
    written = wire.write_request(request)
    assert written.losses == ()
    assert written.body["contents"][2]["parts"][0]["functionResponse"]["response"] == {"error": "no"}
    assert wire.read_request(written.body, written.plan).messages[2].results == (result,)


def test_the_alphabet_of_the_providers_client_is_understood() -> None:
    part = {"inlineData": {"mimeType": "image/png", "data": "-_-_"}}
    body = {"contents": [{"role": "user", "parts": [part]}]}
    request = wire.read_request(body)
    assert request.messages[0].blocks[0] == Media("image/png", b"\xfb\xff\xbf", ext={"gemini": {"$urlsafe": True}})
    assert wire.write_request(request).body == body


def test_names_are_kept_where_this_wire_takes_them() -> None:
    tools = tuple([ToolSpec(name, parameters={"type": "object"}) for name in ("a.b:c", "9lives", "größe")])
    written = wire.write_request(Request((user("hi"),), tools, ToolChoice("any", ("größe",)), "m"))
    said = [spec["name"] for spec in written.body["tools"][0]["functionDeclarations"]]
    assert said[0] == "a.b:c"
    assert written.body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == [said[2]]
    assert wire.read_request(written.body, written.plan).tools == tools


def test_older_schemas_are_understood_and_said_as_they_were() -> None:
    older = {"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "nullable": True}}, "required": ["n"]}
    body = {"contents": [], "tools": [{"functionDeclarations": [{"name": "f", "parameters": older}]}]}
    request = wire.read_request(body)
    assert request.tools[0].parameters == {
        "type": "object",
        "properties": {"n": {"type": ["integer", "null"]}},
        "required": ["n"],
    }
    assert wire.write_request(request).body == body


def test_server_tools_and_unknown_parts_stay_in_their_place() -> None:
    parts = [{"toolCall": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB"}}, {"text": "so"}, {"x": 1}]
    reply = wire.read_reply(chunk(*parts, finish="STOP"))
    assert [type(block) for block in reply.message.blocks] == [Opaque, Text, Opaque]
    assert fold(wire.read_stream([chunk(parts[0]), chunk(parts[1]), chunk(parts[2], finish="STOP")])) == reply


def test_foreign_reasoning_is_dropped_and_said_so() -> None:
    thought = Reasoning("hm", "sig", ext={"elsewhere": {}})
    written = wire.write_request(Request((user("hi"), Message("assistant", (thought, Text("so")))), model="m"))
    assert [loss.path for loss in written.losses] == ["/messages/1/blocks/0"]


def test_an_error_is_a_model_error() -> None:
    error = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slow down"}}
    with pytest.raises(ModelError, match="RESOURCE_EXHAUSTED: slow down"):
        wire.read_reply(error)
    with pytest.raises(ModelError, match="slow down"):
        list(wire.read_stream([error]))


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
