"""Replies of OpenAI Chat Completions."""

from __future__ import annotations

import msgspec

from counterfoil.types.error import WireError
from counterfoil.types.message import Block, Message, Opaque, Reasoning, Text, ToolCall
from counterfoil.types.request import Reply, Stop
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Calls
from counterfoil.wires._lookups import mark
from counterfoil.wires._stops import derive, word
from counterfoil.wires.openai_chat.messages import FIELD, NAME, REASONING, REFUSAL, read_assistant, slot, write_call
from counterfoil.wires.wire import NO_PLAN, Body, Plan

STOPS: dict[str, Stop] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refused",
}
DEFAULTS: Body = {"id": "chatcmpl-0", "model": "", "created": 0}
"""What we write where we have nothing to say and the format demands something: read again, it is nothing."""
CHOICE = "$choice"
OTHERS = "$choices"
SEARCHED = frozenset(
    {
        "annotations",  # OpenAI's search models, OpenRouter
        "context",  # Azure, on data of one's own
        "executed_tools",  # Groq's compound models
        "citations",  # Perplexity, xAI
        "search_results",
        "web_search",  # Zhipu
        "search_info",  # DashScope
        "num_search_queries",  # in the usage: Perplexity
        "num_sources_used",  # xAI
        "server_tool_use",  # OpenRouter
    }
)
"""Where hosts say what was searched or run before the model wrote: in the message, beside it, in the usage."""


def stop_of(raw: str | None, blocks: tuple[Block, ...]) -> Stop:
    """Our word for why a reply ended."""
    if any(isinstance(block, Text) and REFUSAL in slot(block) for block in blocks):
        return "refused"
    return derive(STOPS, raw, any(isinstance(block, ToolCall) for block in blocks))


def searched(*said: Body) -> tuple[Opaque, ...]:
    """The block that ends a reply whose host searched: told by what it says beside the fields of the format."""
    return mark(*said, of=SEARCHED)


def stop_word(stop: Stop, raw: str | None) -> str:
    """The wire's word."""
    # A refusal in words ends with "stop".
    return raw if raw == "stop" and stop == "refused" else word(STOPS, stop, raw)


@guarded(f"{NAME} reply")
def read_reply(body: Body, plan: Plan = NO_PLAN) -> Reply:
    """Understand a reply in this format: its first choice."""
    chat.refuse_error(body)
    where = f"{NAME} reply"
    choices = fields.objects(body.get("choices"), f"{where}/choices")
    if not choices:
        raise WireError(f"{where}/choices: expected at least one choice")
    choice = choices[0]
    message = read_assistant(
        fields.need(choice, "message", dict, f"{where}/choices/0"), where, Calls(), plan, reply=True
    )
    raw = choice.get("finish_reason")
    body = fields.without(body, DEFAULTS)
    kept = fields.leftover(body, ("id", "object", "model", "choices", "usage"))
    if rest := fields.leftover(fields.without(choice, {"index": 0}), ("message", "finish_reason")):
        kept[CHOICE] = rest
    if len(choices) > 1:
        kept[OTHERS] = choices[1:]
    if marks := searched(choice["message"], body, fields.sub(body, "usage")):
        message = msgspec.structs.replace(message, blocks=(*message.blocks, *marks))
    return Reply(
        message,
        stop_of(raw, message.blocks),
        raw,
        chat.read_usage(body.get("usage"), NAME),
        body.get("model") or None,
        body.get("id") or None,
        fields.ext(NAME, kept),
    )


def write_reply(reply: Reply) -> Body:
    """Say a reply in this format."""
    held = chat.slot(reply.ext, NAME)
    choice: Body = {
        "index": 0,
        "message": _write_message(reply.message),
        "finish_reason": stop_word(reply.stop, reply.stop_raw),
    }
    body: Body = {
        "id": reply.id or DEFAULTS["id"],
        "object": "chat.completion",
        "model": reply.model or DEFAULTS["model"],
        "choices": [fields.fill(choice, fields.sub(held, CHOICE)), *held.get(OTHERS, ())],
    }
    if reply.usage is not None:
        body["usage"] = chat.write_usage(reply.usage, NAME)
    return fields.fill(body, {"created": DEFAULTS["created"], **held})


def _write_message(message: Message) -> Body:
    held = chat.slot(message.ext, NAME)
    body: Body = {"role": "assistant"}
    prose: list[str] = []
    calls: list[Body] = []
    for block in message.blocks:
        match block:
            case Text(text) if REFUSAL in slot(block):
                body["refusal"] = text
            case Text(text):
                prose.append(text)
            case Reasoning(text) if text:
                field = slot(block).get(FIELD) or REASONING[0]
                body[field] = body.get(field, "") + text
            case ToolCall():
                calls.append(write_call(None, block, ""))
            case Opaque(wire, {"tool_calls": call}) if wire == NAME:
                calls.append(call)
            case _:
                pass
    body["content"] = "".join(prose) or held.get("content")
    if calls:
        body["tool_calls"] = calls
    return fields.fill(body, held)
