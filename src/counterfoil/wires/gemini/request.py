"""Gemini generateContent requests, both ways."""

from __future__ import annotations

import re
from typing import Any, cast

from counterfoil.types.error import WireError
from counterfoil.types.message import Message, ToolResult
from counterfoil.types.request import AUTO, Output, Request, Sampling, ToolChoice, ToolSpec
from counterfoil.wires import _fields as fields
from counterfoil.wires import _tools as tools
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Names
from counterfoil.wires._openapi import json_schema
from counterfoil.wires._scribe import HOSTED, JOINED, Losses, Scribe, write_messages
from counterfoil.wires.gemini.parts import NAME, VALID_NAME, Ear, GeminiScribe, forget_unsigned, write_parts
from counterfoil.wires.wire import NO_PLAN, Body, Plan, Written

_SIGNING = re.compile(r"gemini-([3-9]|\d\d)")
"""The models that refuse a call without a signature."""
_SAMPLING = {
    "max_tokens": "maxOutputTokens",
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
}
_OUTPUT = ("responseMimeType", "responseJsonSchema", "responseSchema")
_ALWAYS = ("model", "contents", "tools", "toolConfig", "generationConfig")
_INLINE = "$inline"
_GROUPS = "$groups"
_SCHEMA = "$parameters"
_SNAKE = "parameters_json_schema"
_SPELT = "$spelt"


def signs(model: str) -> bool:
    """Whether the model refuses a call in its history that has no signature."""
    return _SIGNING.search(model) is not None


def write_request(request: Request, *, encoded: bool = False) -> Written:
    """Say a request as a body of generateContent; `model` is the one of its address."""
    custom = tools.custom_names(request)
    signing = signs(request.model)

    def make() -> Scribe:
        return GeminiScribe(Names([tool.name for tool in request.tools], VALID_NAME, 128), custom, signs=signing)

    head = 1 if request.messages and request.messages[0].role == "system" else 0
    if head and fields.note(request.messages[0].ext, NAME, _INLINE):
        head = 0
    basis = (NAME, (request.tools, head, signing))
    scribe, contents = write_messages(request, head, make, _write_message, basis, encoded=encoded)
    losses = Losses(NAME)
    losses.foreign(request.ext, "")
    slot = fields.own(request.ext, NAME)
    body: Body = {"model": request.model} if request.model else {}
    body["contents"] = contents
    if head:
        system = GeminiScribe(Names(()))
        if parts := _content(system, request.messages[0], "/messages/0"):
            body["systemInstruction"] = fields.fill({"parts": parts}, fields.own(request.messages[0].ext, NAME))
        losses.losses += system.losses
    if catalogue := _write_tools(losses, request, scribe, slot):
        body["tools"] = catalogue
    if config := _write_choice(losses, request, scribe, fields.obj(slot.get("toolConfig"))):
        body["toolConfig"] = config
    if config := _write_config(losses, request, slot):
        body["generationConfig"] = config
    if request.stream:
        losses.lose("/stream", "streaming: the address says it, the body does not", "dropped")
    fields.fill(body, slot)
    return Written(body, (*losses.losses, *scribe.losses), scribe.plan, scribe.repairs)


def _content(scribe: GeminiScribe, message: Message, path: str) -> list[Body]:
    scribe.foreign(message.ext, path)
    if message.name is not None:
        scribe.lose(f"{path}/name", "the name of who speaks", "dropped")
    parts = write_parts(scribe, message.blocks, path)
    if not parts:
        scribe.lose(path, "a message that says nothing", "dropped")
    return parts


def _write_message(scribe: Scribe, message: Message, path: str) -> None:
    parts = _content(cast("GeminiScribe", scribe), message, path)
    slot = fields.own(message.ext, NAME)
    role = "model" if message.role == "assistant" else "user"
    if message.role == "system":
        scribe.lose(f"{path}/role", "instructions in the middle of a conversation: the user says them", "rewritten")
    if JOINED in slot and scribe.out and scribe.out[-1]["role"] == role:
        scribe.out[-1]["parts"] += parts
    elif parts:
        scribe.out.append(fields.fill({"role": role, "parts": parts}, slot))


def _write_tools(losses: Losses, request: Request, scribe: Scribe, slot: dict[str, Any]) -> list[Body]:
    declarations = [
        _write_tool(losses, tool, path, scribe) for path, tool in tools.lowered(losses, request, subset=True)
    ]
    groups: list[Any] = slot.get(_GROUPS) or []
    written: list[Body] = []
    if groups and sum(size for size, _ in groups) == len(declarations):
        start = 0
        for size, more in groups:
            written.append({"functionDeclarations": declarations[start : start + size], **more})
            start += size
    elif declarations:
        written.append({"functionDeclarations": declarations})
    return tools.with_hosted(written, slot)


def _write_tool(losses: Losses, tool: ToolSpec, path: str, scribe: Scribe) -> Body:
    losses.foreign(tool.ext, path)
    tools.lose_fields(losses, path, tool, {"strict": "strictness of one tool"})
    slot = fields.own(tool.ext, NAME)
    spec: Body = {"name": scribe.name(tool.name)}
    if tool.description:
        spec["description"] = tool.description
    older = slot.get(_SCHEMA)
    if older is not None and json_schema(older) == tool.parameters:
        spec["parameters"] = older
    elif tool.parameters:
        spec[slot.get(_SPELT) or "parametersJsonSchema"] = tool.parameters
    if tool.output_schema is not None:
        spec["responseJsonSchema"] = tool.output_schema
    return fields.fill(spec, slot)


def _write_choice(losses: Losses, request: Request, scribe: Scribe, slot: dict[str, Any]) -> Body:
    choice = tools.choice(losses, request)
    if choice.parallel is not None:
        losses.lose("/tool_choice/parallel", "whether several calls may come in one turn", "dropped")
    config: Body = {}
    if choice.mode != "auto":
        config["mode"] = choice.mode.upper()
    elif choice.names is not None:
        config["mode"] = "VALIDATED"
    if choice.names is not None:
        config["allowedFunctionNames"] = [scribe.name(name) for name in choice.names]
    fields.fill(config, fields.obj(slot.get("functionCallingConfig")))
    return fields.fill({"functionCallingConfig": config} if config else {}, slot)


def _write_config(losses: Losses, request: Request, slot: dict[str, Any]) -> Body:
    config: Body = {}
    for ours, theirs in _SAMPLING.items():
        if (value := getattr(request.sampling, ours)) is not None:
            config[theirs] = value
    if request.sampling.stop:
        config["stopSequences"] = list(request.sampling.stop)
    if (output := request.output) is not None:
        words = {"description": "what the answer is for", "strict": "strictness of the answer"}
        tools.lose_fields(losses, "/output", output, words)
        if output.name != "answer":
            losses.lose("/output/name", "the name of the answer's schema", "dropped")
        config["responseMimeType"] = "application/json"
        older = slot.get("$responseSchema")
        if older is not None and json_schema(older) == output.schema:
            config["responseSchema"] = older
        else:
            config["responseJsonSchema"] = output.schema
    return fields.fill(config, fields.obj(slot.get("generationConfig")))


@guarded("a request of gemini")
def read_request(body: Body, plan: Plan = NO_PLAN) -> Request:
    """Understand a body of generateContent."""
    catalogue, notes = _read_tools(fields.objects(body.get("tools") or [], "/tools"), plan)
    specs, plan = tools.lifted(catalogue, plan)
    ear = Ear(plan, plan.ids)
    model = fields.maybe(body, "model", str, "") or ""
    messages: list[Message] = []
    if system := fields.maybe(body, "systemInstruction", dict, ""):
        parts = fields.objects(system.get("parts") or [], "/systemInstruction/parts")
        blocks = tuple([ear.part(part, f"/systemInstruction/parts/{index}") for index, part in enumerate(parts)])
        messages.append(Message("system", blocks, ext=fields.ext(NAME, fields.rest(system, "parts"))))
    for index, each in enumerate(fields.objects(body.get("contents"), "/contents")):
        messages += _read_content(ear, each, f"/contents/{index}", signing=signs(model))
    kept: Body = {**fields.leftover(body, _ALWAYS, ("systemInstruction",)), **notes}
    choice = _read_choice(fields.maybe(body, "toolConfig", dict, "") or {}, plan, kept)
    config = fields.maybe(body, "generationConfig", dict, "") or {}
    output = _read_output(config, kept)
    if more := fields.leftover(config, (*_SAMPLING.values(), *(_OUTPUT if output else ())), ("stopSequences",)):
        kept["generationConfig"] = more
    return Request(
        tuple(messages),
        specs,
        choice,
        model,
        Sampling(
            **{ours: config.get(theirs) for ours, theirs in _SAMPLING.items()},
            stop=tuple(config.get("stopSequences") or ()),
        ),
        output,
        ext=fields.ext(NAME, kept),
    )


def _read_content(ear: Ear, body: Body, where: str, *, signing: bool) -> list[Message]:
    role = body.get("role", "user")
    if role not in ("user", "model", "function"):
        raise WireError(f"{where}/role: expected user or model, found {role!r}")
    parts = fields.objects(body.get("parts") or [], f"{where}/parts")
    blocks = tuple([ear.part(part, f"{where}/parts/{index}") for index, part in enumerate(parts)])
    slot = fields.rest(body, "role", "parts")
    if role == "model":
        return [Message("assistant", forget_unsigned(blocks) if signing else blocks, ext=fields.ext(NAME, slot))]
    results = tuple([block for block in blocks if isinstance(block, ToolResult)])
    if not results:
        return [Message("user", blocks, ext=fields.ext(NAME, slot))]
    others = tuple([block for block in blocks if not isinstance(block, ToolResult)])
    rest = [Message("user", others, ext={NAME: {JOINED: True}})] if others else []
    return [Message("tool", results, ext=fields.ext(NAME, slot)), *rest]


def _read_tools(bodies: list[Body], plan: Plan) -> tuple[list[ToolSpec], Body]:
    specs: list[ToolSpec] = []
    hosted: list[Any] = []
    groups: list[Any] = []
    for index, each in enumerate(bodies):
        if "functionDeclarations" not in each:
            hosted.append([index, each])
            continue
        where = f"/tools/{index}/functionDeclarations"
        found = fields.objects(each["functionDeclarations"], where)
        specs += [_read_tool(one, f"{where}/{at}", plan) for at, one in enumerate(found)]
        groups.append([len(found), fields.rest(each, "functionDeclarations")])
    notes: Body = {HOSTED: hosted} if hosted else {}
    if len(groups) > 1 or any(more or not size for size, more in groups):
        notes[_GROUPS] = groups
    return specs, notes


def _read_tool(body: Body, where: str, plan: Plan) -> ToolSpec:
    # Google's own client (google-genai 3.6) writes this one field in the other spelling, which the API knows as well.
    spelt = _SNAKE if _SNAKE in body else "parametersJsonSchema"
    schema = fields.maybe(body, spelt, dict, where)
    slot = fields.leftover(body, ("name", "parameters", "responseJsonSchema"), ("description", spelt))
    if spelt == _SNAKE and schema:
        slot[_SPELT] = spelt
    older = fields.maybe(body, "parameters", dict, where)
    if older is not None and schema is None:
        slot[_SCHEMA], schema = older, json_schema(older)
    return ToolSpec(
        plan.name(fields.need(body, "name", str, where)),
        fields.maybe(body, "description", str, where) or "",
        schema or {},
        output_schema=fields.maybe(body, "responseJsonSchema", dict, where),
        ext=fields.ext(NAME, slot),
    )


def _read_choice(body: Body, plan: Plan, kept: Body) -> ToolChoice:
    config = fields.maybe(body, "functionCallingConfig", dict, "/toolConfig") or {}
    mode, names = config.get("mode"), config.get("allowedFunctionNames")
    allowed = tuple([plan.name(str(name)) for name in fields.arr(names)]) if names is not None else None
    choice = AUTO
    known: tuple[str, ...] = ("allowedFunctionNames",)
    if mode in ("ANY", "NONE"):
        choice, known = ToolChoice("any" if mode == "ANY" else "none", allowed), (*known, "mode")
    elif mode == "VALIDATED" and allowed is not None:
        choice, known = ToolChoice("auto", allowed), (*known, "mode")
    elif allowed is not None:
        known = ()
    slot = fields.rest(body, "functionCallingConfig")
    if more := fields.rest(config, *known):
        slot["functionCallingConfig"] = more
    if slot:
        kept["toolConfig"] = slot
    return choice


def _read_output(config: Body, kept: Body) -> Output | None:
    if config.get("responseMimeType") != "application/json":
        return None
    schema, older = config.get("responseJsonSchema"), config.get("responseSchema")
    if isinstance(schema, dict) and older is None:
        return Output(fields.obj(schema))
    if isinstance(older, dict) and schema is None:
        kept["$responseSchema"] = older
        return Output(json_schema(fields.obj(older)))
    return None
