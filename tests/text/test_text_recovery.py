"""What is misspelt but plain is understood and noted; what is broken is said to be; what is quoted is left alone."""

from __future__ import annotations

import pytest
from text_cases import TOOLS, fed

from counterfoil import text
from counterfoil.types.message import Text, ToolCall

ASK = '{"name": "ask", "arguments": {"question": "x"}}'
CODER = "<function=ask>\n<parameter=question>\nx\n</parameter>\n</function>"
KIMI = '<|tool_call_begin|>functions.ask:0<|tool_call_argument_begin|>{"question": "x"}<|tool_call_end|>'


def only(name: str, whole: str) -> ToolCall:
    form = text.get(name, TOOLS)
    found = form.parse(whole)
    assert fed(form, list(whole)) == found
    (call,) = found.message.calls
    return call


def notes(call: ToolCall) -> list[str]:
    return list(call.ext.get("text", {}).get(text.NOTES, []))


@pytest.mark.parametrize(
    ("name", "whole", "note"),
    [
        ("hermes", f"<tool_call>\n{ASK}", "the closing </tool_call> is missing"),
        ("hermes", f"<toolcall>\n{ASK}\n</toolcall>", "<toolcall> for <tool_call>"),
        ("hermes", f"<TOOL_CALL>{ASK}</TOOL_CALL>", "<TOOL_CALL> for <tool_call>"),
        ("hermes", f"<tool_call>{ASK}</toolcall>", "</toolcall> for </tool_call>"),
        ("hermes", ASK, "<tool_call> is missing"),
        ("hermes", f"I ask.\n{ASK}\n</tool_call>", "<tool_call> is missing"),
        (
            "hermes",
            '<tool_call>{"name": "ask", "arguments": "{\\"question\\": \\"x\\"}"}</tool_call>',
            "inside a string",
        ),
        ("granite3", f"<|tool_call|>[{ASK}", "the closing ] is missing"),
        ("jamba", f"<tool_calls>[{ASK}]", "the closing </tool_calls> is missing"),
        ("qwen3-coder", CODER, "<tool_call> is missing"),
        ("qwen3-coder", f"<tool_call>\n{CODER}", "the closing </tool_call> is missing"),
        ("qwen3-coder", f"<toolcall>\n{CODER}\n</toolcall>", "<toolcall> for <tool_call>"),
        ("kimi-k2", KIMI, "<|tool_calls_section_begin|> is missing"),
        ("kimi-k2", f"<|tool_calls_section_begin|>{KIMI}", "the closing <|tool_calls_section_end|> is missing"),
        ("lfm2", '[ask(question="x")]', "<|tool_call_start|> is missing"),
        (
            "functiongemma",
            "<start_function_call>call:ask{question:<escape>x<escape>}",
            "<end_function_call> is missing",
        ),
        ("harmony", '<|channel|>commentary to=functions.ask<|message|>{"question": "x"}', "<|call|> is missing"),
        ("toolformer", "so [ask(x) -> 42]", "a result that nobody gave"),
    ],
)
def test_a_misspelt_wrapper_is_understood_and_noted(name: str, whole: str, note: str) -> None:
    call = only(name, whole)
    assert (call.name, call.arguments, call.parse_error) == ("ask", {"question": "x"}, None)
    assert any(note in each for each in notes(call)), notes(call)


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("hermes", "<toolcall> is how it begins"),
        ("hermes", "The <TOOL_CALL> tag"),
        ("hermes", '{"name": "nobody", "arguments": {}}'),
        ("hermes", '{"name": "ask", "arguments": {}, "mood": "good"}'),
        ("hermes", f"Like this: {ASK}"),
        ("hermes", f"`<tool_call>{ASK}</tool_call>` is how"),
        ("hermes", f"```\n<tool_call>\n{ASK}\n</tool_call>"),
        ("hermes", f"~~~\n<tool_call>{ASK}</tool_call>\n~~~"),
        ("hermes", f"<think>\n<tool_call>{ASK}</tool_call>"),
        ("qwen3-coder", "<TOOL_CALL> alone"),
        ("llama3-json", '{"name": "ask", "age": 3}'),
        ("llama3-json", '{"question": "x"}'),
        ("xlam", "[]"),
        ("xlam", "[1, 2, 3]"),
        ("xlam", '[{"name": "Ada"}, {"name": "Bob"}]'),
        ("llama4-pythonic", "[ask](http://x) and [1]"),
        ("llama4-pythonic", 'see [ask(question="x")]'),
        ("toolformer", "a [link](x), an [item], f(x)"),
        ("react", "My Action: ask, then Action Input"),
        ("react", "Actions speak"),
        ("phi4-mini", "import functools"),
        ("mistral-v13", "[tool_calls] are calls"),
    ],
)
def test_what_is_no_call_is_prose_to_the_letter(name: str, whole: str) -> None:
    form = text.get(name, TOOLS)
    found = form.parse(whole)
    assert found.message.calls == ()
    assert fed(form, list(whole)) == found
    if "<think>" not in whole:
        assert found.message.blocks == (Text(whole),)


@pytest.mark.parametrize(
    ("name", "whole", "error"),
    [
        ("hermes", '<tool_call>\n{"name": "ask", "arguments": {"question": "x"}\n</tool_call>', "not JSON"),
        ("hermes", '<tool_call>\n{"name": "ask", "arguments": {"question": "x', "cut off"),
        ("hermes", "<tool_call>\n{'name': 'ask'}\n</tool_call>", "not JSON"),
        ("hermes", '<tool_call>{"name": "ask", "arguments": {"a": 1, "a": 2}}</tool_call>', "written twice"),
        ("hermes", '<tool_call>{"name": "ask", "name": "ping", "arguments": {}}</tool_call>', "written twice"),
        ("hermes", '<tool_call>{"name": "ask", "arguments": {"a": NaN}}</tool_call>', "not a JSON number"),
        ("hermes", '<tool_call>{"name": "ask"}</tool_call>', "there is no 'arguments'"),
        ("hermes", '<tool_call>{"arguments": {}}</tool_call>', "there is no 'name'"),
        ("hermes", '<tool_call>{"name": "ask", "arguments": [1]}</tool_call>', "found an array"),
        ("hermes", '<tool_call>{"name": "ask", "arguments": "no"}</tool_call>', "found a string"),
        ("hermes", "<tool_call>ask</tool_call>", "expected a JSON object"),
        ("hermes", "<tool_call>", "expected a JSON object"),
        ("hermes", '<tool_call>{"name": "ask", "arguments": {"question": "a\nb"}}</tool_call>', "not JSON"),
        ("llama3-json", '{"name": "ask", "parameters": {"question": "x', "cut off"),
        ("qwen3-coder", "<tool_call>\n<function=ask>\n<parameter=question>\nx", "cut off"),
        ("qwen3-coder", "<tool_call>\n<function=ask>\n<parameter=question>\nx\n</parameter>", "cut off"),
        (
            "qwen3-coder",
            "<function=ask>\n<parameter=question>\nx\n<parameter=b>\n1\n</parameter>\n</function>",
            "a closing </parameter> is missing",
        ),
        (
            "qwen3-coder",
            "<function=ask><parameter=question>1</parameter><parameter=question>2</parameter></function>",
            "written twice",
        ),
        ("qwen3-coder", "<tool_call>\nask(x)\n</tool_call>", "expected <function="),
        ("qwen3-coder", '<function={"name": 1}>\n</function>', "expected the name of a tool"),
        ("glm", f"<tool_call>{ASK}</tool_call>", "expected the name of a tool"),
        ("glm", "<tool_call>ask\n<arg_key>question</arg_key>\n<arg_value>x</arg_value>", "cut off"),
        (
            "deepseek-v3.2",
            '<｜DSML｜invoke name="ask"><｜DSML｜parameter name="a" string="false">{</｜DSML｜parameter>'
            "</｜DSML｜invoke>",
            "the argument 'a'",
        ),
        (
            "kimi-k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.ask:0<|tool_call_end|>",
            "no <|tool_call_arg",
        ),
        ("kimi-k2", KIMI.replace('"x"}', '"x"'), "not JSON"),
        ("mistral-v13", "[TOOL_CALLS]ask[ARGS]x = 1", "not JSON"),
        ("functionary-v3.2", ">>>ask\nprint(1)", "not JSON"),
        ("llama4-pythonic", '[ask(question="x"', "cut off"),
        ("llama4-pythonic", "[ask(question=print(1))]", "expected"),
        ("llama4-pythonic", "[ask(question=1, question=2)]", "written twice"),
        ("lfm2", "<|tool_call_start|>[ask(x)]<|tool_call_end|>", "="),
        ("lfm2", "<|tool_call_start|>ask x<|tool_call_end|>", "expected ( behind ask"),
        ("gemma4", '<|tool_call>call:ask{question:<|"|>x', "cut off"),
        ("gemma4", "<|tool_call>call:ask{question}<tool_call|>", "expected :"),
        ("gemma4", "<|tool_call>ask{}<tool_call|>", "expected call:"),
        ("harmony", '<|channel|>commentary to=functions.ask<|message|>{"question": "x', "cut off"),
        ("harmony", "<|channel|>commentary to=python<|message|>print(1)<|call|>", "not JSON"),
        ("react", "Action: ask", "there is no Action Input"),
        ("react", 'Action: ask\nAction Input: {"question": "x"', "cut off"),
        ("react", "Action: ask\nAction Input: x", "cut off"),
        ("react", "Action: look_up\nAction Input: x\n", "plain text can be only one"),
        ("react", 'Action: ask\nAction Input: {"question": "x"} I guess\nObservation', "not JSON"),
        ("toolformer", "so [ask(what", "cut off"),
    ],
)
def test_what_is_broken_says_how_and_keeps_what_was_written(name: str, whole: str, error: str) -> None:
    call = only(name, whole)
    assert call.arguments is None
    assert call.parse_error
    assert error in call.parse_error, call.parse_error
    assert call.raw is not None
    assert call.raw in whole


def test_a_broken_call_does_not_take_the_next_one_with_it() -> None:
    broken = '<tool_call>\n{"name": "ask", "arguments": {"question": "x}\n</tool_call>'
    found = text.get("hermes", TOOLS).parse(f"{broken}\n<tool_call>\n{ASK}\n</tool_call>")
    assert [call.arguments for call in found.message.calls] == [None, {"question": "x"}]
    doubled = f"<tool_call>\n<tool_call>\n{ASK}\n</tool_call>"
    assert [call.arguments for call in text.get("hermes").parse(doubled).message.calls] == [None, {"question": "x"}]
    section = f"<|tool_calls_section_begin|>{KIMI.replace('}<', '<')}{KIMI}<|tool_calls_section_end|>"
    kimi = text.get("kimi-k2").parse(section).message.calls
    assert [call.arguments for call in kimi] == [None, {"question": "x"}]
    stopped = text.get("hermes").parse('<tool_call>\n{"name": "ask", <|im_end|>').message.calls
    assert [call.raw for call in stopped] == ['{"name": "ask", ']
    array = f'<|tool_call|>[{ASK}, {{"name": "ask", "arguments": {{]<|tool_call|>[{ASK}]'
    made = [call.arguments for call in text.get("granite3", TOOLS).parse(array).message.calls]
    assert made == [{"question": "x"}, None, {"question": "x"}]
    mixed = text.get("xlam", TOOLS).parse(f'[{ASK}, {{"x": 1}}]').message.calls
    assert [call.arguments for call in mixed] == [{"question": "x"}, None]


def test_a_model_that_writes_its_own_observation_calls_nothing_behind_it() -> None:
    whole = 'Action: ask\nAction Input: {"question": "x"}\nObservation: 42\nAction: ping\nAction Input: {}\n'
    found = text.get("react", TOOLS).parse(whole)
    assert [call.name for call in found.message.calls] == ["ask"]
    assert "Observation: 42\nAction: ping" in found.message.text


def test_a_stop_string_counts_only_at_the_end() -> None:
    form = text.get("mistral-v13", TOOLS)
    assert form.parse("<s>old</s> price</s>").message.text == "<s>old</s> price"
    assert form.parse("Yes.</s>\n").message.text == "Yes."


def test_an_unclosed_fence_is_text_and_a_span_is_no_fence() -> None:
    form = text.get("hermes", TOOLS)
    whole = f"```x``` is a span\n<tool_call>{ASK}</tool_call>"
    assert [call.name for call in form.parse(whole).message.calls] == ["ask"]
    inner = f"````\n```\n<tool_call>{ASK}</tool_call>\n```\n````\n<tool_call>{ASK}</tool_call>"
    assert len(form.parse(inner).message.calls) == 1
