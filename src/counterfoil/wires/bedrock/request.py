"""Converse requests, both ways."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from counterfoil.types.error import WireError
from counterfoil.types.message import Message, Role, ToolResult
from counterfoil.types.request import AUTO, Output, Request, Sampling, ToolChoice, ToolSpec
from counterfoil.wires import _fields as fields
from counterfoil.wires import _tools as tools
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Ids, Names
from counterfoil.wires._scribe import HOSTED, Losses, Scribe, write_messages
from counterfoil.wires.bedrock.blocks import Ear, write_block
from counterfoil.wires.bedrock.media import NAME
from counterfoil.wires.wire import NO_PLAN, Body, Plan, Written

VALID_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_SAMPLING = {"max_tokens": "maxTokens", "temperature": "temperature", "top_p": "topP"}
_UNSAID = {"top_k": "how many tokens to choose among", "seed": "the seed of the dice"}
_INLINE = "$inline"
_SCHEMA = "$schema"


class ConverseScribe(Scribe):
    """What is needed to say messages: the last one may still grow, and where it is among ours."""

    def __init__(self, names: Iterable[str] = (), custom: frozenset[str] = frozenset()) -> None:
        super().__init__(NAME, Names(names), Ids(VALID_ID), custom)
        self.held = 1
        self.whole = ""


def write_request(request: Request, *, encoded: bool = False) -> Written:
    """Say a request as a Converse body; `modelId` is the one of its address."""
    custom = tools.custom_names(request)

    def make() -> Scribe:
        return ConverseScribe([tool.name for tool in request.tools], custom)

    head = _head(request)
    basis = (NAME, (request.tools, head))
    scribe, messages = write_messages(request, head, make, _write_message, basis, encoded=encoded)
    losses = Losses(NAME)
    losses.foreign(request.ext, "")
    slot = fields.own(request.ext, NAME)
    body: Body = {"modelId": request.model} if request.model else {}
    body["messages"] = messages
    if head:
        _write_system(losses, request.messages[0], body)
    if config := {**fields.own(slot, "inferenceConfig"), **_write_sampling(losses, request.sampling)}:
        body["inferenceConfig"] = config
    if tool_config := _write_tools(losses, request, scribe, slot):
        body["toolConfig"] = tool_config
    if request.output is not None:
        format = _write_output(losses, request.output, slot.get(_SCHEMA))
        body["outputConfig"] = {**fields.own(slot, "outputConfig"), "textFormat": format}
    if request.stream:
        losses.lose("/stream", "streaming: the address says it, the body does not", "dropped")
    fields.fill(body, slot)
    return Written(body, (*losses.losses, *scribe.losses), scribe.plan, scribe.repairs)


def _head(request: Request) -> int:
    if not request.messages or request.messages[0].role != "system":
        return 0
    return 0 if fields.note(request.messages[0].ext, NAME, _INLINE) else 1


def _content(scribe: Scribe, message: Message, path: str) -> list[Body]:
    scribe.foreign(message.ext, path)
    if message.name is not None:
        scribe.lose(f"{path}/name", "the name of who speaks", "dropped")
    content: list[Body] = []
    for index, block in enumerate(message.blocks):
        content += write_block(scribe, block, f"{path}/blocks/{index}")
    if not content:
        scribe.lose(path, "a message that says nothing", "dropped")
    return content


def _write_system(losses: Losses, message: Message, body: Body) -> None:
    scribe = ConverseScribe()
    if content := _content(scribe, message, "/messages/0"):
        body["system"] = content
    losses.losses += scribe.losses


def _write_message(scribe: Scribe, message: Message, path: str) -> None:
    _write(cast("ConverseScribe", scribe), message, path)


def _write(scribe: ConverseScribe, message: Message, path: str) -> None:
    role = "user" if message.role == "tool" else message.role
    content = _content(scribe, message, path)
    before = scribe.out[-1] if scribe.out else None
    if before is None or before["role"] != role:
        if content:
            scribe.out.append(fields.fill({"role": role, "content": content}, fields.own(message.ext, NAME)))
            scribe.whole = path
        return
    # Roles must alternate: results, and what the user says next, are one message; it is taken apart when it is read.
    if message.role == "user" and _only_results(before):
        scribe.whole = path
        if fields.said(message.ext, NAME):
            scribe.lose(f"{path}/ext/{NAME}", "what is said of a message that is one with the results", "dropped")
    elif content:
        scribe.lose(f"{scribe.whole}/blocks", f"a message of the role {role} that another one follows", "rewritten")
        scribe.lose(path, "a message of its own: what it says is at the end of the one before", "dropped")
    before["content"] += content


def _only_results(body: Body) -> bool:
    return all("toolResult" in part for part in body["content"])


def _write_sampling(losses: Losses, sampling: Sampling) -> Body:
    config: Body = {}
    for ours, theirs in _SAMPLING.items():
        if (value := getattr(sampling, ours)) is not None:
            config[theirs] = value
    if sampling.stop:
        config["stopSequences"] = list(sampling.stop)
    tools.lose_fields(losses, "/sampling", sampling, _UNSAID)
    return config


def _write_tools(losses: Losses, request: Request, scribe: Scribe, slot: dict[str, Any]) -> Body:
    choice = tools.choice(losses, request)
    if choice.parallel is not None:
        losses.lose("/tool_choice/parallel", "whether several calls may come in one turn", "dropped")
    specs = [_write_tool(losses, tool, path, scribe) for path, tool in tools.lowered(losses, request, subset=False)]
    if choice.mode == "none":
        # A catalogue is mandatory while the history has calls: then only the gate keeps the model from calling.
        losses.lose("/tool_choice", "that no tool may be called", "rewritten")
        if not _called(request):
            for index in range(len(request.tools)):
                losses.lose(f"/tools/{index}", "a tool that may not be called", "dropped")
            return {}
    if not tools.with_hosted(specs, slot):
        if not (called := _called(request)):
            return {}
        losses.lose("/tools", "no tools, but calls in the history: the called ones are declared", "rewritten")
        specs = [_write_tool(losses, ToolSpec(name, parameters=tools.NO_PARAMETERS), "", scribe) for name in called]
    config: Body = {"tools": specs}
    if word := _write_choice(losses, choice, scribe):
        config["toolChoice"] = word
    return fields.fill(config, fields.own(slot, "toolConfig"))


def _called(request: Request) -> list[str]:
    return list(dict.fromkeys([call.name for message in request.messages for call in message.calls]))


def _write_choice(losses: Losses, choice: ToolChoice, scribe: Scribe) -> Body:
    one = choice.mode == "any" and choice.names is not None and len(choice.names) == 1
    if one and choice.names:
        return {"tool": {"name": scribe.name(choice.names[0])}}
    if choice.names is not None:
        losses.lose("/tool_choice/names", "a subset of the catalogue: only that subset is sent", "rewritten")
    return {"any": {}} if choice.mode == "any" else {}


def _write_tool(losses: Losses, tool: ToolSpec, path: str, scribe: Scribe) -> Body:
    losses.foreign(tool.ext, path)
    tools.lose_fields(losses, path, tool, {"output_schema": "the schema of a result"})
    spec: Body = {"name": scribe.name(tool.name)}
    if tool.description:
        spec["description"] = tool.description
    spec["inputSchema"] = {"json": tools.parameters(losses, path, tool)}
    if tool.strict is not None:
        spec["strict"] = tool.strict
    return {"toolSpec": fields.fill(spec, fields.own(tool.ext, NAME))}


def _write_output(losses: Losses, output: Output, spelling: str | None) -> Body:
    tools.lose_fields(losses, "/output", output, {"strict": "strictness of the answer"})
    text = msgspec.json.encode(output.schema).decode()
    if spelling is not None and msgspec.json.decode(spelling) == output.schema:
        text = spelling
    schema: Body = {"schema": text, "name": output.name}
    if output.description:
        schema["description"] = output.description
    return {"type": "json_schema", "structure": {"jsonSchema": schema}}


_ALWAYS = ("messages", "toolConfig", "inferenceConfig", "outputConfig", "modelId")


@guarded("a request of bedrock")
def read_request(body: Body, plan: Plan = NO_PLAN) -> Request:
    """Understand a Converse request."""
    config = fields.maybe(body, "toolConfig", dict, "") or {}
    catalogue, hosted = tools.read_tools(
        fields.objects(config.get("tools") or [], "/toolConfig/tools"),
        lambda each, index: _read_tool(each, f"/toolConfig/tools/{index}", plan),
    )
    specs, plan = tools.lifted(catalogue, plan)
    ear = Ear(plan, plan.ids)
    messages: list[Message] = []
    if body.get("system"):
        messages += _read_message(ear, {"role": "system", "content": body["system"]}, "/system")
    for index, each in enumerate(fields.objects(body.get("messages"), "/messages")):
        found = _read_message(ear, each, f"/messages/{index}")
        if not messages and found[0].role == "system":
            found[0] = Message("system", found[0].blocks, ext={NAME: {**fields.own(found[0].ext, NAME), _INLINE: True}})
        messages += found
    kept = fields.leftover(body, _ALWAYS, ("system",))
    if hosted:
        kept[HOSTED] = hosted
    if more := fields.leftover(config, ("toolChoice",), ("tools",)):
        kept["toolConfig"] = fields.rest(more, "tools")
    choice = _read_choice(config.get("toolChoice"), plan)
    if choice == AUTO and "toolChoice" in config:
        kept.setdefault("toolConfig", {})["toolChoice"] = config["toolChoice"]
    inference = fields.maybe(body, "inferenceConfig", dict, "") or {}
    if more := fields.leftover(inference, tuple(_SAMPLING.values()), ("stopSequences",)):
        kept["inferenceConfig"] = more
    return Request(
        tuple(messages),
        specs,
        choice,
        body.get("modelId") or "",
        Sampling(
            inference.get("maxTokens"),
            inference.get("temperature"),
            inference.get("topP"),
            stop=tuple(inference.get("stopSequences") or ()),
        ),
        _read_output(body, kept),
        ext=fields.ext(NAME, kept),
    )


def _read_message(ear: Ear, body: Body, where: str) -> list[Message]:
    role = body.get("role")
    if role not in ("user", "assistant", "system"):
        raise WireError(f"{where}/role: expected user, assistant or system, found {role!r}")
    content = fields.objects(body.get("content"), f"{where}/content")
    blocks = tuple([ear.block(each, f"{where}/content/{index}") for index, each in enumerate(content)])
    slot = fields.ext(NAME, fields.leftover(body, ("role", "content")))
    results = tuple([block for block in blocks if isinstance(block, ToolResult)])
    if role != "user" or not results:
        kind: Role = role
        return [Message(kind, blocks, ext=slot)]
    rest = tuple([block for block in blocks if not isinstance(block, ToolResult)])
    return [Message("tool", results, ext=slot), *([Message("user", rest)] if rest else [])]


def _read_tool(body: Body, where: str, plan: Plan) -> ToolSpec | None:
    if body.keys() != {"toolSpec"}:
        return None
    where = f"{where}/toolSpec"
    spec = fields.need(body, "toolSpec", dict, where)
    return ToolSpec(
        plan.name(fields.need(spec, "name", str, where)),
        spec.get("description") or "",
        fields.need(fields.need(spec, "inputSchema", dict, where), "json", dict, f"{where}/inputSchema"),
        strict=spec.get("strict"),
        ext=fields.ext(NAME, fields.leftover(spec, ("name", "inputSchema", "strict"), ("description",))),
    )


def _read_choice(body: Any, plan: Plan) -> ToolChoice:
    match body:
        case {"any": _}:
            return ToolChoice("any")
        case {"tool": {"name": str(name)}}:
            return ToolChoice("any", (plan.name(name),))
        case None | {"auto": _}:
            return AUTO
        case other:
            raise WireError(f"/toolConfig/toolChoice: expected auto, any or tool, found {other!r}")


def _read_output(body: Body, kept: dict[str, Any]) -> Output | None:
    config = fields.maybe(body, "outputConfig", dict, "") or {}
    output: Output | None = None
    said = fields.obj(fields.obj(fields.obj(config.get("textFormat")).get("structure")).get("jsonSchema"))
    if isinstance(text := said.get("schema"), str):
        try:
            schema = msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise WireError(f"/outputConfig/textFormat: the schema is not JSON: {error}") from None
        if msgspec.json.encode(schema).decode() != text:
            kept[_SCHEMA] = text
        config = fields.rest(config, "textFormat")
        output = Output(schema, said.get("name") or "answer", said.get("description") or "")
    if config:
        kept["outputConfig"] = config
    return output
