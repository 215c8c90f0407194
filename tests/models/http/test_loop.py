"""Every wire through a whole run: text and two parallel calls, their results back, and the answer."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest
from http_kit import ADA, CALLS, Desk, model_at, run_at, talk
from provider_kit import KEY, WIRES, Provider, say

from counterfoil import Harness, Message, Request, Sampling, Usage
from counterfoil.types.history import Growing, History
from counterfoil.types.message import user

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_run_with_parallel_calls(wire: str, stream: bool) -> None:
    desk = Desk()
    run, provider = await run_at(wire, [say(CALLS), say("It ships today.")], stream=stream, desk=desk)
    assert run.outcome.kind == "answered", run.outcome
    assert run.text == "It ships today."
    assert sorted(desk.done) == [("lookup_order", "ORD-1"), ("lookup_stock", "S-7")]
    assert [result.text for result in run.results.values()] == ["ORD-1 ships today", "S-7: 6 left"]
    first, second = provider.asked
    assert first.stream is stream
    assert [spec.name for spec in first.request.tools] == ["lookup_order", "lookup_stock"]
    _check_second(second.request)


def _check_second(request: Request) -> None:
    """The history as the provider sees it: what it said itself, then one result per call, in order."""
    asked, said, *results = [message for message in request.messages if message.role != "system"]
    assert asked.text == "please"
    assert said.role == "assistant"
    assert "Let me look." in said.text
    calls = said.calls
    assert [call.name for call in calls] == ["lookup_order", "lookup_stock"]
    assert [call.arguments for call in calls] == [{"order_id": "ORD-1"}, {"sku": "S-7", "least": 2}]
    found = [result for message in results for result in message.results]
    assert [result.text for result in found] == ["ORD-1 ships today", "S-7: 6 left"]
    assert [result.call_id for result in found] == [call.id for call in calls]
    assert not any(result.is_error for result in found)


@pytest.mark.parametrize("wire", WIRES)
async def test_the_request_is_addressed_as_the_host_wants_it(wire: str) -> None:
    _, provider = await run_at(wire, [say("hello")])
    (asked,) = provider.asked
    header = provider.host.header
    assert asked.headers[header] == (f"Bearer {KEY}" if header == "authorization" else KEY)
    assert asked.headers["content-type"] == "application/json"
    assert "test-model" in asked.path or asked.body["model"] == "test-model"
    for key in provider.host.in_address:
        assert key not in asked.body
    for name, value in provider.host.headers.items():
        assert asked.headers[name] == value
    assert "cookie" not in asked.headers


@pytest.mark.parametrize("wire", WIRES)
async def test_usage_and_cost_are_counted(wire: str) -> None:
    prices = {"input": 3.0, "output": 15.0, "cached": 0.3}
    for stream in (False, True):
        run, _ = await run_at(wire, [say("hello")], stream=stream, prices=prices)
        usage = _usage(run)
        assert (usage.input_tokens, usage.output_tokens) == (12, 7)
        assert usage.cost == pytest.approx((12 * 3.0 + 7 * 15.0) / 1e6)


def _usage(run: Any) -> Usage:
    found = [entry.usage for entry in run.entries if getattr(entry, "usage", None) is not None]
    assert len(found) == 1
    assert isinstance(found[0], Usage)
    return found[0]


async def test_a_cost_ceiling_ends_a_run() -> None:
    session = msgspec.structs.replace(ADA, budget=msgspec.structs.replace(ADA.budget, cost=0.0001))
    with Provider("anthropic", [say(CALLS)] * 3) as provider:
        async with model_at(provider, prices={"input": 3.0, "output": 15.0}) as model:
            run = await Harness(model, Desk().catalogue).run("please", session)
    assert run.outcome.kind == "limit"
    assert run.outcome.which == "cost"
    assert len(provider.asked) == 1


async def test_without_prices_a_cost_is_unknown() -> None:
    run, _ = await run_at("openai-chat", [say("hello")])
    assert _usage(run).cost is None


@pytest.mark.parametrize("wire", WIRES)
async def test_the_body_of_a_growing_history_is_what_it_would_be_afresh(wire: str) -> None:
    """The messages are encoded once, and what is sent is the same as if they were all encoded now."""
    items = Growing[Message]()
    with Provider(wire, [say("yes")] * 8) as provider:
        async with model_at(provider) as model:
            for number in range(4):
                items.append(user(f"question {number}"))
                reply = await model.reply(Request(History(items), sampling=Sampling(max_tokens=9)))
                await model.reply(Request(tuple(items), sampling=Sampling(max_tokens=9)))
                items.append(reply.message)
    bodies = [asked.body for asked in provider.asked]
    assert bodies[0::2] == bodies[1::2]
    assert items.memo.keys() == {wire}


async def test_a_model_serves_several_event_loops_and_tasks() -> None:

    with Provider("anthropic", [say("hello")] * 9) as provider:
        async with model_at(provider) as model:
            harness = Harness(model, Desk().catalogue)

            def elsewhere() -> str:
                async def one() -> str:
                    run = await talk(harness, stream=True)
                    await model.aclose()
                    return run.text

                return anyio.run(one)

            texts: list[str] = []

            async def here() -> None:
                texts.append((await talk(harness, stream=True)).text)

            async with anyio.create_task_group() as tasks:
                for _ in range(4):
                    tasks.start_soon(here)
                texts.append(await anyio.to_thread.run_sync(elsewhere))
    assert texts == ["hello"] * 5
