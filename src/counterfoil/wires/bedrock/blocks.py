"""Converse content blocks, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from counterfoil.types.message import Block, Ext, Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from counterfoil.wires import _fields as fields
from counterfoil.wires._envelope import placeholder, unwrap_arguments
from counterfoil.wires._ids import Calls
from counterfoil.wires._scribe import Scribe
from counterfoil.wires.bedrock.media import KINDS, NAME, read_media, says_all, write_media
from counterfoil.wires.wire import Body, Plan

OWN: Ext = {NAME: {}}
"""Marks reasoning as this wire's: its signature goes back nowhere else."""


class Ear:
    """What is needed to understand calls and results: the plan, and the calls so far."""

    def __init__(self, plan: Plan, ids: Mapping[str, str] | None = None) -> None:
        self.plan = plan
        self.calls = Calls(ids)

    def block(self, body: dict[str, Any], where: str) -> Block:
        """Understand one block of a message; what is not known to us is kept as it is."""
        if len(body) != 1:
            return Opaque(NAME, body)
        ((kind, value),) = body.items()
        if kind == "text" and isinstance(value, str):
            return Text(value)
        inner = fields.obj(value)
        match kind:
            case "toolUse" if "type" not in inner:
                return self.call(inner, f"{where}/toolUse")
            case "toolResult" if "type" not in inner:
                return self.result(inner, f"{where}/toolResult")
            case "reasoningContent":
                return _read_reasoning(inner) or Opaque(NAME, body)
            case "citationsContent":
                return read_citations(inner) or Opaque(NAME, body)
            case _:
                return (read_media(kind, inner) if kind in KINDS else None) or Opaque(NAME, body)

    def call(self, body: dict[str, Any], where: str) -> ToolCall:
        """Understand a `toolUse`."""
        id = fields.need(body, "toolUseId", str, where)
        name = self.plan.name(fields.need(body, "name", str, where))
        call = ToolCall(self.calls.call(id, name), name, ext=fields.ext(NAME, fields.rest(body, *_CALL)))
        return self.arguments(call, body.get("input"))

    def arguments(self, call: ToolCall, value: Any) -> ToolCall:
        """The call with its arguments; what is not an object is kept as text, and never run."""
        if not isinstance(value, dict):
            raw = msgspec.json.encode(value).decode()
            return msgspec.structs.replace(call, raw=raw, parse_error="the arguments are not a JSON object")
        return unwrap_arguments(msgspec.structs.replace(call, arguments=value), self.plan.custom)

    def result(self, body: dict[str, Any], where: str) -> ToolResult:
        """Understand a `toolResult`."""
        id, name = self.calls.result(fields.need(body, "toolUseId", str, where))
        content = fields.objects(body.get("content"), f"{where}/content")
        extra = fields.rest(body, "toolUseId", "content", "status")
        if body.get("status") == "success":
            extra["$status"] = "success"
        return ToolResult(
            id,
            tuple([_read_result_part(part) for part in content]),
            is_error=body.get("status") == "error",
            name=name,
            ext=fields.ext(NAME, extra),
        )


_CALL = ("toolUseId", "name", "input")


def _read_result_part(body: dict[str, Any]) -> Text | Media | Opaque:
    if len(body) == 1:
        ((kind, value),) = body.items()
        if kind == "text" and isinstance(value, str):
            return Text(value)
        if kind == "json":
            return Text(msgspec.json.encode(value).decode(), ext={NAME: {"$json": value}})
        if kind in KINDS and (media := read_media(kind, fields.obj(value))):
            return media
    return Opaque(NAME, body)


def _read_reasoning(body: dict[str, Any]) -> Reasoning | None:
    match body:
        case {"reasoningText": {"text": str(text), "signature": str(signature), **more}, **none}:
            return None if more or none else Reasoning(text, signature, ext=OWN)
        case {"reasoningText": {"text": str(text), **more}, **none}:
            return None if more or none else Reasoning(text, ext=OWN)
        case {"redactedContent": str(redacted), **none}:
            return None if none else Reasoning(redacted=redacted, ext=OWN)
        case _:
            return None


def read_citations(body: dict[str, Any]) -> Text | None:
    """A text with citations: its text, with the citations in the `ext` slot."""
    content, citations = fields.arr(body.get("content")), body.get("citations")
    if body.keys() != {"content", "citations"} or not isinstance(citations, list) or len(content) != 1:
        return None
    part = fields.obj(content[0])
    text = part.get("text")
    return Text(text, ext={NAME: {"citations": citations}}) if isinstance(text, str) and len(part) == 1 else None


def write_reasoning(block: Reasoning) -> list[Body]:
    """Say reasoning: hidden, or in words."""
    if block.redacted is not None:
        return [{"reasoningContent": {"redactedContent": block.redacted}}]
    words = {"text": block.text} if block.signature is None else {"text": block.text, "signature": block.signature}
    return [{"reasoningContent": {"reasoningText": words}}]


def write_text(scribe: Scribe, block: Text, path: str) -> Body:
    """Say a text, with its citations if it has some. There is no room for anything else beside it."""
    extra = fields.said(block.ext, NAME)
    citations = extra.pop("citations", None)
    if extra:
        scribe.lose(f"{path}/ext/{NAME}", f"what is said beside a text: {', '.join(extra)}", "dropped")
    if citations is None:
        return {"text": block.text}
    return {"citationsContent": {"content": [{"text": block.text}], "citations": citations}}


def write_call(scribe: Scribe, block: ToolCall, path: str) -> Body:
    """Say a call."""
    use = {
        "toolUseId": scribe.id.add(block.id, block.provider_id),
        "name": scribe.name(block.name),
        "input": scribe.arguments(block, path),
    }
    return {"toolUse": fields.fill(use, fields.own(block.ext, NAME))}


def _signed_here(block: Reasoning) -> bool:
    return NAME in block.ext if block.ext else bool(block.signature or block.redacted)


def _write_media(scribe: Scribe, block: Media, path: str, kinds: tuple[str, ...] = KINDS) -> Body:
    body = write_media(block)
    if body is None or not body.keys() & set(kinds):
        scribe.lose(path, f"{block.media_type} {'at an address' if block.data is None else 'there'}", "placeholder")
        return {"text": placeholder(block)}
    if not says_all(block):
        scribe.lose(path, "the name or the exact type of the media", "rewritten")
    return body


def _write_result(scribe: Scribe, block: ToolResult, path: str) -> Body:
    content: list[Body] = []
    for index, part in enumerate(block.content):
        where = f"{path}/content/{index}"
        match part:
            case Text():
                scribe.foreign(part.ext, where)
                extra = fields.own(part.ext, NAME)
                if said := fields.said(part.ext, NAME):
                    scribe.lose(f"{where}/ext/{NAME}", f"what is said beside a text: {', '.join(said)}", "dropped")
                content.append({"json": extra["$json"]} if "$json" in extra else {"text": part.text})
            case Media():
                scribe.foreign(part.ext, where)
                content.append(_write_media(scribe, part, where, ("image", "document", "video")))
            case Opaque():
                content.extend(_write_opaque(scribe, part, where))
    body: Body = {"toolUseId": scribe.id(block.call_id), "content": content}
    if block.is_error:
        body["status"] = "error"
    elif fields.note(block.ext, NAME, "$status"):
        body["status"] = "success"
    return {"toolResult": fields.fill(body, fields.own(block.ext, NAME))}


def _write_opaque(scribe: Scribe, block: Opaque, path: str) -> list[Body]:
    if block.wire == NAME:
        return [dict(block.data)]
    scribe.lose(path, f"a block that only {block.wire} understands", "dropped")
    return []


def write_block(scribe: Scribe, block: Block, path: str, *, reply: bool = False) -> list[Body]:
    """Say one block: as one, or as none if it cannot be said."""
    match block:
        case Text():
            scribe.foreign(block.ext, path)
            if not block.text and not reply:
                scribe.lose(path, "an empty text", "dropped")
                return []
            return [write_text(scribe, block, path)]
        case Media():
            scribe.foreign(block.ext, path)
            return [_write_media(scribe, block, path)]
        case Reasoning():
            if reply or _signed_here(block):
                return write_reasoning(block)
            scribe.lose(path, "reasoning that this wire did not sign", "dropped")
            return []
        case ToolCall():
            scribe.foreign(block.ext, path)
            return [write_call(scribe, block, path)]
        case ToolResult():
            scribe.foreign(block.ext, path)
            return [_write_result(scribe, block, path)]
        case Opaque():
            return _write_opaque(scribe, block, path)
