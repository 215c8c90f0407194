"""The embedded model as the demonstration uses it: real engine, real weights."""

import pytest
from local_desk import CANCEL, LOOKUP, ask, results, tool

from counterfoil.models.local import LlamaModel
from counterfoil.models.model import Model
from counterfoil.types.error import ModelError
from counterfoil.types.message import Message, Text
from counterfoil.types.request import Sampling, ToolChoice, ToolSpec
from counterfoil.types.stream import BlockDelta, fold

pytestmark = pytest.mark.anyio

SHORT = Sampling(max_tokens=6)


@pytest.fixture
def anyio_backend() -> str:
    """One event loop is enough here: what differs between them is in `test_local_cancelling`."""
    return "asyncio"


def test_it_is_a_model(smollm2: LlamaModel) -> None:
    assert isinstance(smollm2, Model)
    assert smollm2.name == "local:smollm2"


async def test_a_request_becomes_a_call(smollm2: LlamaModel) -> None:
    reply = await smollm2.reply(ask("Where is ORD-1001?"))
    (call,) = reply.message.calls
    assert (call.name, call.arguments) == ("lookup_order", {"order_id": "ORD-1001"})
    assert reply.stop == "tool_calls"
    assert reply.usage is not None
    assert reply.usage.output_tokens > 0
    assert reply.ext["local"]["mean_logprob"] < 0


async def test_two_requests_become_two_calls_in_order(smollm2: LlamaModel) -> None:
    reply = await smollm2.reply(ask("Where are ORD-1001 and ORD-1002?"))
    assert [call.arguments for call in reply.message.calls] == [{"order_id": "ORD-1001"}, {"order_id": "ORD-1002"}]
    assert len({call.id for call in reply.message.calls}) == 2


async def test_one_call_at_most_when_calls_may_not_be_parallel(smollm2: LlamaModel) -> None:
    reply = await smollm2.reply(ask("Where are ORD-1001 and ORD-1002?", choice=ToolChoice(parallel=False)))
    assert len(reply.message.calls) == 1


async def test_arguments_are_grounded_in_what_was_said(smollm2: LlamaModel) -> None:
    reply = await smollm2.reply(ask("Convert 12 kg to pounds"))
    assert reply.message.calls[0].arguments == {"value": 12, "from_unit": "kg", "to_unit": "pounds"}


async def test_arguments_are_found_earlier_in_the_conversation(smollm2: LlamaModel) -> None:
    told = Message("assistant", (Text("It has shipped."),))
    reply = await smollm2.reply(ask("Where is ORD-1003?", told, "Cancel it, I found it cheaper"))
    assert reply.message.calls[0].name == "cancel_order"
    assert (reply.message.calls[0].arguments or {})["order_id"] == "ORD-1003"


@pytest.mark.parametrize("words", ["Who painted the Mona Lisa?", "Thanks!", "Turn off the lights", "Sing a song"])
async def test_no_tool_fits(smollm2: LlamaModel, words: str) -> None:
    reply = await smollm2.reply(ask(words))
    assert not reply.message.calls
    assert "None of my tools fits" in reply.message.text
    assert reply.stop == "end"


async def test_a_lacking_argument_is_asked_for_and_not_invented(smollm2: LlamaModel) -> None:
    reply = await smollm2.reply(ask("Please cancel my order", tools=(CANCEL,)))
    assert not reply.message.calls
    assert reply.message.text == "For cancel_order I still need: order id."


async def test_a_result_is_quoted(smollm2: LlamaModel) -> None:
    first = await smollm2.reply(ask("Where is ORD-1001?"))
    told = results(first.message.calls, '{"status": "shipped", "items": ["kettle"], "gift": true}')
    reply = await smollm2.reply(ask("Where is ORD-1001?", first.message, told))
    assert reply.message.text == "lookup_order (order_id ORD-1001): status shipped, items kettle, gift yes"


async def test_a_refusal_is_quoted_and_not_tried_again(smollm2: LlamaModel) -> None:
    first = await smollm2.reply(ask("Where is ORD-1001?"))
    told = results(first.message.calls, "this order is somebody else's", is_error=True, code="not_permitted")
    reply = await smollm2.reply(ask("Where is ORD-1001?", first.message, told))
    assert reply.message.text == "lookup_order (order_id ORD-1001) was not done: this order is somebody else's"


async def test_a_wrong_argument_is_repaired_once(smollm2: LlamaModel) -> None:
    loose = tool("lookup_order", "Look up one order by its number", order_id={"type": "string"})
    asked = "Look up order 1001"
    first = await smollm2.reply(ask(asked, tools=(loose,)))
    wrong = results(first.message.calls, "no such order_id: did you mean 'ORD-1001'?", is_error=True)
    second = await smollm2.reply(ask(asked, first.message, wrong, tools=(loose,)))
    assert second.message.calls[0].arguments == {"order_id": "ORD-1001"}
    again = results(second.message.calls, "no such order_id: did you mean 'ORD-1002'?", is_error=True)
    third = await smollm2.reply(ask(asked, first.message, wrong, second.message, again, tools=(loose,)))
    assert not third.message.calls
    assert "failed: no such order_id" in third.message.text


async def test_tool_choice_is_obeyed(smollm2: LlamaModel) -> None:
    forced = await smollm2.reply(ask("Hello", choice=ToolChoice("any", ("lookup_order",))))
    assert [call.name for call in forced.message.calls] == ["lookup_order"]
    forbidden = await smollm2.reply(ask("Where is ORD-1001?", choice=ToolChoice("none"), sampling=SHORT))
    assert not forbidden.message.calls
    assert forbidden.message.text


async def test_it_talks_where_there_are_no_tools(smollm2: LlamaModel) -> None:
    reply = await smollm2.reply(ask("Say hello.", tools=(), sampling=SHORT))
    assert len(reply.message.text) > 3


async def test_the_stream_adds_up_to_the_reply(smollm2: LlamaModel) -> None:
    request = ask("Look up ORD-1004 and convert 5 kg to pounds")
    events = [event async for event in smollm2.stream(request)]
    streamed, whole = fold(events), await smollm2.reply(request)
    assert [(each.name, each.arguments) for each in streamed.message.calls] == [
        (each.name, each.arguments) for each in whole.message.calls
    ]
    first = "".join(event.text for event in events if isinstance(event, BlockDelta) and event.index == 0)
    assert first == '{"order_id": "ORD-1004"}'


async def test_the_catalogue_stays_in_the_cache_across_turns(smollm2: LlamaModel) -> None:
    await smollm2.reply(ask("Where is ORD-1001?"))
    usage = (await smollm2.reply(ask("Cancel ORD-1002, it is too late"))).usage
    assert usage is not None
    assert usage.cached_tokens > usage.input_tokens * 0.8


async def test_greedy_decoding_repeats_itself(smollm2: LlamaModel) -> None:
    request = ask("Message Linus: your refund is on its way")
    first, second = await smollm2.reply(request), await smollm2.reply(request)
    assert [call.arguments for call in first.message.calls] == [call.arguments for call in second.message.calls]


async def test_custom_tools_are_turned_down(smollm2: LlamaModel) -> None:
    with pytest.raises(ModelError, match="function tools only"):
        await smollm2.reply(ask("Hello", tools=(ToolSpec("code", kind="custom"),)))


async def test_a_long_catalogue_is_searched(smollm2: LlamaModel) -> None:
    many = tuple(tool(f"tool_{i}", f"Paint wall number {i} in colour {i}", wall={"type": "integer"}) for i in range(12))
    reply = await smollm2.reply(ask("Where is ORD-1001?", tools=(*many, LOOKUP)))
    assert [call.name for call in reply.message.calls] == ["lookup_order"]
