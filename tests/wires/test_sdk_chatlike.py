"""The providers' own SDKs as oracles: they parse what we write, and we understand what they dump."""

from __future__ import annotations

import collections.abc
import os
import types
import typing
from collections.abc import Callable
from typing import Any

import msgspec
import pydantic
import pytest
import typing_extensions
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message as AnthropicMessage
from anthropic.types import RawMessageStreamEvent
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as AnthropicRequest
from cohere.types import ChatMessageV2, ToolV2
from cohere.v2.types import V2ChatResponse, V2ChatStreamResponse
from hypothesis import given
from mistralai.client.models import ChatCompletionRequest as MistralRequest
from mistralai.client.models import ChatCompletionResponse as MistralReply
from mistralai.client.models import CompletionChunk as MistralChunk
from ollama import ChatResponse as OllamaReply
from ollama._types import ChatRequest as OllamaRequest
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as OpenAIRequest
from strategies import copy, laws, replies, requests

from counterfoil import wires
from counterfoil.types.message import Block, Message, Opaque, Reasoning, ToolCall, ToolResult
from counterfoil.types.request import Reply, Request
from counterfoil.types.stream import events_of, fold

replace = msgspec.structs.replace
Parse = Callable[[Any], Any]


def of_type(kind: Any) -> Parse:
    return pydantic.TypeAdapter(kind).validate_python


_EAGER: dict[Any, Any] = {}


def eager(kind: Any) -> Any:
    """The SDK's type with lists for iterables: pydantic validates iterables late, and panics over nested ones."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if typing_extensions.is_typeddict(kind):
        if kind not in _EAGER:
            made: Any = typing_extensions.TypedDict(kind.__name__, {}, total=False)  # type: ignore[misc]
            _EAGER[kind] = made
            for key, hint in typing_extensions.get_type_hints(kind, include_extras=True).items():
                made.__annotations__[key] = eager(hint)
            made.__required_keys__ = kind.__required_keys__
            made.__optional_keys__ = kind.__optional_keys__
        return _EAGER[kind]
    if origin is typing.Union or origin is types.UnionType:
        files = (typing.IO, os.PathLike)
        return typing.Union[tuple(eager(each) for each in args if typing.get_origin(each) not in files)]  # noqa: UP007
    if origin in (collections.abc.Iterable, list) or getattr(origin, "__name__", "") == "SequenceNotStr":
        return list[eager(args[0])]  # type: ignore[misc]
    if origin is typing_extensions.Required or origin is typing_extensions.NotRequired:
        return origin[eager(args[0])]
    if origin is dict:
        return dict[str, Any]
    return kind


def published(request: Request) -> Request:
    """A request without what no SDK knows: opaque blocks, extra fields."""
    messages = [
        replace(
            message, ext={}, blocks=tuple([plain(block) for block in message.blocks if not isinstance(block, Opaque)])
        )
        for message in request.messages
    ]
    specs = tuple([replace(spec, ext={}) for spec in request.tools])
    return replace(
        request, messages=tuple([each for each in messages if each.blocks]), tools=specs, ext={}, stream=False
    )


def plain(block: Block) -> Block:
    match block:
        case ToolResult():
            return replace(
                block,
                ext={},
                content=tuple([replace(each, ext={}) for each in block.content if not isinstance(each, Opaque)]),
            )
        case Reasoning() | Opaque():
            return block
        case _:
            return replace(block, ext={})


def published_reply(reply: Reply) -> Reply:
    blocks = tuple([plain(block) for block in reply.message.blocks if not isinstance(block, Opaque)])
    return replace(reply, message=Message("assistant", blocks), ext={}, model="m", id="r")


REQUESTS: dict[str, Parse] = {
    "openai-chat": of_type(eager(OpenAIRequest)),
    "anthropic": of_type(eager(AnthropicRequest)),
    "mistral": MistralRequest.model_validate,
    "cohere": lambda body: (
        of_type(list[ChatMessageV2])(body["messages"]),
        of_type(list[ToolV2])(body.get("tools", [])),
    ),
    "ollama": lambda body: OllamaRequest.model_validate(without_images(body)),
}
REPLIES: dict[str, Any] = {
    "openai-chat": ChatCompletion,
    "anthropic": AnthropicMessage,
    "mistral": MistralReply,
    "cohere": V2ChatResponse,
    "ollama": OllamaReply,
}
EVENTS: dict[str, Any] = {
    "openai-chat": ChatCompletionChunk,
    "anthropic": RawMessageStreamEvent,
    "mistral": MistralChunk,
    "cohere": V2ChatStreamResponse,
    "ollama": OllamaReply,
}


def without_images(body: Any) -> Any:
    """The SDK takes images as paths or bytes, and writes them as we do."""
    messages = [{key: each for key, each in message.items() if key != "images"} for message in body["messages"]]
    return body | {"messages": messages}


def dumped(kind: Any, body: Any) -> Any:
    adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(kind)
    return adapter.dump_python(adapter.validate_python(body), mode="json", by_alias=True, exclude_unset=True)


def essence(reply: Reply) -> list[Any]:
    return [
        replace(block, ext={}, raw=block.raw if block.arguments is None else None)
        if isinstance(block, ToolCall)
        else plain(block)
        for block in reply.message.blocks
    ]


@pytest.mark.parametrize("name", REQUESTS)
@laws
@given(request=requests())
def test_the_sdk_takes_our_requests(name: str, request: Request) -> None:
    REQUESTS[name](copy(wires.get(name).write_request(published(request)).body))


@pytest.mark.parametrize("name", REPLIES)
@laws
@given(reply=replies())
def test_the_sdk_reads_our_replies_and_we_read_what_it_dumps(name: str, reply: Reply) -> None:
    wire = wires.get(name)
    body = copy(wire.write_reply(published_reply(reply)))
    found, whole = wire.read_reply(dumped(REPLIES[name], body)), wire.read_reply(body)
    assert essence(found) == essence(whole)
    assert (found.stop, found.usage, found.id) == (whole.stop, whole.usage, whole.id)


@pytest.mark.parametrize("name", EVENTS)
@laws
@given(reply=replies())
def test_the_sdk_reads_our_streams_and_we_read_what_it_dumps(name: str, reply: Reply) -> None:
    wire = wires.get(name)
    events = copy(list(wire.write_stream(events_of(published_reply(reply)))))
    found = fold(wire.read_stream([dumped(EVENTS[name], event) for event in events]))
    whole = fold(wire.read_stream(events))
    assert essence(found) == essence(whole)
    assert (found.stop, found.usage, found.id) == (whole.stop, whole.usage, whole.id)


@laws
@given(reply=replies())
def test_openai_adds_our_chunks_up_to_our_reply(reply: Reply) -> None:
    wire, state = wires.get("openai-chat"), ChatCompletionStreamState()
    reply = published_reply(reply)
    for event in wire.write_stream(events_of(reply)):
        state.handle_chunk(ChatCompletionChunk.model_validate(copy(event)))
    summed = state.current_completion_snapshot.model_dump(mode="json", exclude_unset=True)
    calls = [(call.name, call.arguments) for call in wire.read_reply(summed).message.calls]
    whole = wire.read_reply(copy(wire.write_reply(reply)))
    assert calls == [(call.name, call.arguments) for call in whole.message.calls]
    assert wire.read_reply(summed).message.text == whole.message.text


@laws
@given(reply=replies())
def test_anthropic_adds_our_events_up_to_our_reply(reply: Reply) -> None:
    wire = wires.get("anthropic")
    # The SDK raises on arguments that do not parse; those are ours to read.
    blocks = [
        block
        for block in published_reply(reply).message.blocks
        if not (isinstance(block, ToolCall) and block.arguments is None)
    ]
    reply = replace(published_reply(reply), message=Message("assistant", tuple(blocks)))
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    read = of_type(RawMessageStreamEvent)
    for event in wire.write_stream(events_of(reply)):
        snapshot = accumulate_event(event=read(copy(event)), current_snapshot=snapshot, json_bufs=buffers)
    whole = wire.read_reply(copy(wire.write_reply(reply)))
    assert [block.input for block in snapshot.content if block.type == "tool_use"] == [
        call.arguments for call in whole.message.calls
    ]
    assert "".join([block.text for block in snapshot.content if block.type == "text"]) == whole.message.text
