"""`counterfoil convert`: between any two wires, with what is lost on standard error."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cli_kit import Cli

from counterfoil import Message, Reasoning, Reply, Text, ToolCall, Usage, wires
from counterfoil.cli.commands.convert import FRAMINGS, kind_of
from counterfoil.cli.main import main
from counterfoil.models.framing import ENDS, FRAMES, write_frame
from counterfoil.types.stream import events_of, fold

REQUEST = {
    "model": "some-model",
    "messages": [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Where is ORD-1?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call 1/2", "type": "function", "function": {"name": "find", "arguments": '{"id":"ORD-1"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "call 1/2", "content": "ships today"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "find", "description": "Find.", "parameters": {"type": "object"}}}
    ],
    "seed": 7,
}
REPLY = Reply(
    Message(
        "assistant",
        (Text("Let me look."), ToolCall("c1", "find", {"id": "ORD-1"}), ToolCall("c2", "find", {"id": "2"})),
    ),
    "tool_calls",
    usage=Usage(input_tokens=5, output_tokens=3),
    model="m",
    id="r-1",
)
WIRES = wires.names()


def stream_of(wire: str, reply: Reply) -> bytes:
    events = wires.get(wire).write_stream(events_of(reply))
    return b"".join([write_frame(FRAMINGS[wire], event) for event in events]) + ENDS.get(wire, b"")


def test_a_request_becomes_anothers_and_the_losses_are_told(cli: Cli) -> None:
    done = cli("convert", "--from", "openai-chat", "--to", "anthropic", stdin=json.dumps(REQUEST), code=0)
    body = json.loads(done.out)
    assert body["system"] == "Be short."
    assert body["tools"][0]["input_schema"] == {"type": "object"}
    use, result = body["messages"][1]["content"][0], body["messages"][2]["content"][0]
    assert use["input"] == {"id": "ORD-1"}
    assert use["id"] == result["tool_use_id"] != "call 1/2"
    assert "/sampling/seed: " in done.err
    assert "(dropped)" in done.err
    assert "max_tokens" in done.err


def test_losses_can_be_what_the_exit_code_says(cli: Cli) -> None:
    cli("convert", "--from", "openai-chat", "--to", "anthropic", "--lossless", stdin=json.dumps(REQUEST), code=1)
    text = json.dumps(REQUEST).replace("call 1/2", "call_12")
    same = cli("convert", "--from", "openai-chat", "--to", "openai-chat", "--lossless", stdin=text, code=0)
    assert json.loads(same.out) == json.loads(text)
    assert same.err == ""


def test_another_model(cli: Cli) -> None:
    arguments = ("convert", "--from", "openai-chat", "--to", "mistral", "--model", "other")
    assert json.loads(cli(*arguments, stdin=json.dumps(REQUEST), code=0).out)["model"] == "other"


@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize("source", WIRES)
def test_replies_between_all_wires(cli: Cli, source: str, target: str) -> None:
    body = wires.get(source).write_reply(REPLY)
    done = cli("convert", "--from", source, "--to", target, stdin=msgspec.json.encode(body).decode(), code=0)
    back = wires.get(target).read_reply(json.loads(done.out))
    assert back.message.text == "Let me look."
    assert [(call.name, call.arguments) for call in back.message.calls] == [
        ("find", {"id": "ORD-1"}),
        ("find", {"id": "2"}),
    ]
    assert back.stop == "tool_calls"


@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize("source", WIRES)
def test_streams_between_all_wires(source: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent, received = io.TextIOWrapper(io.BytesIO(stream_of(source, REPLY))), io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdin", sent)
    monkeypatch.setattr(sys, "stdout", received)
    assert main(["convert", "--from", source, "--to", target]) == 0
    received.seek(0)
    frames = FRAMES[FRAMINGS[target]]()
    bodies = [body for body in frames.feed(received.buffer.read()) if body is not None]
    back = fold(wires.get(target).read_stream(bodies))
    assert back.message.text == "Let me look."
    assert [(call.name, call.arguments) for call in back.message.calls] == [
        ("find", {"id": "ORD-1"}),
        ("find", {"id": "2"}),
    ]
    assert back.stop == "tool_calls"


def test_reasoning_that_the_target_cannot_say_is_told(cli: Cli) -> None:
    reply = msgspec.structs.replace(
        REPLY, message=Message("assistant", (Reasoning("hm", "sig"), *REPLY.message.blocks))
    )
    body = wires.get("anthropic").write_reply(reply)
    done = cli("convert", "--from", "anthropic", "--to", "cohere", stdin=json.dumps(body), code=0)
    kept = [type(block) for block in wires.get("cohere").read_reply(json.loads(done.out)).message.blocks]
    assert ("/message/blocks/0" in done.err) is (Reasoning not in kept)


def test_a_plan_brings_names_and_ids_back(cli: Cli, shop: Path) -> None:
    request: Any = {
        **REQUEST,
        "tools": [{"type": "function", "function": {"name": "orders.find now!", "parameters": {}}}],
    }
    arguments = ("convert", "--from", "openai-chat", "--to", "bedrock", "--write-plan", "plan.json")
    written = json.loads(cli(*arguments, stdin=json.dumps(request), code=0).out)
    theirs = written["toolConfig"]["tools"][0]["toolSpec"]["name"]
    assert theirs != "orders.find now!"
    reply = Reply(Message("assistant", (ToolCall("c1", theirs, {}),)), "tool_calls")
    body = json.dumps(wires.get("bedrock").write_reply(reply))
    back = ("convert", "--from", "bedrock", "--to", "openai-chat", "--read-plan", "plan.json")
    said = json.loads(cli(*back, stdin=body, code=0).out)
    assert said["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "orders.find now!"
    (shop / "plan.json").write_text("[]")
    assert "holds no plan" in cli(*back, stdin=body, code=2).err


@pytest.mark.parametrize(
    ("stdin", "arguments", "said"),
    [
        ("", ("--from", "openai-chat", "--to", "anthropic"), "nothing to convert"),
        ("{", ("--from", "openai-chat", "--to", "anthropic"), "not JSON"),
        ("hello", ("--from", "openai-chat", "--to", "anthropic"), "no event"),
        ("[1]", ("--from", "openai-chat", "--to", "anthropic"), "no event"),
        ('{"messages": 7}', ("--from", "openai-chat", "--to", "anthropic"), "no request of openai-chat"),
        ("{}", ("--from", "openai-chat", "--to", "anthropic"), "no reply of openai-chat"),
        ("{}", ("--from", "openai", "--to", "anthropic"), "openai-chat"),
        ("{}", ("--from", "openai-chat", "--to", "antropic"), "anthropic"),
        ("{}", ("--from", "openai-chat"), "--to"),
        (
            '{"choices":[{}]}',
            ("--from", "openai-chat", "--to", "anthropic", "--kind", "reply"),
            "no reply of openai-chat",
        ),
    ],
)
def test_bad_input_is_a_sentence(cli: Cli, stdin: str, arguments: tuple[str, ...], said: str) -> None:
    assert said in cli("convert", *arguments, stdin=stdin, code=2).err


def test_what_it_is_is_seen() -> None:
    for wire in WIRES:
        assert kind_of(msgspec.json.encode(wires.get(wire).write_reply(REPLY))) == "reply"
        assert kind_of(stream_of(wire, REPLY)) == "stream"
        request = wires.get("openai-chat").read_request(REQUEST)
        assert kind_of(msgspec.json.encode(wires.get(wire).write_request(request).body)) == "request"
