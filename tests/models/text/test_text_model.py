"""Any completion as a model: tools, tool choice, streams, structured output, stops, usage."""

from __future__ import annotations

import pytest
from completion_kit import ORDER, PING, TOOLS, Scripted

from counterfoil import Catalogue, Harness, Session, tool
from counterfoil.models.model import Model
from counterfoil.models.template import ChatTemplate
from counterfoil.models.text_model import TextModel
from counterfoil.text.constrain import LlGuidance
from counterfoil.types.error import ModelError
from counterfoil.types.message import Reasoning, Text, ToolCall, user
from counterfoil.types.request import AUTO, Output, Request, Sampling, ToolChoice, ToolSpec
from counterfoil.types.stream import BlockDelta, ReplyStart, ReplyStop, StreamEvent, fold

pytestmark = pytest.mark.anyio

HELLO = (user("Hello"),)


def _ask(choice: ToolChoice = AUTO, *, sampling: Sampling | None = None, output: Output | None = None) -> Request:
    return Request(HELLO, TOOLS, choice, sampling=sampling or Sampling(), output=output)


async def test_calls_and_prose_are_read_as_they_arrive() -> None:
    model = TextModel(Scripted(f"<think>\nHm.\n</think>\n\nLet me look.\n{ORDER}\n{PING}"), "hermes")
    assert isinstance(model, Model)
    events: list[StreamEvent] = [event async for event in model.stream(_ask())]
    assert isinstance(events[0], ReplyStart)
    assert isinstance(events[-1], ReplyStop)
    assert sum(isinstance(event, BlockDelta) for event in events) > 6
    reply = fold(events)
    assert [type(each) for each in reply.message.blocks] == [Reasoning, Text, ToolCall, ToolCall]
    assert [each.arguments for each in reply.message.calls] == [{"order_id": "O-1"}, {}]
    assert (reply.stop, reply.model) == ("tool_calls", "scripted")
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 2)
    assert reply == await TextModel(
        Scripted(f"<think>\nHm.\n</think>\n\nLet me look.\n{ORDER}\n{PING}"), "hermes"
    ).reply(_ask())


async def test_the_endpoint_is_given_prompt_grammar_and_stops() -> None:
    scripted = Scripted("Good day.")
    await TextModel(scripted, "hermes", engine=LlGuidance()).reply(_ask(sampling=Sampling(max_tokens=9, stop=("END",))))
    (asked,) = scripted.asked
    assert '"lookup_order"' in asked.prompt
    assert asked.sampling.max_tokens == 9
    assert {"END", "<|im_end|>", "\nUser:"} <= set(asked.sampling.stop)
    assert asked.constraint is not None
    assert asked.constraint.loosened == ()
    assert "<tool_call>" in asked.keep


async def test_a_choice_is_in_the_grammar() -> None:
    scripted = Scripted(PING, "No.")
    model = TextModel(scripted, "hermes")
    await model.reply(_ask(ToolChoice("any", ("ping",))))
    await model.reply(_ask(ToolChoice("none")))
    forced, none = [each.constraint for each in scripted.asked]
    assert forced is not None
    assert "lookup_order" not in forced.lark()
    assert none is not None
    assert '"ping"' not in none.lark()


async def test_without_constraints_a_call_that_is_asked_for_is_begun() -> None:
    scripted = Scripted('ping", "arguments": {}}\n</tool_call>', '{"order_id": "O-2"}}\n</tool_call>', constrains=False)
    model = TextModel(scripted, "hermes")
    first = await model.reply(_ask(ToolChoice("any")))
    second = await model.reply(_ask(ToolChoice("any", ("lookup_order",))))
    assert scripted.asked[0].prompt.endswith('<tool_call>\n{"name": "')
    assert scripted.asked[1].prompt.endswith('<tool_call>\n{"name": "lookup_order", "arguments": ')
    assert scripted.asked[0].constraint is None
    assert [each.name for each in first.message.calls] == ["ping"]
    assert second.message.calls[0].arguments == {"order_id": "O-2"}


@pytest.mark.parametrize("constrains", [True, False])
async def test_none_is_no_call_whatever_the_model_writes(constrains: bool) -> None:
    scripted = Scripted(f"Well. {PING}", constrains=constrains)
    reply = await TextModel(scripted, "hermes").reply(_ask(ToolChoice("none")))
    assert reply.message.calls == ()
    assert reply.stop == "end"
    assert reply.message.text.startswith("Well.")
    assert constrains or "<tool_call>" in scripted.asked[0].sampling.stop


@pytest.mark.parametrize("name", ["harmony", "react"])
async def test_none_is_no_call_for_families_that_read_everything_themselves(name: str) -> None:
    text = {
        "harmony": "<|channel|>commentary to=functions.ping <|constrain|>json<|message|>{}<|call|>",
        "react": "Action: ping\nAction Input: {}",
    }[name]
    reply = await TextModel(Scripted(text), name).reply(_ask(ToolChoice("none")))
    assert reply.message.calls == ()
    assert reply.stop == "end"


async def test_not_parallel_is_one_call_whatever_the_model_writes() -> None:
    scripted = Scripted(f"{PING}\n{ORDER}", constrains=False)
    reply = await TextModel(scripted, "hermes").reply(_ask(ToolChoice("auto", parallel=False)))
    assert [each.name for each in reply.message.calls] == ["ping"]


async def test_a_call_that_is_cut_off_is_none_that_can_be_run() -> None:
    reply = await TextModel(Scripted(ORDER[:50], stop="length"), "hermes").reply(_ask())
    assert reply.stop == "length"
    (call,) = reply.message.calls
    assert call.arguments is None
    assert call.parse_error


async def test_a_structured_answer_is_held_to_its_schema() -> None:
    scripted = Scripted('{"n": 4}')
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    reply = await TextModel(scripted, "hermes").reply(Request(HELLO, output=Output(schema)))
    assert reply.message.text == '{"n": 4}'
    constraint = scripted.asked[0].constraint
    assert constraint is not None
    assert '"n"' in constraint.lark()


async def test_what_the_grammar_only_approximates_is_said() -> None:
    tools = (ToolSpec("t", "", {"type": "object", "properties": {"a": {"not": {"const": 1}}}}),)
    reply = await TextModel(Scripted("Yes."), "hermes").reply(Request(HELLO, tools))
    assert reply.ext == {"text": {"loosened": ["t"]}}


async def test_reasoning_that_the_prompt_began_is_reasoning() -> None:
    template = ChatTemplate("{{ messages[-1].content }}{{ '<think>\\n' }}")
    scripted = Scripted(f"Hm.\n</think>\n\n{PING}")
    reply = await TextModel(scripted, "hermes", template).reply(_ask(ToolChoice("any")))
    assert isinstance(reply.message.blocks[0], Reasoning)
    assert [each.name for each in reply.message.calls] == ["ping"]


async def test_a_text_begins_once() -> None:
    template = ChatTemplate("{{ bos_token }}{{ messages[-1].content }}", bos="<s>")
    scripted = Scripted("Yes.", "Yes.")
    await TextModel(scripted, "hermes", template).reply(Request(HELLO))
    scripted.adds_bos = False
    await TextModel(scripted, "hermes", template).reply(Request(HELLO))
    assert [each.prompt for each in scripted.asked] == ["Hello", "<s>Hello"]
    assert all(each.whole for each in scripted.asked)


async def test_a_custom_tool_and_an_unknown_choice_are_refused() -> None:
    model = TextModel(Scripted(), "hermes")
    with pytest.raises(ModelError, match="function tools only"):
        await model.reply(Request(HELLO, (ToolSpec("x", kind="custom"),)))
    with pytest.raises(ModelError, match="no such tool"):
        await model.reply(_ask(ToolChoice("any", ("nothing",))))
    with pytest.raises(ValueError, match="no text family"):
        TextModel(Scripted(), "hermse")


async def test_a_run_goes_through_the_gate_and_back() -> None:
    seen: list[str] = []

    @tool(effect="read")
    async def lookup_order(order_id: str) -> str:
        """Find one order by its number."""
        seen.append(order_id)
        return "it ships today"

    scripted = Scripted(f"I look.\n{ORDER}", "It ships today.")
    ada = Session(requester="ada", permissions=frozenset({"*"}))
    run = await Harness(TextModel(scripted, "hermes"), Catalogue([lookup_order])).run("Where is O-1?", ada)
    assert run.text == "It ships today."
    assert seen == ["O-1"]
    assert '{"name": "lookup_order", "arguments": {"order_id": "O-1"}}' in scripted.asked[1].prompt
    assert "<tool_response>\nit ships today\n</tool_response>" in scripted.asked[1].prompt
