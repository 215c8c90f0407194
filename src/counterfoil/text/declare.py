"""Show a catalogue and results to a model the way that its family was taught to read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from counterfoil.text.family import Family
from counterfoil.text.grammars.braces import BraceCalls
from counterfoil.text.jsontext import dumps
from counterfoil.text.reader import family_marks
from counterfoil.text.source import markers
from counterfoil.types.json import is_array, is_object
from counterfoil.types.message import ToolResult
from counterfoil.types.request import ToolSpec


def declare(family: Family, tools: Sequence[ToolSpec]) -> str:
    """Write a catalogue. No tools: nothing to say."""
    if not tools:
        return ""
    style = _STYLES[family.tools.style]
    before, behind = family.tools.each
    written = family.tools.separator.join(f"{before}{style(tool, family)}{behind}" for tool in tools)
    return family.tools.text.replace("{names}", ", ".join(tool.name for tool in tools)).replace("{tools}", written)


def write_results(family: Family, results: Sequence[ToolResult]) -> str:
    """Write results. A marker of the family inside of one is taken apart: no result can end itself, or begin a call."""
    form = family.results
    own = (form.open, form.close, form.begin, form.end)
    marks = markers(*(each.strip() for each in (*family_marks(family), *own) if len(each.strip()) > 2))
    parts: list[str] = []
    for result in results:
        text = marks.pattern.sub(lambda found: f"{found[0][0]} {found[0][1:]}", result.text)
        parts.append(_fill(form.open, result) + (dumps(text) if form.json else text) + _fill(form.close, result))
    return form.begin + form.separator.join(parts) + form.end


def _fill(literal: str, result: ToolResult) -> str:
    return literal.replace("{name}", result.name or "").replace("{id}", result.call_id)


def _function(tool: ToolSpec, _: Family) -> str:
    return dumps({"type": "function", "function": _described(tool)})


def _bare(tool: ToolSpec, _: Family) -> str:
    return dumps(_described(tool))


def _described(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _properties(tool: ToolSpec) -> dict[str, Any]:
    declared = tool.parameters.get("properties")
    return declared if is_object(declared) else {}


def _line(tool: ToolSpec, _: Family) -> str:
    return f"{tool.name}({', '.join(_properties(tool))}): {tool.description}"


def _pythonic(tool: ToolSpec, _: Family) -> str:
    required = tool.parameters.get("required", ())
    parts = [
        f"{name}: {_PYTHON.get(_type(schema), 'Any')}" + ("" if name in required else " = None")
        for name, schema in _properties(tool).items()
    ]
    return f'def {tool.name}({", ".join(parts)}):\n    """{tool.description}"""'


def _typescript(tool: ToolSpec, _: Family) -> str:
    note = "".join(f"// {line}\n" for line in tool.description.splitlines())
    properties = _properties(tool)
    if not properties:
        return f"{note}type {tool.name} = () => any;\n"
    required = tool.parameters.get("required", ())
    members = "".join(
        "".join(f"// {line}\n" for line in _said_of(schema).splitlines())
        + f"{name}{'' if name in required else '?'}: {_typescript_of(schema)},\n"
        for name, schema in properties.items()
    )
    return f"{note}type {tool.name} = (_: {{\n{members}}}) => any;\n"


def _said_of(schema: Any) -> str:
    said = schema.get("description") if is_object(schema) else None
    return said if isinstance(said, str) else ""


def _typescript_of(schema: Any) -> str:
    if is_object(schema) and is_array(options := schema.get("enum")):
        return " | ".join(dumps(option) for option in options)
    if _type(schema) == "array":
        return f"{_typescript_of(schema.get('items'))}[]"
    return _TYPESCRIPT.get(_type(schema), "any")


def _xml(tool: ToolSpec, _: Family) -> str:
    lines = [
        "<function>",
        f"<name>{tool.name}</name>",
        f"<description>{tool.description}</description>",
        "<parameters>",
    ]
    for name, schema in _properties(tool).items():
        lines += ["<parameter>", f"<name>{name}</name>", f"<type>{_type(schema)}</type>"]
        if is_object(schema):
            lines += [
                f"<{key}>{held if isinstance(held, str) else dumps(held)}</{key}>"
                for key, held in schema.items()
                if key != "type"
            ]
        lines.append("</parameter>")
    lines.append(f"<required>{dumps(tool.parameters.get('required', []))}</required>")
    return "\n".join([*lines, "</parameters>", "</function>"])


def _braces(tool: ToolSpec, family: Family) -> str:
    quote = family.calls.quote if isinstance(family.calls, BraceCalls) else '"'
    body = {"description": tool.description, "parameters": tool.parameters}
    return f"declaration:{tool.name}{_brace(body, quote)}"


def _brace(value: Any, quote: str) -> str:
    if is_object(value):
        parts = [
            f"{key}:{_brace(held.upper() if key == 'type' and isinstance(held, str) else held, quote)}"
            for key, held in value.items()
        ]
        return "{" + ",".join(parts) + "}"
    if is_array(value):
        return "[" + ",".join(_brace(each, quote) for each in value) + "]"
    return f"{quote}{value}{quote}" if isinstance(value, str) else dumps(value)


def _type(schema: Any) -> str:
    kind = schema.get("type") if is_object(schema) else None
    return kind if isinstance(kind, str) else "any"


_PYTHON = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}
_TYPESCRIPT = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "object": "object"}
_STYLES: dict[str, Callable[[ToolSpec, Family], str]] = {
    "function": _function,
    "bare": _bare,
    "pythonic": _pythonic,
    "typescript": _typescript,
    "xml": _xml,
    "braces": _braces,
    "line": _line,
}
