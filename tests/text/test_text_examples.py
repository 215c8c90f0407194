"""What models of each family are published to write, word for word: the suite must not only agree with itself."""

from __future__ import annotations

from typing import Any

import pytest
from text_cases import fed

from counterfoil import text
from counterfoil.types.message import Message, Reasoning, ToolCall
from counterfoil.types.request import Reply, ToolSpec

WEATHER = ToolSpec(
    "get_weather",
    "The weather of a place.",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "metric": {"type": "boolean"},
            "hours": {"type": "array", "items": {"type": "integer"}},
        },
    },
)
CALCULATOR = ToolSpec("Calculator", "Works it out.", {"type": "object", "properties": {"input": {"type": "string"}}})
SEARCH = ToolSpec("Search", "Finds a page.", {"type": "object", "properties": {"entity": {"type": "string"}}})
TOOLS = (WEATHER, CALCULATOR, SEARCH)

OSLO: dict[str, Any] = {"city": "Oslo"}
TWO: list[tuple[str, dict[str, Any]]] = [("get_weather", OSLO), ("get_weather", {"city": "Rome", "days": 3})]

EXAMPLES: list[tuple[str, str, list[tuple[str, dict[str, Any]]], str]] = [
    (
        "hermes",
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>\n'
        '<tool_call>\n{"arguments": {"city": "Rome", "days": 3}, "name": "get_weather"}\n</tool_call><|im_end|>',
        TWO,
        "",
    ),
    ("hermes", 'Sure.\n<tool_call>{"name":"get_weather","arguments":{"city":"Oslo"}}</tool_call>', [TWO[0]], "Sure."),
    ("granite4", '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>', [TWO[0]], ""),
    (
        "qwen3-coder",
        "I'll look.\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n<parameter=days>\n3\n"
        "</parameter>\n</function>\n</tool_call>",
        [TWO[1]],
        "I'll look.\n",
    ),
    (
        "qwen3-coder",
        "<tool_call>\n<function=get_weather>\n<parameter=metric>\nTrue\n</parameter>\n<parameter=hours>\n[1, 2]\n"
        "</parameter>\n<parameter=city>\n\n  two\nlines \n</parameter>\n</function>\n</tool_call>",
        [("get_weather", {"metric": True, "hours": [1, 2], "city": "\n  two\nlines "})],
        "",
    ),
    (
        "seed-oss",
        "<seed:think>Got it.</seed:think><seed:tool_call>\n<function=get_weather>\n<parameter=city>Rome</parameter>\n"
        "<parameter=days>3</parameter>\n</function>\n</seed:tool_call><seed:eos>",
        [TWO[1]],
        "",
    ),
    (
        "glm",
        "\n<think>Two.</think>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n"
        "</tool_call>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n<arg_key>days</arg_key>\n"
        "<arg_value>3</arg_value>\n</tool_call><|observation|>",
        TWO,
        "",
    ),
    (
        "glm",
        "<tool_call>get_weather<arg_key>city</arg_key><arg_value> 007 </arg_value></tool_call>",
        [("get_weather", {"city": " 007 "})],
        "",
    ),
    (
        "deepseek-v3",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
        '{"city": "Oslo"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n'
        '{"city": "Rome", "days": 3}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>',
        TWO,
        "",
    ),
    (
        "deepseek-v3.1",
        "Let me see.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
        '{"city": "Oslo"}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>',
        [TWO[0]],
        "Let me see.",
    ),
    (
        "deepseek-v3.2",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n'
        '<｜DSML｜parameter name="city" string="true">Rome</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
        "</｜DSML｜function_calls><｜end▁of▁sentence｜>",
        [TWO[1]],
        "",
    ),
    (
        "minimax-m1",
        '<tool_calls>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
        '{"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}\n</tool_calls>',
        TWO,
        "",
    ),
    (
        "minimax-m2",
        '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n</invoke>\n'
        '<invoke name="get_weather">\n<parameter name="city">Rome</parameter>\n<parameter name="days">3</parameter>\n'
        "</invoke>\n</minimax:tool_call>",
        TWO,
        "",
    ),
    (
        "kimi-k2",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
        '{"city": "Oslo"}<|tool_call_end|><|tool_call_begin|>functions.get_weather:1<|tool_call_argument_begin|>'
        '{"city": "Rome", "days": 3}<|tool_call_end|><|tool_calls_section_end|><|im_end|>',
        TWO,
        "",
    ),
    (
        "mistral-v3",
        '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo"}, "id": "9Ae3bDc2F"}, '
        '{"name": "get_weather", "arguments": {"city": "Rome", "days": 3}, "id": "bTq3bDc2F"}]</s>',
        TWO,
        "",
    ),
    ("mistral-v11", '[TOOL_CALLS]get_weather[CALL_ID]9Ae3bDc2F[ARGS]{"city": "Oslo"}</s>', [TWO[0]], ""),
    (
        "mistral-v13",
        'Of course.[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}'
        '[TOOL_CALLS]get_weather[ARGS]{"city": "Rome", "days": 3}',
        TWO,
        "Of course.",
    ),
    (
        "granite3",
        '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}, '
        '{"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}]<|end_of_text|>',
        TWO,
        "",
    ),
    ("granite3", '<tool_call>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]', [TWO[0]], ""),
    (
        "jamba",
        '<tool_calls>[\n  {"name": "get_weather", "arguments": {"city": "Oslo"}},\n'
        '  {"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}\n]</tool_calls>',
        TWO,
        "",
    ),
    ("nemotron", '<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]</TOOLCALL>', [TWO[0]], ""),
    ("xlam", '[{"name": "get_weather", "arguments": {"city": "Oslo"}}]', [TWO[0]], ""),
    (
        "phi4-mini",
        'functools[{"name": "get_weather", "arguments": {"city": "Oslo"}}, '
        '{"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}]',
        TWO,
        "",
    ),
    ("phi4-mini", '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]<|/tool_call|>', [TWO[0]], ""),
    ("phi4-mini", "Use functools.cache from functools.", [], "Use functools.cache from functools."),
    (
        "command-r7b",
        "<|START_THINKING|>I need the weather.<|END_THINKING|><|START_ACTION|>[\n    "
        '{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Oslo"}},\n    '
        '{"tool_call_id": "1", "tool_name": "get_weather", "parameters": {"city": "Rome", "days": 3}}\n]<|END_ACTION|>'
        "<|END_OF_TURN_TOKEN|>",
        TWO,
        "",
    ),
    ("command-r7b", "<|START_RESPONSE|>It rains.<|END_RESPONSE|><|END_OF_TURN_TOKEN|>", [], "It rains."),
    ("llama3-json", '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}<|eom_id|>', [TWO[0]], ""),
    (
        "llama3-json",
        '{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo"}}; '
        '{"name": "get_weather", "parameters": {"city": "Rome", "days": 3}}<|eot_id|>',
        TWO,
        "",
    ),
    ("llama3-json", '{"name": "Ada", "age": 36}', [], '{"name": "Ada", "age": 36}'),
    ("llama4-pythonic", "[get_weather(city='Oslo'), get_weather(city=\"Rome\", days=3)]<|eot|>", TWO, ""),
    (
        "toolace",
        "[get_weather(city='it\\'s', metric=False, hours=[1, 2,])]",
        [("get_weather", {"city": "it's", "metric": False, "hours": [1, 2]})],
        "",
    ),
    ("llama4-pythonic", "[1, 2] is a list, and [a link](x)", [], "[1, 2] is a list, and [a link](x)"),
    (
        "olmo3",
        '<function_calls>\nget_weather(city="Oslo")\nget_weather(city="Rome", days=3)\n</function_calls><|im_end|>',
        TWO,
        "",
    ),
    (
        "lfm2",
        '<|tool_call_start|>[get_weather(city="Oslo")]<|tool_call_end|>Checking the weather.<|im_end|>',
        [TWO[0]],
        "Checking the weather.",
    ),
    (
        "harmony",
        "<|channel|>analysis<|message|>Need the weather.<|end|><|start|>assistant<|channel|>commentary "
        'to=functions.get_weather <|constrain|>json<|message|>{"city":"Oslo"}<|call|>',
        [TWO[0]],
        "",
    ),
    (
        "harmony",
        "<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>"
        '{"city":"Rome","days":3}<|call|>',
        [TWO[1]],
        "",
    ),
    ("harmony", "<|channel|>final<|message|>It rains.<|return|>", [], "It rains."),
    (
        "functiongemma",
        "<start_function_call>call:get_weather{city:<escape>Rome<escape>,days:3}<end_function_call>"
        "<start_function_response>",
        [TWO[1]],
        "",
    ),
    (
        "gemma4",
        '<|tool_call>call:get_weather{city:<|"|>Rome, {Italy}<|"|>,hours:[1,2],metric:true}<tool_call|>'
        "<|tool_response>",
        [("get_weather", {"city": "Rome, {Italy}", "hours": [1, 2], "metric": True})],
        "",
    ),
    ("functionary-v3.1", '<function=get_weather>{"city": "Oslo"}</function><|eom_id|>', [TWO[0]], ""),
    (
        "functionary-v3.2",
        'all\nI look.>>>get_weather\n{"city": "Oslo"}>>>get_weather\n{"city": "Rome", "days": 3}<|eot_id|>',
        TWO,
        "I look.",
    ),
    ("functionary-v3.2", '>>>get_weather\n{"city": "Oslo"}', [TWO[0]], ""),
    (
        "internlm2",
        'I look.<|action_start|><|plugin|>\n{"name": "get_weather", "parameters": {"city": "Oslo"}}<|action_end|>',
        [TWO[0]],
        "I look.",
    ),
    (
        "step3",
        '<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather">\n'
        '<steptml:parameter name="city">Rome</steptml:parameter>\n<steptml:parameter name="days">3'
        "</steptml:parameter>\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>",
        [TWO[1]],
        "",
    ),
    (
        "ernie",
        "<think>\nWeather.\n</think>\n\n<response>\nI look.\n</response>\n\n<tool_call>\n"
        '{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>\n',
        [TWO[0]],
        "I look.",
    ),
    (
        "react",
        'Thought: I need the weather.\nAction: get_weather\nAction Input: {"city": "Oslo"}\nObservation:',
        [TWO[0]],
        "",
    ),
    (
        "react",
        "Thought 1: I need to search Colorado orogeny.\nAction 1: Search[Colorado orogeny]\n",
        [("Search", {"entity": "Colorado orogeny"})],
        "",
    ),
    ("react-paper", "Thought 1: hm\nAction 1: Search[Oslo [city]]\n", [("Search", {"entity": "Oslo [city]"})], ""),
    ("react-paper", 'Action: get_weather[{"city": "Rome", "days": 3}]', [TWO[1]], ""),
    ("react-paper", "Thought 3: I know.\nAction 3: Finish[1,800 to 7,000 ft]", [], "1,800 to 7,000 ft"),
    ("react", "Thought: I know.\nFinal Answer: 1,800 to 7,000 ft", [], "1,800 to 7,000 ft"),
    ("react", "Thought 3: I know.\nAction 3: Finish[1,800 to 7,000 ft]", [], "1,800 to 7,000 ft"),
    ("react", "Action: Search\nAction Input: Oslo [city]\n", [("Search", {"entity": "Oslo [city]"})], ""),
    (
        "toolformer",
        "Of 1400 participants, 400 (or [Calculator(400 / 1400) ->",
        [("Calculator", {"input": "400 / 1400"})],
        "Of 1400 participants, 400 (or ",
    ),
    ("toolformer", 'It is [get_weather(city="Rome", days=3)] there.', [TWO[1]], "It is  there."),
]


@pytest.mark.parametrize(("name", "whole", "made", "said"), EXAMPLES)
def test_a_published_example_is_understood(
    name: str, whole: str, made: list[tuple[str, dict[str, Any]]], said: str
) -> None:
    form = text.get(name, TOOLS)
    found = form.parse(whole)
    assert [(call.name, call.arguments) for call in found.message.calls] == made
    assert [call.parse_error for call in found.message.calls] == [None] * len(made)
    assert [call.ext for call in found.message.calls] == [{}] * len(made)
    assert found.message.text.strip("\n") == said.strip("\n")
    assert fed(form, list(whole)) == found


def test_every_family_has_an_example() -> None:
    assert {text.family(name).name for name, *_ in EXAMPLES} == set(text.names())


WRITTEN = {
    "hermes": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}\n</tool_call>',
    "qwen3-coder": "<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n<parameter=days>\n3\n"
    "</parameter>\n</function>\n</tool_call>",
    "glm": "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n<arg_key>days</arg_key>\n"
    "<arg_value>3</arg_value>\n</tool_call>",
    "deepseek-v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
    '{"city": "Rome", "days": 3}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "kimi-k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
    '{"city": "Rome", "days": 3}<|tool_call_end|><|tool_calls_section_end|>',
    "mistral-v11": '[TOOL_CALLS]get_weather[CALL_ID]9Ae3bDc2F[ARGS]{"city": "Rome", "days": 3}',
    "llama4-pythonic": '[get_weather(city="Rome", days=3)]',
    "functionary-v3.2": 'get_weather\n{"city": "Rome", "days": 3}',
    "gemma4": '<|tool_call>call:get_weather{city:<|"|>Rome<|"|>,days:3}<tool_call|>',
    "harmony": "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
    '{"city": "Rome", "days": 3}<|call|>',
    "react-paper": 'Action: get_weather[{"city": "Rome", "days": 3}]',
    "react": 'Action: get_weather\nAction Input: {"city": "Rome", "days": 3}',
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_call_is_written_as_published(name: str) -> None:
    form = text.get(name, TOOLS)
    call = ToolCall("9Ae3bDc2F", *TWO[1])
    assert form.render(form.parse(WRITTEN[name])) == WRITTEN[name]
    assert form.render(alone(call)) == WRITTEN[name]


def alone(call: ToolCall) -> Reply:
    return Reply(Message("assistant", (call,)))


def test_ids_in_the_text_are_kept_and_others_are_counted() -> None:
    two = '[TOOL_CALLS] [{"name": "a", "arguments": {}, "id": "x"}, {"name": "b", "arguments": {}}]'
    assert [call.id for call in text.get("mistral-v3").parse(two).message.calls] == ["x", "call_2"]
    one = "<|tool_call_begin|>functions.a:7<|tool_call_argument_begin|>{}<|tool_call_end|>"
    found = text.get("kimi-k2").parse(f"<|tool_calls_section_begin|>{one}<|tool_calls_section_end|>")
    assert [(call.id, call.name) for call in found.message.calls] == [("functions.a:7", "a")]
    assert one in text.get("kimi-k2").render(found)
    v11 = text.get("mistral-v11").parse("[TOOL_CALLS]a[CALL_ID]9Ae3bDc2F[ARGS]{}")
    assert [call.id for call in v11.message.calls] == ["9Ae3bDc2F"]


def test_reasoning_is_a_block_of_its_own() -> None:
    for name, whole in [
        ("hermes", "<think>\nhm\n</think>\n\nYes."),
        (
            "harmony",
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>",
        ),
        ("mistral-v13", "[THINK]hm[/THINK]Yes."),
        ("command-r7b", "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Yes.<|END_RESPONSE|>"),
        ("react", "Thought: hm\nFinal Answer: Yes."),
    ]:
        first, second = text.get(name).parse(whole).message.blocks
        assert first == Reasoning("hm")
        assert getattr(second, "text", "") == "Yes."


def test_a_tool_whose_name_begins_like_the_marker_of_prose_is_called() -> None:
    tools = [ToolSpec("allocate", "", {"type": "object", "properties": {"n": {"type": "integer"}}})]
    for written in ('>>>allocate\n{"n": 1}', 'allocate\n{"n": 1}', '>>>all\nI will.\n>>>allocate\n{"n": 1}'):
        (call,) = text.get("functionary-v3.2").parse(written, tools).message.calls
        assert (call.name, call.arguments) == ("allocate", {"n": 1})
