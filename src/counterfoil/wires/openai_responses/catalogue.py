"""Tools and the choice among them, both ways."""

from __future__ import annotations

from typing import Any

from counterfoil.types.request import AUTO, Request, ToolChoice, ToolSpec
from counterfoil.wires import _fields as fields
from counterfoil.wires import _tools as tools
from counterfoil.wires._scribe import HOSTED, Losses, Scribe
from counterfoil.wires.openai_responses.content import NAME
from counterfoil.wires.wire import Body, Plan

_SPACE = "namespace"
_CHOICE = "$tool_choice"
_STRICT = "$strict"


def write_tools(losses: Losses, request: Request, scribe: Scribe, slot: dict[str, Any]) -> list[Body]:
    """Say the catalogue. Tools of one namespace, one after the other, are in it together."""
    written: list[Body] = []
    space: Body | None = None
    for index, tool in enumerate(request.tools):
        body = _write_tool(losses, tool, f"/tools/{index}", scribe)
        held = fields.own(tool.ext, NAME).get(_SPACE)
        if held is None:
            written.append(body)
            space = None
        elif space is not None and fields.rest(space, "tools") == {"type": _SPACE, **held}:
            space["tools"].append(body)
        else:
            space = {"type": _SPACE, **held, "tools": [body]}
            written.append(space)
    return tools.with_hosted(written, slot)


def _write_tool(losses: Losses, tool: ToolSpec, path: str, scribe: Scribe) -> Body:
    losses.foreign(tool.ext, path)
    slot = fields.rest(fields.own(tool.ext, NAME), _SPACE)
    spec: Body = {"type": tool.kind, "name": scribe.name(tool.name)}
    if tool.description:
        spec["description"] = tool.description
    if tool.kind == "custom":
        if tool.format is not None:
            spec["format"] = tool.format
        words = {"strict": "strictness of a free-text tool", "output_schema": "what a free-text tool returns"}
        tools.lose_fields(losses, path, tool, words)
        return fields.fill(spec, slot)
    spec["parameters"] = tools.parameters(losses, path, tool)
    if tool.strict is not None or _STRICT not in slot:
        # Absent means strict here: `null` says that nobody has decided.
        spec["strict"] = tool.strict
    if tool.output_schema is not None:
        spec["output_schema"] = tool.output_schema
    return fields.fill(spec, slot)


def read_tools(body: Body, plan: Plan) -> tuple[tuple[ToolSpec, ...], Body, Plan]:
    """Understand the catalogue: our tools, the note of the provider's own, and the plan that knows free-text ones."""
    specs: list[ToolSpec] = []
    hosted: list[Any] = []
    # A namespace with something in it that is not ours to run stays whole.
    for index, each in enumerate(fields.objects(body.get("tools") or [], "/tools")):
        where = f"/tools/{index}"
        if each.get("type") == _SPACE:
            inner = fields.objects(each.get("tools"), f"{where}/tools")
            held = fields.rest(each, "type", "tools")
            found = [_read_tool(one, f"{where}/tools/{at}", plan, held) for at, one in enumerate(inner)]
        else:
            found = [_read_tool(each, where, plan)]
        ours = [tool for tool in found if tool is not None]
        if not ours or len(ours) != len(found):
            hosted.append([index, each])
        else:
            specs += ours
    lifted, plan = tools.lifted(specs, plan)
    return lifted, {HOSTED: hosted} if hosted else {}, plan


def _read_tool(body: Body, where: str, plan: Plan, space: Body | None = None) -> ToolSpec | None:
    kind = body.get("type")
    if kind not in ("function", "custom"):
        return None
    name = plan.name(fields.need(body, "name", str, where))
    description = fields.maybe(body, "description", str, where) or ""
    if kind == "custom":
        slot = fields.leftover(body, ("type", "name", "format"), ("description",))
        format = fields.maybe(body, "format", dict, where)
        return ToolSpec(name, description, kind="custom", format=format, ext=_slot(slot, space))
    always = ("type", "name", "strict", "output_schema")
    slot = fields.leftover(body, always, ("description", "parameters"))
    if "strict" not in body:
        slot[_STRICT] = "absent"
    return ToolSpec(
        name,
        description,
        fields.maybe(body, "parameters", dict, where) or {},
        strict=body.get("strict"),
        output_schema=fields.maybe(body, "output_schema", dict, where),
        ext=_slot(slot, space),
    )


def _slot(slot: Body, space: Body | None) -> dict[str, Any]:
    return fields.ext(NAME, slot if space is None else {**slot, _SPACE: space})


def write_choice(losses: Losses, request: Request, scribe: Scribe, slot: dict[str, Any]) -> Body:
    """Say the choice among the tools, and whether several calls may come at once."""
    choice = request.tool_choice if HOSTED in slot else tools.choice(losses, request)
    body: Body = {}
    if choice.parallel is not None:
        body["parallel_tool_calls"] = choice.parallel
    kinds = {tool.name: tool.kind for tool in request.tools}
    allowed = [{"type": kinds.get(name, "function"), "name": scribe.name(name)} for name in choice.names or ()]
    note = slot.get(_CHOICE)
    if note is not None and _read_choice(note[0], scribe.plan) == (choice.mode, choice.names):
        body["tool_choice"] = note[0]
    elif choice.mode == "none":
        body["tool_choice"] = "none"
    elif choice.names is not None:
        mode = "required" if choice.mode == "any" else "auto"
        one = choice.mode == "any" and len(allowed) == 1
        body["tool_choice"] = allowed[0] if one else {"type": "allowed_tools", "mode": mode, "tools": allowed}
    elif choice.mode == "any":
        body["tool_choice"] = "required"
    return body


def read_choice(body: Body, plan: Plan, kept: Body) -> ToolChoice:
    """Understand the choice; one that is spelt unusually, or is not about our tools, is kept as it is."""
    parallel = body.get("parallel_tool_calls")
    parallel = parallel if isinstance(parallel, bool) else None
    raw = body.get("tool_choice")
    if raw is None:
        return ToolChoice(parallel=parallel) if parallel is not None else AUTO
    found = _read_choice(raw, plan)
    mode, names = found if found is not None else ("auto", None)
    usual: Any = {"any": "required", "none": "none"}.get(mode)
    if names is not None:
        usual = raw if raw.get("type") == "allowed_tools" and not (mode == "any" and len(names) == 1) else None
        usual = raw if raw.get("type") in ("function", "custom") else usual
    if raw != usual:
        kept[_CHOICE] = [raw]
    return ToolChoice("any" if mode == "any" else "none" if mode == "none" else "auto", names, parallel)


_MODES = {"auto": "auto", "required": "any", "none": "none"}


def _read_choice(raw: Any, plan: Plan) -> tuple[str, tuple[str, ...] | None] | None:
    if isinstance(raw, str):
        return _MODES.get(raw, "auto"), None
    said = fields.obj(raw)
    match said.get("type"):
        case "function" | "custom":
            return "any", (plan.name(str(said.get("name"))),)
        case "allowed_tools":
            listed = [fields.obj(each) for each in fields.arr(said.get("tools"))]
            if all(each.get("type") in ("function", "custom") for each in listed):
                names = tuple([plan.name(str(each.get("name"))) for each in listed])
                return _MODES.get(str(said.get("mode")), "auto"), names
        case _:
            pass
    return "auto", None
