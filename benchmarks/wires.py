"""What the wires cost: `python -m benchmarks.wires`, in the environment of the tests, which has the providers' SDKs.

A history of 100 KB is written and read, a reply of 100 KB is read, beside what the provider's own SDK does with the
same body; 35 KB of streamed arguments are read and written; and a run of 200 steps is counted in instructions, with
the wire and the JSON included.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from benchmarks import workshop
from counterfoil import wires
from counterfoil.types.history import Growing, History
from counterfoil.types.message import Message, Text, ToolCall, ToolResult
from counterfoil.types.request import Reply, Request, Sampling, ToolSpec, Usage
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, ReplyStart, ReplyStop, StreamEvent, fold
from counterfoil.wires.wire import Wire

SIZE = 100_000
PIECES = 35_000
PROSE = "The parcel left the depot on Monday and is due the day after tomorrow. "
TOOL = ToolSpec("track_order", "Where a parcel is.", {"type": "object", "properties": {"order": {"type": "string"}}})
ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Copying a long text is one instruction to a processor, and one per byte to callgrind: let it copy by registers.
    "GLIBC_TUNABLES": "glibc.cpu.x86_rep_movsb_threshold=100000000",
}
Encode = Callable[[Any], Any]


def turn(number: int) -> tuple[Message, Message]:
    """A call and its result, about 600 bytes."""
    call = ToolCall(f"{number}.1", TOOL.name, {"order": f"ORD-{number}", "fields": ["place", "date"], "depth": number})
    return (
        Message("assistant", (Text("I look that up."), call)),
        Message("tool", (ToolResult(call.id, (Text(PROSE * 5),), name=TOOL.name),)),
    )


def request(messages: Any) -> Request:
    return Request(messages, (TOOL,), model="model-1", sampling=Sampling(1_000))


def history() -> Request:
    """A request of about 100 KB."""
    messages = [Message("system", (Text("Be brief."),)), Message("user", (Text("Where are my orders?"),))]
    for number in range(SIZE // 600):
        messages += turn(number)
    return request(tuple(messages))


def reply() -> Reply:
    """A reply of about 100 KB, half of it prose."""
    calls = [ToolCall(f"c{number}", TOOL.name, {"order": PROSE * 10}) for number in range(SIZE // 2 // 720)]
    return Reply(
        Message("assistant", (Text(PROSE * (SIZE // 2 // len(PROSE))), *calls)),
        "tool_calls",
        None,
        Usage(20, 9),
        "model-1",
        "reply-1",
    )


def best(work: Callable[[], object], rounds: int = 12) -> float:
    """CPU seconds, the best of several."""
    found: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def streamed() -> list[StreamEvent]:
    """35 KB of arguments in pieces of four characters."""
    text = json.dumps({"path": "/srv", "note": "x" * (PIECES - 40), "count": 3})
    call = ToolCall("call00001", TOOL.name)
    pieces = [BlockDelta(0, text[at : at + 4]) for at in range(0, len(text), 4)]
    whole = ToolCall(call.id, call.name, json.loads(text))
    return [ReplyStart("m", "i"), BlockStart(0, call), *pieces, BlockStop(0, whole), ReplyStop("tool_calls")]


def their_stream(wire: Wire) -> list[Any]:
    """The same as this wire's events. Two wires write calls whole, but read them in pieces, too."""
    text = "x" * PIECES
    cut = [text[at : at + 4] for at in range(0, len(text), 4)]
    if wire.NAME == "gemini":

        def chunk(call: Any, **more: Any) -> Any:
            content = {"role": "model", "parts": [{"functionCall": call}]}
            return {"candidates": [{"content": content, "index": 0, **more}], "modelVersion": "m", "responseId": "i"}

        said = [{"jsonPath": "$.note", "stringValue": piece, "willContinue": True} for piece in cut]
        middle = [chunk({"partialArgs": [piece], "willContinue": True}) for piece in said]
        start = chunk({"name": TOOL.name, "willContinue": True})
        return [start, *middle, chunk({}, finishReason="STOP")]
    if wire.NAME == "mistral":

        def said_in(delta: Any, finish: str | None = None) -> Any:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return {"id": "i", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

        calls: list[Any] = [
            {"index": 0, "function": {"name": "", "arguments": piece}} for piece in ['{"note":"', *cut, '"}']
        ]
        calls[0] = {"id": "call00001", "index": 0, "function": {"name": TOOL.name, "arguments": '{"note":"'}}
        return [*[said_in({"tool_calls": [call]}) for call in calls], said_in({"content": ""}, "tool_calls")]
    return list(wire.write_stream(streamed()))


def warm(events: list[Any]) -> list[Any]:
    """Events as decoded, equal ones one object: in a run an event is read while it is warm from being decoded."""
    made: dict[bytes, Any] = {}
    return [made.setdefault(data, msgspec.json.decode(data)) for data in map(msgspec.json.encode, events)]


# The SDKs


def sdk(name: str) -> tuple[str, Encode, Encode] | None:
    """The SDK of a wire: its distribution, how it makes JSON of a request, and how it reads the JSON of a reply."""
    try:
        return SDKS[name]()
    except ImportError:
        return None


def _load(module: str, *names: str) -> list[Any]:
    loaded = importlib.import_module(module)
    return [getattr(loaded, name) for name in names]


def _anthropic() -> tuple[str, Encode, Encode]:
    (dumps,) = _load("anthropic._utils._json", "openapi_dumps")
    (message,) = _load("anthropic.types", "Message")
    return "anthropic", dumps, lambda data: message.construct(**json.loads(data))


def _openai(params: str, kind: str, where: str) -> Callable[[], tuple[str, Encode, Encode]]:
    def load() -> tuple[str, Encode, Encode]:
        (dumps,) = _load("openai._utils._json", "openapi_dumps")
        (transform,) = _load("openai._utils", "maybe_transform")
        (takes,) = _load(f"{where}.{params}", f"{kind}CreateParamsNonStreaming")
        (gives,) = _load(where, "ChatCompletion" if kind == "Completion" else kind)
        return "openai", lambda body: dumps(transform(body, takes)), lambda data: gives.construct(**json.loads(data))

    return load


def _gemini() -> tuple[str, Encode, Encode]:
    content, gives = _load("google.genai.types", "Content", "GenerateContentResponse")

    def encode(body: Any) -> str:
        said = [
            content.model_validate(each).model_dump(mode="json", by_alias=True, exclude_none=True)
            for each in body["contents"]
        ]
        return json.dumps({**body, "contents": said})

    return "google-genai", encode, gives.model_validate_json


def _interactions() -> tuple[str, Encode, Encode]:
    takes, gives = _load("google.genai.interactions", "CreateModelInteraction", "Interaction")
    return "google-genai", _dumping(takes), gives.model_validate_json


def _dumping(kind: Any) -> Encode:
    return lambda body: kind.model_validate(body).model_dump_json(by_alias=True, exclude_unset=True)


def _mistral() -> tuple[str, Encode, Encode]:
    takes, gives = _load("mistralai.client.models", "ChatCompletionRequest", "ChatCompletionResponse")
    return "mistralai", _dumping(takes), gives.model_validate_json


def _ollama() -> tuple[str, Encode, Encode]:
    (takes,) = _load("ollama._types", "ChatRequest")
    (gives,) = _load("ollama", "ChatResponse")
    return "ollama", _dumping(takes), gives.model_validate_json


def _cohere() -> tuple[str, Encode, Encode]:
    (convert,) = _load("cohere.core.serialization", "convert_and_respect_annotation_metadata")
    (construct,) = _load("cohere.core.unchecked_base_model", "construct_type")
    messages, gives = _load("cohere", "ChatMessages", "V2ChatResponse")

    def encode(body: Any) -> str:
        said = convert(object_=body["messages"], annotation=messages, direction="write")
        return json.dumps({**body, "messages": said})

    return "cohere", encode, lambda data: construct(type_=gives, object_=json.loads(data))


def _bedrock() -> tuple[str, Encode, Encode]:
    (session,) = _load("botocore.session", "get_session")
    (serializer,) = _load("botocore.serialize", "create_serializer")
    (parser,) = _load("botocore.parsers", "create_parser")
    operation = session().get_service_model("bedrock-runtime").operation_model("Converse")
    writes, reads = serializer("rest-json"), parser("rest-json")

    def decode(data: bytes) -> Any:
        return reads.parse({"body": data, "headers": {}, "status_code": 200}, operation.output_shape)

    return "botocore", lambda body: writes.serialize_to_request({**body, "modelId": "m"}, operation)["body"], decode


SDKS: dict[str, Callable[[], tuple[str, Encode, Encode]]] = {
    "anthropic": _anthropic,
    "openai-chat": _openai("completion_create_params", "Completion", "openai.types.chat"),
    "openai-responses": _openai("response_create_params", "Response", "openai.types.responses"),
    "gemini": _gemini,
    "gemini-interactions": _interactions,
    "mistral": _mistral,
    "cohere": _cohere,
    "ollama": _ollama,
    "bedrock": _bedrock,
}


# Growth


def grow(wire: Wire, steps: int, library: Any = None) -> None:
    """Write the request of each step of a run; count five early steps and five late ones."""
    messages: Growing[Message] = Growing([Message("user", (Text("Where are my orders?"),))])
    for step in range(1, steps + 1):
        if library and step in (10, 196):
            library.count_on()
        msgspec.json.encode(wire.write_request(request(History(messages)), encoded=True).body)
        if library and step in (14, 200):
            library.count_off(f"{wire.NAME}_{'early' if step < 100 else 'late'}".encode())
        for message in turn(step):
            messages.append(message)


def count(path: str) -> None:
    """Count for all wires; runs under callgrind."""
    library = ctypes.CDLL(path)
    gc.disable()
    for name in wires.names():
        grow(wires.get(name), 20)
        grow(wires.get(name), 200, library)


def growth() -> dict[str, float]:
    """Instructions of a step at step 200, per one at step 10; empty where they cannot be counted."""
    if why := workshop.no_callgrind():
        workshop.say(why + "\n")
        return {}
    folder = workshop.WORK / "callgrind" / "wires"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder / 'out'}"]
    command += [sys.executable, "-m", "benchmarks.wires", str(workshop.WORK / "callgrind.so")]
    subprocess.run(command, cwd=workshop.ROOT, check=True, env={**os.environ, **ENVIRONMENT}, timeout=workshop.SECONDS)
    found: dict[str, int] = {}
    for file in folder.iterdir():
        text = file.read_text(errors="replace")
        trigger = re.search(r"^desc: Trigger: Client Request: (\S+)", text, re.MULTILINE)
        total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
        if trigger and total:
            found[trigger[1]] = int(total[1])
    return {name: found[f"{name}_late"] / found[f"{name}_early"] for name in wires.names()}


# The table


def measure(wire: Wire, grown: float | None) -> list[str]:
    """The row of one wire."""
    asked, answered = history(), reply()
    body, answer = wire.write_request(asked).body, wire.write_reply(answered)
    data, said = msgspec.json.encode(body), msgspec.json.encode(answer)
    encode = best(lambda: msgspec.json.encode(wire.write_request(asked).body))
    decode = best(lambda: wire.read_request(msgspec.json.decode(data)))
    read = best(lambda: wire.read_reply(msgspec.json.decode(said)))
    theirs = sdk(wire.NAME)
    beside = ["-", "-", "-"]
    if theirs:
        name, dumps, loads = theirs
        plain = json.loads(data)
        beside = [
            f"{name} {importlib.metadata.version(name)}",
            rate(data, best(lambda: dumps(plain))),
            rate(said, best(lambda: loads(said))),
        ]
    events, mine = warm(their_stream(wire)), streamed()
    assert fold(wire.read_stream(events)).message.calls[0].arguments
    pieces = best(lambda: list(wire.read_stream(events)))
    return [
        wire.NAME,
        rate(data, encode),
        beside[1],
        rate(data, decode),
        rate(said, read),
        beside[2],
        f"{pieces * 1e3:.1f} ({len(events):,} events)",
        f"{best(lambda: list(wire.write_stream(mine)), 5) * 1e3:.1f}",
        f"{grown:.3f}" if grown else "-",
        beside[0],
    ]


def rate(data: bytes, seconds: float) -> str:
    """MB/s."""
    return f"{len(data) / seconds / 1e6:.0f}"


HEAD = [
    "wire",
    "encode a history",
    "its SDK",
    "decode a history",
    "decode a reply",
    "its SDK",
    "read 35 KB of arguments, ms",
    "write them, ms",
    "growth, step 200 / 10",
    "SDK",
]


def main() -> None:
    """Measure and print."""
    grown = growth()
    rows = [measure(wires.get(name), grown.get(name)) for name in wires.names()]
    print(
        f"{datetime.now(UTC).date()}, Python {platform.python_version()}, msgspec {msgspec.__version__}; MB/s of CPU\n"
    )
    print("\n".join("| " + " | ".join(line) + " |" for line in (HEAD, ["---"] * len(HEAD), *rows)))


if __name__ == "__main__":
    count(sys.argv[1]) if len(sys.argv) > 1 else main()
