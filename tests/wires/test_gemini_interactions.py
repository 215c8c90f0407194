"""Gemini Interactions: steps, signatures, and what is not to be run again."""

from __future__ import annotations

from typing import Any

import pytest

from counterfoil.types.error import ModelError
from counterfoil.types.message import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, user
from counterfoil.types.request import Reply, Request, ToolChoice, ToolSpec
from counterfoil.types.stream import ReplyFold, events_of, fold
from counterfoil.wires import gemini_interactions as wire

CREATED = {"event_type": "interaction.created", "interaction": {"id": "v1_1", "status": "in_progress", "model": "m"}}


def step(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"event_type": "step.start", "index": index, "step": start},
        *[{"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas],
        {"event_type": "step.stop", "index": index},
    ]


def call(id: str, name: str = "f", arguments: Any = None) -> dict[str, Any]:
    return {"type": "function_call", "id": id, "name": name, "arguments": arguments or {}}


def ended(status: str) -> dict[str, Any]:
    return {"event_type": "interaction.completed", "interaction": {"id": "v1_1", "status": status, "model": "m"}}


def test_calls_that_are_answered_already_are_not_ours_to_run() -> None:
    answered = [call("a"), {"type": "function_result", "call_id": "a", "name": "f", "result": "done"}]
    reply = wire.read_reply({"id": "v1_1", "status": "requires_action", "steps": [*answered, call("b")]})
    assert [each.id for each in reply.message.calls] == ["b"]
    assert reply.message.blocks[:2] == tuple([Opaque("gemini-interactions", each) for each in answered])


def test_the_signature_of_a_thought_comes_in_a_delta_and_goes_back() -> None:
    summary = {"type": "thought_summary", "content": {"type": "text", "text": "hm"}}
    events = step(0, {"type": "thought"}, summary, {"type": "thought_signature", "signature": "c2ln"})
    reply = fold(wire.read_stream([CREATED, *events, ended("completed")]))
    assert reply.message.blocks == (Reasoning("hm", "c2ln", ext={"gemini-interactions": {}}),)
    body = wire.write_request(Request((user("hi"), reply.message), model="m")).body
    assert body["input"][1] == {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "hm"}]}


@pytest.mark.parametrize(("status", "arguments"), [("requires_action", {}), ("incomplete", None)])
def test_a_call_without_arguments_is_empty_only_if_it_was_not_cut(status: str, arguments: Any) -> None:
    reply = fold(wire.read_stream([CREATED, *step(0, call("a")), ended(status)]))
    assert reply.message.calls[0].arguments == arguments
    assert wire.read_reply({"status": status, "steps": [call("a")]}).message == reply.message


def test_a_cut_stream_has_no_end_and_no_runnable_call() -> None:
    adding = ReplyFold()
    delta = {"type": "arguments_delta", "arguments": "{}"}
    for event in wire.read_stream([CREATED, *step(0, call("a"), delta)[:-1]]):
        adding.add(event)
    assert not adding.done
    assert adding.reply.message.calls[0].arguments is None


def test_arguments_in_the_start_or_in_deltas_are_the_same() -> None:
    whole = fold(wire.read_stream([CREATED, *step(0, call("a", arguments={"n": 1})), ended("requires_action")]))
    deltas = [{"type": "arguments_delta", "arguments": text} for text in ('{"n"', ":1}")]
    pieces = fold(wire.read_stream([CREATED, *step(0, call("a"), *deltas), ended("requires_action")]))
    assert whole == pieces
    assert pieces.message.calls[0].arguments == {"n": 1}


def test_a_status_that_asks_for_action_ends_a_stream_without_a_last_word() -> None:
    update = {"event_type": "interaction.status_update", "interaction_id": "v1_1", "status": "requires_action"}
    reply = fold(wire.read_stream([CREATED, *step(0, call("a")), update]))
    assert (reply.stop, reply.stop_raw) == ("tool_calls", "requires_action")


def test_results_say_errors_media_and_objects() -> None:
    results = (
        ToolResult("a", (Text("no"), Media("image/png", b"x")), is_error=True, name="f"),
        ToolResult("b", (Text("yes"),), name="g"),
    )
    calls = Message("assistant", (ToolCall("a", "f", {}), ToolCall("b", "g", {})))
    written = wire.write_request(Request((user("hi"), calls, Message("tool", results)), model="m"))
    assert written.losses == ()
    assert wire.read_request(written.body, written.plan).messages[2].results == results
    given = {"type": "function_result", "call_id": "a", "name": "f", "result": {"temperature": 14}}
    body = {"model": "m", "input": [call("a"), given]}
    request = wire.read_request(body)
    assert request.messages[1].results[0].text == '{"temperature":14}'
    assert wire.write_request(request).body == body


@pytest.mark.parametrize(
    "given",
    [
        "hi",
        {"type": "text", "text": "hi"},
        [{"type": "text", "text": "hi"}],
        [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}],
    ],
)
def test_every_form_of_input_is_understood_and_kept(given: Any) -> None:
    request = wire.read_request({"model": "m", "input": given})
    assert request.messages == (user("hi"),)
    assert wire.write_request(request).body["input"] == given


def test_a_subset_of_tools_is_native() -> None:
    tools = tuple([ToolSpec(name, parameters={"type": "object"}) for name in "fgh"])
    request = Request((user("hi"),), tools, ToolChoice("auto", ("f", "g")), "m")
    written = wire.write_request(request)
    allowed = written.body["generation_config"]["tool_choice"]["allowed_tools"]
    assert allowed == {"mode": "auto", "tools": ["f", "g"]}
    assert written.losses == ()
    assert wire.read_request(written.body, written.plan) == request


def test_steps_of_the_providers_tools_stay_in_their_place() -> None:
    search = {"type": "google_search_call", "id": "s", "arguments": {"queries": ["x"]}, "signature": "c2ln"}
    events = step(0, {"type": "google_search_call", "id": "s"}, {**search, "id": "s"})
    reply = fold(wire.read_stream([CREATED, *events, ended("completed")]))
    assert reply.message.blocks == (Opaque("gemini-interactions", search),)
    history = (user("hi"), Message("assistant", (*reply.message.blocks, Text("so"))))
    assert wire.write_request(Request(history, model="m")).body["input"][1] == search


def test_errors_are_model_errors() -> None:
    with pytest.raises(ModelError, match="gone: no"):
        list(wire.read_stream([{"event_type": "error", "error": {"code": "gone", "message": "no"}}]))
    with pytest.raises(ModelError, match="gone: no"):
        wire.read_reply({"status": "failed", "errors": [{"code": "gone", "message": "no"}]})


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
