"""Replies of Gemini Interactions, both ways."""

from __future__ import annotations

from typing import Any

from counterfoil.types.error import ModelError
from counterfoil.types.message import Block, Message, Opaque, ToolCall
from counterfoil.types.request import Reply, Stop, Usage
from counterfoil.types.stream import ReplyStart, ReplyStop
from counterfoil.wires import _fields as fields
from counterfoil.wires._guard import guarded
from counterfoil.wires._lookups import all_cited
from counterfoil.wires._open import UNFINISHED, cut
from counterfoil.wires._stops import derive, word
from counterfoil.wires.gemini_interactions.steps import NAME, Ear, server, write_blocks
from counterfoil.wires.wire import NO_PLAN, Body, Plan

STOPS: dict[str, Stop] = {
    "completed": "end",
    "requires_action": "tool_calls",
    "incomplete": "length",
    # Without an error that says why, an answer was withheld.
    "failed": "refused",
    "budget_exceeded": "other",
    "cancelled": "other",
    "in_progress": "other",
    "queued": "other",
    "idle": "other",
    "requires_continuation": "other",
}
_OURS = ("id", "model", "status", "steps", "usage")
_USAGE = "$usage"


def refuse_error(body: Body) -> None:
    """Raise what the host reports instead of a reply."""
    errors = [body["error"]] if isinstance(body.get("error"), dict) else fields.arr(body.get("errors"))
    if errors and body.get("status") in (None, "failed"):
        said = fields.obj(errors[0])
        raise ModelError(f"the host reports {said.get('code') or 'an error'}: {said.get('message') or ''}".rstrip(": "))


def read_usage(body: Body | None) -> Usage | None:
    """Understand token counts. Here thoughts are counted beside the output."""
    if body is None:
        return None
    usage = _counts(body)
    return usage if _write_counts(usage) == body else Usage(*_four(usage), ext={NAME: {_USAGE: body}})


def _counts(body: Body) -> Usage:
    given, used, made, thought, cached = [
        fields.maybe(body, f"total_{kind}_tokens", int, "/usage") or 0
        for kind in ("input", "tool_use", "output", "thought", "cached")
    ]
    return Usage(given + used, made + thought, cached, reasoning_tokens=thought)


def _four(usage: Usage) -> tuple[int, int, int, int, int]:
    return usage.input_tokens, usage.output_tokens, usage.cached_tokens, 0, usage.reasoning_tokens


def _write_counts(usage: Usage) -> Body:
    return {
        "total_input_tokens": usage.input_tokens,
        "total_cached_tokens": usage.cached_tokens,
        "total_output_tokens": usage.output_tokens - usage.reasoning_tokens,
        "total_thought_tokens": usage.reasoning_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def _write_usage(usage: Usage) -> Body:
    note = fields.note(usage.ext, NAME, _USAGE)
    return note if note is not None and _four(_counts(note)) == _four(usage) else _write_counts(usage)


def settle(block: Block, stop: Stop) -> Block:
    """The last block of a reply: a call without arguments, ended for length, was cut before they were written."""
    if isinstance(block, ToolCall) and block.arguments == {} and stop == "length":
        return cut(block, "", UNFINISHED)
    return block


def end_of(body: Body, *, calls: bool) -> ReplyStop:
    """Why a reply ended, and what is said beside its steps."""
    raw = body.get("status")
    extra = fields.rest(body, *_OURS)
    if extra.get("object") == "interaction":
        del extra["object"]
    usage = read_usage(fields.maybe(body, "usage", dict, ""))
    return ReplyStop(derive(STOPS, raw, calls), raw, usage, fields.ext(NAME, extra))


@guarded("a reply of gemini-interactions")
def read_reply(body: Body, plan: Plan = NO_PLAN) -> Reply:
    """Understand a reply in this format."""
    refuse_error(body)
    ear = Ear(plan)
    steps = fields.objects(body.get("steps") or [], "/steps")
    # An interaction may hold calls that are answered already: those are not ours to run again.
    answered = {step.get("call_id") for step in steps if step.get("type") == "function_result"}
    blocks: list[Block] = []
    for index, step in enumerate(steps):
        settled = step.get("type") == "function_call" and step.get("id") in answered
        blocks += [Opaque(NAME, step)] if settled else ear.step(step, f"/steps/{index}")
    end = end_of(body, calls=any(isinstance(block, ToolCall) for block in blocks))
    if blocks:
        blocks[-1] = settle(blocks[-1], end.stop)
    id, model = body.get("id") or None, body.get("model") or None
    return Reply(
        Message("assistant", all_cited(blocks, NAME, "annotations")),
        end.stop,
        end.stop_raw,
        end.usage,
        model,
        id,
        end.ext,
    )


def frame(start: ReplyStart, end: ReplyStop) -> Body:
    """A reply, but for its steps."""
    body: Body = {"id": start.id or "", "object": "interaction", "model": start.model or ""}
    body["status"] = word(STOPS, end.stop, end.stop_raw)
    if end.usage is not None:
        body["usage"] = _write_usage(end.usage)
    return fields.fill(body, fields.own(end.ext, NAME))


def write_reply(reply: Reply) -> Body:
    """Say a reply in this format."""
    scribe = server()
    write_blocks(scribe, reply.message.blocks, "")
    end = ReplyStop(reply.stop, reply.stop_raw, reply.usage, reply.ext)
    steps: list[Any] = scribe.out
    return {**frame(ReplyStart(reply.model, reply.id), end), "steps": steps}
