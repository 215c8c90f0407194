"""What the wires that descend from OpenAI's chat format share: functions, calls, results, parts, choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from counterfoil.types.error import ModelError, WireError
from counterfoil.types.json import read_object
from counterfoil.types.message import Block, Ext, Media, Message, Opaque, Text, ToolCall, ToolResult
from counterfoil.types.request import AUTO, Output, ToolChoice, ToolSpec
from counterfoil.types.stream import written_arguments
from counterfoil.wires import _fields as fields
from counterfoil.wires import _tools as tools
from counterfoil.wires._envelope import seal, unseal, unwrap_arguments
from counterfoil.wires._ids import Calls
from counterfoil.wires._open import with_text
from counterfoil.wires._scribe import Losses, Scribe
from counterfoil.wires.wire import Body, Plan

LIST = "$list"
"""The note that a content of one text was written as a list."""
UNTYPED = "$untyped"
"""The note that a call or tool came without its `type`."""
OBJECT = "$object"
"""The note that arguments came as an object, where a text is usual."""


def slot(held: Ext, wire: str) -> dict[str, Any]:
    """What an `ext` holds of one wire's."""
    found: dict[str, Any] = held.get(wire) or {}
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
    fields.fill(function, held.get("$function") or {})
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
    if inner := fields.leftover(function, ("name",), ("description", "parameters", "strict")):
        kept["$function"] = inner
    return ToolSpec(
        plan.name(fields.need(function, "name", str, f"{where}/function")),
        function.get("description") or "",
        fields.maybe(function, "parameters", dict, f"{where}/function") or {},
        strict=function.get("strict"),
        ext=fields.ext(wire, kept),
    )


# Choices


def write_choice(losses: Losses, chosen: ToolChoice, name: Callable[[str], str], words: dict[str, str]) -> Any:
    """Say a choice: a word, a named function, or `None` for the default. `names` of a real subset are the caller's."""
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
    match format:
        case {"type": "json_schema", "json_schema": {"name": str(name), "schema": dict(schema), **others}} if set(
            others
        ) <= {"description", "strict"}:
            output = Output(schema, name, others.get("description") or "", others.get("strict"))
            return output if write_schema_format(output) == format else None
        case _:
            return None


# Calls


def write_call(scribe: Scribe | None, call: ToolCall, path: str, wire: str, *, objects: bool = False) -> Body:
    """Say a call of a JSON tool; in a reply there is no scribe. `objects`: arguments are never a text."""
    held = slot(call.ext, wire)
    name = scribe.name(call.name) if scribe else call.name
    arguments: Any
    if call.kind == "custom" or objects or OBJECT in held:
        arguments = scribe.arguments(call, path) if scribe else _wrapped(call)
        if not objects and OBJECT not in held:
            arguments = msgspec.json.encode(arguments).decode()
    else:
        arguments = written_arguments(call)
    body: Body = {"function": fields.fill({"name": name, "arguments": arguments}, held.get("$function") or {})}
    if UNTYPED not in held:
        body["type"] = "function"
    return body


def _wrapped(call: ToolCall) -> dict[str, Any]:
    return Scribe.arguments(Scribe("", lambda name: name, None), call, "")  # type: ignore[arg-type]


def read_call(body: Body, where: str, calls: Calls, plan: Plan, wire: str, id: str | None) -> ToolCall:
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
        kept[OBJECT] = True
        call = msgspec.structs.replace(call, arguments=arguments)
    elif isinstance(arguments, str) or arguments is None:
        call = with_text(call, arguments or "", keep=True)
    else:
        raise WireError(f"{where}/function/arguments: expected a string or an object, found {arguments!r:.40}")
    call = msgspec.structs.replace(call, ext=fields.ext(wire, kept))
    return unwrap_arguments(call, plan.custom)
