"""Requests of Mistral's chat completions."""

from __future__ import annotations

from typing import Any

from counterfoil.types.message import Message
from counterfoil.types.request import AUTO, Request, Sampling
from counterfoil.wires import _chat as chat
from counterfoil.wires import _fields as fields
from counterfoil.wires import _tools as tools
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Calls, Ids, Names
from counterfoil.wires._scribe import HOSTED, Losses, Scribe, write_messages
from counterfoil.wires.mistral.messages import ID, NAME, nine, read_message, write_message
from counterfoil.wires.wire import NO_PLAN, Body, Plan, Written

_FIELDS = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "random_seed",
}
_ALWAYS = ("model", "messages", "parallel_tool_calls", *_FIELDS.values())
_SOMETIMES = ("tools", "stop", "stream", "tool_choice", "response_format")
_REQUIRED = "$required"
"""The note that a forced call was said as `required`, which is the same as `any`."""


def write_request(request: Request, *, encoded: bool = False) -> Written:
    """Say a request in this format, with what could not be said."""
    held = chat.slot(request.ext, NAME)
    custom = tools.custom_names(request)

    def make() -> Scribe:
        return Scribe(NAME, Names([tool.name for tool in request.tools]), Ids(ID, nine), custom)

    basis = (NAME, request.tools)
    scribe, messages = write_messages(request, 0, make, write_message, basis, encoded=encoded)
    losses = Losses(NAME)
    losses.foreign(request.ext, "")
    body: Body = {"model": request.model, "messages": messages}
    for ours, theirs in _FIELDS.items():
        if (value := getattr(request.sampling, ours)) is not None:
            body[theirs] = value
    stop = request.sampling.stop
    if stop:
        body["stop"] = stop[0] if "$stop" in held and len(stop) == 1 else list(stop)
    _write_tools(losses, request, body, scribe, held)
    if request.output is not None:
        body["response_format"] = chat.write_schema_format(request.output)
    if request.stream:
        body["stream"] = True
    return Written(fields.fill(body, held), (*losses.losses, *scribe.losses), scribe.plan, scribe.repairs)


def _write_tools(losses: Losses, request: Request, body: Body, scribe: Scribe, held: dict[str, Any]) -> None:
    written = [
        chat.write_function(losses, path, tool, scribe.name(tool.name), demand=True)
        for path, tool in tools.lowered(losses, request)
    ]
    if written := tools.with_hosted(written, held):
        body["tools"] = written
    chosen = tools.choice(losses, request)
    if chosen == AUTO:
        return
    if chosen.names is not None and not (chosen.mode == "any" and len(chosen.names) == 1):
        losses.lose("/tool_choice/names", "a subset of the catalogue: only that subset is sent", "rewritten")
    words = {"any": "required" if _REQUIRED in held else "any", "none": "none"}
    if (said := chat.write_choice(chosen, scribe.name, words)) is not None:
        body["tool_choice"] = said
    if chosen.parallel is not None:
        body["parallel_tool_calls"] = chosen.parallel


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
    for index, each in enumerate(fields.objects(body.get("messages"), f"{where}/messages")):
        chat.add_message(messages, read_message(each, f"{where}/messages/{index}", calls, plan))
    kept = fields.leftover(body, _ALWAYS, _SOMETIMES) | fields.nulls(body, _ALWAYS)
    if hosted:
        kept[HOSTED] = hosted
    chosen = chat.read_choice(body, plan, body.get("parallel_tool_calls"))
    if chosen.mode == "auto" and "tool_choice" in body:
        kept["tool_choice"] = body["tool_choice"]
    elif body.get("tool_choice") == "required":
        kept[_REQUIRED] = True
    stop = fields.items(body, "stop")
    if isinstance(stop, str):
        kept["$stop"] = True
        stop = (stop,)
    output = chat.read_schema_format(body.get("response_format"))
    if output is None and "response_format" in body:
        kept["response_format"] = body["response_format"]
    return Request(
        messages=tuple(messages),
        tools=specs,
        tool_choice=chosen,
        model=body.get("model") or "",
        sampling=Sampling(**{ours: body.get(theirs) for ours, theirs in _FIELDS.items()}, stop=tuple(stop)),
        output=output,
        stream=body.get("stream") is True,
        ext=fields.ext(NAME, kept),
    )
