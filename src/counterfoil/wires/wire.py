"""The shape that every wire has: four pure functions, and machines that read and write streams.

A wire is a module with `NAME` and the functions of `Wire`. Same wire: writing what was read gives the same body.
Across wires: what was written and read back is the request again, but for what `Written.losses` lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from counterfoil.types.loss import Carried as Carried
from counterfoil.types.loss import Loss as Loss
from counterfoil.types.request import Reply, Request
from counterfoil.types.stream import StreamEvent

Body = dict[str, Any]


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """How to reverse what writing changed: names and ids as the wire has them, to ours. Bijective.

    Only what was changed is listed. `custom` names (ours) the free-text tools that were written as JSON tools.
    """

    names: Mapping[str, str] = {}
    ids: Mapping[str, str] = {}
    custom: frozenset[str] = frozenset()

    def name(self, theirs: str) -> str:
        """Our name of a tool that the wire calls `theirs`."""
        return self.names.get(theirs, theirs)


NO_PLAN = Plan()


class Written(msgspec.Struct, frozen=True):
    """A request as a wire's body, what it could not say, the plan that reads its reply back, and what was repaired.

    The body is encodable JSON (`msgspec.json.encode(body)`): plain dicts and lists, or, when it was asked for
    `encoded`, with its messages as one `msgspec.Raw`.
    """

    body: Body
    losses: tuple[Loss, ...] = ()
    plan: Plan = NO_PLAN
    repairs: tuple[str, ...] = ()


class StreamReader(Protocol):
    """Turns a provider's stream events into ours, as they come."""

    def feed(self, event: Body, /) -> Iterable[StreamEvent]:
        """Take one decoded event; an event of a type unknown to us is nothing. Raises `WireError`.

        An error that the host reports inside its stream raises `ModelError` with the host's words.
        """
        ...

    def close(self) -> Iterable[StreamEvent]:
        """End the stream: what was open is completed as far as it came (a cut call is never runnable)."""
        ...


class StreamWriter(Protocol):
    """Turns our stream events into a provider's, as they come."""

    def feed(self, event: StreamEvent, /) -> Iterable[Body]:
        """Take one event of ours."""
        ...

    def close(self) -> Iterable[Body]:
        """End the stream."""
        ...


class Wire(Protocol):
    """One provider's JSON format. No I/O, no state."""

    @property
    def NAME(self) -> str:
        """The name it is registered under."""
        ...

    def write_request(self, request: Request, *, encoded: bool = ...) -> Written:
        """Say a request in this format, with what could not be said.

        `encoded` leaves the messages as JSON bytes, and each message of a `History` is then encoded only once.
        """
        ...

    def read_request(self, body: Body, plan: Plan = ...) -> Request:
        """Understand a request in this format. Raises `WireError` saying where it is wrong."""
        ...

    def write_reply(self, reply: Reply) -> Body:
        """Say a reply in this format."""
        ...

    def read_reply(self, body: Body, plan: Plan = ...) -> Reply:
        """Understand a reply in this format. Raises `WireError` saying where it is wrong."""
        ...

    def reader(self, plan: Plan = ...) -> StreamReader:
        """Make a reader for one stream."""
        ...

    def writer(self) -> StreamWriter:
        """Make a writer for one stream."""
        ...

    def read_stream(self, events: Iterable[Body], plan: Plan = ...) -> Iterator[StreamEvent]:
        """Understand a whole stream."""
        ...

    def write_stream(self, events: Iterable[StreamEvent]) -> Iterator[Body]:
        """Say a stream in this format."""
        ...


In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)


class _Machine(Protocol[In, Out]):
    def feed(self, event: In, /) -> Iterable[Out]: ...

    def close(self) -> Iterable[Out]: ...


def drain(machine: _Machine[In, Out], events: Iterable[In]) -> Iterator[Out]:
    """Run a whole stream through a reader or a writer."""
    for event in events:
        yield from machine.feed(event)
    yield from machine.close()
