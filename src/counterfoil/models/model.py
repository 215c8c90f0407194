"""The port: what the loop asks of a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from counterfoil.types.error import ModelError
from counterfoil.types.request import Reply, Request
from counterfoil.types.stream import ReplyFold, StreamEvent, events_of


@runtime_checkable
class Model(Protocol):
    """Anything that answers requests. `name` is journalled; `reply` and `stream` say the same thing.

    Both raise `ModelError` when no answer can be had. `stream` ends with a `ReplyStop`; a stream that ends without
    one was cut, and is an error. Subclass `BaseModel` to write only one of the two.
    """

    @property
    def name(self) -> str:
        """What the journal and the logs call it, `provider:model`."""
        ...

    async def reply(self, request: Request) -> Reply:
        """Answer a request."""
        ...

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Answer a request as it is being written."""
        ...


class BaseModel:
    """Derives `reply` from `stream`, or `stream` from `reply`: override at least one."""

    name = "model"

    async def reply(self, request: Request) -> Reply:
        """Answer a request, by adding its stream up."""
        adding = ReplyFold()
        async for event in self.stream(request):
            adding.add(event)
        return adding.reply

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Answer a request as a stream that comes all at once."""
        for event in events_of(await self.reply(request)):
            yield event


class NoModel(BaseModel):
    """Stands where a harness that serves outside calls only is asked to go on with a conversation."""

    async def reply(self, request: Request) -> Reply:
        """Say so. Raises `ModelError`."""
        raise ModelError("this harness has no model: resume the run with one that has")
