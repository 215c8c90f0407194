"""Structured answers: a tool whose arguments are the answer."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from itertools import count
from typing import Any

from counterfoil.tools.context import Context
from counterfoil.tools.kinds import from_json, schema_of
from counterfoil.tools.secret import Places
from counterfoil.tools.tool import Tool
from counterfoil.types.error import CatalogueError
from counterfoil.types.request import Output, ToolSpec

_DESCRIPTION = "Give the final answer. Call this once, when you have everything the answer needs."


def output_of(kind: Any, taken: Container[str]) -> tuple[Output, Callable[[dict[str, Any]], Any]]:
    """Describe a type as the answer's schema, and make the function that turns an answer into that type.

    A type that is not a JSON object (a list, a Literal) is wrapped as `{"value": ...}`. The name is none of those
    `taken` by tools. Raises `CatalogueError`.
    """
    name = next(name for name in _names() if name not in taken)
    try:
        schema = schema_of(kind)
    except (TypeError, ValueError) as error:
        raise CatalogueError(f"output={kind!r} has no JSON form: {error}") from error
    if Places(schema).any:
        raise CatalogueError(f"output={kind!r}: an answer is journalled as it is, so there can be no Secret in it")
    if schema.get("type") == "object" and "properties" in schema:
        return Output(schema, name), lambda answer: from_json(answer, kind)
    definitions = schema.pop("$defs", None)
    wrapped: dict[str, Any] = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    if definitions:
        wrapped["$defs"] = definitions
    return Output(wrapped, name), lambda answer: from_json(answer["value"], kind)


def _names() -> Iterator[str]:
    yield from ("answer", "final_answer")
    yield from (f"answer_{number}" for number in count(2))


async def _accept(arguments: dict[str, Any], context: Context) -> str:
    return "The answer was accepted."


def answer_tool(output: Output, decode: Callable[[dict[str, Any]], Any] | None) -> Tool:
    """The tool by which a model gives its answer: validated by the gate like any other call.

    `decode` is asked too: the type may refuse what its schema lets pass.
    """
    spec = ToolSpec(output.name, output.description or _DESCRIPTION, output.schema, strict=output.strict)
    return Tool(spec, _accept, effect="read", permission="", answers=True, convert=decode)
