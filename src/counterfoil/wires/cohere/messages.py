"""Messages of Cohere's chat, version 2, understood and said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterfoil.types.error import WireError
from counterfoil.types.message import Block, Media, Message, Opaque, Reasoning, Text, ToolCall
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires._envelope import placeholder
from counterfoil.wires._ids import Calls
from counterfoil.wires._results import read_result, with_attachments, write_results
from counterfoil.wires._scribe import Scribe
from counterfoil.wires.wire import Body, Plan

NAME = "cohere"
PLAN = "$plan"
"""The note on the text that stood in `tool_plan`."""
CONTENT = "$content"
"""The note that the prose before calls stood in `content`, where we would say it in `tool_plan`."""


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
        write_results(
            scribe,
            message,
            path,
            lambda block, at: chat.write_image(scribe, block, at),
            lambda block, at: write_part(scribe, block, at),
        )
        return
    chat.in_order(scribe, message.blocks, path)
    held = slot(message)
    body: Body = {"role": message.role}
    plan = _plan_of(scribe, message, path)
    parts: list[Body] = []
    calls: list[Body] = []
    for index, block in enumerate(message.blocks):
        at = f"{path}/blocks/{index}"
        if isinstance(block, ToolCall):
            scribe.foreign(block.ext, at)
            calls.append(write_call(scribe, block, at))
        elif plan is not None and block is plan:
            scribe.foreign(plan.ext, at)
            body["tool_plan"] = plan.text
        elif (part := write_part(scribe, block, at, images=message.role == "user")) is not None:
            parts.append(part)
    if parts:
        body["content"] = content_of(parts, as_list=chat.LIST in held)
    if calls:
        body["tool_calls"] = calls
    if len(body) > 1 or "content" in held:
        scribe.out.append(fields.fill(body, held))
    else:
        scribe.lose(path, "a message that says nothing", "dropped")


def noted_plan(message: Message) -> Text | None:
    """The text that was read from `tool_plan`."""
    texts = [block for block in message.blocks if isinstance(block, Text) and block.text]
    return next((text for text in texts if PLAN in slot(text)), None)


def _plan_of(scribe: Scribe, message: Message, path: str) -> Text | None:
    """The text that belongs into `tool_plan`: the one from there, or the only prose before calls."""
    plan = noted_plan(message)
    if plan is None:
        texts = [block for block in message.blocks if isinstance(block, Text) and block.text]
        lonely = len(texts) == 1 and bool(message.calls) and CONTENT not in slot(message)
        plan = texts[0] if lonely and not slot(texts[0]) else None
    if plan is not None:
        prose = [block for block in message.blocks if block is not plan and not isinstance(block, ToolCall)]
        if next(i for i, block in enumerate(message.blocks) if block is plan) != _place_of_plan(prose):
            scribe.lose(
                f"{path}/blocks", "a plan among prose: the format says it between thoughts and answer", "rewritten"
            )
    return plan


def content_of(parts: list[Body], *, as_list: bool) -> str | list[Body]:
    """A content: a string where it is one plain text."""
    plain = len(parts) == 1 and parts[0].keys() == {"type", "text"} and not as_list
    return str(parts[0]["text"]) if plain else parts


def write_call(scribe: Scribe | None, call: ToolCall, path: str) -> Body:
    """Say a call; in a reply it keeps the id and name it has."""
    body = chat.write_call(scribe, call, path, NAME)
    body["id"] = scribe.call_id(call) if scribe else call.id
    return fields.fill(body, slot(call))


def write_part(scribe: Scribe, block: Block, path: str, *, images: bool = False) -> Body | None:
    """Say one part of content."""
    if isinstance(block, Opaque):
        if block.wire == NAME:
            return dict(block.data)
        scribe.lose(path, f"a block that only {block.wire} understands", "dropped")
        return None
    scribe.foreign(block.ext, path)
    match block:
        case Text():
            return chat.write_text(scribe, block, path)
        case Reasoning(text, redacted=None) if NAME in block.ext:
            chat.lose_seal(scribe, block, path)
            return fields.fill({"type": "thinking", "thinking": text}, slot(block))
        case Reasoning():
            scribe.lose(path, "reasoning of another wire's", "dropped")
            return None
        case Media():
            if images and (image := chat.write_image(scribe, block, path)) is not None:
                return image
            scribe.lose(path, f"{block.media_type}: the format cannot carry it here", "placeholder")
            return {"type": "text", "text": placeholder(block)}
        case _:
            scribe.lose(path, "a block that does not belong here", "dropped")
            return None


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
        chat.add_message(messages, read_message(body, f"{where}/{index}", calls, plan))
    return messages


def read_message(body: Body, where: str, calls: Calls, plan: Plan) -> Message:
    """Understand one message, in a history or in a reply."""
    role = body.get("role")
    if role == "tool":
        kept = fields.leftover(body, ("role", "tool_call_id", "content"))
        call = calls.result(body.get("tool_call_id"))
        return Message("tool", (read_result(call, body.get("content"), where, NAME, kept, read_result_part),))
    if role not in ("system", "user", "assistant"):
        raise WireError(f"{where}/role: expected system, user, assistant or tool, found {role!r}")
    content = body.get("content")
    prose: list[Block] = []
    if isinstance(content, str):
        prose += [Text(content)] if content else []
    elif content is not None:
        for index, each in enumerate(fields.objects(content, f"{where}/content")):
            prose.append(read_part(each, f"{where}/content/{index}"))
    blocks = list(prose)
    if tool_plan := body.get("tool_plan"):
        blocks.insert(_place_of_plan(prose), Text(tool_plan, ext={NAME: {PLAN: True}}))
    kept = fields.leftover(body, ("role",), ("content", "tool_calls", "tool_plan"))
    if chat.is_plain(prose, NAME) and isinstance(content, list):
        kept[chat.LIST] = True
    found = fields.objects(body.get("tool_calls") or [], f"{where}/tool_calls")
    for index, call_body in enumerate(found):
        id = fields.maybe(call_body, "id", str, where)
        blocks.append(chat.read_call(call_body, f"{where}/tool_calls/{index}", calls, plan, NAME, id))
    if speaks_in_content(blocks):
        kept[CONTENT] = True
    return Message(role, tuple(blocks), ext=fields.ext(NAME, kept))


def _place_of_plan(prose: Sequence[Block]) -> int:
    """The plan comes after what was thought, and before what is said."""
    return next((index for index, block in enumerate(prose) if not isinstance(block, Reasoning)), len(prose))


def speaks_in_content(blocks: list[Block]) -> bool:
    """Whether prose that we would say in `tool_plan` stood in `content`."""
    texts = [block for block in blocks if isinstance(block, Text) and block.text]
    called = any(isinstance(block, ToolCall) for block in blocks)
    return called and len(texts) == 1 and not slot(texts[0])


def read_part(body: Body, where: str) -> Text | Media | Opaque | Reasoning:
    """Understand one part of content; one that is unknown to us is kept as it is."""
    match body:
        case {"type": "text", "text": str()}:
            return chat.read_text(body, where, NAME)
        case {"type": "thinking", "thinking": str(thought)}:
            return Reasoning(thought, ext={NAME: fields.leftover(body, ("type", "thinking"))})
        case {"type": "image_url"}:
            return chat.read_image(body, NAME) or Opaque(NAME, body)
        case {"type": str()}:
            return Opaque(NAME, body)
        case _:
            raise WireError(f"{where}/type: expected the type of a part, found {body.get('type')!r}")


def read_result_part(body: Body, where: str) -> Text | Media | Opaque:
    """Understand a part of a result: a text, or a document, which only this wire understands."""
    return chat.read_text(body, where, NAME) if body.get("type") == "text" else Opaque(NAME, body)
