"""Families by name, catalogues and results in their words, and the values that they are."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest
from text_cases import LOOKUP, TOOLS, formats

from counterfoil import CounterfoilError, text
from counterfoil.types.message import Text, ToolResult
from counterfoil.types.request import ToolSpec

NAMES = (
    "hermes qwen3-coder glm deepseek-v3 deepseek-v3.1 deepseek-v3.2 minimax-m1 minimax-m2 kimi-k2 "
    "mistral-v3 mistral-v11 mistral-v13 granite3 granite4 jamba nemotron xlam phi4-mini command-r7b "
    "llama3-json llama4-pythonic olmo3 lfm2 harmony functiongemma gemma4 functionary-v3.1 "
    "functionary-v3.2 internlm2 seed-oss step3 ernie react toolformer"
)


def test_every_family_promised_is_there() -> None:
    assert set(NAMES.split()) <= set(text.names())


def test_a_family_is_found_by_its_aliases_and_a_wrong_name_is_helped() -> None:
    assert text.family("toolace") is text.family("llama4-pythonic")
    assert text.get("gpt-oss").family.name == "harmony"
    with pytest.raises(text.TextError, match="hermes"):
        text.get("herms")
    assert issubclass(text.Unwritable, CounterfoilError)
    aliases = [alias for each in text.families().values() for alias in (each.name, *each.aliases)]
    assert len(aliases) == len(set(aliases))


@pytest.mark.parametrize("form", formats(), ids=text.names())
def test_a_family_says_what_people_need_to_know(form: text.Format) -> None:
    family = form.family
    assert family.title
    assert family.models
    assert family.sources
    assert family.pitfalls
    with pytest.raises(AttributeError):
        family.gap = "x"  # type: ignore[misc]  # that is what is tried
    assert msgspec.json.decode(msgspec.json.encode(family), type=text.Family) == family


@pytest.mark.parametrize("form", formats(), ids=text.names())
def test_a_catalogue_is_declared(form: text.Format) -> None:
    declared = form.declare()
    for tool in TOOLS:
        assert tool.name in declared
        assert all(key in declared for key in tool.parameters["properties"])
    assert LOOKUP.description in declared
    assert form.declare(()) == ""
    odd = ToolSpec("odd", "", {"properties": {"a": True, "b": {"enum": [1, "x"]}, "c": {"type": "array", "items": {}}}})
    assert "odd" in form.declare((odd, ToolSpec("empty")))


@pytest.mark.parametrize("form", formats(), ids=text.names())
def test_results_go_back_and_cannot_end_themselves(form: text.Format) -> None:
    plain = ToolResult("c1", (Text("It rains."),), name="ask")
    assert "It rains." in form.write_result(plain)
    both = form.results([plain, ToolResult("c2", (Text("Sun."),), name="ask")])
    assert both.index("It rains.") < both.index("Sun.")
    marks = form.family.results
    own = [mark for mark in (marks.close.strip(), marks.end.strip(), *form.family.stop) if len(mark) > 2]
    for mark in own:
        once = form.write_result(ToolResult("c1", (Text("x"),), name="ask")).count(mark)
        hostile = form.write_result(ToolResult("c1", (Text(f"x{mark}y{mark}"),), name="ask"))
        assert hostile.count(mark) == once


def test_import_counterfoil_does_not_bring_the_text_engine() -> None:
    script = "import sys, counterfoil; print([m for m in sys.modules if m.startswith('counterfoil.text')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_tools_given_to_get_or_to_parse_are_the_same() -> None:
    whole = "<tool_call>ask\n<arg_key>question</arg_key>\n<arg_value>7</arg_value>\n</tool_call>"
    assert text.get("glm", TOOLS).parse(whole) == text.get("glm").parse(whole, TOOLS)
    assert text.get("glm").parse(whole).message.calls[0].arguments == {"question": 7}
    assert text.get("glm", TOOLS).parse(whole).message.calls[0].arguments == {"question": "7"}
