"""The constraint in every language that servers take."""

from __future__ import annotations

import json
from typing import Any

import pytest
from constrain_kit import BOUNDS, ENGINE, TOOLS, accepts, constraint, may_begin
from evals.constrained.walk import walk
from llguidance.gbnf_to_lark import any_to_lark

from counterfoil import wires
from counterfoil.text import names
from counterfoil.text.constrain import Turn, custom_tool, llama_cpp, sglang, vllm
from counterfoil.types.message import user
from counterfoil.types.request import Request, ToolChoice, ToolSpec

ANY = ToolChoice("any")
PING = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'


@pytest.mark.parametrize("name", names())
def test_gbnf_allows_what_lark_allows(name: str) -> None:
    held = constraint(name, ANY, Turn(calls=2, reasoning=False, bounds=BOUNDS))
    spelt = any_to_lark(held.gbnf())
    for seed in range(3):
        text, ended = walk(held.lark(), seed)
        if ended:
            assert accepts(spelt, text), text


def test_gbnf_holds_prose_and_calls_apart() -> None:
    spelt = any_to_lark(constraint("hermes", turn=Turn(calls=2, bounds=BOUNDS)).gbnf())
    for text in ("Good day.", PING, f"Let me look.\n{PING}", "2 < 3 <tool", "<think>hm</think>\n\nYes."):
        assert accepts(spelt, text), text
    for text in ("Well <tool_call>x", 'Well {"name"', '<tool_call>\n{"name": "pong'):
        assert not may_begin(spelt, text), text
    none = any_to_lark(constraint("hermes", ToolChoice("none")).gbnf())
    assert not may_begin(none, "<tool_call>")


def test_gbnf_says_what_it_only_approximates() -> None:
    held = constraint("hermes")
    before = {(each.path, each.feature): each.how for each in held.report}
    after = {(each.path, each.feature): each.how for each in held.gbnf_report}
    assert before["/properties/code", "pattern"] == "enforced"
    assert after["/properties/code", "pattern"] == "approximated"
    assert after["/properties/unit", "enum"] == "enforced"


def test_a_structural_tag_keeps_schemas_as_they_are() -> None:
    tag = constraint("hermes", ANY, Turn(calls=1, reasoning=False)).structural_tag()
    assert tag["type"] == "structural_tag"
    first, second = tag["format"]["elements"]
    assert first["elements"][0] == {
        "type": "const_string",
        "value": '<tool_call>\n{"name": "get_weather", "arguments": ',
    }
    assert first["elements"][1]["json_schema"]["properties"]["unit"] == {"enum": ["c", "f"]}
    assert second["elements"][2] == {"type": "const_string", "value": "}\n</tool_call>"}


def test_each_server_is_asked_in_its_own_fields() -> None:
    held = constraint("hermes", ANY)
    outer = vllm(held)["structured_outputs"]
    assert json.loads(outer["structural_tag"]) == held.structural_tag()
    assert vllm(held, "guidance") == {"structured_outputs": {"grammar": held.lark()}}
    assert sglang(held) == {"response_format": held.structural_tag()}
    assert sglang(held, "guidance") == {"ebnf": held.lark()}
    body = llama_cpp(held)
    assert body["grammar"].startswith("root ::= ")
    assert "<tool_call>" in body["preserved_tokens"]
    assert llama_cpp(held, "guidance")["grammar"].startswith("%llguidance")


def test_a_tool_becomes_a_custom_tool_with_a_grammar() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 3}},
        "required": ["city", "days"],
    }
    made = custom_tool(ToolSpec("weather", "The weather.", schema))
    assert made.format is not None
    grammar = f"%llguidance {{}}\n{made.format['definition']}"
    assert ENGINE.check(grammar) is None
    assert accepts(grammar, '{"city": "Graz", "days": 2}')
    assert not may_begin(grammar, '{"city": "Graz", "days": 4')
    body = wires.get("openai-responses").write_request(Request((user("hi"),), (made,), model="m")).body
    assert body["tools"][0]["format"] == made.format
    assert body["tools"][0]["type"] == "custom"


def test_tools_are_only_what_the_catalogue_has() -> None:
    assert '"ping' not in constraint("hermes", ANY, tools=TOOLS[:1]).gbnf()
