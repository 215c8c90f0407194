"""Content blocks of Anthropic Messages, understood and said."""

from __future__ import annotations

from typing import Any

from counterfoil.types.error import WireError
from counterfoil.types.message import Block, Ext, Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from counterfoil.wires import _fields as fields
from counterfoil.wires._envelope import placeholder, unwrap_arguments, wrap_arguments
from counterfoil.wires._ids import Calls
from counterfoil.wires._scribe import Scribe
from counterfoil.wires.wire import Body, Plan

NAME = "anthropic"
LIST = "$list"
"""The note that a content of one text was written as a list."""


def slot(block: Any) -> dict[str, Any]:
    """What the block's `ext` holds of this wire's."""
    held: dict[str, Any] = fields.sub(block.ext, NAME)
    return held


# Reading


def read_content(content: Any, where: str, calls: Calls, plan: Plan) -> tuple[Block, ...]:
    """Understand a message's content: a string, or blocks."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(
        [read_block(each, f"{where}/{index}", calls, plan) for index, each in enumerate(fields.objects(content, where))]
    )


def read_block(body: Body, where: str, calls: Calls, plan: Plan) -> Block:
    """Understand one block; one that is unknown to us is kept as it is."""
    match body.get("type"):
        case "text":
            return Text(fields.need(body, "text", str, where), ext=_ext(body, ("type", "text")))
        case "thinking":
            # The slot, if only an empty one, says where the signature comes from: it goes back nowhere else.
            return Reasoning(
                fields.need(body, "thinking", str, where),
                signature=body.get("signature"),
                ext={NAME: fields.leftover(body, ("type", "thinking", "signature"))},
            )
        case "redacted_thinking":
            data = fields.need(body, "data", str, where)
            return Reasoning(redacted=data, ext={NAME: fields.leftover(body, ("type", "data"))})
        case "tool_use":
            return read_call(body, where, calls, plan)
        case "tool_result":
            return _read_result(body, where, calls)
        case "image" | "document":
            return _read_media(body) or Opaque(NAME, body)
        case str():
            return Opaque(NAME, body)
        case _:
            raise WireError(f"{where}/type: expected the type of a content block, found {body.get('type')!r}")


def read_call(body: Body, where: str, calls: Calls, plan: Plan) -> ToolCall:
    """Understand a `tool_use`, whose input is an object."""
    name = plan.name(fields.need(body, "name", str, where))
    arguments = fields.an_object(body.get("input"), f"{where}/input")
    ext = _ext(body, ("type", "id", "name", "input"))
    return unwrap_arguments(ToolCall(calls.call(body.get("id"), name), name, arguments, ext=ext), plan.custom)


def _read_result(body: Body, where: str, calls: Calls) -> ToolResult:
    call_id, name = calls.result(fields.need(body, "tool_use_id", str, where))
    content: tuple[Text | Media | Opaque, ...] = ()
    raw = body.get("content")
    kept = fields.leftover(body, ("type", "tool_use_id"), ("content", "is_error"))
    if isinstance(raw, str):
        content = (Text(raw),) if raw else ()
    elif raw is not None:
        content = tuple([_read_part(each, f"{where}/content") for each in fields.objects(raw, f"{where}/content")])
        if is_plain(content):
            kept[LIST] = True
    return ToolResult(call_id, content, body.get("is_error") is True, name=name, ext=fields.ext(NAME, kept))


def _read_part(body: Body, where: str) -> Text | Media | Opaque:
    match body.get("type"):
        case "text":
            return Text(fields.need(body, "text", str, where), ext=_ext(body, ("type", "text")))
        case "image" | "document":
            return _read_media(body) or Opaque(NAME, body)
        case _:
            return Opaque(NAME, body)


def _read_media(body: Body) -> Media | None:
    source = fields.as_object(body.get("source")) or {}
    extra = _ext(body, ("type", "source"), ("title",))
    name = body.get("title") or None
    image = body["type"] == "image"
    match source:
        case {"type": "base64", "media_type": str(kind), "data": str(text), **others}:
            data = fields.exact64(text)
            media = Media(kind, data, name=name, ext=extra) if data is not None else None
        case {"type": "text", "media_type": "text/plain", "data": str(text), **others}:
            media = Media("text/plain", text.encode("utf-8", "surrogatepass"), name=name, ext=extra)
        case {"type": "url", "url": str(url), **others}:
            media = Media("image/*" if image else "application/pdf", url=url, name=name, ext=extra)
        case {"type": "file", "file_id": str(file_id), **others}:
            media = Media("image/*" if image else "application/*", file_id=file_id, name=name, ext=extra)
        case _:
            return None
    return None if others else media


def is_plain(blocks: tuple[Block, ...]) -> bool:
    """Whether the blocks are one text and nothing besides: a content that may be a string."""
    return len(blocks) == 1 and isinstance(blocks[0], Text) and not slot(blocks[0]) and bool(blocks[0].text)


def _ext(body: Body, always: tuple[str, ...], sometimes: tuple[str, ...] = ()) -> Ext:
    return fields.ext(NAME, fields.leftover(body, always, sometimes))


# Writing


def write_blocks(scribe: Scribe, blocks: tuple[Block, ...], path: str) -> list[Body]:
    """Say blocks; what this wire cannot say is left out and reported."""
    written = [write_block(scribe, block, f"{path}/{index}") for index, block in enumerate(blocks)]
    return [body for body in written if body is not None]


def write_block(scribe: Scribe, block: Block, path: str) -> Body | None:
    """Say one block, or nothing."""
    if isinstance(block, Opaque):
        if block.wire == NAME:
            return dict(block.data)
        scribe.lose(path, f"a block that only {block.wire} understands", "dropped")
        return None
    if block.ext:
        scribe.foreign(block.ext, path)
    match block:
        case Text(text):
            if not text:
                scribe.lose(path, "an empty text", "dropped")
                return None
            return fields.fill({"type": "text", "text": text}, slot(block))
        case ToolCall():
            return fields.fill(
                {
                    "type": "tool_use",
                    "id": scribe.call_id(block),
                    "name": scribe.name(block.name),
                    "input": scribe.arguments(block, path),
                },
                slot(block),
            )
        case ToolResult():
            return _write_result(scribe, block, path)
        case Reasoning():
            return _write_reasoning(scribe, block, path)
        case Media():
            return _write_media(scribe, block, path)


def write_reply_block(block: Block) -> Body | None:
    """Say one block of a reply, where a call keeps the id it has."""
    match block:
        case Text(text):
            return fields.fill({"type": "text", "text": text}, slot(block))
        case ToolCall(id, name):
            body = {"type": "tool_use", "id": id, "name": name, "input": wrap_arguments(block)}
            return fields.fill(body, slot(block))
        case Reasoning():
            return reasoning_body(block)
        case Opaque(wire, data):
            return dict(data) if wire == NAME else None
        case _:
            return None


def reasoning_body(block: Reasoning) -> Body:
    """Say reasoning."""
    if block.redacted is not None:
        return fields.fill({"type": "redacted_thinking", "data": block.redacted}, slot(block))
    # A signature is demanded by the format; a reply of another's has none to give.
    body = {"type": "thinking", "thinking": block.text, "signature": block.signature or ""}
    return fields.fill(body, slot(block))


def _write_reasoning(scribe: Scribe, block: Reasoning, path: str) -> Body | None:
    foreign = bool(block.ext) and NAME not in block.ext
    if foreign or (block.signature is None and block.redacted is None):
        scribe.lose(path, "reasoning that this wire did not sign", "dropped")
        return None
    return reasoning_body(block)


def _write_result(scribe: Scribe, block: ToolResult, path: str) -> Body:
    body: Body = {"type": "tool_result", "tool_use_id": scribe.id(block.call_id)}
    held = slot(block)
    content = write_blocks(scribe, block.content, f"{path}/content")
    if is_plain(block.content) and len(content) == 1 and LIST not in held:
        body["content"] = content[0]["text"]
    elif content:
        body["content"] = content
    if block.is_error:
        body["is_error"] = True
    return fields.fill(body, held)


def _write_media(scribe: Scribe, block: Media, path: str) -> Body:
    source = _source(block)
    if source is None:
        scribe.lose(path, f"{block.media_type} as {'bytes' if block.data is not None else 'a link'}", "placeholder")
        return {"type": "text", "text": placeholder(block)}
    image = block.media_type.startswith("image/")
    if block.data is None and block.media_type not in ("image/*", "application/pdf", "application/*"):
        scribe.lose(f"{path}/media_type", "which kind of image a link leads to", "rewritten")
    if block.name and image:
        scribe.lose(f"{path}/name", "the name of an image", "dropped")
    body: Body = {"type": "image" if image else "document", "source": source}
    if block.name and not image:
        body["title"] = block.name
    return fields.fill(body, slot(block))


def _source(block: Media) -> Body | None:
    kind = block.media_type
    image = kind.startswith("image/")
    if block.data is not None:
        if kind in ("image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf"):
            return {"type": "base64", "media_type": kind, "data": fields.text64(block.data)}
        if kind == "text/plain":
            try:
                return {"type": "text", "media_type": kind, "data": block.data.decode()}
            except UnicodeDecodeError:
                return None
    elif block.url is not None and (image or kind == "application/pdf"):
        return {"type": "url", "url": block.url}
    elif block.file_id is not None and (image or kind == "application/*"):
        return {"type": "file", "file_id": block.file_id}
    return None
