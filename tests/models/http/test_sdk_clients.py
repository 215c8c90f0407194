"""The providers' own clients, pointed at the local servers, get through a whole loop: what we write they understand.

Needs openai, anthropic, google-genai, mistralai, cohere, ollama and botocore: the extra `dev` brings them, and one that
is missing is a failure, not a skip.
"""

from __future__ import annotations

import gc
import importlib
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from http_kit import CALLS
from provider_kit import KEY, Provider, say

from counterfoil import Request

# What other people's clients warn of is theirs.
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"]),
]

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}},
    "required": ["order_id"],
    "additionalProperties": False,
}
STOCK: dict[str, Any] = {
    "type": "object",
    "properties": {"sku": {"type": "string"}, "least": {"type": "integer"}},
    "required": ["sku"],
}
TOOLS = {"lookup_order": ("Find one order.", ORDER), "lookup_stock": ("Say how many are left.", STOCK)}
ARGUMENTS = [{"order_id": "ORD-1"}, {"sku": "S-7", "least": 2}]
RESULTS = ["ships today", "6 left"]
ANSWER = "It ships today."

Loop = Callable[[Provider, bool], str]


def through(wire: str, loop: Loop, *, stream: bool, named: bool = True) -> None:
    """Let a client go through its loop, and look at what it sent."""
    with Provider(wire, [say(CALLS), say(ANSWER)]) as provider:
        assert loop(provider, stream) == ANSWER
    first, second = [asked.request for asked in provider.asked]
    assert [tool.name for tool in first.tools] == list(TOOLS)
    assert [asked.stream for asked in provider.asked] == [stream, stream]
    for tool in first.tools:
        assert tool.description == TOOLS[tool.name][0]
        assert set(tool.parameters["properties"]) == set(TOOLS[tool.name][1]["properties"])
    check(second, named=named)


def check(request: Request, *, named: bool) -> None:
    """The second request: the calls as they were made, and their results in order."""
    calls = [call for message in request.messages for call in message.calls]
    results = [result for message in request.messages for result in message.results]
    assert [call.name for call in calls] == list(TOOLS)
    assert [call.arguments for call in calls] == ARGUMENTS
    assert [result.call_id for result in results] == [call.id for call in calls]
    for result, expected in zip(results, RESULTS, strict=True):
        assert expected in result.text


def functions() -> list[dict[str, Any]]:
    """The tools in the form that OpenAI's descendants share."""
    return [
        {"type": "function", "function": {"name": name, "description": described, "parameters": schema}}
        for name, (described, schema) in TOOLS.items()
    ]


@pytest.fixture(autouse=True, scope="module")
def _their_sockets() -> Iterator[None]:
    """What an SDK forgets to close is collected here, and does not turn up as a fault of some later test of ours."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def test_openai_chat(stream: bool) -> None:
    openai: Any = importlib.import_module("openai")

    def loop(provider: Provider, stream: bool) -> str:
        with openai.OpenAI(api_key=KEY, base_url=provider.base, max_retries=0) as client:
            messages: list[Any] = [{"role": "user", "content": "please"}]

            def ask() -> Any:
                options = {"model": "m", "messages": messages, "tools": functions()}
                if not stream:
                    return client.chat.completions.create(**options).choices[0].message
                with client.chat.completions.stream(**options) as events:
                    for _ in events:
                        pass
                    return events.get_final_completion().choices[0].message

            said = ask()
            messages.append(said.model_dump(exclude_none=True, exclude={"parsed"}))
            for call, result in zip(said.tool_calls, RESULTS, strict=True):
                assert json.loads(call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
            return str(ask().content)

    through("openai-chat", loop, stream=stream)


def test_openai_responses(stream: bool) -> None:
    openai: Any = importlib.import_module("openai")

    def loop(provider: Provider, stream: bool) -> str:
        tools = [
            {"type": "function", "name": name, "description": described, "parameters": schema, "strict": False}
            for name, (described, schema) in TOOLS.items()
        ]
        with openai.OpenAI(api_key=KEY, base_url=provider.base, max_retries=0) as client:
            items: list[Any] = [{"role": "user", "content": "please"}]

            def ask() -> Any:
                if not stream:
                    return client.responses.create(model="m", input=items, tools=tools)
                with client.responses.stream(model="m", input=items, tools=tools) as events:
                    for _ in events:
                        pass
                    return events.get_final_response()

            said = ask()
            items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in said.output]
            for item in items:
                for part in item["content"] if isinstance(item.get("content"), list) else ():
                    part.pop("parsed", None)
            calls = [item for item in said.output if item.type == "function_call"]
            for call, result in zip(calls, RESULTS, strict=True):
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})
            return str(ask().output_text)

    through("openai-responses", loop, stream=stream)


def test_anthropic(stream: bool) -> None:
    anthropic: Any = importlib.import_module("anthropic")

    def loop(provider: Provider, stream: bool) -> str:
        tools = [
            {"name": name, "description": described, "input_schema": schema}
            for name, (described, schema) in TOOLS.items()
        ]
        with anthropic.Anthropic(api_key=KEY, base_url=provider.root, max_retries=0) as client:
            messages: list[Any] = [{"role": "user", "content": "please"}]

            def ask() -> Any:
                options = {"model": "m", "max_tokens": 100, "messages": messages, "tools": tools}
                if not stream:
                    return client.messages.create(**options)
                with client.messages.stream(**options) as events:
                    for _ in events:
                        pass
                    return events.get_final_message()

            said = ask()
            assert said.stop_reason == "tool_use"
            messages.append({"role": "assistant", "content": said.content})
            calls = [block for block in said.content if block.type == "tool_use"]
            content = [
                {"type": "tool_result", "tool_use_id": call.id, "content": result}
                for call, result in zip(calls, RESULTS, strict=True)
            ]
            messages.append({"role": "user", "content": content})
            return str(ask().content[0].text)

    through("anthropic", loop, stream=stream)


def test_google_genai(stream: bool) -> None:
    genai: Any = importlib.import_module("google.genai")
    types: Any = importlib.import_module("google.genai.types")

    def loop(provider: Provider, stream: bool) -> str:
        declarations = [
            types.FunctionDeclaration(name=name, description=described, parameters_json_schema=schema)
            for name, (described, schema) in TOOLS.items()
        ]
        config = types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=declarations)],
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )
        client = genai.Client(api_key=KEY, vertexai=False, http_options=types.HttpOptions(base_url=provider.root))
        contents: list[Any] = [types.Content(role="user", parts=[types.Part(text="please")])]

        def ask() -> list[Any]:
            options = {"model": "m", "contents": contents, "config": config}
            if not stream:
                return list(client.models.generate_content(**options).candidates[0].content.parts)
            return [
                part
                for chunk in client.models.generate_content_stream(**options)
                for candidate in chunk.candidates or ()
                for part in (candidate.content and candidate.content.parts) or ()
            ]

        parts = ask()
        contents.append(types.Content(role="model", parts=parts))
        calls = [part.function_call for part in parts if part.function_call]
        assert [dict(call.args) for call in calls] == ARGUMENTS
        answers = [
            types.Part(
                function_response=types.FunctionResponse(id=call.id, name=call.name, response={"output": result})
            )
            for call, result in zip(calls, RESULTS, strict=True)
        ]
        contents.append(types.Content(role="user", parts=answers))
        text = "".join([part.text for part in ask() if part.text])
        client.close()
        return text

    through("gemini", loop, stream=stream)


def test_mistral(stream: bool) -> None:
    client_module: Any = importlib.import_module("mistralai.client")

    def loop(provider: Provider, stream: bool) -> str:
        with client_module.Mistral(api_key=KEY, server_url=provider.root) as client:
            messages: list[Any] = [{"role": "user", "content": "please"}]

            def ask() -> dict[str, Any]:
                options = {"model": "m", "messages": messages, "tools": functions()}
                if not stream:
                    reply = client.chat.complete(**options)
                    return dict(reply.choices[0].message.model_dump(exclude_none=True, by_alias=True))
                said: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
                for event in client.chat.stream(**options):
                    for choice in event.data.choices:
                        said["content"] += choice.delta.content or ""
                        for call in choice.delta.tool_calls or ():
                            said["tool_calls"].append(call.model_dump(exclude_none=True))
                return said

            said = ask()
            messages.append(said)
            for call, result in zip(said["tool_calls"], RESULTS, strict=True):
                name = call["function"]["name"]
                messages.append({"role": "tool", "tool_call_id": call["id"], "name": name, "content": result})
            return str(ask()["content"])

    through("mistral", loop, stream=stream)


def test_cohere(stream: bool) -> None:
    cohere: Any = importlib.import_module("cohere")

    def loop(provider: Provider, stream: bool) -> str:
        client = cohere.ClientV2(api_key=KEY, base_url=provider.root, log_warning_experimental_features=False)
        messages: list[Any] = [{"role": "user", "content": "please"}]

        def ask() -> dict[str, Any]:
            options = {"model": "m", "messages": messages, "tools": functions()}
            if not stream:
                return dict(client.chat(**options).message.model_dump(exclude_none=True))
            return _cohere_stream(client, options)

        said = ask()
        messages.append(said)
        for call, result in zip(said["tool_calls"], RESULTS, strict=True):
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        text = str(ask()["content"][0]["text"])
        client._client_wrapper.httpx_client.httpx_client.close()
        return text

    through("cohere", loop, stream=stream)


def _cohere_stream(client: Any, options: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "tool_calls": [], "tool_plan": "", "text": ""}
    for event in client.chat_stream(**options):
        match event.type:
            case "tool-plan-delta":
                said["tool_plan"] += event.delta.message.tool_plan
            case "tool-call-start":
                said["tool_calls"].append(event.delta.message.tool_calls.model_dump(exclude_none=True))
            case "tool-call-delta":
                said["tool_calls"][-1]["function"]["arguments"] += event.delta.message.tool_calls.function.arguments
            case "content-delta":
                said["text"] += event.delta.message.content.text
            case _:
                pass
    text = said.pop("text")
    return {
        key: value
        for key, value in {**said, "content": [{"type": "text", "text": text}] if text else None}.items()
        if value
    }


def test_ollama(stream: bool) -> None:
    ollama: Any = importlib.import_module("ollama")

    def loop(provider: Provider, stream: bool) -> str:
        client = ollama.Client(host=provider.root)
        messages: list[Any] = [{"role": "user", "content": "please"}]

        def ask() -> dict[str, Any]:
            options = {"model": "m", "messages": messages, "tools": functions()}
            if not stream:
                return dict(client.chat(**options).message.model_dump(exclude_none=True))
            said: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
            for part in client.chat(**options, stream=True):
                said["content"] += part.message.content or ""
                said["tool_calls"] += [call.model_dump(exclude_none=True) for call in part.message.tool_calls or ()]
            return said

        said = ask()
        messages.append(said)
        for call, result in zip(said["tool_calls"], RESULTS, strict=True):
            messages.append({"role": "tool", "tool_name": call["function"]["name"], "content": result})
        text = str(ask()["content"])
        client._client.close()
        return text

    through("ollama", loop, stream=stream)


def test_bedrock(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    session: Any = importlib.import_module("botocore.session")
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)

    def loop(provider: Provider, stream: bool) -> str:
        client = session.Session().create_client(
            "bedrock-runtime",
            region_name="eu-central-1",
            endpoint_url=provider.root,
            aws_access_key_id="AKIAEXAMPLE",
            aws_secret_access_key="example",
        )
        tools = [
            {"toolSpec": {"name": name, "description": described, "inputSchema": {"json": schema}}}
            for name, (described, schema) in TOOLS.items()
        ]
        messages: list[Any] = [{"role": "user", "content": [{"text": "please"}]}]

        def ask() -> dict[str, Any]:
            options = {"modelId": "m", "messages": messages, "toolConfig": {"tools": tools}}
            if not stream:
                return dict(client.converse(**options)["output"]["message"])
            return _converse_stream(client.converse_stream(**options)["stream"])

        said = ask()
        messages.append(said)
        calls = [part["toolUse"] for part in said["content"] if "toolUse" in part]
        content = [
            {"toolResult": {"toolUseId": call["toolUseId"], "content": [{"text": result}]}}
            for call, result in zip(calls, RESULTS, strict=True)
        ]
        messages.append({"role": "user", "content": content})
        text = ask()["content"][0]["text"]
        client.close()
        return str(text)

    through("bedrock", loop, stream=stream)


def _converse_stream(events: Any) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for event in events:
        if start := event.get("contentBlockStart"):
            content.append({"toolUse": {**start["start"]["toolUse"], "input": ""}})
        if delta := event.get("contentBlockDelta"):
            if len(content) <= delta["contentBlockIndex"]:
                content.append({"text": ""})
            if "text" in delta["delta"]:
                content[-1]["text"] += delta["delta"]["text"]
            else:
                content[-1]["toolUse"]["input"] += delta["delta"]["toolUse"]["input"]
    for part in content:
        if "toolUse" in part:
            part["toolUse"]["input"] = msgspec.json.decode(part["toolUse"]["input"])
    return {"role": "assistant", "content": content}


def test_google_interactions(stream: bool) -> None:
    genai: Any = importlib.import_module("google.genai")
    types: Any = importlib.import_module("google.genai.types")

    def loop(provider: Provider, stream: bool) -> str:
        client = genai.Client(api_key=KEY, vertexai=False, http_options=types.HttpOptions(base_url=provider.root))
        tools = [
            {"type": "function", "name": name, "description": described, "parameters": schema}
            for name, (described, schema) in TOOLS.items()
        ]
        steps: list[Any] = [{"type": "user_input", "content": [{"type": "text", "text": "please"}]}]

        def ask() -> list[dict[str, Any]]:
            options = {"model": "m", "input": steps, "tools": tools}
            if not stream:
                reply = client.interactions.create(**options)
                return [step.model_dump(exclude_none=True) for step in reply.steps]
            return _interaction_stream(client.interactions.create(**options, stream=True))

        said = ask()
        steps.extend(said)
        calls = [step for step in said if step["type"] == "function_call"]
        for call, result in zip(calls, RESULTS, strict=True):
            steps.append({"type": "function_result", "call_id": call["id"], "name": call["name"], "result": result})
        text = "".join([part["text"] for step in ask() for part in step.get("content") or ()])
        client.close()
        return text

    through("gemini-interactions", loop, stream=stream)


def _interaction_stream(events: Any) -> list[dict[str, Any]]:
    steps: dict[int, dict[str, Any]] = {}
    arguments: dict[int, str] = {}
    for event in events:
        said = event.model_dump(exclude_none=True)
        match said.get("event_type"):
            case "step.start":
                steps[said["index"]] = said["step"]
            case "step.delta":
                step, delta = steps[said["index"]], said["delta"]
                if delta["type"] == "text":
                    step.setdefault("content", []).append({"type": "text", "text": delta["text"]})
                else:
                    arguments[said["index"]] = arguments.get(said["index"], "") + delta["arguments"]
            case _:
                pass
    for index, text in arguments.items():
        steps[index]["arguments"] = msgspec.json.decode(text)
    return [steps[index] for index in sorted(steps)]
