"""From the bytes of a streamed reply to its events and back, in each of the three framings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import msgspec

from counterfoil.models.hosts import Framing
from counterfoil.models.sse import SseReader, write_event
from counterfoil.types.error import WireError
from counterfoil.types.json import is_object
from counterfoil.wires import _eventstream as eventstream

DONE = b"[DONE]"
"""What the descendants of OpenAI's format send as their last event."""
ACCEPT: Mapping[Framing, str] = {
    "sse": "text/event-stream, application/json",
    "ndjson": "application/x-ndjson, application/json",
    "eventstream": "application/vnd.amazon.eventstream",
}
"""What is asked for where a stream is wanted."""
_SHOWN = 120


class Frames(Protocol):
    """Finds a stream's events in bytes that come in pieces."""

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any] | None]:
        """Take some bytes; yield the events they complete, and `None` where the host says that it is done.

        Raises `WireError` for what is no event.
        """
        ...


def decode(data: bytes, what: str) -> dict[str, Any]:
    """Read a JSON object. Raises `WireError` quoting the beginning of what is none."""
    try:
        try:
            value = msgspec.json.decode(data)
        except msgspec.DecodeError:
            # It takes what msgspec does not: halves of surrogate pairs, NaN.
            value = json.loads(data)
    except (ValueError, RecursionError):
        raise WireError(f"{what} is not JSON: {_start(data)}") from None
    if not is_object(value):
        raise WireError(f"{what} is not a JSON object: {_start(data)}")
    return value


def _start(data: bytes) -> str:
    text = data[: 4 * _SHOWN].decode("utf-8", "replace")
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


class SseFrames:
    """Server-sent events whose data are JSON."""

    def __init__(self) -> None:
        self._reader = SseReader()

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any] | None]:
        """Take some bytes."""
        for event in self._reader.feed(chunk):
            yield None if event.data == DONE else decode(event.data, "an event of the stream")


class LineFrames:
    """A JSON value a line."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any] | None]:
        """Take some bytes."""
        head, newline, rest = chunk.rpartition(b"\n")
        if not newline:
            self._rest.append(chunk)
            return
        lines = b"".join([*self._rest, head]).split(b"\n")
        self._rest = [rest] if rest else []
        for line in lines:
            if line.strip():
                yield decode(line, "a line of the stream")


class BinaryFrames:
    """Amazon's frames."""

    def __init__(self) -> None:
        self._reader = eventstream.FrameReader()

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any] | None]:
        """Take some bytes."""
        for frame in self._reader.feed(chunk):
            yield eventstream.read_event(frame)


FRAMES: dict[Framing, Callable[[], Frames]] = {"sse": SseFrames, "ndjson": LineFrames, "eventstream": BinaryFrames}

ENDS: Mapping[str, bytes] = {
    "openai-chat": write_event(DONE),
    "mistral": write_event(DONE),
    "gemini-interactions": write_event(DONE, "done"),
}
"""What a wire's provider sends after the last event of a stream."""


def write_frame(framing: Framing, event: dict[str, Any]) -> bytes:
    """Write one event of a stream as its provider does."""
    if framing == "eventstream":
        return eventstream.write_event(event)
    data = msgspec.json.encode(event)
    if framing == "ndjson":
        return data + b"\n"
    kind = event.get("type") or event.get("event_type")
    return write_event(data, kind if isinstance(kind, str) else "")
