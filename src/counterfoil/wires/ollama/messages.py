"""Messages of Ollama's chat, understood and said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from counterfoil.types.error import WireError
from counterfoil.types.message import Block, Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires._envelope import placeholder, seal, unseal
from counterfoil.wires._ids import Calls
from counterfoil.wires._scribe import Scribe
from counterfoil.wires.wire import Body, Plan

NAME = "ollama"
_SIGNS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


def slot(value: Any) -> dict[str, Any]:
    """What the `ext` of a value holds of this wire's."""
    return chat.slot(value.ext, NAME)


# Writing


def write_message(scribe: Scribe, message: Message, path: str) -> None:
    """Say one message: results as a message each."""
    scribe.foreign(message.ext, path)
    if message.name is not None:
        scribe.lose(f"{path}/name", "the name of who speaks", "dropped")
    if message.role == "tool":
        for index, result in enumerate(message.results):
            scribe.out.append(_write_result(scribe, result, f"{path}/blocks/{index}"))
        return
    chat.in_order(scribe, message.blocks, path, thoughts_first=True)
    body: Body = {"role": message.role}
    thoughts: list[str] = []
    calls: list[Body] = []
    for index, block in enumerate(message.blocks):
        at = f"{path}/blocks/{index}"
        match block:
            case ToolCall():
                scribe.foreign(block.ext, at)
                scribe.call_id(block)
                calls.append(fields.fill(chat.write_call(scribe, block, at, NAME, objects=True), slot(block)))
            case Reasoning(text) if NAME in block.ext and not thoughts and text:
                thoughts.append(text)
                _lose_ext(scribe, block, at)
                chat.lose_seal(scribe, block, at)
            case Reasoning():
                scribe.lose(at, "reasoning of another wire's, or a second one", "dropped")
            case _:
                pass
    texts = _write_prose(scribe, message.blocks, path, body)
    if thoughts:
        body["thinking"] = thoughts[0]
    if calls:
        body["tool_calls"] = calls
    held = slot(message)
    if not texts and len(body) == 1 and not held:
        scribe.lose(path, "a message that says nothing", "dropped")
        return
    if texts or chat.BARE not in held:
        body["content"] = "".join(texts)
    scribe.out.append(fields.fill(body, held))


def _write_prose(scribe: Scribe, blocks: Iterable[Block], path: str, body: Body, inside: str = "blocks") -> list[str]:
    """Say texts and images, which here are one string and a list of their own."""
    texts: list[str] = []
    images: list[str] = []
    for index, block in enumerate(blocks):
        at = f"{path}/{inside}/{index}"
        match block:
            case Text(text):
                _lose_ext(scribe, block, at)
                if images or texts:
                    words = "a second text, or one after an image: the format has one text and then images"
                    scribe.lose(f"{path}/{inside}", words, "rewritten")
                if text:
                    texts.append(text if not texts else f"\n{text}")
                else:
                    scribe.lose(at, "an empty text", "dropped")
            case Media(media_type, data) if data is not None and media_type.startswith("image/"):
                _lose_ext(scribe, block, at)
                images.append(fields.text64(data))
                if block.name:
                    scribe.lose(f"{at}/name", "the name of an image", "dropped")
                if media_type != _sniff(data):
                    scribe.lose(f"{at}/media_type", "of which type an image is", "rewritten")
            case Media():
                scribe.lose(at, f"{block.media_type}: the format cannot carry it", "placeholder")
                if images or texts:
                    scribe.lose(f"{path}/{inside}", "media among texts", "rewritten")
                texts.append(f"\n{placeholder(block)}" if texts else placeholder(block))
            case Opaque(wire):
                scribe.lose(at, f"a block that only {wire} understands", "dropped")
            case _:
                pass
    if images:
        body["images"] = images
    return texts


def _lose_ext(scribe: Scribe, block: Text | Media | Reasoning, path: str) -> None:
    """A text, an image or a thought is a mere string here: it has no fields of its own."""
    scribe.foreign(block.ext, path)
    if any(not key.startswith("$") for key in slot(block)):
        scribe.lose(f"{path}/ext/{NAME}", "fields of a block that is a mere string", "dropped")


def _write_result(scribe: Scribe, result: ToolResult, path: str) -> Body:
    scribe.foreign(result.ext, path)
    held = slot(result)
    body: Body = {"role": "tool"}
    if "$nameless" not in held:
        body["tool_name"] = scribe.tool_of(result)
    texts = _write_prose(scribe, result.content, path, body, "content")
    whole = ["".join(texts)] if texts else []
    body["content"] = "".join(seal(whole, result.is_error))
    if result.is_error:
        scribe.lose(f"{path}/is_error", "that a result is an error", "envelope")
    return fields.fill(body, held)


def _sniff(data: bytes) -> str:
    return next((kind for sign, kind in _SIGNS.items() if data.startswith(sign)), "image/*")


# Reading


def read_message(body: Body, where: str, calls: Calls, plan: Plan) -> Message:
    """Understand one message, in a history or in a reply."""
    role = body.get("role")
    if role == "tool":
        return Message("tool", (_read_result(body, where, calls, plan),))
    if role not in ("system", "user", "assistant"):
        raise WireError(f"{where}/role: expected system, user, assistant or tool, found {role!r}")
    blocks: list[Block] = []
    if thought := body.get("thinking"):
        blocks.append(Reasoning(thought, ext={NAME: {}}))
    kept = fields.leftover(body, ("role", "content"), ("thinking", "images", "tool_calls"))
    kept |= fields.nulls(body, ("content",))
    if text := fields.maybe(body, "content", str, where):
        blocks.append(Text(text))
    elif body.get("content") is None:
        kept[chat.BARE] = True
    images = [_read_image(each) for each in fields.items(body, "images")]
    blocks += [image for image in images if image is not None]
    for index, call in enumerate(fields.objects(body.get("tool_calls") or [], f"{where}/tool_calls")):
        blocks.append(read_call(call, f"{where}/tool_calls/{index}", calls, plan))
    return Message(role, tuple(blocks), ext=fields.ext(NAME, kept))


def read_call(body: Body, where: str, calls: Calls, plan: Plan) -> ToolCall:
    """Understand a call. Newer hosts give it an id, which goes back as it came."""
    id = fields.maybe(body, "id", str, where)
    call = chat.read_call(body, where, calls, plan, NAME, id, objects=True)
    return msgspec.structs.replace(call, ext={NAME: {**slot(call), "id": body["id"]}}) if "id" in body else call


def _read_result(body: Body, where: str, calls: Calls, plan: Plan) -> ToolResult:
    given = body.get("tool_name")
    call_id, name = calls.result(body.get("tool_call_id"), plan.name(given) if given else None)
    kept = fields.leftover(body, ("role", "content"), ("tool_name", "images"))
    if not given:
        kept["$nameless"] = True
    text = fields.maybe(body, "content", str, where) or ""
    inner, is_error = unseal([text] if text else [])
    content: list[Text | Media | Opaque] = [Text(each) for each in inner]
    images = [_read_image(each) for each in fields.items(body, "images")]
    content += [image for image in images if image is not None]
    return ToolResult(call_id, tuple(content), is_error, name=name, ext=fields.ext(NAME, kept))


def _read_image(text: Any) -> Media | None:
    data = fields.exact64(text) if isinstance(text, str) else None
    return Media(_sniff(data), data) if data is not None else None
