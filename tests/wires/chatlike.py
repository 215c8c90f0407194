"""The chat-like wires and Anthropic's, and what their tests are made of."""

from __future__ import annotations

from typing import Any

from counterfoil import wires
from counterfoil.types.message import Message, Text, ToolCall, ToolResult, user
from counterfoil.types.request import Reply, Request, Sampling
from counterfoil.types.stream import fold
from counterfoil.wires.wire import Wire

anthropic, chat, mistral, cohere, ollama = (
    wires.get(name) for name in ("anthropic", "openai-chat", "mistral", "cohere", "ollama")
)
MINE = [anthropic, chat, mistral, cohere, ollama]
UNFLAGGED = [chat, mistral, cohere, ollama]
PNG = b"\x89PNG\r\n\x1a\n"


def names(values: list[Wire]) -> list[str]:
    return [value.NAME for value in values]


def turn(*calls: ToolCall, results: tuple[ToolResult, ...] = ()) -> Request:
    done = results or tuple([ToolResult(call.id, (Text("ok"),), name=call.name) for call in calls])
    return Request((user("Hi"), Message("assistant", calls), Message("tool", done)), model="m", sampling=Sampling(9))


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def pieces(*entries: dict[str, Any], finish: str | None = "tool_calls") -> Reply:
    """A chat stream with these `tool_calls` entries, one a chunk."""
    end = [chunk({}, finish)] if finish else []
    return fold(chat.read_stream([*(chunk({"tool_calls": [entry]}) for entry in entries), *end]))
