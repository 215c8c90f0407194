"""Replies of Cohere's chat, version 2."""

from __future__ import annotations

from typing import Any

from counterfoil.types.message import Message, Opaque, Reasoning, Text
from counterfoil.types.request import Reply, Stop, Usage
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Calls
from counterfoil.wires._lookups import mark
from counterfoil.wires._stops import derive, word
from counterfoil.wires.cohere.messages import NAME, noted_plan, read_message, slot, write_call
from counterfoil.wires.wire import NO_PLAN, Body, Plan

STOPS: dict[str, Stop] = {
    "COMPLETE": "end",
    "STOP_SEQUENCE": "end",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR": "other",
    "TIMEOUT": "other",
}
_CITED = frozenset({"citations"})
DEFAULTS: Body = {"id": "chat-0"}
"""What we write where we have nothing to say and the format demands something: read again, it is nothing."""


def read_usage(body: dict[str, Any] | None) -> Usage | None:
    """Understand what a reply cost: the tokens, else those that are billed."""
    if body is None:
        return None
    kept = fields.rest(body)
    counted = body.get("tokens") or fields.sub(body, "billed_units")
    if isinstance(body.get("tokens"), dict):
        del kept["tokens"]
        if rest := fields.rest(counted, "input_tokens", "output_tokens"):
            kept["$tokens"] = rest
    else:
        kept["$billed"] = True
    cached = body.get("cached_tokens")
    if cached:
        del kept["cached_tokens"]
    given = int(counted.get("input_tokens") or 0), int(counted.get("output_tokens") or 0)
    return Usage(*given, int(cached or 0), ext=fields.ext(NAME, kept))


def write_usage(usage: Usage) -> Body:
    """Say what a reply cost."""
    held = slot(usage)
    body: Body = {}
    if "$billed" not in held:
        tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        body["tokens"] = fields.fill(tokens, fields.sub(held, "$tokens"))
    if usage.cached_tokens:
        body["cached_tokens"] = usage.cached_tokens
    return fields.fill(body, held)


def searched(citations: Any) -> tuple[Opaque, ...]:
    """The block that ends a reply that cites something else than results of tools, which have labels of their own."""
    ours = all(
        fields.obj(source).get("type") == "tool"
        for citation in fields.arr(citations)
        for source in fields.arr(fields.obj(citation).get("sources")) or (None,)
    )
    return () if ours else mark({"citations": citations}, of=_CITED)


@guarded(f"{NAME} reply")
def read_reply(body: Body, plan: Plan = NO_PLAN) -> Reply:
    """Understand a reply in this format."""
    said = {"role": "assistant", **fields.need(body, "message", dict, f"{NAME} reply")}
    message = read_message(said, f"{NAME} reply/message", Calls(), plan)
    # The content of a reply is always a list.
    blocks = (*message.blocks, *searched(said.get("citations")))
    message = Message("assistant", blocks, ext=fields.ext(NAME, fields.rest(slot(message), chat.LIST)))
    raw = body.get("finish_reason")
    body = fields.without(body, DEFAULTS)
    kept = fields.leftover(body, ("id", "message", "finish_reason", "usage"))
    return Reply(
        message,
        derive(STOPS, raw, bool(message.calls)),
        raw,
        read_usage(body.get("usage")),
        None,
        body.get("id") or None,
        fields.ext(NAME, kept),
    )


def write_reply(reply: Reply) -> Body:
    """Say a reply in this format."""
    said = slot(reply.message)
    plan = noted_plan(reply.message)
    message: Body = {"role": "assistant"}
    content: list[Body] = []
    for block in reply.message.blocks:
        match block:
            case Text(text):
                if block is plan:
                    message["tool_plan"] = text
                elif text:
                    content.append(fields.fill({"type": "text", "text": text}, slot(block)))
            case Reasoning(text, redacted=None):
                content.append(fields.fill({"type": "thinking", "thinking": text}, slot(block)))
            case Opaque(wire, data) if wire == NAME:
                content.append(data)
            case _:
                pass
    if content:
        message["content"] = content
    if calls := [write_call(None, call, "") for call in reply.message.calls]:
        message["tool_calls"] = calls
    body: Body = {
        "id": reply.id or DEFAULTS["id"],
        "finish_reason": word(STOPS, reply.stop, reply.stop_raw),
        "message": fields.fill(message, said),
    }
    if reply.usage is not None:
        body["usage"] = write_usage(reply.usage)
    return fields.fill(body, slot(reply))
