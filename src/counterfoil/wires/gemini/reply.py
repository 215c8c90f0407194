"""Gemini generateContent replies, both ways."""

from __future__ import annotations

from typing import Any

from counterfoil.types.error import ModelError
from counterfoil.types.message import Message, Opaque, ToolCall
from counterfoil.types.request import Reply, Stop, Usage
from counterfoil.wires import _fields as fields
from counterfoil.wires._guard import guarded
from counterfoil.wires._lookups import mark
from counterfoil.wires._stops import derive, word
from counterfoil.wires.gemini.parts import NAME, Ear, server, write_parts
from counterfoil.wires.wire import NO_PLAN, Body, Plan

# The model says STOP with calls in its parts, too: what is in the reply counts for more.
STOPS: dict[str, Stop] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "SAFETY": "refused",
    "RECITATION": "refused",
    "BLOCKLIST": "refused",
    "PROHIBITED_CONTENT": "refused",
    "SPII": "refused",
    "MODEL_ARMOR": "refused",
    "IMAGE_SAFETY": "refused",
    "IMAGE_PROHIBITED_CONTENT": "refused",
    "IMAGE_RECITATION": "refused",
    "OTHER": "other",
    "LANGUAGE": "other",
    "MALFORMED_FUNCTION_CALL": "other",
    "UNEXPECTED_TOOL_CALL": "other",
    "TOO_MANY_TOOL_CALLS": "other",
    "MISSING_THOUGHT_SIGNATURE": "other",
    "MALFORMED_RESPONSE": "other",
    "FINISH_REASON_UNSPECIFIED": "other",
    "CONTINUATION": "other",
    "ESCALATION": "other",
    "NO_IMAGE": "other",
    "IMAGE_OTHER": "other",
    "PUP_LIMITED_DISABLED": "other",
}
_COUNTS = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount")
_TOOLS = "toolUsePromptTokenCount"
_TOTAL = "totalTokenCount"
_SEARCHED = frozenset({"groundingMetadata", "groundingAttributions", "urlContextMetadata", "citationMetadata", _TOOLS})
"""What a candidate, or the usage, says of what was looked up."""
OURS = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId"})


def refuse_error(body: Body) -> None:
    """Raise what the host reports instead of a reply."""
    if isinstance(body.get("error"), dict):
        error = fields.obj(body["error"])
        raise ModelError(f"the host reports {error.get('status', 'an error')}: {error.get('message', '')}".rstrip(": "))


def read_usage(body: Body | None) -> Usage | None:
    """Understand token counts. Here thoughts are counted beside the output; a count of zero is left out."""
    if body is None:
        return None
    prompt, output, thoughts, cached = [fields.maybe(body, key, int, "/usageMetadata") or 0 for key in _COUNTS]
    used = fields.maybe(body, _TOOLS, int, "/usageMetadata") or 0
    extra = fields.rest(body, *_COUNTS, _TOTAL) | {key: 0 for key in _COUNTS if body.get(key) == 0}
    if body.get(_TOTAL) != prompt + used + output + thoughts:
        extra[_TOTAL] = body.get(_TOTAL)
    return Usage(prompt + used, output + thoughts, cached, reasoning_tokens=thoughts, ext=fields.ext(NAME, extra))


def write_usage(usage: Usage) -> Body:
    """Say token counts."""
    slot = fields.said(usage.ext, NAME)
    used = slot.get(_TOOLS) or 0
    counts = (
        usage.input_tokens - used,
        usage.output_tokens - usage.reasoning_tokens,
        usage.reasoning_tokens,
        usage.cached_tokens,
    )
    body: Body = {key: count for key, count in zip(_COUNTS, counts, strict=True) if count}
    total = slot.pop(_TOTAL, usage.input_tokens + usage.output_tokens)
    if total is not None:
        body[_TOTAL] = total
    return fields.fill(body, slot)


def candidate_of(body: Body) -> tuple[Body | None, list[Any]]:
    """The first answer of a body, and the others."""
    candidates = fields.arr(body.get("candidates"))
    if not candidates:
        return None, []
    return fields.an_object(candidates[0], "/candidates/0"), candidates[1:]


def extra_of(body: Body, candidate: Body | None, more: list[Any]) -> Body:
    """What a reply says beside its message, usage and stop."""
    extra = fields.rest(body, *OURS)
    if candidate is not None:
        beside = fields.rest(candidate, "content", "finishReason")
        if beside.get("index") == 0:
            del beside["index"]
        if beside:
            extra["$candidate"] = beside
    if more:
        extra["$more"] = more
    return extra


def searched(candidate: Body | None, usage: Body | None) -> tuple[Opaque, ...]:
    """The block that ends a reply before which something was looked up."""
    return mark(candidate or {}, usage or {}, of=_SEARCHED)


@guarded("a reply of gemini")
def read_reply(body: Body, plan: Plan = NO_PLAN) -> Reply:
    """Understand a reply of generateContent."""
    refuse_error(body)
    candidate, more = candidate_of(body)
    where = "/candidates/0/content/parts"
    content = fields.obj((candidate or {}).get("content"))
    ear = Ear(plan)
    parts = fields.objects(content.get("parts") or [], where)
    blocks = tuple([ear.part(part, f"{where}/{index}") for index, part in enumerate(parts)])
    stop, raw = stop_of(body, candidate, any(isinstance(block, ToolCall) for block in blocks))
    usage = fields.maybe(body, "usageMetadata", dict, "")
    return Reply(
        Message("assistant", (*blocks, *searched(candidate, usage))),
        stop,
        raw,
        read_usage(usage),
        fields.maybe(body, "modelVersion", str, ""),
        fields.maybe(body, "responseId", str, ""),
        fields.ext(NAME, extra_of(body, candidate, more)),
    )


def stop_of(body: Body, candidate: Body | None, calls: bool) -> tuple[Stop, str | None]:
    """Why the reply ended: derived, and in the provider's words. A blocked prompt has no answer at all."""
    if candidate is None:
        blocked = fields.obj(body.get("promptFeedback")).get("blockReason")
        return ("refused" if blocked else "other"), blocked
    raw = candidate.get("finishReason")
    return derive(STOPS, raw, calls), raw


def write_reply(reply: Reply) -> Body:
    """Say a reply of generateContent."""
    parts = write_parts(server(), reply.message.blocks, "", reply=True)
    body: Body = {"candidates": [last_candidate(parts, reply.stop, reply.stop_raw, reply.ext)]}
    slot = fields.own(reply.ext, NAME)
    if not parts and reply.stop_raw is not None and fields.obj(slot.get("promptFeedback")):
        body = {}
    else:
        body["candidates"] += slot.get("$more") or []
    return fields.fill(frame(body, reply.usage, reply.model, reply.id), slot)


def last_candidate(parts: list[Body], stop: Stop, raw: str | None, ext: dict[str, Any]) -> Body:
    """An answer with the reason of its end."""
    finish = word(STOPS, "end" if stop == "tool_calls" else stop, raw)
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}
    return fields.fill(candidate, fields.obj(fields.note(ext, NAME, "$candidate")))


def frame(body: Body, usage: Usage | None, model: str | None, id: str | None) -> Body:
    """A body with what is said beside the answer."""
    if usage is not None:
        body["usageMetadata"] = write_usage(usage)
    if model is not None:
        body["modelVersion"] = model
    if id is not None:
        body["responseId"] = id
    return body
