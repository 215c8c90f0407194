"""The provider's own service model as an oracle: its validator takes our requests, its parsers our replies."""

from __future__ import annotations

import base64
import importlib
import importlib.util
import itertools
from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from strategies import copy, laws, recut, replies, requests

from counterfoil.types.message import Block, Media, Message, Opaque, Reasoning, ToolResult
from counterfoil.types.request import Reply, Request
from counterfoil.types.stream import events_of, fold
from counterfoil.wires import bedrock as wire
from counterfoil.wires._eventstream import write_event

botocore_session = importlib.import_module("botocore.session")
parsers = importlib.import_module("botocore.parsers")
validate = importlib.import_module("botocore.validate")
EventStream = importlib.import_module("botocore.eventstream").EventStream

MODEL = botocore_session.get_session().get_service_model("bedrock-runtime")
INPUT = MODEL.operation_model("Converse").input_shape
OUTPUT = MODEL.operation_model("Converse").output_shape
STREAM = MODEL.operation_model("ConverseStream").output_shape.members["stream"]


def plain(block: Block) -> Block:
    """A block without what only a service of a time to come says beside it."""
    if isinstance(block, Opaque | Reasoning):
        return block
    if isinstance(block, ToolResult):
        return msgspec.structs.replace(block, content=known(block.content), ext={})
    return msgspec.structs.replace(block, ext={})


def known(blocks: tuple[Any, ...]) -> Any:
    """Without what the service model has no shape for."""
    return tuple([plain(block) for block in blocks if not isinstance(block, Opaque)])


def known_request(request: Request) -> Request:
    messages = tuple([msgspec.structs.replace(each, blocks=known(each.blocks), ext={}) for each in request.messages])
    tools = tuple([msgspec.structs.replace(tool, ext={}) for tool in request.tools])
    return msgspec.structs.replace(request, messages=messages, tools=tools, ext={})


def known_reply(reply: Reply) -> Reply:
    return msgspec.structs.replace(reply, message=Message("assistant", known(reply.message.blocks)), ext={})


def blobs(value: Any, shape: Any, *, to_bytes: bool) -> Any:
    """A body with its blobs as bytes, as Python callers have them; or back as base64, as they travel."""
    if shape.type_name == "structure" and not getattr(shape, "is_document_type", False):
        return {key: blobs(each, shape.members[key], to_bytes=to_bytes) for key, each in value.items()}
    if shape.type_name == "list":
        return [blobs(each, shape.member, to_bytes=to_bytes) for each in value]
    if shape.type_name == "blob":
        return base64.b64decode(value) if to_bytes else base64.b64encode(value).decode()
    return value


@laws
@given(request=requests().map(known_request))
def test_the_validator_takes_our_requests(request: Request) -> None:
    body = copy(wire.write_request(request).body)
    report = validate.ParamValidator().validate(blobs(body, INPUT, to_bytes=True), INPUT)
    assert not report.has_errors(), report.generate_report()
    roles = [message["role"] for message in body["messages"]]
    assert all(before != after for before, after in itertools.pairwise(roles))


@laws
@given(reply=replies().map(known_reply))
def test_the_parser_understands_our_replies_and_we_what_it_makes_of_them(reply: Reply) -> None:
    body = copy(wire.write_reply(reply))
    response = {"body": msgspec.json.encode(body), "headers": {}, "status_code": 200}
    parsed = parsers.create_parser("rest-json").parse(response, OUTPUT)
    del parsed["ResponseMetadata"]
    assert wire.read_reply(blobs(parsed, OUTPUT, to_bytes=False)) == wire.read_reply(body)


class Raw:
    """What an HTTP response looks like to the SDK's event stream."""

    def __init__(self, data: bytes, size: int) -> None:
        self._chunks = [data[at : at + size] for at in range(0, len(data), size)]

    def stream(self) -> Iterator[bytes]:
        yield from self._chunks

    def close(self) -> None:
        pass


@laws
@given(reply=replies().map(known_reply), size=st.integers(1, 500), data=st.data())
def test_the_event_stream_understands_our_bytes_and_we_what_it_makes_of_them(
    reply: Reply, size: int, data: st.DataObject
) -> None:
    events = copy(list(wire.write_stream(recut(data.draw, list(events_of(reply)), overlap=True))))
    raw = Raw(b"".join([write_event(event) for event in events]), size)
    stream = EventStream(raw, STREAM, parsers.EventStreamJSONParser(), "ConverseStream")
    parsed = [
        {kind: blobs(body, STREAM.members[kind], to_bytes=False) for kind, body in event.items()} for event in stream
    ]
    assert parsed == events
    assert fold(wire.read_stream(parsed)) == fold(wire.read_stream(events))


def test_media_pass_the_validator() -> None:
    content = (Media("image/png", b"x"), Media("application/pdf", b"y"), Media("video/mp4", url="s3://bucket/key"))
    body = copy(wire.write_request(Request((Message("user", content),), model="m")).body)
    report = validate.ParamValidator().validate(blobs(body, INPUT, to_bytes=True), INPUT)
    assert not report.has_errors(), report.generate_report()
