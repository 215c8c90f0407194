"""A body understood: whole, or as a stream. What cannot be understood is a `Fault`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from counterfoil.models import faults
from counterfoil.models.faults import Fault
from counterfoil.models.framing import FRAMES, decode
from counterfoil.models.hosts import Framing
from counterfoil.models.keys import Keys
from counterfoil.models.schemas import Lift, lift_event, lift_reply
from counterfoil.types.error import ModelError, WireError
from counterfoil.types.request import Reply, Usage
from counterfoil.types.stream import ReplyStop, StreamEvent
from counterfoil.wires.wire import Body, Plan, Wire

STRANGE = (WireError, AttributeError, LookupError, TypeError, ValueError, RecursionError, msgspec.MsgspecError)
"""What a wire raises over a body that nobody foresaw."""

Count = Callable[[Usage | None], Usage | None]
"""Adds the cost."""


class Reader:
    """How one request's answer is read: by its wire, its plan, its catalogue's lowering and the list of prices."""

    def __init__(self, wire: Wire, plan: Plan, lift: Lift, count: Count, keys: Keys) -> None:
        self.wire = wire
        self.plan = plan
        self.lift = lift
        self.count = count
        self._keys = keys

    def whole(self, data: bytes) -> Reply | Fault:
        """Read a whole reply."""
        body: Body = {}
        try:
            body = decode(data, "the host's answer")
            reply = self.wire.read_reply(body, self.plan)
        except (ModelError, *STRANGE) as error:
            return self.fault(error, body)
        return lift_reply(msgspec.structs.replace(reply, usage=self.count(reply.usage)), self.lift)

    def stream(self, framing: Framing) -> StreamReading:
        """Begin to read a stream."""
        return StreamReading(self, framing)

    def event(self, event: StreamEvent) -> StreamEvent:
        """Add to an event what its wire does not know."""
        if isinstance(event, ReplyStop):
            return msgspec.structs.replace(event, usage=self.count(event.usage))
        return lift_event(event, self.lift)

    def fault(self, error: Exception, body: Body) -> Fault:
        """The fault of an answer that could not be read, or that reports an error in place of a reply."""
        said = faults.shorten(self._keys.hide(str(error)))
        if isinstance(error, ModelError):
            return Fault(said, passing=faults.is_passing(body), overflow=faults.is_overflow(said))
        what = said if isinstance(error, WireError) else f"{type(error).__name__}: {said}"
        return Fault(f"the host's answer could not be understood: {what}")


class StreamReading:
    """One stream, from its bytes to events."""

    def __init__(self, reader: Reader, framing: Framing) -> None:
        self._reader = reader
        self._frames = FRAMES[framing]()
        self._stream = reader.wire.reader(reader.plan)
        self.said_done = False
        """Whether the host has said that nothing more will come."""
        self.whole = False
        """Whether the reply has been read to its end."""

    def take(self, chunk: bytes) -> tuple[list[StreamEvent], Fault | None]:
        """Take some bytes: the events in them, up to what is wrong with them."""
        events: list[StreamEvent] = []
        body: Body = {}
        try:
            for found in self._frames.feed(chunk):
                if found is None:
                    self.said_done = True
                    continue
                body = found
                self._add(events, self._stream.feed(body))
        except (ModelError, *STRANGE) as error:
            return events, self._reader.fault(error, body)
        return events, None

    def end(self) -> tuple[list[StreamEvent], Fault | None]:
        """End the stream: its last events, and what is wrong with them."""
        events: list[StreamEvent] = []
        try:
            self._add(events, self._stream.close())
        except (ModelError, *STRANGE) as error:
            return events, self._reader.fault(error, {})
        return events, None

    def _add(self, events: list[StreamEvent], found: Iterable[StreamEvent]) -> None:
        for event in found:
            self.whole = self.whole or isinstance(event, ReplyStop)
            events.append(self._reader.event(event))
