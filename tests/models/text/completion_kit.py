"""A completion server on this machine: real HTTP on loopback, speaking the formats of llama.cpp, vLLM and SGLang."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from counterfoil.models.completions import Asked, Ended, Said
from counterfoil.types.request import ToolSpec, Usage

TOOLS = (
    ToolSpec(
        "lookup_order",
        "Find one order by its number.",
        {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
    ),
    ToolSpec("ping", "Say that you are there.", {"type": "object", "properties": {}}),
)
PING = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
ORDER = '<tool_call>\n{"name": "lookup_order", "arguments": {"order_id": "O-1"}}\n</tool_call>'

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """One exchange."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        """Answer with the next of the script."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.path, body, dict(self.headers)))
        self.server.script.pop(0)(self)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def events(self, *events: dict[str, Any] | str, end: bool = True) -> None:
        """Send server-sent events, each in two pieces."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            data = f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()
            for piece in (data[:9], data[9:]):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if end:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def whole(self, body: dict[str, Any], status: int = 200) -> None:
        """Send JSON."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(ThreadingHTTPServer):
    """Answers with a script. `asked` is what it was sent: path, body, headers."""

    def __init__(self, *script: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = list(script)
        self.asked: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.base = f"http://127.0.0.1:{self.server_port}/v1"
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


def llama(*pieces: str, stop_type: str = "eos") -> Answer:
    """llama.cpp's `/completion`."""
    events: list[dict[str, Any]] = [{"content": each, "stop": False} for each in pieces]
    last = {"tokens_evaluated": 20, "tokens_predicted": 7, "tokens_cached": 26, "timings": {"cache_n": 12}}
    return lambda out: out.events(*events, {"content": "", "stop": True, "stop_type": stop_type, **last})


def openai(*pieces: str, finish: str = "stop") -> Answer:
    """`/v1/completions`, counted at the end."""
    events: list[dict[str, Any]] = [{"choices": [{"index": 0, "text": each}]} for each in pieces]
    usage = {"prompt_tokens": 20, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 12}}
    end = {"choices": [{"index": 0, "text": "", "finish_reason": finish}]}
    return lambda out: out.events(*events, end, {"choices": [], "usage": usage}, "[DONE]")


class Scripted:
    """A completion that says what it is told. `asked` is what it was sent."""

    name = "scripted"
    adds_bos = True

    def __init__(self, *texts: str, constrains: bool = True, stop: str = "end") -> None:
        self.texts, self.constrains, self.stop = list(texts), constrains, stop
        self.asked: list[Asked] = []

    async def complete(self, asked: Asked) -> AsyncGenerator[Said | Ended]:
        """Say the next text, a few characters at a time."""
        self.asked.append(asked)
        text = self.texts.pop(0)
        for at in range(0, len(text), 5):
            yield Said(text[at : at + 5])
        yield Ended("length" if self.stop == "length" else "end", self.stop, Usage(input_tokens=3, output_tokens=2))
