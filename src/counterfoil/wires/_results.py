"""Results in the chat formats: a message each, text only in most, without an error flag in all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from counterfoil.types.error import WireError
from counterfoil.types.message import Block, Media, Message, Opaque, Text, ToolResult
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires._envelope import ATTACHED, ATTACHMENT, seal, unseal
from counterfoil.wires._scribe import Scribe
from counterfoil.wires.wire import Body

WritePart = Callable[[Block, str], Body | None]
"""How a wire says one part of a result, given its JSON pointer; `None` leaves it out (and has reported it)."""


def write_result(scribe: Scribe, result: ToolResult, path: str, write_part: WritePart) -> str | list[Body]:
    """Say a result's content, its error flag in the text: a string if it is one plain text, else parts."""
    if result.ext:
        scribe.foreign(result.ext, path)
    written = [write_part(block, f"{path}/content/{index}") for index, block in enumerate(result.content)]
    parts = [part for part in written if part is not None]
    places = [index for index, part in enumerate(parts) if part.get("type") == "text"]
    sealed = seal([parts[index]["text"] for index in places], result.is_error)
    if result.is_error:
        scribe.lose(f"{path}/is_error", "that a result is an error", "envelope")
    if not places and sealed:
        return [{"type": "text", "text": sealed[0]}, *parts] if parts else sealed[0]
    for index, text in zip(places, sealed, strict=True):
        parts[index]["text"] = text
    if (
        len(parts) == 1
        and chat.is_plain(result.content, scribe.wire)
        and chat.LIST not in chat.slot(result.ext, scribe.wire)
    ):
        return str(parts[0]["text"])
    return parts or ""


def read_result(
    call: tuple[str, str | None],
    content: Any,
    where: str,
    wire: str,
    kept: dict[str, Any],
    read_part: Callable[[Body, str], Text | Media | Opaque],
) -> ToolResult:
    """Understand a result: which call it answers, its content, and what is left over of its message."""
    blocks: list[Text | Media | Opaque] = []
    if isinstance(content, list):
        blocks = [read_part(each, f"{where}/{index}") for index, each in enumerate(fields.objects(content, where))]
    elif isinstance(content, str):
        blocks = [Text(content)] if content else []
    elif content is not None:
        raise WireError(f"{where}: expected a string or an array, found {content!r:.40}")
    texts = [block for block in blocks if isinstance(block, Text)]
    inner, is_error = unseal([block.text for block in texts])
    if is_error and not inner:
        blocks.remove(texts[0])
    elif is_error or inner != [block.text for block in texts]:
        said = iter(inner)
        blocks = [
            msgspec.structs.replace(block, text=next(said)) if isinstance(block, Text) else block for block in blocks
        ]
    if isinstance(content, list) and (chat.is_plain(blocks, wire) or not content):
        kept[chat.LIST] = True
    return ToolResult(call[0], tuple(blocks), is_error, name=call[1], ext=fields.ext(wire, kept))


def write_results(
    scribe: Scribe,
    message: Message,
    path: str,
    write_media: Callable[[Media, str], Body | None],
    write_part: WritePart,
) -> None:
    """Say results, a message each, where only texts may stand: their media follow in a user message."""
    attached: list[Body] = []

    def part(block: Block, at: str) -> Body | None:
        if isinstance(block, Media):
            body = write_media(block, at)
            if body is not None:
                scribe.lose(at, f"{block.media_type} in a result: it is in the next user message", "moved")
                attached.append(body)
                return {"type": "text", "text": ATTACHMENT}
        return write_part(block, at)

    for index, result in enumerate(message.results):
        body: Body = {"role": "tool", "tool_call_id": scribe.id(result.call_id)}
        body["content"] = write_result(scribe, result, f"{path}/blocks/{index}", part)
        scribe.out.append(fields.fill(body, chat.slot(result.ext, scribe.wire)))
    if attached:
        scribe.out.append({"role": "user", "content": [{"type": "text", "text": ATTACHED}, *attached]})


def with_attachments(results: Message, body: Body, read_part: Callable[[Body, str], Block]) -> Message | None:
    """Undo the moving of media: results with what the next message brings, or `None` if it brings nothing of theirs."""
    content = fields.as_array(body.get("content"))
    if body.keys() != {"role", "content"} or not content:
        return None
    if content[0] != {"type": "text", "text": ATTACHED}:
        return None
    media = [block for each in content[1:] if isinstance(block := read_part(each, "attachment"), Media)]
    places = [block for result in results.results for block in result.content if _stands_for_media(block)]
    if len(places) != len(media) or len(media) != len(content) - 1:
        return None
    found = iter(media)
    blocks: list[Block] = []
    for result in results.results:
        inside = [next(found) if _stands_for_media(block) else block for block in result.content]
        blocks.append(msgspec.structs.replace(result, content=tuple(inside)))
    return msgspec.structs.replace(results, blocks=tuple(blocks))


def _stands_for_media(block: Block) -> bool:
    return isinstance(block, Text) and block.text == ATTACHMENT
