"""Requests of OpenAI Responses, both ways."""

from __future__ import annotations

from typing import cast

from counterfoil.types.error import WireError
from counterfoil.types.message import Block, Message, Role, Text
from counterfoil.types.request import Output, Request, Sampling
from counterfoil.wires import _fields as fields
from counterfoil.wires import _tools as tools
from counterfoil.wires._chat import LIST, is_plain
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Names
from counterfoil.wires._scribe import Losses, Scribe, write_messages
from counterfoil.wires.openai_responses.catalogue import read_choice, read_tools, write_choice, write_tools
from counterfoil.wires.openai_responses.content import NAME, read_part
from counterfoil.wires.openai_responses.items import Ear, ItemScribe, beside, is_result, write_message
from counterfoil.wires.wire import NO_PLAN, Body, Plan, Written

_SAMPLING = {"max_tokens": "max_output_tokens", "temperature": "temperature", "top_p": "top_p"}
_UNSAID = {"top_k": "how many tokens to choose among", "seed": "the seed of the dice", "stop": "where to stop"}
_ALWAYS = ("model", "input", *_SAMPLING.values(), "tool_choice")
_SOMETIMES = ("instructions", "tools", "stream")
_STRING = "$string"
_INLINE = "$inline"


def write_request(request: Request, *, encoded: bool = False) -> Written:
    """Say a request in this format, with what could not be said."""

    def make() -> Scribe:
        return ItemScribe(Names([tool.name for tool in request.tools]))

    head = _head(request)
    basis = (NAME, ([tool.name for tool in request.tools], head))
    scribe, items = write_messages(request, head, make, _write_message, basis, encoded=encoded)
    losses = Losses(NAME)
    losses.foreign(request.ext, "")
    slot = fields.own(request.ext, NAME)
    body: Body = {"model": request.model, "input": items}
    if _STRING in slot and isinstance(items, list) and len(items) == 1 and isinstance(items[0].get("content"), str):
        body["input"] = items[0]["content"]
    if head:
        losses.foreign(request.messages[0].ext, "/messages/0")
        tools.lose_fields(losses, "/messages/0", request.messages[0], {"name": "the name of who speaks"})
        body["instructions"] = request.messages[0].text
    if catalogue := write_tools(losses, request, scribe, slot):
        body["tools"] = catalogue
    body |= write_choice(losses, request, scribe, slot)
    for ours, theirs in _SAMPLING.items():
        if (value := getattr(request.sampling, ours)) is not None:
            body[theirs] = value
    tools.lose_fields(losses, "/sampling", request.sampling, _UNSAID)
    if request.output is not None:
        body["text"] = {**fields.obj(slot.get("text")), "format": _write_output(request.output)}
    if request.stream:
        body["stream"] = True
    fields.fill(body, slot)
    return Written(body, (*losses.losses, *scribe.losses), scribe.plan, scribe.repairs)


def _write_message(scribe: Scribe, message: Message, path: str) -> None:
    write_message(cast("ItemScribe", scribe), message, path)


def _head(request: Request) -> int:
    """Whether the first message can be said as `instructions`: one text, and nothing beside it."""
    if not request.messages or request.messages[0].role != "system":
        return 0
    first = request.messages[0]
    foreign = any(block.ext for block in first.blocks if isinstance(block, Text))
    return 1 if is_plain(first.blocks, NAME) and not foreign and not fields.own(first.ext, NAME) else 0


def _write_output(output: Output) -> Body:
    format: Body = {"type": "json_schema", "name": output.name, "schema": output.schema}
    if output.description:
        format["description"] = output.description
    if output.strict is not None:
        format["strict"] = output.strict
    return format


@guarded("a request of openai-responses")
def read_request(body: Body, plan: Plan = NO_PLAN) -> Request:
    """Understand a request in this format."""
    specs, kept, plan = read_tools(body, plan)
    kept |= fields.leftover(body, _ALWAYS, _SOMETIMES)
    messages: list[Message] = []
    if instructions := fields.maybe(body, "instructions", str, ""):
        messages.append(Message("system", (Text(instructions),)))
    given = body.get("input")
    if isinstance(given, str):
        kept[_STRING] = True
        given = [{"role": "user", "content": given}]
    _read_items(Ear(plan, plan.ids), fields.objects(given if given is not None else [], "/input"), messages)
    choice = read_choice(body, plan, kept)
    if choice.parallel is not None:
        kept.pop("parallel_tool_calls", None)
    return Request(
        tuple(messages),
        specs,
        choice,
        body.get("model") or "",
        Sampling(body.get("max_output_tokens"), body.get("temperature"), body.get("top_p")),
        _read_output(body, kept),
        body.get("stream") is True,
        fields.ext(NAME, kept),
    )


def _read_items(ear: Ear, items: list[Body], messages: list[Message]) -> None:
    said: list[Block] = []
    results: list[Block] = []
    for index, item in enumerate([*items, None]):
        where = f"/input/{index}"
        result = item is not None and is_result(item)
        role = item.get("role") if item is not None else None
        other = item is None or (item.get("type", "message") == "message" and role != "assistant")
        if (result or other) and said:
            messages.append(Message("assistant", tuple(said)))
            said = []
        if not result and results:
            messages.append(Message("tool", tuple(results)))
            results = []
        if item is None:
            break
        if result:
            results.append(ear.result(item, where))
        elif other:
            messages.append(_read_message(item, where, first=not messages))
        else:
            said += ear.item(item, where)


def _read_message(body: Body, where: str, *, first: bool) -> Message:
    role = body.get("role")
    if role not in ("user", "system", "developer"):
        raise WireError(f"{where}/role: expected user, assistant, system or developer, found {role!r}")
    content = body.get("content")
    slot = beside(body, "role", "content")
    if role == "developer":
        slot["$role"] = role
    blocks: tuple[Block, ...]
    if isinstance(content, str):
        blocks = (Text(content),)
    else:
        parts = fields.objects(content, f"{where}/content")
        blocks = tuple([read_part(part, f"{where}/content/{index}") for index, part in enumerate(parts)])
        if is_plain(blocks, NAME):
            slot[LIST] = True
    ours: Role = "user" if role == "user" else "system"
    if first and ours == "system":
        slot[_INLINE] = True
    return Message(ours, blocks, ext=fields.ext(NAME, slot))


def _read_output(body: Body, kept: Body) -> Output | None:
    text = fields.maybe(body, "text", dict, "") or {}
    format = fields.obj(text.get("format"))
    schema = format.get("schema")
    if format.get("type") != "json_schema" or not isinstance(schema, dict):
        return None
    output = Output(fields.obj(schema), str(format.get("name")), format.get("description") or "", format.get("strict"))
    if _write_output(output) != format:
        return None
    kept.pop("text", None)
    if others := fields.rest(text, "format"):
        kept["text"] = others
    return output
