"""Plain sentences for a model that cannot word them: they quote the results and claim nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from counterfoil.models.local.situation import Tried
from counterfoil.types.request import ToolSpec

MAX_QUOTED = 1200
"""Characters of one result that are quoted."""


def quote(tried: Sequence[Tried]) -> str:
    """Report calls, a line each: what was asked of which tool, and what came back or why nothing did.

    A call that failed and was then repaired is left out: the one that worked speaks for it.
    """
    done = {each.call.name for each in tried if not each.result.is_error}
    lines = [_line(each) for each in tried if not (each.repairable and each.call.name in done)]
    return "\n".join(dict.fromkeys(lines))


def lacking(tool: str, arguments: Sequence[str]) -> str:
    """Ask for the arguments that nobody has said."""
    return f"For {tool} I still need: {', '.join(argument.replace('_', ' ') for argument in arguments)}."


def unfit(tools: Sequence[ToolSpec]) -> str:
    """Say that no tool fits, and which there are."""
    if not tools:
        return "I have no tools here, and I can write nothing but calls to tools."
    able = ", ".join(tool.name.replace("_", " ") for tool in tools)
    return f"None of my tools fits that, so nothing was done. What I can do: {able}."


def _line(each: Tried) -> str:
    asked = ", ".join(f"{name} {_plain(value)}" for name, value in (each.call.arguments or {}).items())
    title = f"{each.call.name} ({asked})" if asked else each.call.name
    text = each.result.text.strip()
    if each.result.code is not None:
        return f"{title} was not done: {text}"
    if each.result.is_error:
        return f"{title} failed: {text}"
    return f"{title}: {_result(text)}"


def _result(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    said = _plain(value) or "done, with nothing to report"
    return said if len(said) <= MAX_QUOTED else said[:MAX_QUOTED] + "... (cut)"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return ", ".join(f"{name.replace('_', ' ')} {_plain(each)}" for name, each in fields.items())
    if isinstance(value, list):
        items = cast("list[object]", value)
        return "; ".join(_plain(each) for each in items) or "none"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
