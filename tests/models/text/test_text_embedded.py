"""The same model on real weights: in this process, and behind llama.cpp's own server."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import jsonschema_rs
import msgspec
import pytest
from completion_kit import TOOLS

from counterfoil.models.completions import EngineCompletion
from counterfoil.models.http_completions import HttpCompletion
from counterfoil.models.local import WEIGHTS, fetch
from counterfoil.models.local.extra import need
from counterfoil.models.template import ChatTemplate
from counterfoil.models.text_model import TextModel
from counterfoil.text import family
from counterfoil.text.constrain import Bounds, LlGuidance, Turn
from counterfoil.types.message import user
from counterfoil.types.request import Output, Reply, Request, Sampling, ToolChoice

pytestmark = pytest.mark.anyio

TURN = Turn(calls=1, reasoning=False, sealed=True, bounds=Bounds(string=12))
ASKED = (user("Where is order O-1?"),)
MOST = Sampling(max_tokens=48, temperature=0.0)
KEY = "sk-test-0123456789abcdefghij"


@pytest.fixture(scope="module")
def smollm2() -> Iterator[EngineCompletion]:
    with EngineCompletion.load(fetch(WEIGHTS["smollm2"]), context=512) as completion:
        yield completion


@pytest.fixture(scope="module")
def template() -> ChatTemplate:
    return ChatTemplate.load(fetch(WEIGHTS["smollm2"]))


@pytest.fixture(scope="module")
def llama_server() -> Iterator[str]:
    """llama.cpp's HTTP server, on a port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    xllamacpp = need("xllamacpp")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(fetch(WEIGHTS["smollm2"]))
    parameters.n_ctx, parameters.n_parallel, parameters.n_batch, parameters.n_ubatch = 512, 1, 64, 64
    parameters.n_gpu_layers = 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.verbosity, parameters.warmup, parameters.offline, parameters.ui = -1, False, True, False
    parameters.port, parameters.hostnames, parameters.api_keys = port, ["127.0.0.1"], [KEY]
    server = xllamacpp.Server(parameters)
    server.handle_completions({"prompt": "a", "max_tokens": 1})
    yield f"http://127.0.0.1:{port}"
    del server


def _conforms(reply: Reply) -> bool:
    (call,) = reply.message.calls
    schema = next(tool.parameters for tool in TOOLS if tool.name == call.name)
    return call.arguments is not None and jsonschema_rs.is_valid(schema, call.arguments)


@pytest.mark.parametrize("name", ["hermes", "qwen3-coder", "llama4-pythonic", "functiongemma"])
async def test_a_call_of_any_family_is_whole_and_conforms(
    name: str, smollm2: EngineCompletion, template: ChatTemplate
) -> None:
    model = TextModel(smollm2, name, template, engine=LlGuidance(), turn=TURN)
    reply = await model.reply(Request(ASKED, TOOLS, ToolChoice("any"), sampling=MOST))
    assert reply.stop == "tool_calls"
    assert _conforms(reply)
    assert reply.usage is not None
    assert reply.usage.input_tokens > 20


async def test_no_tool_and_a_structured_answer(smollm2: EngineCompletion, template: ChatTemplate) -> None:
    model = TextModel(smollm2, "hermes", template, engine=LlGuidance(), turn=TURN)
    prose = await model.reply(Request(ASKED, TOOLS, ToolChoice("none"), sampling=Sampling(max_tokens=8)))
    assert prose.message.calls == ()
    assert prose.message.text
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9, "minimum": 0}}, "required": ["n"]}
    reply = await model.reply(Request(ASKED, output=Output(schema), sampling=MOST))
    assert jsonschema_rs.is_valid(schema, json.loads(reply.message.text))


async def test_a_marker_that_is_a_control_token_is_written_as_one_and_read(
    smollm2: EngineCompletion, template: ChatTemplate
) -> None:
    calls = msgspec.structs.replace(family("mistral-v13").calls, open="<jupyter_code>")
    model = TextModel(
        smollm2, msgspec.structs.replace(family("mistral-v13"), calls=calls), template, engine=LlGuidance(), turn=TURN
    )
    assert "<jupyter_code>" in template.control
    reply = await model.reply(Request(ASKED, TOOLS, ToolChoice("any", ("ping",)), sampling=MOST))
    assert [each.name for each in reply.message.calls] == ["ping"]
    assert reply.usage is not None
    assert reply.usage.output_tokens < 10


@pytest.mark.parametrize("backend", ["", "guidance"])
async def test_llamas_own_server_enforces_our_grammars(backend: str, llama_server: str, template: ChatTemplate) -> None:
    async with HttpCompletion("llama-cpp", base=llama_server, key=KEY, backend=backend) as endpoint:
        model = TextModel(endpoint, "hermes", template, engine=LlGuidance(), turn=TURN)
        for choice in (ToolChoice("any"), ToolChoice("any", ("ping",))):
            reply = await model.reply(Request(ASKED, TOOLS, choice, sampling=MOST))
            assert _conforms(reply), reply
        assert reply.message.calls[0].name == "ping"
