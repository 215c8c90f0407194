"""What requests have in common on every wire: catalogues, choices, decoding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from counterfoil.types.request import AUTO, Request, ToolChoice, ToolSpec
from counterfoil.wires._envelope import lift_custom, lower_custom
from counterfoil.wires._scribe import HOSTED, Losses
from counterfoil.wires.wire import Body, Plan

NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
"""The schema of a tool that takes nothing, where a wire demands one."""


def custom_names(request: Request) -> frozenset[str]:
    """The free-text tools of a request."""
    return frozenset([tool.name for tool in request.tools if tool.kind == "custom"])


def lowered(
    losses: Losses, request: Request, *, subset: bool = False, single: bool = False
) -> Iterator[tuple[str, ToolSpec]]:
    """The tools as JSON tools, each with its JSON pointer.

    Where the wire cannot choose among a subset, only that subset is sent. `subset`: it can; `single`: it cannot even
    name one tool.
    """
    chosen = request.tool_choice
    names = None if subset or chosen.mode == "none" else chosen.names
    if names is not None and chosen.mode == "any" and len(names) == 1 and not single:
        names = None
    for index, tool in enumerate(request.tools):
        path = f"/tools/{index}"
        if names is not None and tool.name not in names:
            losses.lose(path, "a tool outside of the allowed subset", "dropped")
            continue
        if tool.kind == "custom":
            losses.lose(path, "a tool that takes free text", "envelope")
            if tool.strict is not None:
                losses.lose(f"{path}/strict", "strictness of a free-text tool", "dropped")
            yield path, lower_custom(tool)
        else:
            yield path, tool


def lifted(tools: Sequence[ToolSpec], plan: Plan) -> tuple[tuple[ToolSpec, ...], Plan]:
    """Tools as they were before `lowered`, and the plan that knows which of them take free text."""
    found = tuple([lift_custom(tool) for tool in tools])
    custom = frozenset([tool.name for tool in found if tool.kind == "custom"])
    return found, msgspec.structs.replace(plan, custom=plan.custom | custom) if custom else plan


def read_tools(
    bodies: Sequence[Body], read: Callable[[Body, int], ToolSpec | None]
) -> tuple[list[ToolSpec], list[Any]]:
    """Understand a catalogue: the tools that are ours to run, and the provider's own with their places."""
    tools: list[ToolSpec] = []
    hosted: list[Any] = []
    for index, body in enumerate(bodies):
        tool = read(body, index)
        if tool is None:
            hosted.append([index, body])
        else:
            tools.append(tool)
    return tools, hosted


def with_hosted(bodies: list[Body], slot: dict[str, Any]) -> list[Body]:
    """A catalogue with the provider's own tools put back into their places."""
    for index, body in slot.get(HOSTED, ()):
        bodies.insert(index, body)
    return bodies


def parameters(losses: Losses, path: str, tool: ToolSpec) -> dict[str, Any]:
    """The schema of a tool, for a wire that demands one of type object."""
    if tool.parameters.get("type") == "object":
        return tool.parameters
    losses.lose(f"{path}/parameters", "a schema that does not say it is an object's", "rewritten")
    return {**NO_PARAMETERS, **tool.parameters, "type": "object"}


def choice(losses: Losses, request: Request) -> ToolChoice:
    """The choice of tools, where there are any to choose from."""
    chosen = request.tool_choice
    if not request.tools and chosen != AUTO:
        losses.lose("/tool_choice", "a choice among no tools", "dropped")
        return AUTO
    if chosen.mode == "none" and chosen.names is not None:
        losses.lose("/tool_choice/names", "a subset of which nothing may be called", "dropped")
        return msgspec.structs.replace(chosen, names=None)
    return chosen


def lose_fields(losses: Losses, path: str, value: Any, what: dict[str, str]) -> None:
    """Report each field of a struct that is set and that the wire has no word for."""
    for field, words in what.items():
        held = getattr(value, field)
        if held is not None and held != "" and held != ():
            losses.lose(f"{path}/{field}", words, "dropped")
