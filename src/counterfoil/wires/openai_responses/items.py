"""Items: what a message of ours is made of on this wire, both ways."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from counterfoil.types.message import Block, Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from counterfoil.types.stream import written_arguments
from counterfoil.wires import _fields as fields
from counterfoil.wires._chat import LIST, is_plain
from counterfoil.wires._envelope import as_custom, placeholder, seal, unseal, unwrap_arguments
from counterfoil.wires._ids import Calls, Ids, Names
from counterfoil.wires._open import UNFINISHED, cut, with_text
from counterfoil.wires._scribe import Scribe
from counterfoil.wires.openai_responses.content import (
    NAME,
    read_output_part,
    read_part,
    write_output_part,
    write_part,
)
from counterfoil.wires.wire import Body, Plan

VALID_ID = re.compile(r"[\x21-\x7e]{1,64}")
ITEM = "$item"
"""The note of what an item says of itself: its id, its status, its phase."""
MORE = "$more"
"""The note that a text is in one item with the text before it."""
_MADE = re.compile(r"(?:msg|rs|fc|ctc)_cf_\d{1,6}")
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_replace = msgspec.structs.replace


def made_id(kind: str, number: int) -> str:
    """An id for an item that has none."""
    return f"{kind}_cf_{number}"


def said_of(body: Body, *known: str) -> Body:
    """What an item says of itself, but for an id of our making and what goes without saying."""
    note = fields.rest(body, *known)
    if _MADE.fullmatch(str(note.get("id"))):
        for key, value in (("id", note["id"]), ("status", "completed"), ("type", "message")):
            if note.get(key) == value:
                del note[key]
    return note


# Reading


class Ear:
    """What is needed to understand items: the plan, and the calls so far."""

    def __init__(self, plan: Plan, ids: Mapping[str, str] | None = None) -> None:
        self.plan = plan
        self._calls = Calls(ids)

    def item(self, body: Body, where: str) -> tuple[Block, ...]:
        """Understand an item of the model's; what is not known to us is kept as it is."""
        match body.get("type", "message"):
            case "message":
                return self._message(body, where)
            case "reasoning":
                return (_read_reasoning(body) or Opaque(NAME, body),)
            case "function_call" | "custom_tool_call":
                return (self.call(body, where),)
            case _:
                return (Opaque(NAME, body),)

    def _message(self, body: Body, where: str) -> tuple[Block, ...]:
        content = body.get("content")
        note = said_of(body, "role", "content")
        if isinstance(content, str):
            return (Text(content, ext={NAME: {ITEM: {**note, "$string": True}}} if note else {}),)
        parts = fields.objects(content, f"{where}/content")
        texts = [read_output_part(part, f"{where}/content/{index}") for index, part in enumerate(parts)]
        found = [text for text in texts if text is not None]
        if not found or len(found) != len(texts):
            return (Opaque(NAME, body),)
        made = _MADE.fullmatch(str(body.get("id"))) and not note and len(found) == 1
        first = found[0] if made else _noted(found[0], ITEM, note)
        return (first, *[_noted(text, MORE, True) for text in found[1:]])

    def call(self, body: Body, where: str) -> ToolCall:
        """Understand a call."""
        kind = str(body["type"])
        field = _CALLS[kind]
        name = self.plan.name(fields.need(body, "name", str, where))
        slot = fields.rest(body, "type", "id", "call_id", "name", "status", field)
        if note := said_of({key: body[key] for key in ("id", "status") if key in body}):
            slot[ITEM] = note
        call = ToolCall(self._calls.call(body.get("call_id"), name), name, ext=fields.ext(NAME, slot))
        text = body.get(field)
        text = text if isinstance(text, str) else ""
        if body.get("status") == "incomplete":
            call = _replace(call, kind="custom" if kind == "custom_tool_call" else "function")
            return cut(call, text, UNFINISHED)
        return self.arguments(call, text, custom=kind == "custom_tool_call")

    def arguments(self, call: ToolCall, text: str, *, custom: bool) -> ToolCall:
        """The call, with the text of its arguments read."""
        if custom:
            return _replace(call, raw=text, kind="custom")
        call = with_text(call, text, keep=True)
        if call.arguments is None:
            return call
        if call.name in self.plan.custom:
            return _replace(as_custom(call), ext=call.ext)
        return unwrap_arguments(call)

    def result(self, body: Body, where: str) -> ToolResult:
        """Understand what became of a call."""
        id, name = self._calls.result(body.get("call_id"), body.get("name"))
        output = body.get("output")
        slot = beside(body, "type", "call_id", "output")
        blocks: list[Text | Media | Opaque]
        if isinstance(output, str):
            blocks = [Text(output)] if output else []
        else:
            parts = fields.objects(output, f"{where}/output")
            blocks = [read_part(part, f"{where}/output/{index}") for index, part in enumerate(parts)]
        texts = [block.text for block in blocks if isinstance(block, Text)]
        inner, is_error = unseal(texts)
        if is_error and not inner:
            blocks = [block for block in blocks if not isinstance(block, Text)]
        elif is_error or inner != texts:
            said = iter(inner)
            blocks = [_replace(block, text=next(said)) if isinstance(block, Text) else block for block in blocks]
        if not isinstance(output, str) and (not blocks or is_plain(blocks, NAME)):
            slot[LIST] = True
        return ToolResult(id, tuple(blocks), is_error, name=name, ext=fields.ext(NAME, slot))


def beside(body: Body, *known: str) -> dict[str, Any]:
    """What an item says beside what is known: of itself, as a note, and the rest."""
    slot = fields.rest(body, *known, *_OF_ITSELF)
    if note := {key: body[key] for key in _OF_ITSELF if key in body and key not in known}:
        slot[ITEM] = note
    return slot


_OF_ITSELF = ("id", "status", "type")


def is_result(body: Body) -> bool:
    """Whether an item says what became of a call."""
    return body.get("type") in _OUTPUTS


def _noted(block: Text, key: str, value: Any) -> Text:
    return _replace(block, ext={NAME: {**fields.own(block.ext, NAME), key: value}})


def _read_reasoning(body: Body) -> Reasoning | None:
    summary = _texts(body.get("summary"), "summary_text")
    content = _texts(body.get("content"), "reasoning_text")
    id = body.get("id")
    if summary is None or content is None:
        return None
    made = _MADE.fullmatch(str(id))
    slot = {key: value for key, value in body.items() if key not in _REASONING and (key, value) != _DONE}
    if body.get("status") == "completed" and not made:
        slot["status"] = "completed"
    if len(summary) > 1 or content or summary == [""]:
        slot["$summary"], slot["$content"] = summary, content
    if "content" in body and not content:
        slot["content"] = body["content"]
    if "encrypted_content" in body and body["encrypted_content"] is None:
        slot["encrypted_content"] = None
    text = "\n\n".join([*summary, *content])
    return Reasoning(text, body.get("encrypted_content"), id=None if made else id, ext={NAME: slot})


_REASONING = ("type", "id", "summary", "content", "encrypted_content")
_DONE = ("status", "completed")


def _texts(parts: Any, kind: str) -> list[str] | None:
    texts: list[str] = []
    for part in fields.arr(parts):
        held = fields.obj(part)
        if held.keys() != {"type", "text"} or held["type"] != kind:
            return None
        texts.append(held["text"])
    return texts


# Writing


class ItemScribe(Scribe):
    """What is needed to say items: which calls were of free-text tools, and whose message was last."""

    def __init__(self, names: Names, custom: frozenset[str] = frozenset(), *, reply: bool = False) -> None:
        super().__init__(NAME, names, Ids(VALID_ID), custom)
        self.reply = reply
        self.free: set[str] = set()
        self.last = ""
        self.whole = ""
        """Where the message that was said last is among ours."""
        self.made = 0

    def number(self) -> int:
        """The number of a further item without an id."""
        self.made += 1
        return self.made - 1


def write_assistant(scribe: ItemScribe, blocks: tuple[Block, ...], path: str) -> None:
    """Say what the model said."""
    start = len(scribe.out)
    for index, block in enumerate(blocks):
        where = f"{path}/blocks/{index}"
        # Reasoning is refused without the item that it led to.
        if isinstance(block, Reasoning) and not scribe.reply and not _leads_on(blocks[index + 1 :]):
            scribe.lose(where, "reasoning that led to nothing", "dropped")
            continue
        item = write_item(scribe, block, where)
        if item is None:
            continue
        note = fields.own(block.ext, NAME) if isinstance(block, Text) else {}
        if MORE in note and len(scribe.out) > start and isinstance(scribe.out[-1].get("content"), list):
            scribe.out[-1]["content"] += item["content"]
        else:
            scribe.out.append(item)


def _leads_on(blocks: tuple[Block, ...]) -> bool:
    return any(not isinstance(block, Reasoning) for block in blocks)


def write_item(scribe: ItemScribe, block: Block, path: str) -> Body | None:
    """Say one block as an item, or as nothing."""
    if isinstance(block, Opaque):
        if block.wire == NAME:
            return dict(block.data)
        scribe.lose(path, f"a block that only {block.wire} understands", "dropped")
        return None
    scribe.foreign(block.ext, path)
    match block:
        case Text():
            return _write_text(scribe, block, path)
        case Reasoning():
            return _write_reasoning(scribe, block, path)
        case ToolCall():
            return write_call(scribe, block, path)
        case Media():
            scribe.lose(path, f"{block.media_type} of the model's", "placeholder")
            return _write_text(scribe, Text(placeholder(block)), path)
        case ToolResult():
            return write_result(scribe, block, path)


def _write_text(scribe: ItemScribe, block: Text, path: str) -> Body | None:
    slot = fields.own(block.ext, NAME)
    note = slot.get(ITEM)
    if not block.text and not slot and not scribe.reply:
        scribe.lose(path, "an empty text", "dropped")
        return None
    if note is not None and "$string" in note:
        return fields.fill({"role": "assistant", "content": block.text}, note)
    if scribe.reply or (slot and note is None and MORE not in slot):
        made = {"type": "message", "id": made_id("msg", scribe.number()), "status": "completed"}
        note = made | fields.obj(note)
    elif not slot:
        return {"role": "assistant", "content": block.text}
    content = [write_output_part(block)]
    return {**(note if note is not None else {"type": "message"}), "role": "assistant", "content": content}


def _write_reasoning(scribe: ItemScribe, block: Reasoning, path: str) -> Body | None:
    slot = fields.own(block.ext, NAME)
    here = NAME in block.ext if block.ext else block.signature is not None
    if block.redacted is not None or not (here or scribe.reply):
        scribe.lose(path, "reasoning that this wire did not sign", "dropped")
        return None
    summary: list[str] = [block.text] if block.text else []
    content: list[str] = []
    if "$summary" in slot and "\n\n".join([*slot["$summary"], *slot["$content"]]) == block.text:
        summary, content = slot["$summary"], slot["$content"]
    body: Body = {
        "type": "reasoning",
        "id": block.id or made_id("rs", scribe.number()),
        "summary": [{"type": "summary_text", "text": text} for text in summary],
    }
    if content:
        body["content"] = [{"type": "reasoning_text", "text": text} for text in content]
    if block.signature is not None:
        body["encrypted_content"] = block.signature
    return fields.fill(body, slot)


def write_call(scribe: ItemScribe, block: ToolCall, path: str) -> Body:
    """Say a call."""
    slot = fields.own(block.ext, NAME)
    # Free text for a tool that is here a JSON tool cannot happen: this wire has free-text tools.
    free = block.kind == "custom"
    if free:
        scribe.free.add(block.id)
    body: Body = {
        "type": "custom_tool_call" if free else "function_call",
        "call_id": scribe.id.add(block.id, block.provider_id),
        "name": scribe.name(block.name),
    }
    body["input" if free else "arguments"] = block.raw or "" if free else written_arguments(block)
    made: Body = {"id": made_id("ctc" if free else "fc", scribe.number())} if scribe.reply else {}
    if scribe.reply and not free:
        made["status"] = "completed"
    return fields.fill({**body, **made, **fields.obj(slot.get(ITEM))}, slot)


def write_result(scribe: ItemScribe, block: ToolResult, path: str) -> Body:
    """Say what became of a call, its error flag in its text."""
    slot = fields.own(block.ext, NAME)
    written = [write_part(scribe, part, f"{path}/content/{index}") for index, part in enumerate(block.content)]
    parts = [part for part in written if part is not None]
    places = [index for index, part in enumerate(parts) if part.get("type") == "input_text"]
    sealed = seal([parts[index]["text"] for index in places], block.is_error)
    if block.is_error:
        scribe.lose(f"{path}/is_error", "that a result is an error", "envelope")
    output: str | list[Body] = parts
    if not places and sealed:
        output = [{"type": "input_text", "text": sealed[0]}, *parts] if parts else sealed[0]
    else:
        for index, text in zip(places, sealed, strict=True):
            parts[index]["text"] = text
        if LIST not in slot and (not parts or (len(parts) == 1 and is_plain(block.content, NAME))):
            output = parts[0]["text"] if parts else ""
    kind = _OUTPUTS[1] if block.call_id in scribe.free else _OUTPUTS[0]
    body: Body = {"type": kind, "call_id": scribe.id(block.call_id), "output": output}
    return fields.fill({**body, **fields.obj(slot.get(ITEM))}, slot)


def write_message(scribe: ItemScribe, message: Message, path: str) -> None:
    """Say a message as items."""
    scribe.foreign(message.ext, path)
    if message.name is not None:
        scribe.lose(f"{path}/name", "the name of who speaks", "dropped")
    before = len(scribe.out)
    if message.role == "assistant":
        write_assistant(scribe, message.blocks, path)
    elif message.role == "tool":
        for index, block in enumerate(message.blocks):
            if (item := write_item(scribe, block, f"{path}/blocks/{index}")) is not None:
                scribe.out.append(item)
    else:
        _write_other(scribe, message, path)
    if len(scribe.out) == before:
        scribe.lose(path, "a message that says nothing", "dropped")
        return
    # Nothing here says where a message ends: two of the model's, one after the other, are one.
    if message.role == "assistant" and scribe.last == "assistant":
        scribe.lose(f"{scribe.whole}/blocks", "a message that another one follows", "rewritten")
        scribe.lose(path, "a message of its own: what it says is at the end of the one before", "dropped")
        return
    scribe.whole = path
    if message.role in ("assistant", "tool") and fields.said(message.ext, NAME):
        scribe.lose(f"{path}/ext/{NAME}", "what is said of a message: here are only items", "dropped")
    scribe.last = message.role


def _write_other(scribe: ItemScribe, message: Message, path: str) -> None:
    slot = fields.own(message.ext, NAME)
    written = [write_part(scribe, block, f"{path}/blocks/{index}") for index, block in enumerate(message.blocks)]
    parts = [part for part in written if part is not None]
    if not parts:
        return
    plain = is_plain(message.blocks, NAME) and LIST not in slot
    body: Body = {"role": slot.get("$role", message.role), "content": parts[0]["text"] if plain else parts}
    scribe.out.append(fields.fill({**body, **fields.obj(slot.get(ITEM))}, slot))
