"""A provider on this machine: real HTTP on loopback, in a thread, speaking any wire as its provider would.

A script of turns says what it answers. Each turn is a function of what was asked and of the way out.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import msgspec

from counterfoil import Message, Reply, Request, Text, ToolCall, Usage, wires
from counterfoil.models.framing import ENDS, write_frame
from counterfoil.models.hosts import HOSTS, Host
from counterfoil.models.sse import write_event
from counterfoil.types.stream import events_of
from counterfoil.wires.wire import Wire

KEY = "sk-test-0123456789abcdefghij"
PARALLEL = "Let me look."
CONTENT = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "eventstream": "application/vnd.amazon.eventstream",
}

HOST_OF: dict[str, Host] = {}
for _host in HOSTS.values():
    HOST_OF.setdefault(_host.wire, _host)
"""A host for each wire."""
HOST_OF["openai-chat"] = HOSTS["openai"]
WIRES = sorted(set(HOST_OF) & set(wires.names()))


class Asked(msgspec.Struct):
    """One request as it came over the line."""

    method: str
    path: str
    headers: dict[str, str]
    text: bytes
    body: dict[str, Any]
    wire: Wire

    @property
    def stream(self) -> bool:
        """Whether a stream is wanted."""
        return bool(self.body.get("stream")) or "stream" in self.path.lower()

    @property
    def request(self) -> Request:
        """The request, understood."""
        return self.wire.read_request(self.body)


class Out:
    """The way out of one turn."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler
        self.connection: socket.socket = handler.connection
        self._chunked = False

    def whole(self, body: bytes, status: int = 200, content: str = "application/json", **headers: str) -> None:
        """Answer at once."""
        self._head(status, content, {"content-length": str(len(body)), **headers})
        self._handler.wfile.write(body)

    def json(self, body: Any, status: int = 200, **headers: str) -> None:
        """Answer with JSON."""
        self.whole(msgspec.json.encode(body), status, **headers)

    def begin(self, content: str) -> None:
        """Begin a stream."""
        self._head(200, content, {"transfer-encoding": "chunked"})
        self._chunked = True

    def send(self, data: bytes) -> None:
        """Send a piece of the stream: one chunk, so that it arrives as it is."""
        if data:
            self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self._handler.wfile.flush()

    def end(self) -> None:
        """End the stream."""
        self._handler.wfile.write(b"0\r\n\r\n")

    def cut(self) -> None:
        """Drop the connection in the middle."""
        self._handler.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def left(self, seconds: float = 5.0) -> bool:
        """Wait until the other side has closed its socket; whether it did."""
        readable, _, _ = select.select([self.connection], [], [], seconds)
        with contextlib.suppress(ConnectionError):
            return bool(readable) and self.connection.recv(1) == b""
        return True

    def _head(self, status: int, content: str, headers: dict[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in {"content-type": content, **headers}.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()


Turn = Callable[[Asked, Out], None]


class Provider:
    """A provider of one wire. `asked` is what it was sent; a request after the last turn is answered with a 418."""

    def __init__(self, wire: str, turns: Iterable[Turn], *, tls: ssl.SSLContext | None = None) -> None:
        self.wire = wires.get(wire)
        self.host = HOST_OF[wire]
        self.turns = list(turns)
        self.asked: list[Asked] = []
        self.errors: list[Exception] = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def root(self) -> str:
        """Its address."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base(self) -> str:
        """The address that paths are added to, with the path of the host it plays."""
        return self.root + "/" + "/".join(self.host.base.split("/")[3:])

    def take(self, asked: Asked) -> Turn:
        """The next turn."""
        with self._lock:
            self.asked.append(asked)
            number = len(self.asked)
            return self.turns[number - 1] if number <= len(self.turns) else fail(418, {"error": "no turn is left"})

    def __enter__(self) -> Provider:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        if kind is None:
            for each in self.errors:
                raise each


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is none."""


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            text = self.rfile.read(length) if length else _chunked(self.rfile)
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked("POST", self.path, headers, text, msgspec.json.decode(text), provider.wire)
            turn = provider.take(asked)
            try:
                turn(asked, Out(self))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True
            except Exception as error:  # noqa: BLE001 - raised in the test's own thread
                provider.errors.append(error)
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def _chunked(source: Any) -> bytes:
    body = b""
    while size := int(source.readline().partition(b";")[0], 16):
        body += source.read(size)
        source.readline()
    source.readline()
    return body


# Turns


def stream_bytes(wire: Wire, reply: Reply) -> Iterator[bytes]:
    """A reply as its provider streams it, event by event."""
    framing = HOST_OF[wire.NAME].framing
    for event in wire.write_stream(events_of(reply)):
        yield write_frame(framing, event)
    yield ENDS.get(wire.NAME, b"")


def say(reply: Reply | str | list[Any]) -> Turn:
    """Answer with a reply, streamed or not, as asked."""
    whole = reply_of(reply)

    def turn(asked: Asked, out: Out) -> None:
        if not asked.stream:
            out.json(asked.wire.write_reply(whole))
            return
        out.begin(CONTENT[HOST_OF[asked.wire.NAME].framing])
        for piece in stream_bytes(asked.wire, whole):
            out.send(piece)
        out.end()

    return turn


def reply_of(reply: Reply | str | list[Any]) -> Reply:
    """A reply of its text or its blocks."""
    if isinstance(reply, Reply):
        return reply
    blocks = [Text(reply)] if isinstance(reply, str) else reply
    calls = any(isinstance(block, ToolCall) for block in blocks)
    usage = Usage(input_tokens=12, output_tokens=7)
    return Reply(
        Message("assistant", tuple(blocks)), "tool_calls" if calls else "end", usage=usage, model="m", id="r-1"
    )


def fail(status: int, body: Any = None, **headers: str) -> Turn:
    """Answer with an error."""
    return lambda asked, out: out.json({"error": {"message": "no"}} if body is None else body, status, **headers)


def raw(pieces: Iterable[bytes], content: str = CONTENT["sse"], *, cut: bool = False) -> Turn:
    """Answer with these bytes as a stream; `cut` drops the connection instead of ending it."""

    def turn(asked: Asked, out: Out) -> None:
        out.begin(content)
        for piece in pieces:
            out.send(piece)
        out.cut() if cut else out.end()

    return turn


def sse(*events: dict[str, Any] | str) -> list[bytes]:
    """Events as server-sent events; a string is data as it stands."""
    return [write_event(each.encode() if isinstance(each, str) else msgspec.json.encode(each)) for each in events]
