"""The families as Markdown, for the documentation: generated, so that it says what the data says."""

from __future__ import annotations

from collections.abc import Iterable

from counterfoil.text.family import Family
from counterfoil.text.format import Format
from counterfoil.types.message import Message, Text, ToolCall
from counterfoil.types.request import Reply, ToolSpec

_TOOL = ToolSpec(
    "find", "Find.", {"type": "object", "properties": {"name": {"type": "string"}, "limit": {"type": "integer"}}}
)
_REPLY = Reply(
    Message("assistant", (Text("I look."), ToolCall("call_1", "find", {"name": "Ada", "limit": 2}))), "tool_calls"
)


def sections(families: Iterable[Family]) -> str:
    """A section per family: what it is for, how a call is written, and what to know of it."""
    return "\n\n".join(_section(each) for each in families)


def _section(family: Family) -> str:
    known = [f"**Models:** {', '.join(family.models)}."]
    if family.aliases:
        known.append(f"**Also:** {_names(family.aliases)}.")
    if family.parsers:
        known.append(f"**Parsers of vLLM and SGLang:** {_names(family.parsers)}.")
    known.append(f"**Results** go back in role `{family.results.role}`.")
    example = Format(family, (_TOOL,)).render(_REPLY)
    pitfalls = "".join(f"\n- {each}" for each in family.pitfalls)
    lines = [f"## `{family.name}`: {family.title}", " ".join(known), f"````text\n{example}\n````"]
    return "\n\n".join(lines) + (f"\n{pitfalls}" if pitfalls else "")


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
