"""Requests of Ollama's chat."""

from __future__ import annotations

from typing import Any

from counterfoil.types.message import Message
from counterfoil.types.request import AUTO, Output, Request, Sampling
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires import _tools as tools
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Calls, Ids, Names
from counterfoil.wires._scribe import HOSTED, Losses, Scribe, write_messages
from counterfoil.wires.ollama.messages import NAME, read_message, write_message
from counterfoil.wires.wire import NO_PLAN, Body, Plan, Written

_OPTIONS = {
    "max_tokens": "num_predict",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
}
_STREAMS = "$stream"
"""The note that a request did not say whether to stream, which means that it does."""


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
    if _STREAMS not in held or not request.stream:
        body["stream"] = request.stream
    _write_tools(losses, request, body, scribe, held)
    if request.output is not None:
        body["format"] = request.output.schema
        words = {"description": "what the answer is for", "strict": "strictness of the answer"}
        tools.lose_fields(losses, "/output", request.output, words)
        if request.output.name != "answer":
            losses.lose("/output/name", "the name of the answer's schema", "dropped")
    options: Body = {}
    for ours, theirs in _OPTIONS.items():
        if (value := getattr(request.sampling, ours)) is not None:
            options[theirs] = value
    if request.sampling.stop:
        options["stop"] = list(request.sampling.stop)
    if options:
        body["options"] = fields.fill(options, fields.sub(held, "options"))
    return Written(fields.fill(body, held), (*losses.losses, *scribe.losses), scribe.plan, scribe.repairs)


def _write_tools(losses: Losses, request: Request, body: Body, scribe: Scribe, held: dict[str, Any]) -> None:
    chosen = tools.choice(losses, request)
    written: list[Body] = []
    for path, tool in tools.lowered(losses, request, single=True):
        if chosen.mode == "none":
            losses.lose(path, "a tool that may not be called: it is not shown", "dropped")
        else:
            name = scribe.name(tool.name)
            written.append(chat.write_function(losses, path, tool, name, demand=True, strict=False))
    if written := tools.with_hosted(written, held):
        body["tools"] = written
    if chosen.names is not None:
        losses.lose("/tool_choice/names", "a subset of the catalogue: only that subset is sent", "rewritten")
    if chosen.mode != AUTO.mode:
        losses.lose("/tool_choice/mode", "how free the model is to call", "rewritten")
    tools.lose_fields(losses, "/tool_choice", chosen, {"parallel": "whether several calls may come at once"})


@guarded(f"{NAME} request")
def read_request(body: Body, plan: Plan = NO_PLAN) -> Request:
    """Understand a request in this format."""
    where = f"{NAME} request"
    catalogue, hosted = tools.read_tools(
        fields.objects(body.get("tools") or [], f"{where}/tools"),
        lambda each, index: chat.read_function(each, f"{where}/tools/{index}", NAME, plan),
    )
    specs, plan = tools.lifted(catalogue, plan)
    calls = Calls(plan.ids)
    messages: list[Message] = []
    for index, each in enumerate(fields.objects(body.get("messages") or [], f"{where}/messages")):
        chat.add_message(messages, read_message(each, f"{where}/messages/{index}", calls, plan))
    kept = fields.leftover(body, ("model", "messages", "stream"), ("tools", "format", "options"))
    if hosted:
        kept[HOSTED] = hosted
    if "stream" not in body:
        kept[_STREAMS] = True
    options = fields.maybe(body, "options", dict, where) or {}
    if others := fields.leftover(options, (*_OPTIONS.values(), "stop")) | fields.nulls(options, options):
        kept["options"] = others
    format = body.get("format")
    if isinstance(format, str):
        kept["format"] = format
    return Request(
        messages=tuple(messages),
        tools=specs,
        model=body.get("model") or "",
        sampling=Sampling(
            **{ours: options.get(theirs) for ours, theirs in _OPTIONS.items()},
            stop=tuple(fields.items(options, "stop")),
        ),
        output=Output(schema) if (schema := fields.as_object(format)) else None,
        stream=body.get("stream", True) is True,
        ext=fields.ext(NAME, kept),
    )
