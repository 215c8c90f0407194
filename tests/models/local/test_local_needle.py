"""Needle: calls only, checked before anybody sees them."""

import pytest
from local_desk import LOOKUP, ask, results, tool

from counterfoil.models.local import NeedleModel
from counterfoil.types.error import ModelError
from counterfoil.types.request import Output, ToolChoice

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_two_requests_become_two_calls(needle: NeedleModel) -> None:
    reply = await needle.reply(ask("Where are ORD-1001 and ORD-1002?"))
    assert [call.arguments for call in reply.message.calls] == [{"order_id": "ORD-1001"}, {"order_id": "ORD-1002"}]
    assert reply.stop == "tool_calls"


async def test_no_tool_fits_and_the_model_is_not_asked(needle: NeedleModel) -> None:
    reply = await needle.reply(ask("Who painted the Mona Lisa?"))
    assert not reply.message.calls
    assert "None of my tools fits" in reply.message.text
    assert reply.usage is not None
    assert reply.usage.output_tokens == 0


async def test_a_call_that_does_not_conform_is_dropped(needle: NeedleModel) -> None:
    strict = tool("lookup_order", "Look up an order", order_id={"type": "string", "pattern": "^ORD-[0-9]{4}-[A-Z]$"})
    reply = await needle.reply(ask("Look up order 1001-B", tools=(strict,)))
    assert not reply.message.calls
    with pytest.raises(ModelError, match="none that conforms"):
        await needle.reply(ask("Look up order 1001-B", tools=(strict,), choice=ToolChoice("any")))


async def test_results_are_quoted(needle: NeedleModel) -> None:
    first = await needle.reply(ask("Where is ORD-1001?", tools=(LOOKUP,)))
    told = results(first.message.calls, "it has shipped")
    reply = await needle.reply(ask("Where is ORD-1001?", first.message, told, tools=(LOOKUP,)))
    assert reply.message.text == "lookup_order (order_id ORD-1001): it has shipped"


async def test_it_writes_no_structured_answers(needle: NeedleModel) -> None:
    with pytest.raises(ModelError, match="tool calls only"):
        await needle.reply(ask("Pick a number", output=Output({"type": "object"})))
