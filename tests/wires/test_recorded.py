"""Bodies in the format that each provider publishes: understood, and written back as they were.

`recorded/<wire>/` holds `request.json`, and `reply.json` and `stream.json` that both say what `expected.json` says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from counterfoil import wires
from counterfoil.types.message import ToolCall
from counterfoil.types.request import Reply
from counterfoil.types.stream import fold
from counterfoil.wires.wire import Wire

RECORDED = Path(__file__).parent / "recorded"
pytestmark = pytest.mark.parametrize("wire", [wires.get(name) for name in wires.names()], ids=wires.names())


def recorded(wire: Wire, name: str) -> Any:
    return msgspec.json.decode((RECORDED / wire.NAME / f"{name}.json").read_bytes())


def test_a_request_is_written_back_as_it_was(wire: Wire) -> None:
    body = recorded(wire, "request")
    assert wire.write_request(wire.read_request(body)).body == body


def test_a_reply_is_understood_and_written_back_as_it_was(wire: Wire) -> None:
    body = recorded(wire, "reply")
    reply = wire.read_reply(body)
    assert wire.write_reply(reply) == body
    says(reply, recorded(wire, "expected"))


def test_a_stream_says_what_the_reply_says(wire: Wire) -> None:
    reply = fold(wire.read_stream(recorded(wire, "stream")))
    whole = wire.read_reply(recorded(wire, "reply"))
    assert bare(reply) == bare(whole)
    assert (reply.stop, reply.stop_raw, reply.usage, reply.model, reply.id) == (
        whole.stop,
        whole.stop_raw,
        whole.usage,
        whole.model,
        whole.id,
    )
    says(reply, recorded(wire, "expected"))


def test_a_stream_is_understood_again_after_it_was_written(wire: Wire) -> None:
    events = list(wire.read_stream(recorded(wire, "stream")))
    assert fold(wire.read_stream(wire.write_stream(events))) == fold(events)


def says(reply: Reply, expected: Any) -> None:
    assert reply.message.text == expected["text"]
    assert [[call.name, call.arguments] for call in reply.message.calls] == expected["calls"]
    assert reply.stop == expected["stop"]


def bare(reply: Reply) -> list[Any]:
    return [
        msgspec.structs.replace(block, ext={}, raw=None) if isinstance(block, ToolCall) else block
        for block in reply.message.blocks
    ]
