"""What the tests of constrained decoding share: a catalogue, grammars, and texts drawn from them."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import llguidance

from counterfoil.text import family
from counterfoil.text.constrain import Bounds, Constrainer, Constraint, LlGuidance, Turn
from counterfoil.types.request import AUTO, ToolChoice, ToolSpec

TOOLS = (
    ToolSpec(
        "get_weather",
        "The weather of a city.",
        {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer", "minimum": 1, "maximum": 9},
                "unit": {"enum": ["c", "f"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "near": {"type": ["object", "null"], "properties": {"a": {"type": "boolean"}, "n": {"type": "number"}}},
                "odd key": {"type": "string"},
                "code": {"type": "string", "pattern": r"^[A-Z]{2}-\d+$"},
                "when": {"type": "string", "format": "date"},
                "mix": {"type": ["string", "integer"]},
                "pick": {"enum": ["a", None, 4]},
                "free": {"type": "object"},
                "any": {},
                "tree": {"$ref": "#/$defs/node"},
            },
            "required": ["city", "days"],
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}},
                    "required": ["name"],
                }
            },
        },
    ),
    ToolSpec("ping", "Say that you are there.", {"type": "object", "properties": {}}),
)
VALIDATORS = {tool.name: jsonschema_rs.Draft202012Validator(tool.parameters, validate_formats=True) for tool in TOOLS}
BOUNDS = Bounds(string=12, items=2, keys=2, digits=4)
ENGINE = LlGuidance()
_BYTES = llguidance.LLTokenizer("byte")


def constraint(
    name: str, choice: ToolChoice = AUTO, turn: Turn | None = None, tools: tuple[ToolSpec, ...] = TOOLS
) -> Constraint:
    """The grammar of a family."""
    return Constrainer(family(name), ENGINE).constraint(tools, choice, turn or Turn(calls=2, bounds=BOUNDS))


def accepts(grammar: str, text: str) -> bool:
    """Whether a text may be written, and may end there."""
    matcher: Any = llguidance.LLMatcher(_BYTES, grammar)
    assert not matcher.is_error(), matcher.get_error()
    tokens = list(text.encode())
    if matcher.validate_tokens(tokens) != len(tokens):
        return False
    matcher.consume_tokens(tokens)
    return bool(matcher.is_accepting())


def may_begin(grammar: str, text: str) -> bool:
    """Whether a text may be written, whatever has to follow."""
    matcher: Any = llguidance.LLMatcher(_BYTES, grammar)
    tokens = list(text.encode())
    return bool(matcher.validate_tokens(tokens) == len(tokens))
