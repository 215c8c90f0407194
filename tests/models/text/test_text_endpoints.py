"""Completion endpoints over real HTTP: what they are asked, and what is made of their answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from completion_kit import ORDER, PING, TOOLS, Answer, Server, llama, openai

from counterfoil.models.http_completions import HttpCompletion
from counterfoil.models.retry import Retry
from counterfoil.models.text_model import TextModel
from counterfoil.types.error import ContextOverflow, ModelError
from counterfoil.types.message import user
from counterfoil.types.request import Reply, Request, Sampling, ToolChoice

pytestmark = pytest.mark.anyio

KEY = "sk-test-0123456789abcdefghij"
ANY = ToolChoice("any")
SERVERS: Any = ["llama-cpp", "vllm", "sglang", "openai"]
FAST = Retry(first=0.01, longest=0.01)


def _speak(server: str) -> Any:
    return llama if server == "llama-cpp" else openai


async def _reply(server: Any, base: str, choice: ToolChoice = ANY, **options: Any) -> Reply:
    async with HttpCompletion(server, "m", base=base, key=KEY, retry=FAST, **options) as endpoint:
        sampling = Sampling(max_tokens=40, temperature=0.5, seed=3)
        return await TextModel(endpoint, "hermes").reply(Request((user("Hi"),), TOOLS, choice, sampling=sampling))


@pytest.mark.parametrize("server", SERVERS)
async def test_a_reply_comes_in_pieces_and_is_counted(server: str) -> None:
    head = "" if server != "openai" else '<tool_call>\n{"name": "'
    text = ORDER.removeprefix(head)
    with Server(_speak(server)(text[:20], text[20:])) as there:
        reply = await _reply(server, there.base)
    assert [each.arguments for each in reply.message.calls] == [{"order_id": "O-1"}]
    assert reply.stop == "tool_calls"
    assert reply.stop_raw in ("eos", "stop")
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (20, 7, 12)
    path, body, headers = there.asked[0]
    assert path == ("/completion" if server == "llama-cpp" else "/v1/completions")
    assert (body["temperature"], body["seed"], body["stream"]) == (0.5, 3, True)
    assert body["n_predict" if server == "llama-cpp" else "max_tokens"] == 40
    assert "<|im_end|>" in body["stop"]
    assert headers["authorization"] == f"Bearer {KEY}"


async def test_each_server_gets_the_grammar_in_its_own_field() -> None:
    bodies: dict[str, dict[str, Any]] = {}
    for server in ("llama-cpp", "vllm", "sglang"):
        with Server(_speak(server)(PING)) as there:
            await _reply(server, there.base)
        bodies[server] = there.asked[0][1]
    assert bodies["llama-cpp"]["grammar"].startswith("root ::= ")
    assert "<tool_call>" in bodies["llama-cpp"]["preserved_tokens"]
    tag = json.loads(bodies["vllm"]["structured_outputs"]["structural_tag"])
    assert tag["type"] == "structural_tag"
    assert bodies["sglang"]["response_format"] == tag
    assert bodies["vllm"]["skip_special_tokens"] is bodies["sglang"]["skip_special_tokens"] is False
    # No template has begun the prompt, so the server does.
    assert bodies["vllm"]["add_special_tokens"] is True


async def test_llguidance_is_asked_in_lark() -> None:
    with Server(llama(PING)) as there:
        await _reply("llama-cpp", there.base, backend="guidance")
    assert there.asked[0][1]["grammar"].startswith("%llguidance")


async def test_a_limit_is_a_limit() -> None:
    with Server(llama("Well", stop_type="limit"), openai("Well", finish="length")) as there:
        for server in ("llama-cpp", "vllm"):
            assert (await _reply(server, there.base, ToolChoice("none"))).stop == "length"


async def test_a_server_that_gives_no_stream_is_understood() -> None:
    def whole(out: Any) -> None:
        usage = {"prompt_tokens": 20, "completion_tokens": 7}
        out.whole({"choices": [{"text": PING, "finish_reason": "stop"}], "usage": usage})

    with Server(whole) as there:
        reply = await _reply("vllm", there.base)
    assert [each.name for each in reply.message.calls] == ["ping"]
    assert reply.usage is not None
    assert reply.usage.output_tokens == 7


async def test_what_passes_is_asked_again() -> None:
    def busy(out: Any) -> None:
        out.whole({"error": {"message": "loading", "code": 503}}, 503)

    cut: Answer = lambda out: out.events(end=False)  # noqa: E731 - a row of a script
    with Server(busy, cut, llama(PING)) as there:
        reply = await _reply("llama-cpp", there.base)
    assert len(there.asked) == 3
    assert [each.name for each in reply.message.calls] == ["ping"]


async def test_an_answer_that_had_begun_is_not_asked_for_again() -> None:
    cut: Answer = lambda out: out.events({"content": "Well", "stop": False}, end=False)  # noqa: E731
    with Server(cut) as there, pytest.raises(ModelError, match="had begun"):
        await _reply("llama-cpp", there.base)
    assert len(there.asked) == 1


async def test_too_long_a_prompt_is_an_overflow() -> None:
    said = "the request exceeds the available context size, try increasing it"

    def refuse(out: Any) -> None:
        out.whole({"error": {"code": 400, "message": said, "type": "exceed_context_size_error"}}, 400)

    with Server(refuse) as there, pytest.raises(ContextOverflow, match="context size"):
        await _reply("llama-cpp", there.base)


async def test_an_error_in_the_stream_is_an_error_without_the_key() -> None:
    fail: Answer = lambda out: out.events({"error": {"message": f"bad grammar {KEY}"}})  # noqa: E731
    with Server(fail) as there, pytest.raises(ModelError, match="bad grammar") as caught:
        await _reply("vllm", there.base)
    assert KEY not in str(caught.value)


async def test_what_is_no_json_is_said_to_be_none() -> None:
    with Server(lambda out: out.events("{nonsense")) as there, pytest.raises(ModelError, match="not JSON"):
        await _reply("vllm", there.base)


def test_a_server_that_nobody_knows_and_one_without_address() -> None:
    unknown: Any = "vlm"
    with pytest.raises(ModelError, match="there are llama-cpp, vllm"):
        HttpCompletion(unknown)
    with pytest.raises(ModelError, match="Give its address"):
        HttpCompletion("openai", "m")
    assert HttpCompletion("vllm", "m").name == "vllm:m"
