"""Requests of Anthropic Messages."""

from __future__ import annotations

import re
from typing import Any

from counterfoil.types.error import WireError
from counterfoil.types.message import Block, Message, ToolResult
from counterfoil.types.request import AUTO, Output, Request, Sampling, ToolChoice, ToolSpec
from counterfoil.wires import _fields as fields
from counterfoil.wires import _tools as tools
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Calls, Ids, Names
from counterfoil.wires._scribe import HOSTED, JOINED, Losses, Scribe, write_messages
from counterfoil.wires.anthropic.blocks import LIST, NAME, is_plain, read_content, write_blocks
from counterfoil.wires.wire import NO_PLAN, Body, Plan, Written

DEFAULT_MAX_TOKENS = 4096
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_INLINE = "$inline"
_ALWAYS = ("model", "messages", "max_tokens", "temperature", "top_p", "top_k")
_SOMETIMES = ("system", "tools", "stop_sequences", "stream", "tool_choice", "output_config")


def write_request(request: Request, *, encoded: bool = False) -> Written:
    """Say a request in this format, with what could not be said."""
    custom = tools.custom_names(request)

    def make() -> Scribe:
        return Scribe(NAME, Names([tool.name for tool in request.tools], _TOOL_NAME, 128), Ids(), custom)

    head = _head(request)
    basis = (NAME, (request.tools, head))
    scribe, messages = write_messages(request, head, make, _write_message, basis, encoded=encoded)
    losses = Losses(NAME)
    slot: dict[str, Any] = fields.sub(request.ext, NAME)
    losses.foreign(request.ext, "")
    body: Body = {"model": request.model, "messages": messages, "max_tokens": request.sampling.max_tokens}
    if head:
        _write_system(losses, request.messages[0], body)
    _write_sampling(losses, request, body)
    _write_tools(losses, request, body, scribe, slot)
    if request.output is not None:
        format = {"type": "json_schema", "schema": request.output.schema}
        body["output_config"] = {**fields.sub(slot, "output_config"), "format": format}
        words = {"description": "what the answer is for", "strict": "strictness of the answer"}
        tools.lose_fields(losses, "/output", request.output, words)
        if request.output.name != "answer":
            losses.lose("/output/name", "the name of the answer's schema", "dropped")
    if request.stream:
        body["stream"] = True
    fields.fill(body, slot)
    return Written(body, (*losses.losses, *scribe.losses), scribe.plan, scribe.repairs)


def _head(request: Request) -> int:
    if not request.messages or request.messages[0].role != "system":
        return 0
    return 0 if _INLINE in (fields.sub(request.messages[0].ext, NAME)) else 1


def _write_system(losses: Losses, message: Message, body: Body) -> None:
    scribe = Scribe(NAME, Names(()), Ids())
    content = _content(scribe, message, "/messages/0")
    losses.losses.extend(scribe.losses)
    losses.foreign(message.ext, "/messages/0")
    tools.lose_fields(losses, "/messages/0", message, {"name": "the name of who speaks"})
    if content:
        body["system"] = content
    else:
        losses.lose("/messages/0", "a message that says nothing", "dropped")


def _content(scribe: Scribe, message: Message, path: str) -> str | list[Body]:
    content = write_blocks(scribe, message.blocks, f"{path}/blocks")
    if is_plain(message.blocks) and content and LIST not in fields.sub(message.ext, NAME):
        return str(content[0]["text"])
    return content


def _write_message(scribe: Scribe, message: Message, path: str) -> None:
    scribe.foreign(message.ext, path)
    if message.name is not None:
        scribe.lose(f"{path}/name", "the name of who speaks", "dropped")
    slot = fields.sub(message.ext, NAME)
    role = "user" if message.role == "tool" else message.role
    if JOINED in slot and scribe.out and scribe.out[-1]["role"] == role:
        scribe.out[-1]["content"] += write_blocks(scribe, message.blocks, f"{path}/blocks")
        return
    content = _content(scribe, message, path)
    if content:
        scribe.out.append(fields.fill({"role": role, "content": content}, slot))
    else:
        scribe.lose(path, "a message that says nothing", "dropped")


def _write_sampling(losses: Losses, request: Request, body: Body) -> None:
    sampling = request.sampling
    if sampling.max_tokens is None:
        # The format demands a ceiling, so there is no saying "the provider's default".
        body["max_tokens"] = DEFAULT_MAX_TOKENS
        losses.lose("/sampling/max_tokens", f"no ceiling: {DEFAULT_MAX_TOKENS} tokens", "rewritten")
    for key in ("temperature", "top_p", "top_k"):
        if (value := getattr(sampling, key)) is not None:
            body[key] = value
    if sampling.stop:
        body["stop_sequences"] = list(sampling.stop)
    tools.lose_fields(losses, "/sampling", sampling, {"seed": "the seed of the dice"})


def _write_tools(losses: Losses, request: Request, body: Body, scribe: Scribe, slot: dict[str, Any]) -> None:
    written: list[Body] = []
    for path, tool in tools.lowered(losses, request):
        losses.foreign(tool.ext, path)
        tools.lose_fields(losses, path, tool, {"output_schema": "the schema of a result"})
        spec: Body = {"name": scribe.name(tool.name)}
        if tool.description:
            spec["description"] = tool.description
        spec["input_schema"] = tools.parameters(losses, path, tool)
        if tool.strict is not None:
            spec["strict"] = tool.strict
        written.append(fields.fill(spec, fields.sub(tool.ext, NAME)))
    if written := tools.with_hosted(written, slot):
        body["tools"] = written
    chosen = _write_choice(losses, request, scribe, slot)
    if chosen is not None:
        body["tool_choice"] = chosen


def _write_choice(losses: Losses, request: Request, scribe: Scribe, slot: dict[str, Any]) -> Body | None:
    chosen = tools.choice(losses, request)
    if chosen == AUTO:
        return None
    if chosen.mode == "none":
        tools.lose_fields(losses, "/tool_choice", chosen, {"parallel": "several calls at once, where none may come"})
        return {"type": "none"}
    body: Body = {"type": chosen.mode}
    if chosen.names is not None and not (chosen.mode == "any" and len(chosen.names) == 1):
        losses.lose("/tool_choice/names", "a subset of the catalogue: only that subset is sent", "rewritten")
    elif chosen.names is not None:
        body = {"type": "tool", "name": scribe.name(chosen.names[0])}
    if chosen.mode == "any" and fields.sub(slot, "thinking").get("type") in ("enabled", "adaptive"):
        losses.lose("/tool_choice", "a forced call while the model thinks: the API refuses that", "rewritten")
        body = {"type": "auto"}
    if chosen.parallel is not None:
        body["disable_parallel_tool_use"] = not chosen.parallel
    return body if body != {"type": "auto"} or chosen.mode != "auto" else None


@guarded(f"{NAME} request")
def read_request(body: Body, plan: Plan = NO_PLAN) -> Request:
    """Understand a request in this format."""
    where = f"{NAME} request"
    catalogue, hosted = tools.read_tools(
        fields.objects(body.get("tools") or [], f"{where}/tools"),
        lambda each, index: _read_tool(each, f"{where}/tools/{index}", plan),
    )
    specs, plan = tools.lifted(catalogue, plan)
    calls = Calls(plan.ids)
    messages: list[Message] = []
    if system := body.get("system"):
        messages.append(_read_message({"role": "system", "content": system}, f"{where}/system", calls, plan)[0])
    for index, each in enumerate(fields.objects(body.get("messages"), f"{where}/messages")):
        found = _read_message(each, f"{where}/messages/{index}", calls, plan)
        if not messages and found and found[0].role == "system":
            slot = {**(fields.sub(found[0].ext, NAME)), _INLINE: True}
            found[0] = Message("system", found[0].blocks, ext={NAME: slot})
        messages += found
    kept = fields.leftover(body, _ALWAYS, _SOMETIMES) | fields.nulls(body, _ALWAYS)
    if hosted:
        kept[HOSTED] = hosted
    chosen = _read_choice(body, f"{where}/tool_choice", plan)
    if chosen == AUTO and "tool_choice" in body:
        kept["tool_choice"] = body["tool_choice"]
    return Request(
        messages=tuple(messages),
        tools=specs,
        tool_choice=chosen,
        model=body.get("model") or "",
        sampling=Sampling(
            body.get("max_tokens"),
            body.get("temperature"),
            body.get("top_p"),
            body.get("top_k"),
            stop=tuple(fields.items(body, "stop_sequences")),
        ),
        output=_read_output(body, kept),
        stream=body.get("stream") is True,
        ext=fields.ext(NAME, kept),
    )


def _read_message(body: Body, where: str, calls: Calls, plan: Plan) -> list[Message]:
    role = body.get("role")
    if role not in ("user", "assistant", "system"):
        raise WireError(f"{where}/role: expected user, assistant or system, found {role!r}")
    content = body.get("content")
    blocks = read_content(content, f"{where}/content", calls, plan)
    kept = fields.leftover(body, ("role", "content"))
    results = tuple([block for block in blocks if isinstance(block, ToolResult)])
    if role == "user" and results:
        others: tuple[Block, ...] = tuple([block for block in blocks if not isinstance(block, ToolResult)])
        rest = [Message("user", others, ext={NAME: {JOINED: True}})] if others else []
        return [Message("tool", results, ext=fields.ext(NAME, kept)), *rest]
    if is_plain(blocks) and not isinstance(content, str):
        kept[LIST] = True
    return [Message(role, blocks, ext=fields.ext(NAME, kept))]


def _read_tool(body: Body, where: str, plan: Plan) -> ToolSpec | None:
    if body.get("type") not in (None, "custom"):
        return None
    kept = fields.leftover(body, ("name", "input_schema", "strict"), ("description",)) | fields.nulls(body, ("strict",))
    return ToolSpec(
        plan.name(fields.need(body, "name", str, where)),
        body.get("description") or "",
        fields.need(body, "input_schema", dict, where),
        strict=body.get("strict"),
        ext=fields.ext(NAME, kept),
    )


def _read_choice(body: Body, where: str, plan: Plan) -> ToolChoice:
    chosen = fields.maybe(body, "tool_choice", dict, where)
    if chosen is None:
        return AUTO
    serial = chosen.get("disable_parallel_tool_use")
    parallel = None if serial is None else not serial
    match chosen.get("type"):
        case "auto" | "any" | "none" as mode:
            return ToolChoice(mode, parallel=parallel)
        case "tool":
            return ToolChoice("any", (plan.name(fields.need(chosen, "name", str, where)),), parallel)
        case other:
            raise WireError(f"{where}/type: expected auto, any, none or tool, found {other!r}")


def _read_output(body: Body, kept: dict[str, Any]) -> Output | None:
    config = fields.sub(body, "output_config")
    schema = fields.as_object(fields.sub(config, "format").get("schema"))
    if schema is None:
        if config:
            kept["output_config"] = config
        return None
    if others := fields.rest(config, "format"):
        kept["output_config"] = others
    return Output(schema)
