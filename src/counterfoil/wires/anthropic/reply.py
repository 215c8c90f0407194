"""Replies of Anthropic Messages."""

from __future__ import annotations

from typing import Any

from counterfoil.types.error import ModelError
from counterfoil.types.message import Block, Message, ToolCall
from counterfoil.types.request import Reply, Stop, Usage
from counterfoil.wires import _fields as fields
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Calls
from counterfoil.wires._lookups import all_cited
from counterfoil.wires._open import UNFINISHED, cut
from counterfoil.wires._stops import derive, word
from counterfoil.wires.anthropic.blocks import NAME, read_content, write_reply_block
from counterfoil.wires.wire import NO_PLAN, Body, Plan

STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
    "pause_turn": "other",
}
DEFAULTS: Body = {"id": "msg_0", "model": "", "stop_sequence": None}
"""What we write where we have nothing to say and the format demands something: read again, it is nothing."""
_COUNTED = ("input_tokens", "output_tokens")
_COUNTED_APART = ("cache_read_input_tokens", "cache_creation_input_tokens")


def settle(call: ToolCall, stop: Stop) -> ToolCall:
    """The last block of a reply: a call without arguments, ended for length, was cut before they were written."""
    return cut(call, "", UNFINISHED) if stop == "length" and call.arguments == {} else call


def read_usage(body: dict[str, Any] | None) -> Usage | None:
    """Understand what a reply cost."""
    if body is None:
        return None
    cached, written = (body.get(key) or 0 for key in _COUNTED_APART)
    thinking = fields.sub(body, "output_tokens_details").get("thinking_tokens") or 0
    kept = {key: value for key, value in body.items() if key not in (*_COUNTED, *_COUNTED_APART) or value is None}
    kept |= {key: 0 for key in _COUNTED_APART if body.get(key) == 0}
    return Usage(
        (body.get("input_tokens") or 0) + cached + written,
        body.get("output_tokens") or 0,
        cached,
        written,
        thinking,
        ext=fields.ext(NAME, kept),
    )


def write_usage(usage: Usage | None) -> Body:
    """Say what a reply cost."""
    if usage is None:
        return {"input_tokens": 0, "output_tokens": 0}
    apart = usage.cached_tokens, usage.cache_write_tokens
    body: Body = {"input_tokens": usage.input_tokens - sum(apart), "output_tokens": usage.output_tokens}
    body |= {key: value for key, value in zip(_COUNTED_APART, apart, strict=True) if value}
    fields.fill(body, fields.sub(usage.ext, NAME))
    if usage.reasoning_tokens:
        body.setdefault("output_tokens_details", {"thinking_tokens": usage.reasoning_tokens})
    return body


def refuse_error(body: Body) -> None:
    """Raise what the host reports instead of a reply."""
    if body.get("type") == "error":
        error = fields.sub(body, "error")
        raise ModelError(f"the host reports {error.get('type', 'an error')}: {error.get('message', '')}".rstrip(": "))


@guarded(f"{NAME} reply")
def read_reply(body: Body, plan: Plan = NO_PLAN) -> Reply:
    """Understand a reply in this format."""
    refuse_error(body)
    blocks = read_content(body.get("content"), f"{NAME} reply/content", Calls(), plan)
    raw = body.get("stop_reason")
    stop = derive(STOPS, raw, any(isinstance(block, ToolCall) for block in blocks))
    if blocks and isinstance(blocks[-1], ToolCall):
        last: Block = settle(blocks[-1], stop)
        blocks = (*blocks[:-1], last)
    usage = read_usage(body.get("usage"))
    body = fields.without(body, DEFAULTS)
    kept = fields.leftover(body, ("type", "role", "content", "stop_reason", "usage", "id", "model"))
    return Reply(
        Message("assistant", all_cited(blocks, NAME, "citations")),
        stop,
        raw,
        usage,
        body.get("model") or None,
        body.get("id") or None,
        fields.ext(NAME, kept),
    )


def write_reply(reply: Reply) -> Body:
    """Say a reply in this format."""
    content = [write_reply_block(block) for block in reply.message.blocks]
    return fields.fill(
        {
            "id": reply.id or DEFAULTS["id"],
            "type": "message",
            "role": "assistant",
            "model": reply.model or DEFAULTS["model"],
            "content": [body for body in content if body is not None],
            "stop_reason": word(STOPS, reply.stop, reply.stop_raw),
            "usage": write_usage(reply.usage),
        },
        {**DEFAULTS, **fields.sub(reply.ext, NAME)},
    )


def replaced(usage: Usage | None, delta: dict[str, Any] | None) -> Usage | None:
    """The usage after a `message_delta`, whose counts are totals; a count it leaves out stays what it was."""
    if delta is None:
        return usage
    before = write_usage(usage) if usage is not None else {}
    return read_usage({**before, **{key: value for key, value in delta.items() if value is not None}})
