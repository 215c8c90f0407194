"""Requests of Gemini Interactions, both ways."""

from __future__ import annotations

from typing import Any, cast

from counterfoil.types.message import Block, Message, Text
from counterfoil.types.request import AUTO, Output, Request, Sampling, ToolChoice, ToolSpec
from counterfoil.wires import _fields as fields
from counterfoil.wires import _tools as tools
from counterfoil.wires._chat import is_plain
from counterfoil.wires._guard import guarded
from counterfoil.wires._ids import Names
from counterfoil.wires._scribe import HOSTED, Losses, Scribe, write_messages
from counterfoil.wires.gemini_interactions.steps import (
    KINDS,
    NAME,
    VALID_NAME,
    Ear,
    StepScribe,
    read_content,
    write_message,
)
from counterfoil.wires.wire import NO_PLAN, Body, Plan, Written

_SAMPLING = {"max_tokens": "max_output_tokens", "temperature": "temperature", "top_p": "top_p", "seed": "seed"}
_ALWAYS = ("model", "input", "generation_config")
_SOMETIMES = ("system_instruction", "tools", "stream")
_INPUT = "$input"
_CHOICE = "$tool_choice"
_MODES = {"auto": "auto", "any": "any", "none": "none", "validated": "auto"}


def write_request(request: Request, *, encoded: bool = False) -> Written:
    """Say a request in this format, with what could not be said."""
    custom = tools.custom_names(request)

    def make() -> Scribe:
        return StepScribe(Names([tool.name for tool in request.tools], VALID_NAME, 128), custom)

    head = _head(request)
    basis = (NAME, (request.tools, head))
    scribe, steps = write_messages(request, head, make, _write_message, basis, encoded=encoded)
    losses = Losses(NAME)
    losses.foreign(request.ext, "")
    slot = fields.own(request.ext, NAME)
    body: Body = {"model": request.model, "input": _input(steps, slot.get(_INPUT))}
    if head:
        losses.foreign(request.messages[0].ext, "/messages/0")
        tools.lose_fields(losses, "/messages/0", request.messages[0], {"name": "the name of who speaks"})
        body["system_instruction"] = request.messages[0].text
    catalogue = [_write_tool(losses, tool, path, scribe) for path, tool in tools.lowered(losses, request, subset=True)]
    if catalogue := tools.with_hosted(catalogue, slot):
        body["tools"] = catalogue
    if config := _write_config(losses, request, scribe, slot):
        body["generation_config"] = config
    if request.output is not None:
        body["response_format"] = _write_output(losses, request.output)
    if request.stream:
        body["stream"] = True
    fields.fill(body, slot)
    return Written(body, (*losses.losses, *scribe.losses), scribe.plan, scribe.repairs)


def _write_message(scribe: Scribe, message: Message, path: str) -> None:
    write_message(cast("StepScribe", scribe), message, path)


def _head(request: Request) -> int:
    """Whether the first message can be said as `system_instruction`: one text, and nothing beside it."""
    if not request.messages or request.messages[0].role != "system":
        return 0
    first = request.messages[0]
    foreign = any(block.ext for block in first.blocks if isinstance(block, Text))
    return 1 if is_plain(first.blocks, NAME) and not foreign else 0


def _input(steps: Any, note: str | None) -> Any:
    if note is None or not isinstance(steps, list):
        return steps
    first = fields.obj(fields.arr(steps)[0]) if len(fields.arr(steps)) == 1 else {}
    content = fields.arr(first.get("content"))
    if first.keys() != {"type", "content"} or first["type"] != "user_input":
        return fields.arr(steps)
    if note == "contents":
        return content
    if len(content) != 1:
        return fields.arr(steps)
    return content[0].get("text", content[0]) if note == "string" else content[0]


def _write_tool(losses: Losses, tool: ToolSpec, path: str, scribe: Scribe) -> Body:
    losses.foreign(tool.ext, path)
    words = {"strict": "strictness of one tool", "output_schema": "the schema of a result"}
    tools.lose_fields(losses, path, tool, words)
    spec: Body = {"type": "function", "name": scribe.name(tool.name)}
    if tool.description:
        spec["description"] = tool.description
    if tool.parameters:
        spec["parameters"] = tool.parameters
    return fields.fill(spec, fields.own(tool.ext, NAME))


def _write_config(losses: Losses, request: Request, scribe: Scribe, slot: dict[str, Any]) -> Body:
    config: Body = {}
    for ours, theirs in _SAMPLING.items():
        if (value := getattr(request.sampling, ours)) is not None:
            config[theirs] = value
    if request.sampling.stop:
        config["stop_sequences"] = list(request.sampling.stop)
    tools.lose_fields(losses, "/sampling", request.sampling, {"top_k": "how many tokens to choose among"})
    choice = tools.choice(losses, request)
    if choice.parallel is not None:
        losses.lose("/tool_choice/parallel", "whether several calls may come in one turn", "dropped")
    note = slot.get(_CHOICE)
    if note is not None and _read_choice(note[0], scribe.plan) == (choice.mode, choice.names):
        config["tool_choice"] = note[0]
    elif choice.names is not None:
        allowed = {"mode": choice.mode, "tools": [scribe.name(name) for name in choice.names]}
        config["tool_choice"] = {"allowed_tools": allowed}
    elif choice.mode != "auto":
        config["tool_choice"] = choice.mode
    return fields.fill(config, fields.obj(slot.get("generation_config")))


def _write_output(losses: Losses, output: Output) -> Body:
    words = {"description": "what the answer is for", "strict": "strictness of the answer"}
    tools.lose_fields(losses, "/output", output, words)
    if output.name != "answer":
        losses.lose("/output/name", "the name of the answer's schema", "dropped")
    return {"type": "text", "mime_type": "application/json", "schema": output.schema}


@guarded("a request of gemini-interactions")
def read_request(body: Body, plan: Plan = NO_PLAN) -> Request:
    """Understand a request in this format."""
    catalogue, hosted = tools.read_tools(
        fields.objects(body.get("tools") or [], "/tools"), lambda each, index: _read_tool(each, f"/tools/{index}", plan)
    )
    specs, plan = tools.lifted(catalogue, plan)
    kept = fields.leftover(body, _ALWAYS, _SOMETIMES)
    if hosted:
        kept[HOSTED] = hosted
    messages: list[Message] = []
    if instruction := fields.maybe(body, "system_instruction", str, ""):
        messages.append(Message("system", (Text(instruction),)))
    _read_steps(Ear(plan, plan.ids), _steps(body.get("input"), kept), messages)
    config = fields.maybe(body, "generation_config", dict, "") or {}
    if more := fields.leftover(config, (*_SAMPLING.values(), "tool_choice"), ("stop_sequences",)):
        kept["generation_config"] = more
    return Request(
        tuple(messages),
        specs,
        _read_tool_choice(config.get("tool_choice"), plan, kept),
        body.get("model") or "",
        Sampling(
            config.get("max_output_tokens"),
            config.get("temperature"),
            config.get("top_p"),
            seed=config.get("seed"),
            stop=tuple(config.get("stop_sequences") or ()),
        ),
        _read_output(body, kept),
        body.get("stream") is True,
        fields.ext(NAME, kept),
    )


def _steps(given: Any, kept: Body) -> list[Body]:
    contents: list[Body]
    if isinstance(given, str):
        kept[_INPUT], contents = "string", [{"type": "text", "text": given}]
    elif isinstance(given, dict):
        kept[_INPUT], contents = "content", [fields.obj(given)]
    else:
        steps = fields.objects(given if given is not None else [], "/input")
        if not steps or any(step.get("type") not in ("text", *KINDS) for step in steps):
            return steps
        kept[_INPUT], contents = "contents", steps
    return [{"type": "user_input", "content": contents}]


def _read_steps(ear: Ear, steps: list[Body], messages: list[Message]) -> None:
    said: list[Block] = []
    results: list[Block] = []
    for index, step in enumerate([*steps, None]):
        where = f"/input/{index}"
        kind = step.get("type") if step is not None else None
        if said and (step is None or kind in ("user_input", "function_result")):
            messages.append(Message("assistant", tuple(said)))
            said = []
        if results and kind != "function_result":
            messages.append(Message("tool", tuple(results)))
            results = []
        if step is None:
            break
        if kind == "function_result":
            results.append(ear.result(step, where))
        elif kind == "user_input":
            contents = fields.objects(step.get("content") or [], f"{where}/content")
            blocks = tuple([read_content(each, f"{where}/content/{at}") for at, each in enumerate(contents)])
            messages.append(Message("user", blocks, ext=fields.ext(NAME, fields.rest(step, "type", "content"))))
        else:
            said += ear.step(step, where)


def _read_tool(body: Body, where: str, plan: Plan) -> ToolSpec | None:
    if body.get("type") != "function":
        return None
    return ToolSpec(
        plan.name(fields.need(body, "name", str, where)),
        fields.maybe(body, "description", str, where) or "",
        fields.maybe(body, "parameters", dict, where) or {},
        ext=fields.ext(NAME, fields.leftover(body, ("type", "name"), ("description", "parameters"))),
    )


def _read_tool_choice(raw: Any, plan: Plan, kept: Body) -> ToolChoice:
    if raw is None:
        return AUTO
    mode, names = _read_choice(raw, plan)
    if raw not in ("any", "none") and not (names is not None and fields.obj(raw["allowed_tools"]).get("mode") == mode):
        kept[_CHOICE] = [raw]
    return ToolChoice("any" if mode == "any" else "none" if mode == "none" else "auto", names)


def _read_choice(raw: Any, plan: Plan) -> tuple[str, tuple[str, ...] | None]:
    if isinstance(raw, str):
        return _MODES.get(raw, "auto"), None
    allowed = fields.obj(fields.obj(raw).get("allowed_tools"))
    names = allowed.get("tools")
    mode = _MODES.get(str(allowed.get("mode", "auto")), "auto")
    return mode, tuple([plan.name(str(name)) for name in fields.arr(names)]) if names is not None else None


def _read_output(body: Body, kept: Body) -> Output | None:
    format = fields.obj(body.get("response_format"))
    schema = format.get("schema")
    if not isinstance(schema, dict) or fields.rest(format, "schema") != {"type": "text", "mime_type": _JSON}:
        return None
    kept.pop("response_format", None)
    return Output(fields.obj(schema))


_JSON = "application/json"
