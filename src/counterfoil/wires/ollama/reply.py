"""Replies of Ollama's chat."""

from __future__ import annotations

from counterfoil.types.message import Reasoning, ToolCall
from counterfoil.types.request import Reply, Stop, Usage
from counterfoil.types.stream import ReplyStop
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Calls
from counterfoil.wires._stops import derive, word
from counterfoil.wires.ollama.messages import NAME, read_message, slot
from counterfoil.wires.wire import NO_PLAN, Body, Plan

STOPS: dict[str, Stop] = {"stop": "end", "length": "length", "load": "other", "unload": "other"}
DEFAULTS: Body = {"model": "", "created_at": "1970-01-01T00:00:00Z", "done": True}
"""What we write where we have nothing to say and the format demands something: read again, it is nothing."""


def read_usage(body: Body) -> Usage | None:
    """Understand what a reply cost."""
    given = body.get("prompt_eval_count"), body.get("eval_count")
    return None if given == (None, None) else Usage(given[0] or 0, given[1] or 0)


def _write_usage(usage: Usage | None) -> Body:
    if usage is None:
        return {}
    return {"prompt_eval_count": usage.input_tokens, "eval_count": usage.output_tokens}


REPLY = ("model", "message", "done", "done_reason", "prompt_eval_count", "eval_count")


@guarded(f"{NAME} reply")
def read_reply(body: Body, plan: Plan = NO_PLAN) -> Reply:
    """Understand a reply in this format."""
    chat.refuse_error(body)
    said = {"role": "assistant", **fields.need(body, "message", dict, f"{NAME} reply")}
    message = read_message(said, f"{NAME} reply/message", Calls(), plan)
    raw = body.get("done_reason")
    body = fields.without(body, DEFAULTS)
    return Reply(
        message,
        derive(STOPS, raw, bool(message.calls)),
        raw,
        read_usage(body),
        body.get("model") or None,
        ext=fields.ext(NAME, fields.leftover(body, REPLY)),
    )


def write_reply(reply: Reply) -> Body:
    """Say a reply in this format."""
    message: Body = {"role": "assistant", "content": reply.message.text}
    thoughts = [block.text for block in reply.message.blocks if isinstance(block, Reasoning) and block.text]
    if thoughts:
        message["thinking"] = "".join(thoughts)
    if calls := [write_reply_call(call) for call in reply.message.calls]:
        message["tool_calls"] = calls
    return line(reply.model, fields.fill(message, slot(reply.message))) | last(reply)


def write_reply_call(call: ToolCall) -> Body:
    """Say a call."""
    return fields.fill(chat.write_call(None, call, "", NAME, objects=True), slot(call))


def line(model: str | None, message: Body) -> Body:
    """What each line says."""
    return {"model": model or DEFAULTS["model"], "created_at": DEFAULTS["created_at"], "message": message}


def last(reply: Reply | ReplyStop) -> Body:
    """What ends a reply."""
    last: Body = {"done": True, "done_reason": word(STOPS, reply.stop, reply.stop_raw), **_write_usage(reply.usage)}
    return last | fields.fill({}, slot(reply))
