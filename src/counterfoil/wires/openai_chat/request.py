"""Requests of OpenAI Chat Completions."""

from __future__ import annotations

from typing import Any

from counterfoil.types.request import AUTO, Request, Sampling, ToolChoice, ToolSpec
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires import _tools as tools
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Calls, Ids, Names
from counterfoil.wires._scribe import HOSTED, Losses, Scribe, write_messages
from counterfoil.wires.openai_chat.messages import NAME, read_messages, write_message
from counterfoil.wires.wire import NO_PLAN, Body, Plan, Written

MAX_TOKENS = "$max_tokens"
"""The note that the ceiling stands in the older field `max_tokens`, which compatible hosts know."""
REASONING = "$reasoning"
"""The note that names the field in which a host wants reasoning with every assistant message."""
_WORDS = {"any": "required", "none": "none"}
_ALWAYS = (
    *("model", "messages", "temperature", "top_p", "seed", "max_tokens", "max_completion_tokens"),
    "parallel_tool_calls",
)
_SOMETIMES = ("tools", "stop", "stream", "tool_choice", "response_format")


def write_request(request: Request, *, encoded: bool = False) -> Written:
    """Say a request in this format, with what could not be said."""
    held = chat.slot(request.ext, NAME)

    def make() -> Scribe:
        scribe = Scribe(NAME, Names([tool.name for tool in request.tools]), Ids())
        scribe.reasoning = held.get(REASONING)
        return scribe

    basis = (NAME, (request.tools, held.get(REASONING)))
    scribe, messages = write_messages(request, 0, make, write_message, basis, encoded=encoded)
    losses = Losses(NAME)
    losses.foreign(request.ext, "")
    body: Body = {"model": request.model, "messages": messages}
    _write_sampling(losses, request.sampling, body, held)
    _write_tools(losses, request, body, scribe, held)
    if request.output is not None:
        body["response_format"] = chat.write_schema_format(request.output)
    if request.stream:
        body["stream"] = True
    return Written(fields.fill(body, held), (*losses.losses, *scribe.losses), scribe.plan, scribe.repairs)


def _write_sampling(losses: Losses, sampling: Sampling, body: Body, held: dict[str, Any]) -> None:
    if sampling.max_tokens is not None:
        body["max_tokens" if MAX_TOKENS in held else "max_completion_tokens"] = sampling.max_tokens
    for key in ("temperature", "top_p", "seed"):
        if (value := getattr(sampling, key)) is not None:
            body[key] = value
    if sampling.stop:
        body["stop"] = sampling.stop[0] if "$stop" in held and len(sampling.stop) == 1 else list(sampling.stop)
    tools.lose_fields(losses, "/sampling", sampling, {"top_k": "the size of the choice among tokens"})


def _write_tools(losses: Losses, request: Request, body: Body, scribe: Scribe, held: dict[str, Any]) -> None:
    written = [_write_tool(losses, f"/tools/{index}", tool, scribe) for index, tool in enumerate(request.tools)]
    if written := tools.with_hosted(written, held):
        body["tools"] = written
    chosen = tools.choice(losses, request)
    if chosen == AUTO:
        return
    kinds = {tool.name: tool.kind for tool in request.tools}
    named = [_reference(scribe.name(name), kinds.get(name, "function")) for name in chosen.names or ()]
    if chosen.names is None:
        written_choice = chat.write_choice(chosen, scribe.name, _WORDS)
    elif chosen.mode == "any" and len(named) == 1:
        written_choice = named[0]
    else:
        mode = "required" if chosen.mode == "any" else "auto"
        written_choice = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": named}}
    if written_choice is not None:
        body["tool_choice"] = written_choice
    if chosen.parallel is not None:
        body["parallel_tool_calls"] = chosen.parallel


def _reference(name: str, kind: str) -> Body:
    return {"type": kind, kind: {"name": name}}


def _write_tool(losses: Losses, path: str, tool: ToolSpec, scribe: Scribe) -> Body:
    name = scribe.name(tool.name)
    if tool.kind == "function":
        return chat.write_function(losses, path, tool, name, demand=False)
    losses.foreign(tool.ext, path)
    words = {"output_schema": "the schema of a result", "strict": "strictness of a free-text tool"}
    tools.lose_fields(losses, path, tool, words)
    custom: Body = {"name": name}
    if tool.description:
        custom["description"] = tool.description
    if tool.format is not None:
        custom["format"] = _nested(tool.format)
    return fields.fill({"type": "custom", "custom": custom}, chat.slot(tool.ext, NAME))


def _nested(format: dict[str, Any]) -> Body:
    """Our grammars are flat; here they are in an object of their own."""
    if format.get("type") == "grammar" and "grammar" not in format:
        return {"type": "grammar", "grammar": fields.rest(format, "type")}
    return format


def _flat(format: dict[str, Any]) -> dict[str, Any]:
    grammar = fields.as_object(format.get("grammar"))
    flat = {"type": "grammar", **(grammar or {})}
    return flat if grammar is not None and _nested(flat) == format else format


@guarded(f"{NAME} request")
def read_request(body: Body, plan: Plan = NO_PLAN) -> Request:
    """Understand a request in this format."""
    where = f"{NAME} request"
    catalogue, hosted = tools.read_tools(
        fields.objects(body.get("tools") or [], f"{where}/tools"),
        lambda each, index: _read_tool(each, f"{where}/tools/{index}", plan),
    )
    kept = fields.leftover(body, _ALWAYS, _SOMETIMES) | fields.nulls(body, _ALWAYS)
    if hosted:
        kept[HOSTED] = hosted
    parallel = body.get("parallel_tool_calls")
    chosen = _read_choice(body, plan, parallel)
    if chosen.mode == "auto" and chosen.names is None and "tool_choice" in body:
        kept["tool_choice"] = body["tool_choice"]
    output = chat.read_schema_format(body.get("response_format"))
    if output is None and "response_format" in body:
        kept["response_format"] = body["response_format"]
    return Request(
        messages=tuple(
            read_messages(fields.need(body, "messages", list, where), f"{where}/messages", Calls(plan.ids), plan)
        ),
        tools=tuple(catalogue),
        tool_choice=chosen,
        model=body.get("model") or "",
        sampling=_read_sampling(body, kept),
        output=output,
        stream=body.get("stream") is True,
        ext=fields.ext(NAME, kept),
    )


def _read_sampling(body: Body, kept: dict[str, Any]) -> Sampling:
    ceiling = body.get("max_completion_tokens")
    if ceiling is None and body.get("max_tokens") is not None:
        ceiling = body["max_tokens"]
        kept[MAX_TOKENS] = True
    elif body.get("max_tokens") is not None:
        kept["max_tokens"] = body["max_tokens"]
    stop = fields.items(body, "stop")
    if isinstance(stop, str):
        kept["$stop"] = True
        stop = (stop,)
    return Sampling(ceiling, body.get("temperature"), body.get("top_p"), None, body.get("seed"), tuple(stop))


def _read_tool(body: Body, where: str, plan: Plan) -> ToolSpec | None:
    match body:
        case {"type": "custom", "custom": {"name": str(name), **inner}} if set(inner) <= {"description", "format"}:
            format = fields.as_object(inner.get("format"))
            return ToolSpec(
                plan.name(name),
                str(inner.get("description") or ""),
                kind="custom",
                format=None if format is None else _flat(format),
                ext=fields.ext(NAME, fields.leftover(body, ("type", "custom"))),
            )
        case _:
            return chat.read_function(body, where, NAME, plan)


def _read_choice(body: Body, plan: Plan, parallel: bool | None) -> ToolChoice:
    match body.get("tool_choice"):
        case {"type": "custom", "custom": {"name": str(name)}}:
            return ToolChoice("any", (plan.name(name),), parallel)
        case {"type": "allowed_tools", "allowed_tools": {"mode": "auto" | "required" as mode, "tools": list()}}:
            named = fields.objects(body["tool_choice"]["allowed_tools"]["tools"], "tool_choice/allowed_tools/tools")
            names = [fields.need(fields.sub(each, each["type"]), "name", str, "tool_choice") for each in named]
            ours = tuple([plan.name(name) for name in names])
            return ToolChoice("auto" if mode == "auto" else "any", ours, parallel)
        case _:
            return chat.read_choice(body, plan, parallel)
