"""Tool choice, and what prose may not hold."""

from __future__ import annotations

import pytest
from constrain_kit import BOUNDS, ENGINE, TOOLS, accepts, constraint, may_begin

from counterfoil.text import family
from counterfoil.text.constrain import Constrainer, Turn
from counterfoil.types.request import AUTO, ToolChoice, ToolSpec

PING = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
WEATHER = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Graz", "days": 2}}\n</tool_call>'


def test_auto_allows_prose_a_call_and_several() -> None:
    grammar = constraint("hermes").lark()
    for text in ("Good day.", PING, f"{PING}\n{WEATHER}", f"Let me look.\n{PING}", f"<think>hm</think>\n\n{PING}"):
        assert accepts(grammar, text), text


def test_any_allows_no_prose() -> None:
    grammar = constraint("hermes", ToolChoice("any")).lark()
    assert accepts(grammar, PING)
    assert not may_begin(grammar, "Good day")


def test_a_named_tool_is_the_only_one() -> None:
    grammar = constraint("hermes", ToolChoice("any", ("ping",))).lark()
    assert accepts(grammar, PING)
    assert not may_begin(grammar, '<tool_call>\n{"name": "get')


@pytest.mark.parametrize("name", ["hermes", "qwen3-coder", "kimi-k2", "lfm2", "gemma4"])
def test_none_leaves_no_way_to_a_call(name: str) -> None:
    grammar = constraint(name, ToolChoice("none")).lark()
    opener = next(each for each in family(name).calls.openers() if len(each) > 1)
    assert accepts(grammar, "Good day.")
    assert not may_begin(grammar, f"Good day. {opener}")
    assert not may_begin(grammar, 'Good day. ```json\n{"name": "ping"')


def test_not_parallel_is_one_call() -> None:
    grammar = constraint("hermes", ToolChoice("auto", parallel=False)).lark()
    assert accepts(grammar, PING)
    assert not may_begin(grammar, f"{PING}\n<tool_call>")


def test_arguments_are_those_of_the_tool_that_was_named() -> None:
    grammar = constraint("hermes", ToolChoice("any")).lark()
    assert not may_begin(grammar, '<tool_call>\n{"name": "ping", "arguments": {"city"')
    assert not may_begin(grammar, '<tool_call>\n{"name": "get_weather", "arguments": {}')
    assert not may_begin(grammar, '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Graz", "days": 12')


@pytest.mark.parametrize(
    "leak",
    [
        'Sure: ```json\n{"name": "ping", "arguments": {}}\n```',
        'Sure: { "name": "ping"',
        'Here: {"arguments": {}',
        "Well <TOOL_CALL>",
        "<tool-call>",
    ],
)
def test_a_call_cannot_hide_in_prose(leak: str) -> None:
    assert not may_begin(constraint("hermes").lark(), leak)


def test_a_bare_call_of_a_pythonic_family_cannot_hide_behind_spaces() -> None:
    assert not may_begin(constraint("llama4-pythonic").lark(), "Well\n[  ping(")


def test_sealed_prose_does_not_begin_like_markup() -> None:
    sealed = constraint("hermes", turn=Turn(sealed=True)).lark()
    assert not may_begin(sealed, "```")
    assert may_begin(constraint("hermes").lark(), "```")


def test_a_choice_of_a_tool_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="no such tool"):
        constraint("hermes", ToolChoice("any", ("pong",)))


def test_a_name_that_the_family_cannot_write_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be written as a name"):
        constraint("qwen3-coder", tools=(ToolSpec("two words", "", {}),))


def test_a_grammar_is_made_once() -> None:
    maker = Constrainer(family("hermes"), ENGINE)
    first = maker.constraint(TOOLS)
    assert maker.constraint(TOOLS) is first
    assert maker.constraint(TOOLS, ToolChoice("any")) is not first
    assert maker.constraint(TOOLS[:1]) is not first
    # What prose may not hold depends on the tools there are, even where none may be called.
    none = ToolChoice("none")
    assert maker.constraint(TOOLS, none) is not maker.constraint(TOOLS[:1], none)


def test_a_control_token_is_one_token_and_not_its_letters() -> None:
    held = constraint("mistral-v13", ToolChoice("any"))
    assert '"[TOOL_CALLS]ping[ARGS]"' in held.lark()
    written = held.lark({"[TOOL_CALLS]": 9, "[ARGS]": 32})
    assert '<[9]> "ping" <[32]>' in written
    assert ENGINE.check(written) is None
    prose = constraint("mistral-v13").lark({"[TOOL_CALLS]": 9, "[ARGS]": 32})
    assert ENGINE.check(prose) is None


def test_a_prefilled_reply_goes_on_where_the_prompt_ends() -> None:
    grammar = constraint("functionary-v3.2", ToolChoice("any")).lark()
    assert accepts(grammar, "ping\n{}")
    assert accepts(constraint("functionary-v3.2", AUTO).lark(), "all\nGood day.")


def test_a_structured_answer_is_the_only_prose() -> None:
    answer = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    grammar = constraint("hermes", turn=Turn(answer=answer, bounds=BOUNDS)).lark()
    assert accepts(grammar, '{"n": 4}')
    assert accepts(grammar, PING)
    assert not may_begin(grammar, "It is")
