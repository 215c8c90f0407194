"""The provider's own SDK as an oracle, for generateContent and for Interactions."""

from __future__ import annotations

from typing import Any

import msgspec
from google.genai import types
from google.genai.interactions import CreateModelInteraction, Interaction, InteractionSSEEvent
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from strategies import copy, laws, recut, replies, requests

from counterfoil.types.message import Block, Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from counterfoil.types.request import Reply, Request
from counterfoil.types.stream import events_of, fold
from counterfoil.wires import gemini, gemini_interactions

SSE: TypeAdapter[Any] = TypeAdapter(InteractionSSEEvent)


def plain(block: Block) -> Block:
    """A block without what only a wire of a time to come says beside it."""
    if isinstance(block, Opaque):
        return block
    if isinstance(block, ToolResult):
        return msgspec.structs.replace(block, content=known(block.content), ext={})
    if isinstance(block, Reasoning):
        return block
    return msgspec.structs.replace(block, ext={})


def known(blocks: tuple[Any, ...]) -> Any:
    """Without what no SDK has a type for."""
    return tuple([plain(block) for block in blocks if not isinstance(block, Opaque)])


def known_reply(reply: Reply) -> Reply:
    return msgspec.structs.replace(reply, message=Message("assistant", known(reply.message.blocks)), ext={})


def known_request(request: Request) -> Request:
    messages = tuple([msgspec.structs.replace(each, blocks=known(each.blocks), ext={}) for each in request.messages])
    tools = tuple([msgspec.structs.replace(tool, ext={}) for tool in request.tools])
    return msgspec.structs.replace(request, messages=messages, tools=tools, ext={}, stream=False)


@laws
@given(request=requests().map(known_request))
def test_the_sdk_takes_our_requests(request: Request) -> None:
    body = copy(gemini.write_request(request).body)
    contents = [types.Content.model_validate(content) for content in body["contents"]]
    said = [part.text for content in contents for part in content.parts or [] if part.text is not None]
    assert all(isinstance(text, str) for text in said)
    for tool in body.get("tools", []):
        types.Tool.model_validate(tool)
    types.ToolConfig.model_validate(body.get("toolConfig", {}))
    types.GenerationConfig.model_validate(body.get("generationConfig", {}))
    types.Content.model_validate(body.get("systemInstruction", {}))


@laws
@given(reply=replies().map(known_reply))
def test_the_sdk_understands_our_replies_and_we_what_it_dumps(reply: Reply) -> None:
    body = copy(gemini.write_reply(reply))
    understood = types.GenerateContentResponse.model_validate(body)
    assert [call.name for call in understood.function_calls or []] == [call.name for call in reply.message.calls]
    dumped = copy(understood.model_dump(mode="json", by_alias=True, exclude_unset=True))
    assert gemini.read_reply(dumped) == gemini.read_reply(body)


@laws
@given(reply=replies().map(known_reply), data=st.data())
def test_the_sdk_understands_our_streams_and_we_what_it_dumps(reply: Reply, data: st.DataObject) -> None:
    chunks = copy(list(gemini.write_stream(recut(data.draw, list(events_of(reply)), overlap=True))))
    understood = [types.GenerateContentResponse.model_validate(chunk) for chunk in chunks]
    parts = [part for chunk in understood for part in chunk.parts or []]
    said = "".join([block.text for block in reply.message.blocks if isinstance(block, Text)])
    assert "".join([part.text for part in parts if part.text and not part.thought]) == said
    dumped = [copy(chunk.model_dump(mode="json", by_alias=True, exclude_unset=True)) for chunk in understood]
    assert fold(gemini.read_stream(dumped)) == fold(gemini.read_stream(chunks))


@laws
@given(data=st.binary(max_size=9), signature=st.binary(min_size=1, max_size=9))
def test_the_alphabet_of_the_sdk_is_understood(data: bytes, signature: bytes) -> None:
    parts = [
        types.Part(inline_data=types.Blob(mime_type="image/png", data=b"." + data)),
        types.Part(function_call=types.FunctionCall(name="f", args={}), thought_signature=signature),
    ]
    contents = [
        types.Content(role=role, parts=[part]).model_dump(mode="json", by_alias=True, exclude_unset=True)
        for role, part in zip(("user", "model"), parts, strict=True)
    ]
    request = gemini.read_request({"contents": contents})
    (image,) = request.messages[0].blocks
    assert isinstance(image, Media)
    assert image.data == b"." + data
    again = gemini.write_request(msgspec.structs.replace(request, messages=request.messages[:1])).body
    assert again["contents"] == contents[:1]


@laws
@given(request=requests().map(known_request))
def test_the_sdk_takes_our_interactions(request: Request) -> None:
    body = copy(gemini_interactions.write_request(request).body)
    understood = CreateModelInteraction.model_validate(body)
    assert copy(understood.model_dump(mode="json", by_alias=True, exclude_unset=True)) == body
    steps = understood.model_dump(mode="python", by_alias=True)["input"]
    assert not [each for each in steps if "UNKNOWN" in str(type(each))]


@laws
@given(reply=replies().map(known_reply), data=st.data())
def test_the_sdk_understands_our_interactions(reply: Reply, data: st.DataObject) -> None:
    body = copy(gemini_interactions.write_reply(reply))
    understood = Interaction.model_validate(body)
    found = [step for step in understood.steps or [] if step.type == "function_call"]
    calls = [block for block in reply.message.blocks if isinstance(block, ToolCall)]
    assert [call.name for call in found] == [call.name for call in calls]
    dumped = copy(understood.model_dump(mode="json", by_alias=True, exclude_unset=True))
    # The SDK adds a field of its own: the text once more.
    assert dumped.pop("output_text", None) is not None
    assert gemini_interactions.read_reply(dumped) == gemini_interactions.read_reply(body)
    events = copy(list(gemini_interactions.write_stream(recut(data.draw, list(events_of(reply)), overlap=True))))
    read = [SSE.validate_python(event) for event in events]
    assert not [event for event in read if event.event_type == "UNKNOWN"]
    again = [copy(event.model_dump(mode="json", by_alias=True, exclude_unset=True)) for event in read]
    assert fold(gemini_interactions.read_stream(again)) == fold(gemini_interactions.read_stream(events))
