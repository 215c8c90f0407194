"""Cancelling a request closes its socket, and the host sees that."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import anyio.to_thread
import pytest
from http_kit import ADA, Desk, model_at
from provider_kit import CONTENT, HOST_OF, WIRES, Asked, Out, Provider, reply_of, say, stream_bytes

from counterfoil import Harness, Request, wires
from counterfoil.models.retry import Clock, Retry
from counterfoil.types.message import user
from counterfoil.types.stream import BlockDelta

pytestmark = pytest.mark.anyio

ASK = Request((user("please"),))


class Halting:
    """A turn that answers half, and waits until the client has gone."""

    def __init__(self, wire: str, *, pieces: int) -> None:
        self.reached = threading.Event()
        self.closed = threading.Event()
        whole = list(stream_bytes(wires.get(wire), reply_of("hello, hello")))
        first = next(index for index, piece in enumerate(whole) if b"hello" in piece) + 1
        self._pieces = whole[: first * pieces]
        self._content = CONTENT[HOST_OF[wire].framing]

    def __call__(self, asked: Asked, out: Out) -> None:
        if self._pieces:
            out.begin(self._content)
            for piece in self._pieces:
                out.send(piece)
        self.reached.set()
        if out.left():
            self.closed.set()

    async def is_closed(self) -> bool:
        return await anyio.to_thread.run_sync(self.closed.wait, 5)


@pytest.mark.parametrize("wire", WIRES)
async def test_cancelling_a_stream_closes_the_socket(wire: str) -> None:
    halting = Halting(wire, pieces=1)
    with Provider(wire, [halting, say("done")]) as provider:
        async with model_at(provider) as model:
            harness = Harness(model, Desk().catalogue)
            with anyio.CancelScope() as scope:
                async for event in harness.stream("please", ADA, run_id="r1"):
                    if isinstance(event, BlockDelta):
                        scope.cancel()
            assert scope.cancelled_caught
            assert await halting.is_closed()
            run = await harness.resume("r1")
    assert run.text == "done"


@pytest.mark.parametrize("pieces", [0, 1], ids=["before the answer", "in the middle"])
async def test_cancelling_a_whole_reply_closes_the_socket(pieces: int) -> None:
    halting = Halting("anthropic", pieces=pieces)
    with Provider("anthropic", [halting]) as provider:
        async with model_at(provider) as model, anyio.create_task_group() as tasks:
            tasks.start_soon(model.reply, ASK)
            await anyio.to_thread.run_sync(halting.reached.wait, 5)
            tasks.cancel_scope.cancel()
        assert halting.closed.wait(5)


async def test_a_listener_that_stops_early_closes_the_socket() -> None:
    halting = Halting("openai-chat", pieces=1)
    with Provider("openai-chat", [halting]) as provider:
        async with model_at(provider) as model:
            events: Any = Harness(model, Desk().catalogue).stream("please", ADA)
            async for event in events:
                if isinstance(event, BlockDelta):
                    break
            await events.aclose()
            assert await halting.is_closed()


async def test_a_timeout_of_the_caller_closes_the_socket() -> None:
    halting = Halting("anthropic", pieces=0)
    with Provider("anthropic", [halting]) as provider:
        async with model_at(provider) as model:
            with anyio.move_on_after(0.1) as scope:
                await model.reply(ASK)
            assert scope.cancelled_caught
            assert await halting.is_closed()


async def test_cancelling_a_wait_between_attempts_ends_it() -> None:
    def busy(asked: Asked, out: Out) -> None:
        out.json({}, 503, retry_after="50")

    with Provider("anthropic", [busy] * 5) as provider:
        async with model_at(provider, clock=Clock(), retry=Retry()) as model:
            with anyio.move_on_after(0.1) as scope:
                await model.reply(ASK)
            assert scope.cancelled_caught
    assert len(provider.asked) == 1
