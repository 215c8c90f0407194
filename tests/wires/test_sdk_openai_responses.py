"""The provider's own SDK as an oracle: it understands what we write, and we understand what it dumps."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter
from strategies import copy, laws, recut, replies, requests

from counterfoil.types.message import Block, Message, Opaque
from counterfoil.types.request import Reply, Request
from counterfoil.types.stream import events_of, fold
from counterfoil.wires import openai_responses as wire

EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
PARAMS: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsNonStreaming)


def known(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Without what no SDK has a type for."""
    return tuple([block for block in blocks if not isinstance(block, Opaque)])


def known_reply(reply: Reply) -> Reply:
    return msgspec.structs.replace(reply, message=Message("assistant", known(reply.message.blocks)), model="m")


def known_request(request: Request) -> Request:
    messages = tuple([msgspec.structs.replace(each, blocks=known(each.blocks)) for each in request.messages])
    return msgspec.structs.replace(request, messages=messages, stream=False)


@laws
@given(request=requests().map(known_request))
def test_the_sdk_takes_our_requests(request: Request) -> None:
    PARAMS.validate_python(copy(wire.write_request(request).body))


@laws
@given(reply=replies().map(known_reply))
def test_the_sdk_understands_our_replies_and_we_what_it_dumps(reply: Reply) -> None:
    body = copy(wire.write_reply(reply))
    understood = Response.model_validate(body)
    calls = [item for item in understood.output if item.type == "function_call"]
    assert [call.name for call in calls] == [call.name for call in reply.message.calls if call.kind == "function"]
    dumped = copy(understood.model_dump(mode="json", by_alias=True, exclude_unset=True))
    assert wire.read_reply(dumped) == wire.read_reply(body)


@laws
@given(reply=replies().map(known_reply), data=st.data())
def test_the_sdk_understands_our_streams_and_we_what_it_dumps(reply: Reply, data: st.DataObject) -> None:
    events = copy(list(wire.write_stream(recut(data.draw, list(events_of(reply)), overlap=True))))
    understood = [EVENTS.validate_python(event) for event in events]
    assert [event.sequence_number for event in understood] == list(range(len(events)))
    assert understood[-1].response.output == Response.model_validate(events[-1]["response"]).output
    dumped = [copy(event.model_dump(mode="json", by_alias=True, exclude_unset=True)) for event in understood]
    assert fold(wire.read_stream(dumped)) == fold(wire.read_stream(events))
