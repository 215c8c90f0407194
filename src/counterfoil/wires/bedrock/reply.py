"""Converse replies: why the model stopped, and what it cost."""

from __future__ import annotations

from typing import Any

from counterfoil.types.message import Block, Message, ToolCall
from counterfoil.types.request import Reply, Stop, Usage
from counterfoil.wires import _fields as fields
from counterfoil.wires._guard import guarded
from counterfoil.wires._lookups import all_cited
from counterfoil.wires._open import UNFINISHED, cut
from counterfoil.wires._scribe import Scribe
from counterfoil.wires._stops import derive, word
from counterfoil.wires._verbatim import SameIds, SameNames
from counterfoil.wires.bedrock.blocks import Ear, write_block
from counterfoil.wires.bedrock.media import NAME
from counterfoil.wires.wire import NO_PLAN, Body, Plan

STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filtered": "refused",
    "guardrail_intervened": "refused",
    "malformed_model_output": "other",
    "malformed_tool_use": "other",
}
_COUNTED = ("inputTokens", "outputTokens", "totalTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
NO_METRICS = {"latencyMs": 0}


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
    extra = fields.rest(body, *_COUNTED) | {key: 0 for key in _COUNTED[3:] if body.get(key) == 0}
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


@guarded("a reply of bedrock")
def read_reply(body: Body, plan: Plan = NO_PLAN) -> Reply:
    """Understand a Converse reply."""
    output = fields.need(body, "output", dict, "")
    message = fields.need(output, "message", dict, "/output")
    where = "/output/message/content"
    content = fields.objects(message.get("content"), where)
    ear = Ear(plan)
    blocks = tuple([ear.block(each, f"{where}/{index}") for index, each in enumerate(content)])
    raw = fields.need(body, "stopReason", str, "")
    stop = derive(STOPS, raw, any(isinstance(block, ToolCall) for block in blocks))
    if blocks:
        blocks = (*blocks[:-1], settle(blocks[-1], stop))
    usage = read_usage(fields.maybe(body, "usage", dict, ""), "/usage")
    return Reply(Message("assistant", all_cited(blocks, NAME, "citations")), stop, raw, usage, ext=reply_ext(body))


def reply_ext(body: Body) -> dict[str, Any]:
    """What a reply says beside its message, usage and stop."""
    extra = fields.rest(body, "output", "stopReason", "usage")
    if extra.get("metrics") == NO_METRICS:
        del extra["metrics"]
    return fields.ext(NAME, extra)


def server() -> Scribe:
    """Who writes replies: its losses are not reported."""
    return Scribe(NAME, SameNames(), SameIds())


def write_reply(reply: Reply) -> Body:
    """Say a Converse reply."""
    scribe = server()
    content = [body for block in reply.message.blocks for body in write_block(scribe, block, "", reply=True)]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": word(STOPS, reply.stop, reply.stop_raw),
        "usage": write_usage(reply.usage),
        "metrics": dict(NO_METRICS),
        **fields.said(reply.ext, NAME),
    }
