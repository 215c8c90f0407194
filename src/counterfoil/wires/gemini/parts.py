"""Parts of Gemini contents, both ways."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from counterfoil.types.message import Block, Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from counterfoil.wires import _fields as fields
from counterfoil.wires._envelope import placeholder, unwrap_arguments
from counterfoil.wires._ids import Calls, Ids, Names
from counterfoil.wires._scribe import Scribe
from counterfoil.wires._verbatim import SameIds, SameNames
from counterfoil.wires.wire import Body, Plan

NAME = "gemini"
VALID_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
VALID_ID = re.compile(r"[^\s]{1,256}")
UNSIGNED = "skip_thought_signature_validator"
"""What stands for the signature of a call that another model made: newer models demand one."""
_IDLESS = "$idless"
_ARGLESS = "$argless"
_RESPONSE = "$response"
_URLSAFE = "$urlsafe"
_SIGNATURE = "thoughtSignature"


# Reading


class Ear:
    """What is needed to understand calls and results: the plan, and the calls so far."""

    def __init__(self, plan: Plan, ids: Mapping[str, str] | None = None) -> None:
        self._plan = plan
        self._calls = Calls(ids)

    def part(self, body: Body, where: str) -> Block:
        """Understand one part; what is not known to us is kept as it is."""
        if isinstance(body.get("text"), str):
            return read_text(body)
        if isinstance(body.get("functionCall"), dict):
            return self.call(body, where)
        if isinstance(body.get("functionResponse"), dict):
            return self._result(body, where)
        return read_media(body) or Opaque(NAME, body)

    def call(self, body: Body, where: str) -> ToolCall:
        """Understand a `functionCall`."""
        said = fields.obj(body["functionCall"])
        name = self._plan.name(fields.need(said, "name", str, f"{where}/functionCall"))
        id = said.get("id")
        slot = fields.rest(body, "functionCall")
        if not id:
            slot[_IDLESS] = True
        if "args" not in said:
            slot[_ARGLESS] = True
        if inner := fields.leftover(said, ("name", "id", "args")):
            slot["functionCall"] = inner
        call = ToolCall(self._calls.call(id, name), name, ext=fields.ext(NAME, slot))
        return self.arguments(call, said.get("args") or {})

    def arguments(self, call: ToolCall, value: Any) -> ToolCall:
        """The call with its arguments; what is not an object is kept as text, and never run."""
        if not isinstance(value, dict):
            raw = msgspec.json.encode(value).decode()
            return msgspec.structs.replace(call, raw=raw, parse_error="the arguments are not a JSON object")
        return unwrap_arguments(msgspec.structs.replace(call, arguments=value), self._plan.custom)

    def _result(self, body: Body, where: str) -> ToolResult:
        said = fields.obj(body["functionResponse"])
        called = fields.need(said, "name", str, f"{where}/functionResponse")
        id, name = self._calls.result(said.get("id"), self._plan.name(called))
        slot = fields.rest(body, "functionResponse")
        if inner := fields.leftover(said, ("name", "id", "response"), ("parts",)):
            slot["functionResponse"] = inner
        texts, is_error = _read_response(said.get("response"))
        parts = fields.objects(said.get("parts") or [], f"{where}/functionResponse/parts")
        media = [read_media(part) or Opaque(NAME, part) for part in parts]
        return ToolResult(id, (*texts, *media), is_error, name=name, ext=fields.ext(NAME, slot))


def read_text(body: Body) -> Text | Reasoning:
    """Understand a text, or a thought."""
    if body.get("thought") is True:
        slot = fields.rest(body, "text", "thought", _SIGNATURE)
        return Reasoning(body["text"], body.get(_SIGNATURE), ext={NAME: slot})
    return Text(body["text"], ext=fields.ext(NAME, fields.rest(body, "text")))


def read_media(body: Body) -> Media | None:
    """Understand a part with bytes or with the address of a file; `None` if it is something else."""
    for key, place in (("inlineData", "data"), ("fileData", "fileUri")):
        held = fields.obj(body.get(key))
        value = held.get(place)
        kind = held.get("mimeType", "application/*" if key == "fileData" else None)
        if not isinstance(value, str) or not isinstance(kind, str) or not held.keys() <= {*_MEDIA, place}:
            continue
        slot, name = fields.rest(body, key), held.get("displayName")
        if key == "fileData":
            return Media(kind, url=value, name=name, ext=fields.ext(NAME, slot))
        data = fields.exact64(value)
        if data is None and (data := fields.exact64(value.translate(_TO_USUAL))) is not None:
            # The provider's own client writes the other alphabet.
            slot[_URLSAFE] = True
        return None if data is None else Media(kind, data=data, name=name, ext=fields.ext(NAME, slot))
    return None


_TO_USUAL = str.maketrans("-_", "+/")
_TO_URLSAFE = str.maketrans("+/", "-_")


_MEDIA = ("mimeType", "displayName")


def _read_response(said: Any) -> tuple[list[Text], bool]:
    response = fields.obj(said)
    is_error = response.keys() == {"error"}
    if not response or is_error or response.keys() == {"output"}:
        value = response.get("error" if is_error else "output", [])
        values = [value] if isinstance(value, str) else fields.arr(value)
        plain = isinstance(value, str | list) and all(isinstance(each, str) for each in values)
        if plain and (len(values) != 1 or isinstance(value, str)) and (values or not response or is_error):
            return [Text(each) for each in values], is_error
    # Any object may be a response.
    return [Text(msgspec.json.encode(said).decode(), ext={NAME: {_RESPONSE: said}})], is_error


def forget_unsigned(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """The blocks of a message without the stand-in for a signature, where we would put it again."""
    calls = [block for block in blocks if isinstance(block, ToolCall)]
    signed = [call for call in calls if _SIGNATURE in fields.own(call.ext, NAME)]
    if not signed or signed[0] is not calls[0] or len(signed) > 1:
        return blocks
    first, slot = calls[0], fields.own(calls[0].ext, NAME)
    if slot[_SIGNATURE] != UNSIGNED:
        return blocks
    bare = msgspec.structs.replace(first, ext=fields.ext(NAME, fields.rest(slot, _SIGNATURE)))
    return tuple([bare if block is first else block for block in blocks])


# Writing


class GeminiScribe(Scribe):
    """What is needed to say calls and results: which call was of which tool, and which calls had no id."""

    def __init__(self, names: Names, custom: frozenset[str] = frozenset(), *, signs: bool = False) -> None:
        super().__init__(NAME, names, Ids(VALID_ID), custom)
        self.signs = signs
        """Whether the model demands signatures."""
        self.called: dict[str, str] = {}
        self.idless: set[str] = set()


def write_parts(scribe: GeminiScribe, blocks: tuple[Block, ...], path: str, *, reply: bool = False) -> list[Body]:
    """Say the blocks of a message; what cannot be said is left out and reported."""
    parts: list[Body] = []
    for index, block in enumerate(blocks):
        part = write_part(scribe, block, f"{path}/blocks/{index}", reply=reply)
        if part is not None:
            parts.append(part)
    if scribe.signs:
        calls = [part for part in parts if "functionCall" in part]
        if calls and not any(_SIGNATURE in part for part in calls):
            calls[0][_SIGNATURE] = UNSIGNED
    return parts


def write_part(scribe: GeminiScribe, block: Block, path: str, *, reply: bool = False) -> Body | None:
    """Say one block, or nothing."""
    if isinstance(block, Opaque):
        if block.wire == NAME:
            return dict(block.data)
        scribe.lose(path, f"a block that only {block.wire} understands", "dropped")
        return None
    if block.ext:
        scribe.foreign(block.ext, path)
    slot = fields.own(block.ext, NAME)
    match block:
        case Text(text):
            if not text and not slot:
                scribe.lose(path, "an empty text", "dropped")
                return None
            return fields.fill({"text": text}, slot)
        case Media():
            return fields.fill(_write_media(scribe, block, path), slot)
        case Reasoning():
            return _write_reasoning(scribe, block, path, reply=reply)
        case ToolCall():
            return _write_call(scribe, block, path, slot)
        case ToolResult():
            return _write_result(scribe, block, path, slot)


def _write_reasoning(scribe: Scribe, block: Reasoning, path: str, *, reply: bool) -> Body | None:
    here = NAME in block.ext if block.ext else block.signature is not None
    if block.redacted is not None or not (here or reply):
        scribe.lose(path, "reasoning that this wire did not sign", "dropped")
        return None
    part: Body = {"text": block.text, "thought": True}
    if block.signature is not None:
        part[_SIGNATURE] = block.signature
    return fields.fill(part, fields.own(block.ext, NAME))


def _write_media(scribe: Scribe, block: Media, path: str) -> Body:
    kind: Body = {} if block.media_type == "application/*" else {"mimeType": block.media_type}
    if block.name is not None:
        kind["displayName"] = block.name
    if block.file_id is not None and (block.data is not None or block.url is not None):
        scribe.lose(f"{path}/file_id", "the id of a file at another provider", "dropped")
    if block.data is not None and kind.get("mimeType"):
        if block.url is not None:
            scribe.lose(f"{path}/url", "the address of media that are sent", "dropped")
        text = fields.text64(block.data)
        urlsafe = fields.note(block.ext, NAME, _URLSAFE)
        return {"inlineData": {**kind, "data": text.translate(_TO_URLSAFE) if urlsafe else text}}
    if block.url is not None and block.data is None:
        return {"fileData": {**kind, "fileUri": block.url}}
    scribe.lose(path, f"{block.media_type} as {'bytes' if block.data is not None else 'a file'}", "placeholder")
    return {"text": placeholder(block)}


def _write_call(scribe: GeminiScribe, block: ToolCall, path: str, slot: dict[str, Any]) -> Body:
    name = scribe.called[block.id] = scribe.name(block.name)
    call: Body = {}
    if _IDLESS in slot:
        scribe.idless.add(block.id)
    else:
        call["id"] = scribe.id.add(block.id, block.provider_id)
    call["name"] = name
    arguments = scribe.arguments(block, path)
    if arguments or _ARGLESS not in slot:
        call["args"] = arguments
    part: Body = {"functionCall": fields.fill(call, fields.obj(slot.get("functionCall")))}
    return fields.fill(part, slot)


def _write_result(scribe: GeminiScribe, block: ToolResult, path: str, slot: dict[str, Any]) -> Body:
    response: Body = {} if block.call_id in scribe.idless else {"id": scribe.id(block.call_id)}
    response["name"] = scribe.called.get(block.call_id) or scribe.name(block.name or "unknown")
    texts: list[str] = []
    media: list[Body] = []
    said: Any = None
    moved = False
    for index, part in enumerate(block.content):
        where = f"{path}/content/{index}"
        if isinstance(part, Text):
            moved = moved or bool(media)
            texts.append(part.text)
            scribe.foreign(part.ext, where)
            if fields.said(part.ext, NAME):
                scribe.lose(f"{where}/ext/{NAME}", "what is said beside a text of a result", "dropped")
            said = fields.own(part.ext, NAME).get(_RESPONSE)
        elif (body := write_part(scribe, part, where)) is not None:
            if "text" in body:
                moved = moved or bool(media)
                texts.append(body["text"])
            else:
                media.append(body)
    if moved:
        scribe.lose(f"{path}/content", "a text after an attachment: texts are said first", "rewritten")
    if said is not None and len(texts) == 1:
        response["response"] = said
    elif texts or block.is_error:
        response["response"] = {"error" if block.is_error else "output": texts[0] if len(texts) == 1 else texts}
    else:
        response["response"] = {}
    if media:
        response["parts"] = media
    part_body: Body = {"functionResponse": fields.fill(response, fields.obj(slot.get("functionResponse")))}
    return fields.fill(part_body, slot)


def server() -> GeminiScribe:
    """Who writes replies: its losses are not reported."""
    scribe = GeminiScribe(SameNames())
    scribe.id = SameIds()
    return scribe
