"""Converse replies: why the model stopped, and what it cost."""

from __future__ import annotations

from typing import Any

from counterfoil.types.message import Block, Message, ToolCall
from counterfoil.types.request import Reply, Stop, Usage
from counterfoil.wires import _fields as fields
from counterfoil.wires._ids import Ids, Names
from counterfoil.wires._open import UNFINISHED, cut
from counterfoil.wires._scribe import Scribe
from counterfoil.wires.bedrock.blocks import Ear, write_block
from counterfoil.wires.bedrock.media import NAME
from counterfoil.wires.bedrock.request import VALID_ID
from counterfoil.wires.wire import NO_PLAN, Body, Plan

_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "refused",
    "content_filtered": "refused",
    "malformed_tool_use": "other",
    "malformed_model_output": "other",
}
_WORDS: dict[Stop, str] = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "refused": "content_filtered",
    "other": "malformed_model_output",
}
_COUNTED = ("inputTokens", "outputTokens", "totalTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
NO_METRICS = {"latencyMs": 0}


def derive(word: str, calls: bool) -> Stop:
    """Our word for why a reply ended: what is in it counts for more than what is said of it."""
    stop = _STOPS.get(word, "other")
    return "tool_calls" if calls and stop in ("end", "other") else stop


def stop_word(stop: Stop, raw: str | None) -> str:
    """The wire's word: the one that was read, if it is a word of this wire."""
    return raw if raw in _STOPS and (_STOPS[raw] == stop or stop == "tool_calls") else _WORDS[stop]


def settle(block: Block, stop: Stop) -> Block:
    """The last block of a reply: a call without arguments, ended for length, was cut before they were written."""
    if isinstance(block, ToolCall) and block.arguments == {} and stop == "length":
        return cut(block, "", UNFINISHED)
    return block


def read_usage(body: dict[str, Any] | None, where: str) -> Usage | None:
    """Understand token counts. Here the cached tokens are counted beside the input, not in it."""
    if body is None:
        return None
    counts = [fields.maybe(body, key, int, where) or 0 for key in _COUNTED]
    fresh, written, total, cached, stored = counts
    extra = fields.rest(body, *_COUNTED)
    if total != sum(counts) - total:
        extra["totalTokens"] = total
    return Usage(fresh + cached + stored, written, cached, stored, ext=fields.ext(NAME, extra))


def write_usage(usage: Usage | None) -> dict[str, Any]:
    """Say token counts. They are mandatory: zeros say that nothing is known."""
    if usage is None:
        return {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
    body = {
        "inputTokens": max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens),
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.input_tokens + usage.output_tokens,
    }
    if usage.cached_tokens:
        body["cacheReadInputTokens"] = usage.cached_tokens
    if usage.cache_write_tokens:
        body["cacheWriteInputTokens"] = usage.cache_write_tokens
    return {**body, **fields.said(usage.ext, NAME)}


def read_reply(body: Body, plan: Plan = NO_PLAN) -> Reply:
    """Understand a Converse reply."""
    output = fields.need(body, "output", dict, "")
    message = fields.need(output, "message", dict, "/output")
    where = "/output/message/content"
    content = fields.objects(message.get("content"), where)
    ear = Ear(plan)
    blocks = tuple([ear.block(each, f"{where}/{index}") for index, each in enumerate(content)])
    word = fields.need(body, "stopReason", str, "")
    stop = derive(word, any(isinstance(block, ToolCall) for block in blocks))
    if blocks:
        blocks = (*blocks[:-1], settle(blocks[-1], stop))
    usage = read_usage(fields.maybe(body, "usage", dict, ""), "/usage")
    return Reply(Message("assistant", blocks), stop, word, usage, ext=reply_ext(body))


def reply_ext(body: Body) -> dict[str, Any]:
    """What a reply says beside its message, usage and stop."""
    extra = fields.rest(body, "output", "stopReason", "usage")
    if extra.get("metrics") == NO_METRICS:
        del extra["metrics"]
    return fields.ext(NAME, extra)


def server() -> Scribe:
    """Who writes replies: its losses are not reported."""
    return Scribe(NAME, Names(()), Ids(VALID_ID))


def write_reply(reply: Reply) -> Body:
    """Say a Converse reply."""
    scribe = server()
    content = [
        body for block in reply.message.blocks for body in write_block(scribe, block, "", foreign_reasoning=True)
    ]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop_word(reply.stop, reply.stop_raw),
        "usage": write_usage(reply.usage),
        "metrics": NO_METRICS,
        **fields.said(reply.ext, NAME),
    }
