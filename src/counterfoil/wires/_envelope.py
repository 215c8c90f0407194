"""What a wire has no field for, said in what it has, so that reading it undoes it.

Errors and attachments of results go into texts between marks, free-text tools and unparsable arguments into JSON.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import msgspec

from counterfoil.types.json import read_object
from counterfoil.types.message import Media, ToolCall
from counterfoil.types.request import ToolSpec

_ERROR = ("<tool_error>", "</tool_error>")
_PLAIN = ("<tool_output>", "</tool_output>")
_UNPARSED = "unparsed_arguments"
_CUSTOM = "Free text, in one string. "
_CUSTOM_KEY = "input"

ATTACHED = "[the attachments of the tool results above]"
"""The first text of the user message that carries what results on a text-only wire cannot."""
ATTACHMENT = "[an attachment, in the next user message]"
"""The text that stands for such an attachment in its result."""


def seal(texts: list[str], is_error: bool) -> list[str]:
    """The texts of a result, marked if it is an error. A plain result that looks marked is marked as plain."""
    if is_error:
        opening, closing = _ERROR
    elif texts and texts[0].startswith((_ERROR[0], _PLAIN[0])):
        opening, closing = _PLAIN
    else:
        return texts
    if not texts:
        return [opening + closing]
    sealed = list(texts)
    sealed[0] = opening + sealed[0]
    sealed[-1] += closing
    return sealed


def unseal(texts: list[str]) -> tuple[list[str], bool]:
    """Undo `seal`: the texts, and whether they are an error."""
    for (opening, closing), is_error in ((_ERROR, True), (_PLAIN, False)):
        if not texts or not texts[0].startswith(opening) or not texts[-1].endswith(closing):
            continue
        if len(texts) == 1 and len(texts[0]) < len(opening) + len(closing):
            continue
        inner = list(texts)
        inner[-1] = inner[-1][: -len(closing)]
        inner[0] = inner[0][len(opening) :]
        if is_error:
            return ([] if inner == [""] else inner), True
        if inner[0].startswith((_ERROR[0], _PLAIN[0])):
            return inner, False
    return texts, False


def placeholder(media: Media) -> str:
    """The text that stands for media which the wire cannot carry at all."""
    where = media.name or media.url or media.file_id
    return f"[{media.media_type}{f' {where}' if where else ''}: not shown, this model cannot be sent it]"


def wrap_arguments(call: ToolCall) -> dict[str, Any]:
    """A call's arguments as an object. What is not one is wrapped: it must never pass for `{}`."""
    if call.kind == "custom":
        return {_CUSTOM_KEY: call.raw or ""}
    if call.arguments is not None:
        return call.arguments
    parsed, _ = read_object(call.raw or "")
    return {_UNPARSED: call.raw or ""} if parsed is None else parsed


def is_wrapped(call: ToolCall) -> bool:
    """Whether `wrap_arguments` says something else than the call did."""
    return call.kind == "custom" or (call.arguments is None and read_object(call.raw or "")[0] is None)


def unwrap_arguments(call: ToolCall, custom: Container[str] = ()) -> ToolCall:
    """Undo `wrap_arguments`; `custom` names the free-text tools that were written as JSON tools."""
    if call.name in custom:
        return as_custom(call)
    if call.arguments is not None and call.arguments.keys() == {_UNPARSED}:
        raw = call.arguments[_UNPARSED]
        if isinstance(raw, str) and (found := read_object(raw))[0] is None:
            return msgspec.structs.replace(call, arguments=None, raw=raw, parse_error=found[1])
    return call


def as_custom(call: ToolCall) -> ToolCall:
    """A call of a free-text tool that was written as a JSON tool, as the free-text call it is."""
    if call.arguments is not None and call.arguments.keys() == {_CUSTOM_KEY}:
        text = call.arguments[_CUSTOM_KEY]
        if isinstance(text, str):
            return msgspec.structs.replace(call, arguments=None, raw=text, kind="custom")
    return call


def lower_custom(tool: ToolSpec) -> ToolSpec:
    """A free-text tool as a JSON tool with one string, its format in the words of a description."""
    format = msgspec.json.encode(tool.format).decode() if tool.format is not None else "any"
    schema = {
        "type": "object",
        "properties": {_CUSTOM_KEY: {"type": "string", "description": f"{_CUSTOM}Format: {format}"}},
        "required": [_CUSTOM_KEY],
        "additionalProperties": False,
    }
    return ToolSpec(tool.name, tool.description, schema, ext=tool.ext)


def lift_custom(tool: ToolSpec) -> ToolSpec:
    """Undo `lower_custom`; any other tool stays what it is."""
    try:
        words = tool.parameters["properties"][_CUSTOM_KEY]["description"]
        if not words.startswith(_CUSTOM):
            return tool
        said = words.removeprefix(f"{_CUSTOM}Format: ")
        format = None if said == "any" else msgspec.json.decode(said)
        lifted = msgspec.structs.replace(tool, kind="custom", parameters={}, format=format)
        return lifted if lower_custom(lifted).parameters == tool.parameters else tool
    except (KeyError, TypeError, AttributeError, msgspec.DecodeError):
        return tool
