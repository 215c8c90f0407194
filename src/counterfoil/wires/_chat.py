"""What the wires that descend from OpenAI's chat format share: functions, calls, results, parts, choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from counterfoil.types.error import ModelError, WireError
from counterfoil.types.message import Block, Ext, Media, Message, Reasoning, Text, ToolCall
from counterfoil.types.request import AUTO, Output, ToolChoice, ToolSpec, Usage
from counterfoil.types.stream import written_arguments
from counterfoil.wires import _fields as fields
from counterfoil.wires import _tools as tools
from counterfoil.wires._envelope import as_custom, unwrap_arguments, wrap_arguments
from counterfoil.wires._ids import Calls
from counterfoil.wires._open import with_text
from counterfoil.wires._scribe import Losses, Scribe
from counterfoil.wires.wire import Body, Plan

LIST = "$list"
"""The note that a content of one text was written as a list."""
UNTYPED = "$untyped"
"""The note that a call or tool came without its `type`."""
BARE = "$bare"
"""The note that a message with nothing to say in prose had no `content` at all."""
OBJECT = "$object"
"""The note that arguments came as an object, where a text is usual."""


def slot(held: Ext, wire: str) -> dict[str, Any]:
    """What an `ext` holds of one wire's."""
    found: dict[str, Any] = fields.sub(held, wire)
    return found


# Tools


def write_function(losses: Losses, path: str, tool: ToolSpec, name: str, *, demand: bool, strict: bool = True) -> Body:
    """Say a JSON tool. `demand`: the wire demands parameters; `strict`: it knows of strictness."""
    losses.foreign(tool.ext, path)
    tools.lose_fields(losses, path, tool, {"output_schema": "the schema of a result"})
    held = slot(tool.ext, losses.wire)
    function: Body = {"name": name}
    if tool.description:
        function["description"] = tool.description
    if demand:
        function["parameters"] = tools.parameters(losses, path, tool)
    elif tool.parameters:
        function["parameters"] = tool.parameters
    if tool.strict is not None:
        if strict:
            function["strict"] = tool.strict
        else:
            losses.lose(f"{path}/strict", "strictness of one tool", "dropped")
    fields.fill(function, fields.sub(held, "$function"))
    body: Body = {"function": function} if UNTYPED in held else {"type": "function", "function": function}
    return fields.fill(body, held)


def read_function(body: Body, where: str, wire: str, plan: Plan) -> ToolSpec | None:
    """Understand a JSON tool; `None` if it is of another kind."""
    if body.get("type", "function") != "function":
        return None
    function = fields.need(body, "function", dict, where)
    kept = fields.leftover(body, ("type", "function"))
    if "type" not in body:
        kept[UNTYPED] = True
    inner = fields.leftover(function, ("name", "strict"), ("description", "parameters"))
    if inner := inner | fields.nulls(function, ("strict",)):
        kept["$function"] = inner
    return ToolSpec(
        plan.name(fields.need(function, "name", str, f"{where}/function")),
        function.get("description") or "",
        fields.maybe(function, "parameters", dict, f"{where}/function") or {},
        strict=function.get("strict"),
        ext=fields.ext(wire, kept),
    )


# Choices


def write_choice(chosen: ToolChoice, name: Callable[[str], str], words: Mapping[str, str]) -> Any:
    """Say a choice: a word, a named function, or `None` for the default. A real subset is the caller's to say."""
    if chosen.mode == "any" and chosen.names is not None and len(chosen.names) == 1:
        return {"type": "function", "function": {"name": name(chosen.names[0])}}
    return None if chosen.mode == "auto" else words[chosen.mode]


def read_choice(body: Body, plan: Plan, parallel: bool | None) -> ToolChoice:
    """Understand a choice: a word or a named function. One that is unknown to us is the default."""
    match body.get("tool_choice"):
        case "required" | "any" | "REQUIRED":
            return ToolChoice("any", parallel=parallel)
        case "none" | "NONE":
            return ToolChoice("none", parallel=parallel)
        case {"type": "function", "function": {"name": str(name)}}:
            return ToolChoice("any", (plan.name(name),), parallel)
        case _:
            return ToolChoice(parallel=parallel) if parallel is not None else AUTO


# Structured answers


def write_schema_format(output: Output) -> Body:
    """Say a structured answer as a `json_schema` response format."""
    schema: Body = {"name": output.name, "schema": output.schema}
    if output.description:
        schema["description"] = output.description
    if output.strict is not None:
        schema["strict"] = output.strict
    return {"type": "json_schema", "json_schema": schema}


def read_schema_format(format: Any) -> Output | None:
    """Understand a `json_schema` response format; any other is `None`."""
    said = fields.sub(fields.as_object(format) or {}, "json_schema")
    schema = fields.as_object(said.get("schema"))
    if schema is None or not isinstance(said.get("name"), str):
        return None
    output = Output(schema, said["name"], said.get("description") or "", said.get("strict"))
    return output if write_schema_format(output) == format else None


# Calls


def write_call(scribe: Scribe | None, call: ToolCall, path: str, wire: str, *, objects: bool = False) -> Body:
    """Say a call of a JSON tool; in a reply there is no scribe. `objects`: arguments are never a text."""
    held = slot(call.ext, wire)
    name = scribe.name(call.name) if scribe else call.name
    as_object = objects or OBJECT in held
    arguments: Any
    if as_object or call.kind == "custom":
        arguments = scribe.arguments(call, path) if scribe else wrap_arguments(call)
        if not as_object:
            arguments = msgspec.json.encode(arguments).decode()
    else:
        arguments = written_arguments(call)
    function = fields.fill({"name": name, "arguments": arguments}, fields.sub(held, "$function"))
    return {"function": function} if UNTYPED in held else {"type": "function", "function": function}


def read_call(
    body: Body, where: str, calls: Calls, plan: Plan, wire: str, id: str | None, *, objects: bool = False
) -> ToolCall:
    """Understand a call of a JSON tool, whose arguments are a text or an object."""
    function = fields.need(body, "function", dict, where)
    name = plan.name(fields.need(function, "name", str, f"{where}/function"))
    kept = fields.leftover(body, ("id", "type", "function"))
    if "type" not in body:
        kept[UNTYPED] = True
    if inner := fields.rest(function, "name", "arguments"):
        kept["$function"] = inner
    arguments = function.get("arguments")
    call = ToolCall(calls.call(id, name), name)
    if isinstance(arguments, dict):
        call = unwrap_arguments(msgspec.structs.replace(call, arguments=arguments), plan.custom)
        if not objects:
            kept[OBJECT] = True
    elif isinstance(arguments, str) or arguments is None:
        call = with_text(call, arguments or "", keep=True)
        call = as_custom(call) if name in plan.custom else call
    else:
        raise WireError(f"{where}/function/arguments: expected a string or an object, found {arguments!r:.40}")
    return msgspec.structs.replace(call, ext=fields.ext(wire, kept)) if kept else call


# Content


def is_plain(blocks: Sequence[Block], wire: str) -> bool:
    """Whether the blocks are one text and nothing besides: a content that may be a string."""
    return len(blocks) == 1 and isinstance(blocks[0], Text) and bool(blocks[0].text) and not slot(blocks[0].ext, wire)


def write_text(scribe: Losses, block: Text, path: str) -> Body | None:
    """Say a text as a part."""
    if not block.text:
        scribe.lose(path, "an empty text", "dropped")
        return None
    return fields.fill({"type": "text", "text": block.text}, slot(block.ext, scribe.wire))


def read_text(body: Body, where: str, wire: str) -> Text:
    """Understand a text part."""
    kept = fields.leftover(body, ("type", "text"))
    return Text(fields.need(body, "text", str, where), ext=fields.ext(wire, kept))


def data_url(media: Media) -> str:
    """Media as a URL: where it is, or its bytes."""
    if media.data is not None:
        return f"data:{media.media_type};base64,{fields.text64(media.data)}"
    return media.url or ""


def from_url(url: str, otherwise: str) -> Media:
    """Media from a URL: its bytes if the URL holds them, and saying them gives the very URL again."""
    head, comma, text = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        kind = head[len("data:") : -len(";base64")]
        data = fields.exact64(text)
        if data is not None and kind and ";" not in kind:
            return Media(kind, data)
    return Media(otherwise, url=url)


def write_image(scribe: Losses, media: Media, path: str) -> Body | None:
    """Say an image as an `image_url` part; `None` if it is none, or is known by a file id."""
    if not media.media_type.startswith("image/") or media.file_id is not None:
        return None
    if media.data is None and media.media_type != "image/*":
        scribe.lose(f"{path}/media_type", "which kind of image a link leads to", "rewritten")
    if media.name:
        scribe.lose(f"{path}/name", "the name of an image", "dropped")
    held = slot(media.ext, scribe.wire)
    if "$plain" in held:
        return fields.fill({"type": "image_url", "image_url": data_url(media)}, held)
    image = fields.fill({"url": data_url(media)}, fields.sub(held, "$image_url"))
    return fields.fill({"type": "image_url", "image_url": image}, held)


def read_image(body: Body, wire: str) -> Media | None:
    """Understand an `image_url` part, whose URL is a string or inside an object."""
    image: Any = body.get("image_url")
    url: Any
    kept = fields.leftover(body, ("type", "image_url"))
    if isinstance(image, str):
        kept["$plain"] = True
        url = image
    else:
        held = fields.as_object(image) or {}
        url = held.get("url")
        if not isinstance(url, str):
            return None
        if inner := fields.rest(held, "url"):
            kept["$image_url"] = inner
    return msgspec.structs.replace(from_url(url, "image/*"), ext=fields.ext(wire, kept))


# Messages


def lose_seal(scribe: Losses, block: Reasoning, path: str) -> None:
    """Report the signature and the id of reasoning, for a wire whose reasoning is mere text."""
    if block.signature is not None:
        scribe.lose(f"{path}/signature", "the signature of reasoning", "dropped")
    if block.redacted is not None:
        scribe.lose(f"{path}/redacted", "redacted reasoning", "dropped")
    if block.id is not None:
        scribe.lose(f"{path}/id", "the id of reasoning", "dropped")


def in_order(scribe: Losses, blocks: Sequence[Block], path: str, *, thoughts_first: bool = False) -> None:
    """Report prose after calls, and thoughts after prose: these formats have a field for each, and so an order."""
    place = 0
    for block in blocks:
        match block:
            case ToolCall():
                now = 2
            case Reasoning() if thoughts_first and scribe.wire not in block.ext:
                continue
            case Reasoning() if thoughts_first:
                now = 0
            case _:
                now = 1
        if now < place:
            scribe.lose(f"{path}/blocks", "the order of thoughts, prose and calls: the format has its own", "rewritten")
            return
        place = now


def add_message(messages: list[Message], message: Message) -> list[Message]:
    """Add a message that was read: the results of one turn, which come one to a message, become one message."""
    if message.role == "tool" and messages and messages[-1].role == "tool":
        messages[-1] = Message("tool", (*messages[-1].blocks, *message.blocks))
    else:
        messages.append(message)
    return messages


def refuse_error(body: Body) -> None:
    """Raise what the host reports instead of a reply."""
    if error := body.get("error"):
        said = (fields.as_object(error) or {}).get("message") or error
        raise ModelError(f"the host reports an error: {said}")


# Usage


def read_usage(body: dict[str, Any] | None, wire: str) -> Usage | None:
    """Understand what a reply cost; counts of nought in the details are kept as they stand."""
    if body is None:
        return None
    kept = fields.rest(body, "prompt_tokens", "completion_tokens")
    given = body.get("prompt_tokens") or 0, body.get("completion_tokens") or 0
    if kept.get("total_tokens") == sum(given):
        del kept["total_tokens"]
    elif "total_tokens" not in kept:
        kept["$no_total"] = True
    counts: list[int] = []
    for holder, key in _DETAILS:
        details = fields.as_object(kept.get(holder)) or {}
        count = details.get(key)
        counts.append(count or 0)
        if count:
            kept[holder] = fields.rest(details, key)
            if not kept[holder]:
                del kept[holder]
    cached, written, reasoning = counts
    return Usage(*given, cached, written, reasoning, ext=fields.ext(wire, kept))


_DETAILS = (
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_tokens_details", "cache_write_tokens"),
    ("completion_tokens_details", "reasoning_tokens"),
)


def write_usage(usage: Usage, wire: str) -> Body:
    """Say what a reply cost."""
    held = slot(usage.ext, wire)
    body: Body = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
    if "$no_total" not in held:
        body["total_tokens"] = held.get("total_tokens", usage.input_tokens + usage.output_tokens)
    counts = usage.cached_tokens, usage.cache_write_tokens, usage.reasoning_tokens
    for (holder, key), count in zip(_DETAILS, counts, strict=True):
        if count:
            body[holder] = {**(body.get(holder) or fields.sub(held, holder)), key: count}
    return fields.fill(body, held)
