"""Requests of Cohere's chat, version 2."""

from __future__ import annotations

from typing import Any

import msgspec

from counterfoil.types.request import AUTO, Output, Request, Sampling, ToolSpec
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires import _tools as tools
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Calls, Ids, Names
from counterfoil.wires._scribe import HOSTED, Losses, Scribe, write_messages
from counterfoil.wires.cohere.messages import NAME, read_messages, write_message
from counterfoil.wires.wire import NO_PLAN, Body, Plan, Written

_FIELDS = {"max_tokens": "max_tokens", "temperature": "temperature", "top_p": "p", "top_k": "k", "seed": "seed"}
_ALWAYS = ("model", "messages", *_FIELDS.values())
_SOMETIMES = ("tools", "stop_sequences", "stream", "tool_choice", "response_format", "strict_tools")
_WORDS = {"any": "REQUIRED", "none": "NONE"}


def write_request(request: Request, *, encoded: bool = False) -> Written:
    """Say a request in this format, with what could not be said."""
    held = chat.slot(request.ext, NAME)
    custom = tools.custom_names(request)

    def make() -> Scribe:
        return Scribe(NAME, Names([tool.name for tool in request.tools]), Ids(), custom)

    basis = (NAME, request.tools)
    scribe, messages = write_messages(request, 0, make, write_message, basis, encoded=encoded)
    losses = Losses(NAME)
    losses.foreign(request.ext, "")
    body: Body = {"model": request.model, "messages": messages}
    for ours, theirs in _FIELDS.items():
        if (value := getattr(request.sampling, ours)) is not None:
            body[theirs] = value
    if request.sampling.stop:
        body["stop_sequences"] = list(request.sampling.stop)
    _write_tools(losses, request, body, scribe, held)
    if request.output is not None:
        body["response_format"] = {"type": "json_object", "json_schema": request.output.schema}
        words = {"description": "what the answer is for", "strict": "strictness of the answer"}
        tools.lose_fields(losses, "/output", request.output, words)
        if request.output.name != "answer":
            losses.lose("/output/name", "the name of the answer's schema", "dropped")
    if request.stream:
        body["stream"] = True
    return Written(fields.fill(body, held), (*losses.losses, *scribe.losses), scribe.plan, scribe.repairs)


def _write_tools(losses: Losses, request: Request, body: Body, scribe: Scribe, held: dict[str, Any]) -> None:
    chosen = tools.choice(losses, request)
    lowered = list(tools.lowered(losses, request, subset=False, single=True))
    functions = [tool for _, tool in lowered if tool.strict is not None]
    # Strictness is of the whole request here, so it holds only where every tool asks for it.
    strict = bool(lowered) and all(tool.strict for _, tool in lowered)
    written: list[Body] = []
    for path, tool in lowered:
        if tool in functions and not strict:
            losses.lose(f"{path}/strict", "strictness of one tool among others", "dropped")
        plain = msgspec.structs.replace(tool, strict=None)
        written.append(chat.write_function(losses, path, plain, scribe.name(tool.name), demand=True))
    if written := tools.with_hosted(written, held):
        body["tools"] = written
    if strict:
        body["strict_tools"] = True
    if chosen == AUTO:
        return
    if chosen.names is not None:
        losses.lose("/tool_choice/names", "a subset of the catalogue: only that subset is sent", "rewritten")
    if chosen.mode != "auto":
        body["tool_choice"] = _WORDS[chosen.mode]
    tools.lose_fields(losses, "/tool_choice", chosen, {"parallel": "whether several calls may come at once"})


@guarded(f"{NAME} request")
def read_request(body: Body, plan: Plan = NO_PLAN) -> Request:
    """Understand a request in this format."""
    where = f"{NAME} request"
    strict = body.get("strict_tools") is True

    def read(each: Body, index: int) -> ToolSpec | None:
        tool = chat.read_function(each, f"{where}/tools/{index}", NAME, plan)
        return msgspec.structs.replace(tool, strict=True) if tool is not None and strict else tool

    catalogue, hosted = tools.read_tools(fields.objects(body.get("tools") or [], f"{where}/tools"), read)
    specs, plan = tools.lifted(catalogue, plan)
    messages = fields.objects(body.get("messages"), f"{where}/messages")
    kept = fields.leftover(body, _ALWAYS, _SOMETIMES) | fields.nulls(body, _ALWAYS)
    if hosted:
        kept[HOSTED] = hosted
    chosen = chat.read_choice(body, plan, None)
    if chosen == AUTO and "tool_choice" in body:
        kept["tool_choice"] = body["tool_choice"]
    if strict and not catalogue:
        kept["strict_tools"] = True
    format = fields.sub(body, "response_format")
    schema = fields.as_object(format.get("json_schema"))
    output = None
    if schema is not None and format == {"type": "json_object", "json_schema": schema}:
        output = Output(schema)
    elif "response_format" in body:
        kept["response_format"] = body["response_format"]
    return Request(
        messages=tuple(read_messages(messages, f"{where}/messages", Calls(plan.ids), plan)),
        tools=specs,
        tool_choice=chosen,
        model=body.get("model") or "",
        sampling=Sampling(
            **{ours: body.get(theirs) for ours, theirs in _FIELDS.items()},
            stop=tuple(fields.items(body, "stop_sequences")),
        ),
        output=output,
        stream=body.get("stream") is True,
        ext=fields.ext(NAME, kept),
    )
