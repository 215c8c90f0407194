"""How a family of models writes tool calls as text, as data.

Only what the embedded model needs is here; a family is a value, so that more of them are rows and not code.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from counterfoil.types.message import ToolCall, ToolResult
from counterfoil.types.request import ToolSpec


class Family(msgspec.Struct, frozen=True):
    """JSON calls, `{"name": ..., "arguments": {...}}`, between an opening and a closing marker.

    `preamble` goes into the system turn, with `{tools}` replaced by the declarations. `habits` are other markers that
    models of this family fall into: decoding under constraint treats them as calls too, so that none hides in prose.
    """

    name: str
    preamble: str
    open: str = ""
    close: str = ""
    separator: str = "\n"
    habits: tuple[tuple[str, str], ...] = ()
    declare: Literal["json", "line"] = "json"
    result_role: Literal["user", "tool"] = "user"
    result_open: str = "<tool_response>\n"
    result_close: str = "\n</tool_response>"
    examples: tuple[tuple[str, str], ...] = ()
    """Questions and calls shown before the first question, to a model that never learnt what a call is."""

    @property
    def markers(self) -> tuple[tuple[str, str], ...]:
        """Every pair of markers that a call may stand between, the family's own first."""
        return ((self.open, self.close), *self.habits)

    def system(self, tools: tuple[ToolSpec, ...]) -> str:
        """Declare the tools in the family's words."""
        return self.preamble.replace("{tools}", "\n".join(self._declaration(tool) for tool in tools))

    def call(self, call: ToolCall) -> str:
        """Write a call of the history the way that the model would have."""
        arguments = json.dumps(call.arguments, ensure_ascii=False) if call.arguments is not None else call.raw or "{}"
        return f"{self.open}{head(call.name)}{arguments}{TAIL}{self.close}"

    def result(self, result: ToolResult) -> str:
        """Write a result the way that the model expects it."""
        return f"{self.result_open}{result.text}{self.result_close}"

    def _declaration(self, tool: ToolSpec) -> str:
        if self.declare == "line":
            properties: dict[str, Any] = tool.parameters.get("properties") or {}
            return f"{tool.name}({', '.join(properties)}) - {tool.description}"
        function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        return json.dumps({"type": "function", "function": function}, ensure_ascii=False)


def head(name: str) -> str:
    """What stands before a call's arguments."""
    return f'{{"name": {json.dumps(name, ensure_ascii=False)}, "arguments": '


TAIL = "}"
"""What stands after a call's arguments."""

HERMES = Family(
    "hermes",
    preamble=(
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n{tools}\n</tools>\n\n"
        "For each function call, return a json object with function name and arguments within <tool_call></tool_call> "
        'XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    ),
    open="<tool_call>\n",
    close="\n</tool_call>",
    habits=(("```json\n", "\n```"), ("", "")),
)
"""Hermes, Qwen 2.5 and 3, Granite 4 and others that learnt `<tool_call>`."""

BARE = Family(
    "bare",
    preamble="Turn the request into a JSON tool call. Tools:\n{tools}",
    habits=(("```json\n", "\n```"), ("<tool_call>\n", "\n</tool_call>")),
    declare="line",
    examples=(
        (
            "Note for Peter: the bread is baked",
            '{"name": "note", "arguments": {"who": "Peter", "what": "the bread is baked"}}',
        ),
        (
            "How many minutes are 3 hours?",
            '{"name": "time", "arguments": {"amount": 3, "from": "hours", "to": "minutes"}}',
        ),
        ("Convert 20 euros to yen", '{"name": "change", "arguments": {"amount": 20, "from": "euros", "to": "yen"}}'),
        (
            "Close T-12 because it works now",
            '{"name": "close", "arguments": {"ticket": "T-12", "why": "it works now"}}',
        ),
    ),
)
"""One bare JSON object, for models that were taught no tool format at all."""

FAMILIES = {family.name: family for family in (HERMES, BARE)}


def detect(template: str) -> Family:
    """Guess the family from a chat template (Jinja source, as GGUF metadata holds it)."""
    return HERMES if "<tool_call>" in template else BARE
