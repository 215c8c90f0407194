"""Messages of Mistral's chat completions, understood and said."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

from counterfoil.types.error import WireError
from counterfoil.types.message import Block, Media, Message, Opaque, Reasoning, Text, ToolCall
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires._envelope import placeholder
from counterfoil.wires._ids import Calls
from counterfoil.wires._results import read_result, write_result
from counterfoil.wires._scribe import Scribe
from counterfoil.wires.wire import Body, Plan

NAME = "mistral"
ID = re.compile(r"[a-zA-Z0-9]{9}")
THINKING = "$thinking"
"""The note that holds a thought of several pieces as they were."""
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def nine(text: str, *, salt: int = 0) -> str:
    """Nine letters and digits made of an id: all that this format takes."""
    number = int.from_bytes(hashlib.sha256(f"{salt}:{text}".encode("utf-8", "surrogatepass")).digest()[:8], "big")
    letters: list[str] = []
    for _ in range(9):
        number, digit = divmod(number, 62)
        letters.append(_LETTERS[digit])
    return "".join(letters)


def slot(value: Any) -> dict[str, Any]:
    """What the `ext` of a value holds of this wire's."""
    return chat.slot(value.ext, NAME)


# Writing


def write_message(scribe: Scribe, message: Message, path: str) -> None:
    """Say one message: results as a message each."""
    scribe.foreign(message.ext, path)
    if message.name is not None:
        scribe.lose(f"{path}/name", "the name of who speaks", "dropped")
    held = slot(message)
    if message.role == "tool":
        for index, result in enumerate(message.results):
            body: Body = {"role": "tool", "tool_call_id": scribe.id(result.call_id)}
            if "$nameless" not in slot(result):
                body["name"] = scribe.tool_of(result)
            body["content"] = write_result(
                scribe, result, f"{path}/blocks/{index}", lambda block, at: write_chunk(scribe, block, at)
            )
            scribe.out.append(fields.fill(body, slot(result)))
        return
    chat.in_order(scribe, message.blocks, path)
    chunks: list[Body] = []
    calls: list[Body] = []
    for index, block in enumerate(message.blocks):
        at = f"{path}/blocks/{index}"
        if isinstance(block, ToolCall):
            scribe.foreign(block.ext, at)
            calls.append(write_call(scribe, block, at))
        elif (chunk := write_chunk(scribe, block, at)) is not None:
            chunks.append(chunk)
    body = {"role": message.role}
    if chunks:
        body["content"] = content_of(chunks, as_list=chat.LIST in held)
    if calls:
        body["tool_calls"] = calls
    if chunks or calls or "content" in held:
        scribe.out.append(fields.fill(body, held))
    else:
        scribe.lose(path, "a message that says nothing", "dropped")


def content_of(chunks: list[Body], *, as_list: bool) -> str | list[Body]:
    """A content: a string where it is one plain text."""
    plain = len(chunks) == 1 and chunks[0].keys() == {"type", "text"} and not as_list
    return str(chunks[0]["text"]) if plain else chunks


def write_call(scribe: Scribe | None, call: ToolCall, path: str) -> Body:
    """Say a call; in a reply it keeps the id and name it has."""
    body = chat.write_call(scribe, call, path, NAME)
    body["id"] = scribe.call_id(call) if scribe else call.id
    return fields.fill(body, slot(call))


def write_chunk(scribe: Scribe, block: Block, path: str) -> Body | None:
    """Say one chunk of content."""
    if isinstance(block, Opaque):
        if block.wire == NAME:
            return dict(block.data)
        scribe.lose(path, f"a block that only {block.wire} understands", "dropped")
        return None
    scribe.foreign(block.ext, path)
    match block:
        case Text():
            return chat.write_text(scribe, block, path)
        case Reasoning():
            if NAME in block.ext and block.redacted is None:
                return write_thought(block)
            scribe.lose(path, "reasoning of another wire's", "dropped")
            return None
        case Media():
            return _write_media(scribe, block, path)
        case _:
            scribe.lose(path, "a block that does not belong here", "dropped")
            return None


def write_thought(block: Reasoning) -> Body:
    """Say reasoning."""
    held = slot(block)
    pieces = held.get(THINKING)
    if pieces is None or thought_of(pieces) != block.text:
        pieces = [{"type": "text", "text": block.text}] if block.text else []
    body: Body = {"type": "thinking", "thinking": pieces}
    if block.signature is not None:
        body["signature"] = block.signature
    return fields.fill(body, held)


def _write_media(scribe: Scribe, block: Media, path: str) -> Body:
    kind, held = block.media_type, slot(block)
    if (image := chat.write_image(scribe, block, path)) is not None:
        return image
    if block.file_id is not None:
        if kind != "application/*":
            scribe.lose(f"{path}/media_type", "of which type an uploaded file is", "rewritten")
        _lose_name(scribe, block, path)
        return fields.fill({"type": "file", "file_id": block.file_id}, held)
    if kind.startswith("audio/") and block.data is not None:
        if kind != "audio/*":
            scribe.lose(f"{path}/media_type", "of which type a sound is", "rewritten")
        _lose_name(scribe, block, path)
        return fields.fill({"type": "input_audio", "input_audio": fields.text64(block.data)}, held)
    if kind.partition("/")[0] in ("audio", "video", "image"):
        scribe.lose(path, f"{kind}: the format cannot carry it", "placeholder")
        return {"type": "text", "text": placeholder(block)}
    if block.data is None and kind != "application/*":
        scribe.lose(f"{path}/media_type", "which kind of document a link leads to", "rewritten")
    body: Body = {"type": "document_url", "document_url": chat.data_url(block)}
    if block.name:
        body["document_name"] = block.name
    return fields.fill(body, held)


def _lose_name(scribe: Scribe, block: Media, path: str) -> None:
    if block.name:
        scribe.lose(f"{path}/name", "the name of a file", "dropped")


# Reading


def read_message(body: Body, where: str, calls: Calls, plan: Plan) -> Message:
    """Understand one message."""
    role = body.get("role")
    if role == "tool":
        kept = fields.leftover(body, ("role", "tool_call_id", "content"), ("name",))
        if not body.get("name"):
            kept["$nameless"] = True
        name = body.get("name")
        call = calls.result(body.get("tool_call_id"), plan.name(name) if name else None)
        result = read_result(call, body.get("content"), f"{where}/content", NAME, kept, read_chunk)
        return Message("tool", (result,))
    if role not in ("system", "user", "assistant"):
        raise WireError(f"{where}/role: expected system, user, assistant or tool, found {role!r}")
    content = body.get("content")
    blocks: list[Block] = []
    if isinstance(content, str):
        blocks += [Text(content)] if content else []
    elif content is not None:
        for index, each in enumerate(fields.objects(content, f"{where}/content")):
            blocks.append(read_chunk(each, f"{where}/content/{index}"))
    kept = fields.leftover(body, ("role",), ("content", "tool_calls"))
    if chat.is_plain(blocks, NAME) and isinstance(content, list):
        kept[chat.LIST] = True
    for index, call_body in enumerate(fields.objects(body.get("tool_calls") or [], f"{where}/tool_calls")):
        blocks.append(read_call(call_body, f"{where}/tool_calls/{index}", calls, plan))
    return Message(role, tuple(blocks), ext=fields.ext(NAME, kept))


def read_call(body: Body, where: str, calls: Calls, plan: Plan) -> ToolCall:
    """Understand a call. The SDK says `null`, in letters, where there is no id."""
    id = fields.maybe(body, "id", str, where)
    return chat.read_call(body, where, calls, plan, NAME, None if id == "null" else id)


def read_chunk(body: Body, where: str) -> Any:
    """Understand one chunk of content; one that is unknown to us is kept as it is."""
    kept = fields.leftover(body, ("type", str(body.get("type"))))
    match body:
        case {"type": "text", "text": str()}:
            return chat.read_text(body, where, NAME)
        case {"type": "thinking", "thinking": list()}:
            return read_thought(body, body["thinking"])
        case {"type": "image_url"}:
            return chat.read_image(body, NAME) or Opaque(NAME, body)
        case {"type": "document_url", "document_url": str(url)}:
            media = chat.from_url(url, "application/*")
            if media.media_type.partition("/")[0] not in ("audio", "video", "image"):
                name = kept.pop("document_name", None)
                if not name and "document_name" in body:
                    kept["document_name"] = name
                return msgspec.structs.replace(media, name=name or None, ext=fields.ext(NAME, kept))
        case {"type": "input_audio", "input_audio": str(text)}:
            data = fields.exact64(text)
            if data:
                return Media("audio/*", data, ext=fields.ext(NAME, kept))
        case {"type": "file", "file_id": str(file_id)}:
            return Media("application/*", file_id=file_id, ext=fields.ext(NAME, fields.rest(kept, "file_id")))
        case {"type": str()}:
            pass
        case _:
            raise WireError(f"{where}/type: expected the type of a chunk, found {body.get('type')!r}")
    return Opaque(NAME, body)


def thought_of(pieces: list[Any]) -> str:
    """The text of a thought, which comes in pieces."""
    return "".join([(fields.as_object(piece) or {}).get("text") or "" for piece in pieces])


def read_thought(body: Body, pieces: list[Any]) -> Reasoning:
    """Understand reasoning."""
    text = thought_of(pieces)
    kept = fields.leftover(body, ("type", "thinking"), ("signature",))
    if pieces != ([{"type": "text", "text": text}] if text else []):
        kept[THINKING] = pieces
    # The slot, if only an empty one, says where the signature comes from: it goes back nowhere else.
    return Reasoning(text, signature=body.get("signature") or None, ext={NAME: kept})
