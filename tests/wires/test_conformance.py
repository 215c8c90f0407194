"""The laws that every wire obeys. A new wire is tested by being in the registry."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from normal import matches, normal
from strategies import Draw, copy, histories, laws, recut, replies, requests, wire_names

from counterfoil import wires
from counterfoil.types.history import Growing, History
from counterfoil.types.message import Message, Reasoning, Text, ToolCall
from counterfoil.types.request import Reply, Request
from counterfoil.types.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    ReplyFold,
    ReplyStop,
    events_of,
    fold,
)
from counterfoil.wires._scribe import Scribe
from counterfoil.wires.wire import Wire

pytestmark = pytest.mark.parametrize("wire", [wires.get(name) for name in wires.names()], ids=wires.names())


@laws
@given(request=requests())
def test_a_request_comes_back_but_for_its_losses(wire: Wire, request: Request) -> None:
    written = wire.write_request(request)
    back = wire.read_request(copy(written.body), written.plan)
    assert matches(normal(request, written.losses), normal(back)) == []


@laws
@given(request=requests(), other=wire_names)
def test_a_request_that_came_over_another_wire_comes_back_but_for_its_losses(
    wire: Wire, request: Request, other: str
) -> None:
    first = wires.get(other)
    arrived = first.read_request(copy(first.write_request(request).body))
    written = wire.write_request(arrived)
    back = wire.read_request(copy(written.body), written.plan)
    assert matches(normal(arrived, written.losses), normal(back)) == []


@laws
@given(request=requests())
def test_reading_and_writing_a_request_body_is_the_identity(wire: Wire, request: Request) -> None:
    body = copy(wire.write_request(request).body)
    understood = wire.read_request(body)
    assert wire.write_request(understood).body == body
    assert wire.read_request(body) == understood


@laws
@given(request=requests())
def test_plans_are_bijective(wire: Wire, request: Request) -> None:
    plan = wire.write_request(request).plan
    for held in (plan.names, plan.ids):
        assert len(set(held.values())) == len(held)


@laws
@given(reply=replies())
def test_reading_and_writing_a_reply_body_is_the_identity(wire: Wire, reply: Reply) -> None:
    body = copy(wire.write_reply(reply))
    understood = wire.read_reply(body)
    assert wire.write_reply(understood) == body
    assert [call.name for call in understood.message.calls] == [call.name for call in reply.message.calls]
    # Not every wire has a word for a refusal.
    assert understood.stop in (reply.stop, "end" if reply.stop == "refused" else reply.stop)


@laws
@given(reply=replies(), data=st.data())
def test_a_stream_adds_up_to_the_reply_however_it_is_cut(wire: Wire, reply: Reply, data: st.DataObject) -> None:
    whole = wire.read_reply(copy(wire.write_reply(reply)))
    events = recut(data.draw, list(events_of(whole)), overlap=data.draw(st.booleans()))
    assert fold(wire.read_stream(copy(list(wire.write_stream(events))))) == whole


@laws
@given(reply=replies(), data=st.data())
def test_a_stream_from_another_wire_says_what_the_reply_says(wire: Wire, reply: Reply, data: st.DataObject) -> None:
    whole = wire.read_reply(copy(wire.write_reply(reply)))
    events = recut(data.draw, list(events_of(reply)), overlap=data.draw(st.booleans()))
    found = fold(wire.read_stream(copy(list(wire.write_stream(events)))))
    # The order of prose is the stream's; what each kind of block says is the same.
    assert found.message.text == whole.message.text
    assert thoughts(found) == thoughts(whole)
    assert [bare(call) for call in found.message.calls] == [bare(call) for call in whole.message.calls]
    assert (found.stop, found.usage, found.model, found.id) == (whole.stop, whole.usage, whole.model, whole.id)


def thoughts(reply: Reply) -> str:
    return "".join([block.text for block in reply.message.blocks if isinstance(block, Reasoning)])


def bare(call: ToolCall) -> ToolCall:
    return msgspec.structs.replace(call, ext={}, parse_error=call.parse_error and "it does not parse")


@laws
@given(reply=replies(), data=st.data())
def test_a_stream_is_well_formed(wire: Wire, reply: Reply, data: st.DataObject) -> None:
    events = recut(data.draw, list(events_of(reply)), overlap=data.draw(st.booleans()))
    started: dict[int, str] = {}
    stopped: set[int] = set()
    read = list(wire.read_stream(wire.write_stream(events)))
    for event in read:
        match event:
            case BlockStart(index):
                assert index not in started
                started[index] = ""
            case BlockDelta(index, text):
                assert index not in stopped
                started[index] += text
            case BlockStop(index, block):
                assert index not in stopped
                stopped.add(index)
                if index in started and isinstance(block, Text | Reasoning):
                    assert started[index] == block.text
            case _:
                pass
    assert stopped >= set(started)
    assert isinstance(read[-1], ReplyStop)


@laws
@given(reply=replies(), data=st.data())
def test_a_cut_stream_never_makes_a_call_that_was_not_made(wire: Wire, reply: Reply, data: st.DataObject) -> None:
    events = list(wire.write_stream(recut(data.draw, list(events_of(reply)), overlap=data.draw(st.booleans()))))
    whole = fold(wire.read_stream(events))
    made = [call for call in whole.message.calls if call.arguments is not None]
    cut = events[: data.draw(st.integers(0, len(events)))]
    adding = ReplyFold()
    for event in wire.read_stream(cut):
        adding.add(event)
    for call in adding.reply.message.calls:
        assert call.arguments is None or call in made
        assert call.arguments is not None or call.parse_error or call.kind == "custom"


@laws
@given(reply=replies())
def test_events_of_an_unknown_type_are_nothing(wire: Wire, reply: Reply) -> None:
    events = list(wire.write_stream(events_of(reply)))
    more: list[Any] = [each for event in events for each in (event, {"type": "x_new", "x_new": {"a": 1}})]
    found, whole = fold(wire.read_stream(more)), fold(wire.read_stream(events))
    assert found.message.blocks == whole.message.blocks
    assert (found.stop, found.usage) == (whole.stop, whole.usage)


@laws
@given(messages=histories(), data=st.data())
def test_a_growing_history_is_encoded_once_and_the_same(
    wire: Wire, messages: tuple[Message, ...], data: st.DataObject
) -> None:
    growing: Growing[Message] = Growing()
    held: list[tuple[Any, bytes]] = []
    turned = 0
    turn = Scribe.turn

    def counted(self: Scribe, each: Any, write: Any) -> None:
        nonlocal turned
        turned += len(each)
        turn(self, each, write)

    request = Request(messages, model="m")
    with pytest.MonkeyPatch.context() as patch:
        for message in messages:
            growing.append(message)
            if message.role != "assistant" or not message.calls:
                patch.setattr(Scribe, "turn", counted)
                encoded = wire.write_request(msgspec.structs.replace(request, messages=History(growing)), encoded=True)
                patch.undo()
                whole = wire.write_request(msgspec.structs.replace(request, messages=tuple(growing)))
                assert msgspec.json.decode(msgspec.json.encode(encoded.body)) == copy(whole.body)
                assert (encoded.losses, dict(encoded.plan.ids)) == (whole.losses, dict(whole.plan.ids))
                if data.draw(st.booleans()):
                    held.append((encoded.body, msgspec.json.encode(encoded.body)))
                del encoded
    assert turned <= len(messages)
    # What was written of a shorter history stays what it was.
    assert all(msgspec.json.encode(body) == text for body, text in held)


@laws
@given(request=requests(), data=st.data())
def test_a_wrong_body_is_a_wire_error(wire: Wire, request: Request, data: st.DataObject) -> None:
    body = copy(wire.write_request(request).body)
    spoil(data.draw, body)
    with contextlib.suppress(wires.WireError):
        wire.read_request(body)


@laws
@given(reply=replies(), data=st.data())
def test_a_wrong_reply_is_a_wire_error(wire: Wire, reply: Reply, data: st.DataObject) -> None:
    body = copy(wire.write_reply(reply))
    spoil(data.draw, body)
    with contextlib.suppress(wires.WireError, wires.ModelError):
        wire.read_reply(body)


@laws
@given(reply=replies(), data=st.data())
def test_a_wrong_stream_is_a_wire_error(wire: Wire, reply: Reply, data: st.DataObject) -> None:
    events = copy(list(wire.write_stream(events_of(reply))))
    spoil(data.draw, data.draw(st.sampled_from(events)))
    with contextlib.suppress(wires.WireError, wires.ModelError):
        fold(wire.read_stream(events))


def spoil(draw: Draw, body: Any) -> None:
    """Put something wrong into one place of a body."""
    places: list[tuple[Any, Any]] = []
    stack = [body]
    while stack:
        holder = stack.pop()
        for key in holder if isinstance(holder, dict) else range(len(holder)):
            places.append((holder, key))
            if isinstance(holder[key], dict | list):
                stack.append(holder[key])
    if not places:
        return
    holder, key = draw(st.sampled_from(places))
    wrong = draw(st.sampled_from([None, 7, "x", [], {}, [1], {"x": 1}, True, "gone"]))
    if wrong == "gone":
        del holder[key]
    else:
        holder[key] = wrong


def test_a_plain_conversation_loses_nothing(wire: Wire) -> None:
    messages = (
        Message("system", (Text("Be brief."),)),
        Message("user", (Text("Where is ORD-1?"),)),
        Message("assistant", (ToolCall("call00001", "lookup", {"id": "ORD-1"}),)),
    )
    request = Request(messages, model="m")
    written = wire.write_request(msgspec.structs.replace(request, messages=messages[:2]))
    assert [loss for loss in written.losses if loss.path != "/sampling/max_tokens"] == []
    assert wire.write_request(request).repairs


def test_the_name_is_the_registered_one(wire: Wire) -> None:
    assert wires.get(wire.NAME) is wire
