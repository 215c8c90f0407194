"""Replies of Mistral's chat completions."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from counterfoil.types.error import WireError
from counterfoil.types.message import Block, Opaque, Reasoning, Text
from counterfoil.types.request import Reply, Stop, Usage
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Calls
from counterfoil.wires._stops import derive, word
from counterfoil.wires.mistral.messages import (
    NAME,
    content_of,
    read_message,
    slot,
    write_call,
    write_thought,
)
from counterfoil.wires.wire import NO_PLAN, Body, Plan

STOPS: dict[str, Stop] = {
    "stop": "end",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "error": "other",
}
DEFAULTS: Body = {"id": "cmpl-0", "model": "", "created": 0}
"""What we write where we have nothing to say and the format demands something: read again, it is nothing."""
CHOICE = "$choice"
OTHERS = "$choices"
_TOP = ("id", "object", "model", "choices", "usage")


@guarded(f"{NAME} reply")
def read_reply(body: Body, plan: Plan = NO_PLAN) -> Reply:
    """Understand a reply in this format: its first choice."""
    chat.refuse_error(body)
    where = f"{NAME} reply"
    choices = fields.objects(body.get("choices"), f"{where}/choices")
    if not choices:
        raise WireError(f"{where}/choices: expected at least one choice")
    choice = choices[0]
    said = fields.need(choice, "message", dict, f"{where}/choices/0")
    known = fields.without({"role": "assistant", **said}, {"content": ""})
    message = read_message(known, f"{where}/choices/0/message", Calls(), plan)
    if "content" not in said:
        message = msgspec.structs.replace(message, ext={NAME: {**slot(message), chat.BARE: True}})
    raw = choice.get("finish_reason")
    body = fields.without(body, DEFAULTS)
    kept = fields.leftover(body, _TOP)
    if rest := fields.leftover(fields.without(choice, {"index": 0}), ("message", "finish_reason")):
        kept[CHOICE] = rest
    if len(choices) > 1:
        kept[OTHERS] = choices[1:]
    usage = chat.read_usage(body.get("usage"), NAME)
    stop = derive(STOPS, raw, bool(message.calls))
    return Reply(message, stop, raw, usage, body.get("model") or None, body.get("id") or None, fields.ext(NAME, kept))


def write_reply(reply: Reply) -> Body:
    """Say a reply in this format."""
    held = chat.slot(reply.ext, NAME)
    said = chat.slot(reply.message.ext, NAME)
    chunks = _chunks(reply.message.blocks)
    calls = [write_call(None, call, "") for call in reply.message.calls]
    message: Body = {"role": "assistant"}
    if chunks:
        message["content"] = content_of(chunks, as_list=chat.LIST in said)
    if calls:
        message["tool_calls"] = calls
    choice: Body = {
        "index": 0,
        "message": fields.fill(message, said if chat.BARE in said else {"content": "", **said}),
        "finish_reason": word(STOPS, reply.stop, reply.stop_raw),
    }
    body: Body = {
        "id": reply.id or DEFAULTS["id"],
        "object": "chat.completion",
        "model": reply.model or DEFAULTS["model"],
        "choices": [fields.fill(choice, fields.sub(held, CHOICE)), *held.get(OTHERS, ())],
        "usage": chat.write_usage(reply.usage or Usage(), NAME),
    }
    return fields.fill(body, {"created": DEFAULTS["created"], **held})


def _chunks(blocks: Iterable[Block]) -> list[Body]:
    """The prose of a reply. Texts that follow each other are one, as they are in a stream; so are open thoughts."""
    chunks: list[Body] = []
    before: Block | None = None
    for block in blocks:
        match before, block:
            case (Text() as first, Text()) if not slot(first) and not slot(block):
                block = Text(first.text + block.text)
                chunks.pop()
            case (Reasoning() as first, Reasoning(redacted=None)) if is_open(first):
                block = msgspec.structs.replace(block, text=first.text + block.text)
                chunks.pop()
            case _:
                pass
        match block:
            case Text(text):
                chunks.append(fields.fill({"type": "text", "text": text}, slot(block)))
            case Reasoning(redacted=None):
                chunks.append(write_thought(block))
            case Opaque(wire, data) if wire == NAME and "type" in data:
                chunks.append(data)
            case _:
                continue
        before = block
    return [chunk for chunk in chunks if chunk.get("text") != ""]


def is_open(block: Reasoning) -> bool:
    """Whether more of the same thought may follow."""
    return block.signature is None and not slot(block).get("closed")
