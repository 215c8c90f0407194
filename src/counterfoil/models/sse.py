"""Server-sent events, from bytes however cut (WHATWG HTML, section 9.2.6)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

_BOM = b"\xef\xbb\xbf"


class Event(msgspec.Struct, frozen=True):
    """One event: its type (`message` unless it says so) and its data."""

    type: str
    data: bytes


class SseReader:
    """Finds the events in bytes that come in pieces. What is cut off before its blank line is no event."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        self._type = ""
        self._after_return = False
        self._begun = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Take some bytes; yield the events that they complete."""
        if self._after_return and chunk:
            # The line feed of a pair whose carriage return has already ended the line.
            self._after_return = False
            chunk = chunk.removeprefix(b"\n")
        # Only new bytes are searched: a long line in many pieces costs its length, not the square of it.
        if b"\n" not in chunk and b"\r" not in chunk:
            if chunk:
                self._rest.append(chunk)
            return
        lines = b"".join([*self._rest, chunk]).splitlines(keepends=True)
        self._rest.clear()
        self._after_return = chunk.endswith(b"\r")
        if not lines[-1].endswith((b"\n", b"\r")):
            self._rest.append(lines.pop())
        for line in lines:
            if (event := self._line(line.rstrip(b"\r\n"))) is not None:
                yield event

    def _line(self, line: bytes) -> Event | None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BOM)
        if not line:
            return self._end()
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
        elif field == b"event":
            self._type = value.removeprefix(b" ").decode("utf-8", "replace")
        return None

    def _end(self) -> Event | None:
        data, kind = self._data, self._type
        self._data, self._type = [], ""
        return Event(kind or "message", b"\n".join(data)) if data else None


def write_event(data: bytes, kind: str = "") -> bytes:
    """Write one event; `data` is one line."""
    head = f"event: {kind}\n".encode() if kind else b""
    return head + b"data: " + data + b"\n\n"
