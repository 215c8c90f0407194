"""Rule 6: what a model signed goes back to its own wire, and there to its own family only."""

from __future__ import annotations

from typing import Any

import pytest

from counterfoil import Catalogue, Harness, Message, Reasoning, Reply, Scripted, Session, Text, ToolCall, tool, wires
from counterfoil.types.message import ToolResult, user
from counterfoil.types.request import Request
from counterfoil.wires._scribe import family

SIGNED: dict[str, tuple[Any, ...]] = {
    "anthropic": (Reasoning("hm", "SIGNED", ext={"anthropic": {}}),),
    "bedrock": (Reasoning("hm", "SIGNED", ext={"bedrock": {}}),),
    "openai-responses": (Reasoning("hm", "SIGNED", id="rs_1", ext={"openai-responses": {}}),),
    "gemini": (Reasoning("hm", "SIGNED", ext={"gemini": {}}),),
    "mistral": (Reasoning("hm", "SIGNED", ext={"mistral": {}}),),
    "gemini-interactions": (Reasoning("hm", "SIGNED", ext={"gemini-interactions": {}}),),
}
SIGNED_CALL = ToolCall("c1", "f", {}, ext={"gemini": {"thoughtSignature": "SIGNED"}})


def request(wire: str, said_by: str | None, asked: str) -> Request:
    blocks = (*SIGNED[wire], SIGNED_CALL if wire == "gemini" else ToolCall("c1", "f", {}))
    said = Message("assistant", blocks, model=said_by)
    return Request([user("x"), said, Message("tool", (ToolResult("c1", (Text("ok"),), name="f"),))], model=asked)


@pytest.mark.parametrize("wire", SIGNED)
@pytest.mark.parametrize("said_by", [None, "host:alpha-1", "alpha-2"])
def test_a_signature_goes_back_to_its_family(wire: str, said_by: str | None) -> None:
    written = wires.get(wire).write_request(request(wire, said_by, "alpha-2"))
    assert "SIGNED" in str(written.body)


@pytest.mark.parametrize("wire", SIGNED)
def test_a_signature_of_another_family_is_dropped_and_told(wire: str) -> None:
    written = wires.get(wire).write_request(request(wire, "host:beta-1", "alpha-2"))
    assert "SIGNED" not in str(written.body)
    assert [loss for loss in written.losses if "/messages/1/blocks/0" in loss.path]


def test_a_call_that_another_family_signed_gets_the_stand_in() -> None:
    written = wires.get("gemini").write_request(request("gemini", "beta-1", "gemini-3-pro"))
    assert "skip_thought_signature_validator" in str(written.body)
    assert "SIGNED" not in str(written.body)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("anthropic:claude-sonnet-4-5", "claude"),
        ("bedrock:us.anthropic.claude-3-5-sonnet-v1:0", "claude"),
        ("us.anthropic.claude-3-5-sonnet-v1:0", "claude"),
        ("models/gemini-3-pro", "gemini"),
        ("gemini-2.5-pro", "gemini"),
        ("http://127.0.0.1:8000/v1#Qwen/Qwen3-8B", "qwen"),
        ("gemini+http://127.0.0.1:8000#gemini-3", "gemini"),
        ("ollama:qwen3:8b", "qwen"),
        ("mistral:mistral-large-latest", "mistral"),
    ],
)
def test_family(name: str, expected: str) -> None:
    assert family(name) == expected


@pytest.mark.anyio
async def test_a_run_notes_which_model_said_what() -> None:
    @tool(effect="read", permission="f")
    async def f() -> str:
        """Do."""
        return "ok"

    model = Scripted([Reply(Message("assistant", (ToolCall("c1", "f", {}),)), "tool_calls"), "done"])
    model.name = "host:alpha-1"
    run = await Harness(model, Catalogue([f])).run("x", Session(requester="ada", permissions=frozenset({"f"})))
    assert [message.model for message in run.messages] == [None, "host:alpha-1", None, "host:alpha-1"]
