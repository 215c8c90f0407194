"""Cancellation, streams left early and requests at the same time, under asyncio and trio."""

import time
from pathlib import Path

import anyio
import pytest
from local_desk import LOOKUP, ask

from counterfoil.models.local import LlamaModel, NeedleModel
from counterfoil.types.message import ToolCall
from counterfoil.types.request import Sampling
from counterfoil.types.stream import BlockDelta

pytestmark = pytest.mark.anyio

SHORT = Sampling(max_tokens=6)


async def test_cancelling_frees_the_engine(smollm2: LlamaModel) -> None:
    with anyio.move_on_after(0.3) as scope:
        await smollm2.reply(ask("Tell me a very long story about the sea and the wind", tools=()))
    assert scope.cancelled_caught
    with anyio.fail_after(10):
        reply = await smollm2.reply(ask("Say hello", tools=(), sampling=SHORT))
    assert reply.message.text


async def test_a_stream_may_be_left_early(smollm2: LlamaModel) -> None:
    stream = smollm2.stream(ask("Tell me a long story", tools=()))
    async for event in stream:
        if isinstance(event, BlockDelta):
            break
    await stream.aclose()
    assert (await smollm2.reply(ask("Say hello", tools=(), sampling=SHORT))).message.text


async def test_requests_at_the_same_time_wait_for_each_other(smollm2: LlamaModel) -> None:
    found: dict[str, tuple[ToolCall, ...]] = {}

    async def one(order: str) -> None:
        found[order] = (await smollm2.reply(ask(f"Where is {order}?", tools=(LOOKUP,)))).message.calls

    async with anyio.create_task_group() as group:
        for order in ("ORD-1001", "ORD-1002", "ORD-1003"):
            group.start_soon(one, order)
    assert {order: calls[0].arguments for order, calls in found.items()} == {
        order: {"order_id": order} for order in ("ORD-1001", "ORD-1002", "ORD-1003")
    }


async def test_cancelling_while_the_prompt_is_read(plain: LlamaModel) -> None:
    long = "once upon a time there was a king " * 60
    began = time.perf_counter()
    with anyio.move_on_after(0.2) as scope:
        await plain.reply(ask(long, tools=()))
    assert scope.cancelled_caught
    assert time.perf_counter() - began < 2
    with anyio.fail_after(10):
        assert (await plain.reply(ask("Say hello", tools=(), sampling=SHORT))).message.text


async def test_cancelling_needle_kills_its_process_and_the_next_request_works(needle: NeedleModel) -> None:
    with anyio.move_on_after(0.2) as scope:
        await needle.reply(ask("Where is ORD-1001?", tools=(LOOKUP,)))
    assert scope.cancelled_caught
    reply = await needle.reply(ask("Where is ORD-1001?", tools=(LOOKUP,)))
    assert [call.arguments for call in reply.message.calls] == [{"order_id": "ORD-1001"}]


def test_nothing_listens_on_the_network(smollm2: LlamaModel) -> None:
    assert smollm2.name
    held = {link.readlink().name for link in Path("/proc/self/fd").iterdir() if link.is_symlink()}
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:]:
            fields = line.split()
            listening, inode = fields[3] == "0A", fields[9]
            assert not (listening and f"socket:[{inode}]" in held)
