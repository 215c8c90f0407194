"""Messages of OpenAI Chat Completions, understood and said."""

from __future__ import annotations

from typing import Any

import msgspec

from counterfoil.types.error import WireError
from counterfoil.types.message import Block, Media, Message, Opaque, Reasoning, Text, ToolCall
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires._envelope import placeholder
from counterfoil.wires._ids import Calls
from counterfoil.wires._results import read_result, with_attachments, write_results
from counterfoil.wires._scribe import Scribe
from counterfoil.wires.wire import Body, Plan

NAME = "openai-chat"
REASONING = ("reasoning_content", "reasoning")
"""Where compatible hosts put what the model thought: each its own way, so the field is kept with the block."""
FIELD = "$field"
REFUSAL = "$refusal"
"""The note on a text that stood in the `refusal` field."""
_AUDIO = {"audio/wav": "wav", "audio/mpeg": "mp3"}


def slot(value: Any) -> dict[str, Any]:
    """What the `ext` of a value holds of this wire's."""
    return chat.slot(value.ext, NAME)


# Writing


def write_message(scribe: Scribe, message: Message, path: str) -> None:
    """Say one message: results as a message each."""
    scribe.foreign(message.ext, path)
    match message:
        case Message(blocks=(Opaque(wire=wire, data={"role": str()} as data),)) if wire == NAME:
            scribe.out.append(data)
        case Message(role="tool"):
            write_results(
                scribe,
                message,
                path,
                lambda block, at: _write_media(scribe, block, at),
                lambda block, at: write_part(scribe, block, at),
            )
        case Message(role="assistant"):
            _write_assistant(scribe, message, path)
        case _:
            _write_prose(scribe, message, path)


def _write_prose(scribe: Scribe, message: Message, path: str) -> None:
    held = slot(message)
    body: Body = {"role": held.get("$role") or message.role}
    if message.name is not None:
        body["name"] = message.name
    parts = [write_part(scribe, block, f"{path}/blocks/{index}") for index, block in enumerate(message.blocks)]
    content = _content(message, [part for part in parts if part is not None], held)
    if content:
        body["content"] = content
    elif "content" not in held:
        scribe.lose(path, "a message that says nothing", "dropped")
        return
    scribe.out.append(fields.fill(body, held))


def _content(message: Message, parts: list[Body], held: dict[str, Any]) -> str | list[Body]:
    plain = chat.is_plain(message.blocks, NAME) and len(parts) == 1 and chat.LIST not in held
    return str(parts[0]["text"]) if plain else parts


def _write_assistant(scribe: Scribe, message: Message, path: str) -> None:
    chat.in_order(scribe, message.blocks, path, thoughts_first=True)
    held = slot(message)
    body: Body = {"role": "assistant"}
    if message.name is not None:
        body["name"] = message.name
    parts: list[Body] = []
    calls: list[Body] = []
    for index, block in enumerate(message.blocks):
        at = f"{path}/blocks/{index}"
        match block:
            case Reasoning():
                _write_reasoning(scribe, block, at, body)
            case Text(text) if REFUSAL in slot(block):
                body["refusal"] = text
            case ToolCall():
                if block.ext:
                    scribe.foreign(block.ext, at)
                calls.append(write_call(scribe, block, at))
            case Opaque(wire, {"tool_calls": call}) if wire == NAME:
                calls.append(call)
            case _:
                part = write_part(scribe, block, at, prose=True)
                if part is not None:
                    parts.append(part)
    if parts:
        content = parts if chat.LIST in held or len(parts) > 1 or _rich(parts[0]) else parts[0]["text"]
        body["content"] = content
    elif chat.BARE not in held and (calls or "refusal" in body or "content" in held):
        body["content"] = held.get("content")
    if calls:
        body["tool_calls"] = calls
    if scribe.reasoning:
        # Some thinking hosts refuse an assistant message without the field.
        body.setdefault(scribe.reasoning, "")
    if len(body) > (2 if message.name is not None else 1):
        scribe.out.append(fields.fill(body, held))
    else:
        scribe.lose(path, "a message that says nothing", "dropped")


def _rich(part: Body) -> bool:
    return part.keys() != {"type", "text"} or part["type"] != "text"


def _write_reasoning(scribe: Scribe, block: Reasoning, path: str, body: Body) -> None:
    field = slot(block).get(FIELD) or (scribe.reasoning if block.redacted is None else None)
    if field is None or field in body:
        scribe.lose(path, "reasoning: the format has no place for it", "dropped")
        return
    body[field] = block.text
    scribe.foreign(block.ext, path)
    chat.lose_seal(scribe, block, path)


def write_call(scribe: Scribe | None, call: ToolCall, path: str) -> Body:
    """Say a call; in a reply it keeps the id and name it has."""
    if call.kind == "custom":
        name = scribe.name(call.name) if scribe else call.name
        body: Body = {"type": "custom", "custom": {"name": name, "input": call.raw or ""}}
    else:
        body = chat.write_call(scribe, call, path, NAME)
    body["id"] = scribe.call_id(call) if scribe else call.id
    return fields.fill(body, slot(call))


def write_part(scribe: Scribe, block: Block, path: str, *, prose: bool = False) -> Body | None:
    """Say one content part. `prose`: only texts may come here."""
    if isinstance(block, Opaque):
        if block.wire == NAME:
            return dict(block.data)
        scribe.lose(path, f"a block that only {block.wire} understands", "dropped")
        return None
    if block.ext:
        scribe.foreign(block.ext, path)
    match block:
        case Text():
            return chat.write_text(scribe, block, path)
        case Media():
            body = None if prose else _write_media(scribe, block, path)
            if body is None:
                scribe.lose(path, f"{block.media_type}: the format cannot carry it here", "placeholder")
                return {"type": "text", "text": placeholder(block)}
            return body
        case _:
            scribe.lose(path, "a block that does not belong here", "dropped")
            return None


def _write_media(scribe: Scribe, block: Media, path: str) -> Body | None:
    if (image := chat.write_image(scribe, block, path)) is not None:
        return image
    held = slot(block)
    if block.data is not None and block.media_type in _AUDIO and not block.name:
        audio = {"data": fields.text64(block.data), "format": _AUDIO[block.media_type]}
        return fields.fill({"type": "input_audio", "input_audio": audio}, held)
    if block.url is not None or block.media_type.partition("/")[0] in ("audio", "video"):
        return None
    file: Body = {"file_id": block.file_id} if block.file_id is not None else {"file_data": chat.data_url(block)}
    if block.file_id is not None and block.media_type != "application/*":
        scribe.lose(f"{path}/media_type", "of which type an uploaded file is", "rewritten")
    if block.name:
        file["filename"] = block.name
    return fields.fill({"type": "file", "file": file}, held)


# Reading


def read_messages(bodies: list[Body], where: str, calls: Calls, plan: Plan) -> list[Message]:
    """Understand a history: the results of one turn become one message, with their attachments."""
    messages: list[Message] = []
    for index, body in enumerate(bodies):
        if body.get("role") == "user" and messages and messages[-1].role == "tool":
            whole = with_attachments(messages[-1], body, read_part)
            if whole is not None:
                messages[-1] = whole
                continue
        messages = chat.add_message(messages, read_message(body, f"{where}/{index}", calls, plan))
    return messages


def read_message(body: Body, where: str, calls: Calls, plan: Plan) -> Message:
    """Understand one message."""
    role = body.get("role")
    match role:
        case "tool":
            call = calls.result(body.get("tool_call_id"))
            kept = fields.leftover(body, ("role", "tool_call_id", "content"))
            result = read_result(call, body.get("content"), f"{where}/content", NAME, kept, read_result_part)
            return Message("tool", (result,))
        case "assistant":
            return read_assistant(body, where, calls, plan)
        case "system" | "developer" | "user":
            blocks = _read_content(body.get("content"), f"{where}/content")
            kept = fields.leftover(body, ("role", "name"), ("content",))
            if chat.is_plain(blocks, NAME) and not isinstance(body.get("content"), str):
                kept[chat.LIST] = True
            if role == "developer":
                kept["$role"] = role
            name = fields.maybe(body, "name", str, where)
            return Message("user" if role == "user" else "system", blocks, name, fields.ext(NAME, kept))
        case str():
            return Message("user", (Opaque(NAME, body),))
        case _:
            raise WireError(f"{where}/role: expected the role of a message, found {role!r}")


def read_assistant(body: Body, where: str, calls: Calls, plan: Plan, *, reply: bool = False) -> Message:
    """Understand an assistant's message, in a history or in a reply."""
    content = body.get("content")
    blocks: list[Block] = []
    thought = next((field for field in REASONING if isinstance(body.get(field), str) and body[field]), None)
    if thought is not None:
        blocks.append(Reasoning(body[thought], ext={NAME: {FIELD: thought}}))
    prose = _read_content(content, f"{where}/content")
    blocks += prose
    if refusal := fields.maybe(body, "refusal", str, where):
        blocks.append(Text(refusal, ext={NAME: {REFUSAL: True}}))
    for index, call in enumerate(fields.objects(body.get("tool_calls") or [], f"{where}/tool_calls")):
        blocks.append(_read_call(call, f"{where}/tool_calls/{index}", calls, plan))
    known = ("role", "name") if thought is None else ("role", "name", thought)
    kept = fields.leftover(body, known, ("content", "refusal", "tool_calls"))
    if chat.is_plain(prose, NAME) and isinstance(content, list):
        kept[chat.LIST] = True
    if "content" not in body:
        kept[chat.BARE] = True
    elif content is None:
        # A null is what we write ourselves where there is no prose.
        kept.pop("content", None)
        if not blocks and not reply:
            kept["content"] = None
    return Message("assistant", tuple(blocks), fields.maybe(body, "name", str, where), fields.ext(NAME, kept))


def _read_call(body: Body, where: str, calls: Calls, plan: Plan) -> Block:
    id = fields.maybe(body, "id", str, where)
    match body:
        case {"type": "custom", "custom": {"name": str(name), "input": str(text)}}:
            name = plan.name(name)
            kept = fields.rest(body, "id", "type", "custom")
            return ToolCall(calls.call(id, name), name, raw=text, kind="custom", ext=fields.ext(NAME, kept))
        case {"function": dict()}:
            return chat.read_call(body, where, calls, plan, NAME, id)
        case _:
            return Opaque(NAME, {"tool_calls": body})


def _read_content(content: Any, where: str) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if content is None:
        return ()
    return tuple([read_part(each, f"{where}/{index}") for index, each in enumerate(fields.objects(content, where))])


def read_part(body: Body, where: str) -> Text | Media | Opaque:
    """Understand one content part; one that is unknown to us is kept as it is."""
    kept = fields.leftover(body, ("type", str(body.get("type"))))
    ext = fields.ext(NAME, kept)
    match body:
        case {"type": "text", "text": str()}:
            return chat.read_text(body, where, NAME)
        case {"type": "image_url"}:
            return chat.read_image(body, NAME) or Opaque(NAME, body)
        case {"type": "input_audio", "input_audio": {"data": str(text), "format": "wav" | "mp3" as format, **others}}:
            data = fields.exact64(text)
            if data is not None and not others:
                return Media("audio/wav" if format == "wav" else "audio/mpeg", data, ext=ext)
        case {"type": "file", "file": {"file_id": str(file_id), **others}} if others.keys() <= {"filename"}:
            return Media("application/*", file_id=file_id, name=_filename(others), ext=ext)
        case {"type": "file", "file": {"file_data": str(url), **others}} if others.keys() <= {"filename"}:
            media = chat.from_url(url, "application/*")
            if media.data is not None and not media.media_type.startswith("image/"):
                return msgspec.structs.replace(media, name=_filename(others), ext=ext)
        case _:
            pass
    return Opaque(NAME, body)


def _filename(file: dict[Any, Any]) -> str | None:
    return file.get("filename") or None


def read_result_part(body: Body, where: str) -> Text | Media | Opaque:
    """Understand a part of a result, where there are only texts."""
    return read_part(body, where) if body.get("type") == "text" else Opaque(NAME, body)
