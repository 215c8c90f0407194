"""Steps: what a message of ours is made of on this wire, both ways."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from counterfoil.types.message import Block, Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from counterfoil.wires import _fields as fields
from counterfoil.wires._chat import LIST, is_plain
from counterfoil.wires._envelope import placeholder, unwrap_arguments
from counterfoil.wires._ids import Calls, Ids, Names
from counterfoil.wires._scribe import Losses, Scribe
from counterfoil.wires._verbatim import SameIds, SameNames
from counterfoil.wires.wire import Body, Plan

NAME = "gemini-interactions"
VALID_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
VALID_ID = re.compile(r"[\x21-\x7e]{1,256}")
KINDS = ("image", "audio", "video", "document")
MORE = "$more"
"""The note that a content is in one step with the content before it."""
_RESULT = "$result"
_SUMMARY = "$summary"
_NAMELESS = "$nameless"


# Reading


def read_content(body: Body, where: str) -> Text | Media | Opaque:
    """Understand a content; what is not known to us is kept as it is."""
    kind = body.get("type")
    if kind == "text":
        return Text(fields.need(body, "text", str, where), ext=fields.ext(NAME, fields.rest(body, "type", "text")))
    return (_read_media(body) if kind in KINDS else None) or Opaque(NAME, body)


def _read_media(body: Body) -> Media | None:
    kind, data, uri = body["type"], body.get("data"), body.get("uri")
    mime = body.get("mime_type", _unknown(kind))
    slot = fields.ext(NAME, fields.rest(body, "type", "data", "uri", "mime_type"))
    if not isinstance(mime, str) or _kind(mime) != kind or ("data" in body and "uri" in body):
        return None
    if isinstance(uri, str):
        return Media(mime, url=uri, ext=slot)
    held = fields.exact64(data) if isinstance(data, str) and "mime_type" in body else None
    return None if held is None else Media(mime, data=held, ext=slot)


def _unknown(kind: str) -> str:
    return "application/*" if kind == "document" else f"{kind}/*"


def _kind(mime: str) -> str:
    kind = mime.partition("/")[0]
    return kind if kind in KINDS else "document"


class Ear:
    """What is needed to understand steps: the plan, and the calls so far."""

    def __init__(self, plan: Plan, ids: Mapping[str, str] | None = None) -> None:
        self._plan = plan
        self._calls = Calls(ids)

    def step(self, body: Body, where: str) -> tuple[Block, ...]:
        """Understand a step of the model's; what is not known to us is kept as it is."""
        match body.get("type"):
            case "model_output" if body.keys() == {"type", "content"} and body["content"]:
                contents = fields.objects(body["content"], f"{where}/content")
                blocks = [read_content(each, f"{where}/content/{index}") for index, each in enumerate(contents)]
                if any(isinstance(block, Opaque) for block in blocks):
                    return (Opaque(NAME, body),)
                return (blocks[0], *[noted(block, MORE) for block in blocks[1:]])
            case "thought":
                return (read_thought(body),)
            case "function_call":
                return (self.call(body, where),)
            case _:
                return (Opaque(NAME, body),)

    def call(self, body: Body, where: str) -> ToolCall:
        """Understand a call."""
        name = self._plan.name(fields.need(body, "name", str, where))
        slot = fields.rest(body, "type", "id", "name", "arguments")
        call = ToolCall(self._calls.call(body.get("id"), name), name, ext=fields.ext(NAME, slot))
        return self.arguments(call, body.get("arguments", {}))

    def arguments(self, call: ToolCall, value: Any) -> ToolCall:
        """The call with its arguments; what is not an object is kept as text, and never run."""
        if not isinstance(value, dict):
            raw = msgspec.json.encode(value).decode()
            return msgspec.structs.replace(call, raw=raw, parse_error="the arguments are not a JSON object")
        return unwrap_arguments(msgspec.structs.replace(call, arguments=value), self._plan.custom)

    def result(self, body: Body, where: str) -> ToolResult:
        """Understand what became of a call."""
        id, name = self._calls.result(body.get("call_id"), body.get("name"))
        slot = fields.leftover(body, ("type", "call_id", "name", "result"), ("is_error",))
        if "name" not in body:
            slot[_NAMELESS] = True
        said = body.get("result")
        content: list[Text | Media | Opaque]
        if isinstance(said, str):
            content = [Text(said)] if said else []
            if not said:
                slot[_RESULT] = said
        elif isinstance(said, list):
            parts = fields.objects(fields.arr(said), f"{where}/result")
            content = [read_content(part, f"{where}/result/{index}") for index, part in enumerate(parts)]
            if is_plain(content, NAME):
                slot[LIST] = True
        else:
            # Any object may be a result.
            content = [Text(msgspec.json.encode(said).decode(), ext={NAME: {_RESULT: said}})]
        is_error = body.get("is_error") is True
        return ToolResult(id, tuple(content), is_error, name=name, ext=fields.ext(NAME, slot))


def noted(block: Text | Media | Opaque, key: str) -> Block:
    """A block with a note."""
    if isinstance(block, Opaque):
        return block
    return msgspec.structs.replace(block, ext={NAME: {**fields.own(block.ext, NAME), key: True}})


def read_thought(body: Body) -> Reasoning:
    """Understand a thought."""
    slot = fields.rest(body, "type", "signature", "summary")
    texts = [fields.obj(part) for part in fields.arr(body.get("summary"))]
    plain = [part["text"] for part in texts if part.keys() == {"type", "text"} and part["type"] == "text"]
    if len(plain) != len(texts) or len(texts) > 1 or plain == [""] or ("summary" in body and not texts):
        slot[_SUMMARY] = body["summary"]
    if "signature" in body and body["signature"] is None:
        slot["signature"] = None
    return Reasoning("\n\n".join(plain), body.get("signature"), ext={NAME: slot})


# Writing


class StepScribe(Scribe):
    """What is needed to say steps: which call was of which tool, and whose message was last."""

    def __init__(self, names: Names, custom: frozenset[str] = frozenset(), *, reply: bool = False) -> None:
        super().__init__(NAME, names, Ids(VALID_ID), custom)
        self.reply = reply
        self.called: dict[str, str] = {}
        self.last = ""
        self.whole = ""
        """Where the message that was said last is among ours."""


def write_content(losses: Losses, block: Block, path: str) -> Body | None:
    """Say a content, or nothing."""
    match block:
        case Text(text):
            losses.foreign(block.ext, path)
            if not text:
                losses.lose(path, "an empty text", "dropped")
                return None
            return fields.fill({"type": "text", "text": text}, fields.own(block.ext, NAME))
        case Media():
            losses.foreign(block.ext, path)
            return _write_media(losses, block, path)
        case Opaque(wire, data) if wire == NAME:
            return dict(data)
        case Opaque(wire):
            losses.lose(path, f"a block that only {wire} understands", "dropped")
        case _:
            losses.lose(path, "a block that only the model can say", "dropped")
    return None


def _write_media(losses: Losses, block: Media, path: str) -> Body:
    mime = block.media_type
    places = [place for place in (block.data, block.url) if place is not None]
    if len(places) != 1 or block.file_id is not None or (block.data is not None and mime.endswith("/*")):
        losses.lose(path, f"{mime}, or where it is", "placeholder")
        return {"type": "text", "text": placeholder(block)}
    if block.name is not None:
        losses.lose(f"{path}/name", "the name of an attachment", "dropped")
    body: Body = {"type": _kind(mime)}
    body |= {"data": fields.text64(block.data)} if block.data is not None else {"uri": block.url}
    if mime != _unknown(body["type"]):
        body["mime_type"] = mime
    return fields.fill(body, fields.own(block.ext, NAME))


def write_step(scribe: StepScribe, block: Block, path: str) -> Body | None:
    """Say one block as a step, or as nothing."""
    if isinstance(block, Opaque):
        if block.wire == NAME:
            return dict(block.data)
        scribe.lose(path, f"a block that only {block.wire} understands", "dropped")
        return None
    match block:
        case ToolCall():
            scribe.foreign(block.ext, path)
            name = scribe.called[block.id] = scribe.name(block.name)
            body: Body = {"type": "function_call", "id": scribe.id.add(block.id, block.provider_id), "name": name}
            body["arguments"] = scribe.arguments(block, path)
            return fields.fill(body, fields.own(block.ext, NAME))
        case Reasoning():
            scribe.foreign(block.ext, path)
            return _write_thought(scribe, block, path)
        case ToolResult():
            scribe.foreign(block.ext, path)
            return _write_result(scribe, block, path)
        case _:
            content = write_content(scribe, block, path)
            return None if content is None else {"type": "model_output", "content": [content]}


def _write_thought(scribe: StepScribe, block: Reasoning, path: str) -> Body | None:
    slot = fields.own(block.ext, NAME)
    here = NAME in block.ext if block.ext else block.signature is not None
    if block.redacted is not None or not (here or scribe.reply):
        scribe.lose(path, "reasoning that this wire did not sign", "dropped")
        return None
    body: Body = {"type": "thought"}
    if block.signature is not None:
        body["signature"] = block.signature
    if _SUMMARY in slot and read_thought({"summary": slot[_SUMMARY]}).text == block.text:
        body["summary"] = slot[_SUMMARY]
    elif block.text:
        body["summary"] = [{"type": "text", "text": block.text}]
    return fields.fill(body, slot)


def _write_result(scribe: StepScribe, block: ToolResult, path: str) -> Body:
    slot = fields.own(block.ext, NAME)
    written = [write_content(scribe, part, f"{path}/content/{index}") for index, part in enumerate(block.content)]
    parts = [part for part in written if part is not None]
    said = fields.own(block.content[0].ext, NAME) if len(parts) == 1 and isinstance(block.content[0], Text) else {}
    result: Any = parts
    if _RESULT in said:
        result = said[_RESULT]
    elif is_plain(block.content, NAME) and LIST not in slot:
        result = parts[0]["text"]
    elif not parts and _RESULT in slot:
        result = slot[_RESULT]
    body: Body = {"type": "function_result", "call_id": scribe.id(block.call_id), "result": result}
    name = scribe.called.get(block.call_id)
    if name is not None and _NAMELESS not in slot:
        body["name"] = name
    if block.is_error:
        body["is_error"] = True
    return fields.fill(body, slot)


def write_blocks(scribe: StepScribe, blocks: tuple[Block, ...], path: str) -> None:
    """Say what the model said."""
    start = len(scribe.out)
    for index, block in enumerate(blocks):
        step = write_step(scribe, block, f"{path}/blocks/{index}")
        more = isinstance(block, Text | Media) and fields.note(block.ext, NAME, MORE)
        if step is None:
            continue
        if more and len(scribe.out) > start and scribe.out[-1]["type"] == "model_output":
            scribe.out[-1]["content"] += step["content"]
        else:
            scribe.out.append(step)


def write_message(scribe: StepScribe, message: Message, path: str) -> None:
    """Say a message as steps."""
    scribe.foreign(message.ext, path)
    if message.name is not None:
        scribe.lose(f"{path}/name", "the name of who speaks", "dropped")
    before = len(scribe.out)
    if message.role in ("assistant", "tool"):
        write_blocks(scribe, message.blocks, path)
        if fields.said(message.ext, NAME):
            scribe.lose(f"{path}/ext/{NAME}", "what is said of a message: here are only steps", "dropped")
    else:
        if message.role == "system":
            scribe.lose(f"{path}/role", "instructions in the middle of a conversation: the user says them", "rewritten")
        written = [write_content(scribe, block, f"{path}/blocks/{at}") for at, block in enumerate(message.blocks)]
        content = [part for part in written if part is not None]
        if content:
            scribe.out.append(fields.fill({"type": "user_input", "content": content}, fields.own(message.ext, NAME)))
    if len(scribe.out) == before:
        scribe.lose(path, "a message that says nothing", "dropped")
        return
    # Nothing here says where a message ends: two of the model's, one after the other, are one.
    if message.role == "assistant" and scribe.last == "assistant":
        scribe.lose(f"{scribe.whole}/blocks", "a message that another one follows", "rewritten")
        scribe.lose(path, "a message of its own: what it says is at the end of the one before", "dropped")
        return
    scribe.whole = path
    scribe.last = message.role


def server() -> StepScribe:
    """Who writes replies: its losses are not reported."""
    scribe = StepScribe(SameNames(), reply=True)
    scribe.id = SameIds()
    return scribe
