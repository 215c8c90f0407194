"""Replies of OpenAI Responses, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterfoil.types.error import ModelError
from counterfoil.types.message import Block, Message, Text, ToolCall
from counterfoil.types.request import Reply, Stop, Usage
from counterfoil.types.stream import ReplyStart, ReplyStop
from counterfoil.wires import _fields as fields
from counterfoil.wires._guard import guarded
from counterfoil.wires._lookups import all_cited
from counterfoil.wires._open import UNFINISHED, cut
from counterfoil.wires._stops import derive, word
from counterfoil.wires._verbatim import SameIds, SameNames
from counterfoil.wires.openai_responses.content import NAME, REFUSAL
from counterfoil.wires.openai_responses.items import Ear, ItemScribe, write_assistant
from counterfoil.wires.wire import NO_PLAN, Body, Plan

# The status, or the reason why the reply is incomplete.
STOPS: dict[str, Stop] = {
    "completed": "end",
    "max_output_tokens": "length",
    "content_filter": "refused",
    "incomplete": "other",
    "max_messages": "other",
    "steered": "other",
    "cancelled": "other",
    "in_progress": "other",
    "queued": "other",
    "failed": "other",
}
_STATUSES = ("completed", "incomplete", "cancelled", "in_progress", "queued", "failed")


def _usual() -> Body:
    return {
        "object": "response",
        "created_at": 0,
        "error": None,
        "incomplete_details": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


_USUAL = _usual()
_ALWAYS = ("output", "status", "usage", "id", "model")
_USAGE = "$usage"


def refuse_error(body: Body) -> None:
    """Raise what the host reports instead of a reply."""
    error = body.get("error")
    if error and (body.get("status") in (None, "failed")):
        said = fields.obj(error)
        words = said.get("message") or error
        raise ModelError(f"the host reports {said.get('code') or said.get('type') or 'an error'}: {words}")


def read_usage(body: Body | None) -> Usage | None:
    """Understand what a reply cost."""
    if body is None:
        return None
    usage = _counts(body)
    return usage if _write_counts(usage) == body else Usage(*_five(usage), ext={NAME: {_USAGE: body}})


def _counts(body: Body) -> Usage:
    given, made = fields.obj(body.get("input_tokens_details")), fields.obj(body.get("output_tokens_details"))
    return Usage(
        body.get("input_tokens") or 0,
        body.get("output_tokens") or 0,
        given.get("cached_tokens") or 0,
        given.get("cache_write_tokens") or 0,
        made.get("reasoning_tokens") or 0,
    )


def _five(usage: Usage) -> tuple[int, int, int, int, int]:
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )


def _write_counts(usage: Usage) -> Body:
    given, made, cached, written, reasoning = _five(usage)
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": given + made,
    }


def write_usage(usage: Usage) -> Body:
    """Say what a reply cost."""
    note = fields.note(usage.ext, NAME, _USAGE)
    return note if note is not None and _five(_counts(note)) == _five(usage) else _write_counts(usage)


def stop_of(body: Body, blocks: list[Block]) -> tuple[Stop, str | None]:
    """Why a reply ended: derived, and in the provider's word."""
    raw = body.get("status") or "completed"
    if raw == "incomplete":
        raw = fields.obj(body.get("incomplete_details")).get("reason") or raw
    stop = derive(STOPS, raw, any(isinstance(block, ToolCall) for block in blocks))
    refused = any(is_refusal(block) for block in blocks)
    return ("refused" if refused and stop == "end" else stop), raw


def extra_of(body: Body) -> dict[str, Any]:
    """What a reply says beside its message, usage and stop."""
    return {
        key: value
        for key, value in fields.rest(body, *_ALWAYS).items()
        if not (key in _USUAL and value == _USUAL[key]) and not (key == "incomplete_details" and value == _why(body))
    }


def _why(body: Body) -> Any:
    return {"reason": fields.obj(body.get("incomplete_details")).get("reason")}


def settle(blocks: list[Block], stop: Stop) -> list[Block]:
    """The blocks of a reply that ended for length: a last call without arguments was cut before they were written."""
    last = blocks[-1] if blocks else None
    if stop == "length" and isinstance(last, ToolCall) and last.kind == "custom" and not last.raw:
        return [*blocks[:-1], cut(last, "", UNFINISHED)]
    return blocks


@guarded("a reply of openai-responses")
def read_reply(body: Body, plan: Plan = NO_PLAN) -> Reply:
    """Understand a reply in this format."""
    refuse_error(body)
    ear = Ear(plan)
    items = fields.objects(body.get("output"), "/output")
    blocks = [block for index, item in enumerate(items) for block in ear.item(item, f"/output/{index}")]
    stop, raw = stop_of(body, blocks)
    return Reply(
        Message("assistant", all_cited(settle(blocks, stop), NAME, "annotations")),
        stop,
        raw,
        read_usage(fields.maybe(body, "usage", dict, "")),
        body.get("model") or None,
        body.get("id") or None,
        fields.ext(NAME, extra_of(body)),
    )


def server() -> ItemScribe:
    """Who writes replies: its losses are not reported."""
    scribe = ItemScribe(SameNames(), reply=True)
    scribe.id = SameIds()
    return scribe


def is_refusal(block: Block) -> bool:
    """Whether a block says why the model will not answer."""
    return isinstance(block, Text) and bool(fields.note(block.ext, NAME, REFUSAL))


def frame(start: ReplyStart, end: ReplyStop, blocks: Sequence[Block]) -> Body:
    """A reply, but for its output."""
    stop, raw = end.stop, end.stop_raw
    if raw in STOPS and stop == "refused" and any(is_refusal(block) for block in blocks):
        said = raw
    else:
        said = word(STOPS, "end" if stop == "tool_calls" and raw not in STOPS else stop, raw)
    body: Body = {
        **_usual(),
        "id": start.id or "resp_0",
        "model": start.model or "",
        "status": said if said in _STATUSES else "incomplete",
        "output": [],
    }
    if said not in _STATUSES:
        body["incomplete_details"] = {"reason": said}
    if end.usage is not None:
        body["usage"] = write_usage(end.usage)
    return {**body, **fields.said(end.ext, NAME)}


def write_reply(reply: Reply) -> Body:
    """Say a reply in this format."""
    scribe = server()
    write_assistant(scribe, reply.message.blocks, "")
    end = ReplyStop(reply.stop, reply.stop_raw, reply.usage, reply.ext)
    return {**frame(ReplyStart(reply.model, reply.id), end, reply.message.blocks), "output": scribe.out}
