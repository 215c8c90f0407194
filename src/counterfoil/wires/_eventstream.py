"""The binary framing `application/vnd.amazon.eventstream`: frames from bytes, however cut, and bytes from frames.

A frame is a prelude (total length, length of the headers, CRC32 of these eight bytes), headers, a payload, and a CRC32
of all that came before it. Both checksums are checked: a frame that does not add up ends the stream.
"""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from counterfoil.types.error import ModelError, WireError

HeaderValue = bool | int | bytes | str | datetime | uuid.UUID
MAX_FRAME = 24 * 1024 * 1024
"""Longer frames are refused before they are buffered; the format's own limit is 16 MiB and 128 KiB of headers."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PRELUDE = struct.Struct("!III")
_CRC = struct.Struct("!I")
_FIXED = {2: struct.Struct("!b"), 3: struct.Struct("!h"), 4: struct.Struct("!i"), 5: struct.Struct("!q")}
_OVERHEAD = _PRELUDE.size + _CRC.size


class Frame(msgspec.Struct, frozen=True):
    """One message of the stream."""

    headers: Mapping[str, HeaderValue]
    payload: bytes


class FrameReader:
    """Finds the frames in bytes that come in pieces."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Take some bytes; yield the frames they complete. Raises `WireError` where a checksum does not match."""
        self._buffer += data
        start = 0
        try:
            while (length := self._length(start)) and len(self._buffer) - start >= length:
                frame = _decode(bytes(self._buffer[start : start + length]))
                start += length
                yield frame
        finally:
            del self._buffer[:start]

    def close(self) -> None:
        """End of the bytes: raises `WireError` if they end inside a frame."""
        if self._buffer:
            raise WireError(f"the event stream was cut inside a frame: {len(self._buffer)} bytes are left over")

    def _length(self, start: int) -> int:
        if len(self._buffer) - start < _PRELUDE.size:
            return 0
        total, headers, checksum = _PRELUDE.unpack_from(self._buffer, start)
        if zlib.crc32(self._buffer[start : start + 8]) != checksum:
            raise WireError("an event stream frame's prelude does not match its checksum")
        if not _OVERHEAD + headers <= total <= MAX_FRAME:
            raise WireError(f"an event stream frame says that it is {total} bytes long, {headers} of them headers")
        return int(total)


def encode_frame(headers: Mapping[str, HeaderValue], payload: bytes) -> bytes:
    """Write one frame."""
    head = b"".join([_write_header(name, value) for name, value in headers.items()])
    lengths = struct.pack("!II", _OVERHEAD + len(head) + len(payload), len(head))
    body = lengths + _CRC.pack(zlib.crc32(lengths)) + head + payload
    return body + _CRC.pack(zlib.crc32(body))


def _decode(frame: bytes) -> Frame:
    if zlib.crc32(frame[:-4]) != _CRC.unpack(frame[-4:])[0]:
        raise WireError("an event stream frame does not match its checksum")
    end = _PRELUDE.size + struct.unpack_from("!I", frame, 4)[0]
    try:
        headers = dict(_read_headers(frame[_PRELUDE.size : end]))
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise WireError(f"an event stream frame has broken headers: {error}") from None
    return Frame(headers, frame[end:-4])


def _read_headers(data: bytes) -> Iterator[tuple[str, HeaderValue]]:
    at = 0
    while at < len(data):
        size = data[at]
        name = data[at + 1 : at + 1 + size].decode()
        kind = data[at + 1 + size]
        at += 2 + size
        value: HeaderValue
        if kind in (0, 1):
            value = kind == 0
        elif number := _FIXED.get(kind):
            value = number.unpack_from(data, at)[0]
            at += number.size
        elif kind in (6, 7):
            length = struct.unpack_from("!H", data, at)[0]
            raw = data[at + 2 : at + 2 + length]
            if len(raw) != length:
                raise ValueError("a value is cut off")
            value = raw if kind == 6 else raw.decode()
            at += 2 + length
        elif kind == 8:
            value = _EPOCH + timedelta(milliseconds=struct.unpack_from("!q", data, at)[0])
            at += 8
        elif kind == 9:
            value = uuid.UUID(bytes=data[at : at + 16])
            at += 16
        else:
            raise ValueError(f"no value is of type {kind}")
        yield name, value


def _write_header(name: str, value: HeaderValue) -> bytes:
    head = struct.pack("!B", len(name.encode())) + name.encode()
    match value:
        case bool():
            return head + bytes([0 if value else 1])
        case int():
            return head + b"\x05" + struct.pack("!q", value)
        case str():
            return head + b"\x07" + struct.pack("!H", len(value.encode())) + value.encode()
        case bytes():
            return head + b"\x06" + struct.pack("!H", len(value)) + value
        case datetime():
            return head + b"\x08" + struct.pack("!q", (value - _EPOCH) // timedelta(milliseconds=1))
        case uuid.UUID():
            return head + b"\x09" + value.bytes


def read_event(frame: Frame) -> dict[str, Any]:
    """Read a frame as the event or exception it carries, `{type: body}`. An error frame raises `ModelError`."""
    kind = frame.headers.get(":message-type", "event")
    if kind == "error":
        words = [str(frame.headers.get(key, "")) for key in (":error-code", ":error-message")]
        raise ModelError(f"the host broke off its answer: {': '.join(words)}")
    name = frame.headers.get(":exception-type" if kind == "exception" else ":event-type")
    if not isinstance(name, str):
        raise WireError(f"an event stream frame has no type: it has {', '.join(sorted(frame.headers))}")
    try:
        return {name: json.loads(frame.payload) if frame.payload else {}}
    except ValueError as error:
        raise WireError(f"the payload of a {name} frame is not JSON: {error}") from None


def write_event(event: Mapping[str, Any]) -> bytes:
    """Write one event, `{type: body}`, as a frame."""
    ((name, body),) = event.items()
    exception = name.endswith("Exception")
    headers: dict[str, HeaderValue] = {
        ":exception-type" if exception else ":event-type": name,
        ":content-type": "application/json",
        ":message-type": "exception" if exception else "event",
    }
    return encode_frame(headers, msgspec.json.encode(body))


def read_events(chunks: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Read a whole stream of bytes as its events."""
    reader = FrameReader()
    for chunk in chunks:
        for frame in reader.feed(chunk):
            yield read_event(frame)
    reader.close()
