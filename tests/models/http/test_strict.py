"""Strict tools: shown in the dialect of the host, and their arguments read back against the original."""

from __future__ import annotations

from typing import Any

import pytest
from http_kit import ADA, Desk, model_at, talk
from provider_kit import Provider, fail, say

from counterfoil import Catalogue, Context, Harness, Tool, ToolCall, ToolSpec

pytestmark = pytest.mark.anyio


def _catalogue(seen: list[Any]) -> Catalogue:
    async def answer(arguments: dict[str, Any], context: Context) -> str:
        seen.append(arguments)
        return "6 left"

    schema = {
        "type": "object",
        "properties": {"sku": {"type": "string"}, "least": {"type": "integer"}},
        "required": ["sku"],
        "additionalProperties": False,
    }
    spec = ToolSpec("lookup_stock", "Say how many are in stock.", schema, strict=True)
    return Catalogue([Tool(spec, answer, effect="read")])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_null_for_an_optional_argument_is_its_absence(stream: bool) -> None:
    seen: list[Any] = []
    calls = [ToolCall("c1", "lookup_stock", {"sku": "S-7", "least": None})]
    with Provider("openai-chat", [say(calls), say("done")]) as provider:
        async with model_at(provider) as model:
            run = await talk(Harness(model, _catalogue(seen)), stream=stream)
    assert run.text == "done"
    assert seen == [{"sku": "S-7"}]
    function = provider.asked[0].body["tools"][0]["function"]
    assert function["strict"] is True
    assert function["parameters"]["required"] == ["sku", "least"]
    assert function["parameters"]["properties"]["least"]["type"] == ["integer", "null"]


async def test_a_grammar_that_is_too_large_is_given_up() -> None:
    seen: list[Any] = []
    refused = {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "The compiled grammar is too large"},
    }
    calls = [ToolCall("c1", "lookup_stock", {"sku": "S-7"})]
    with Provider("anthropic", [fail(400, refused), say(calls), say("done")]) as provider:
        async with model_at(provider) as model:
            run = await talk(Harness(model, _catalogue(seen)), stream=True)
    assert run.text == "done"
    assert seen == [{"sku": "S-7"}]
    assert [bool(asked.body["tools"][0].get("strict")) for asked in provider.asked] == [True, False, False]


async def test_tools_that_do_not_ask_are_shown_as_they_are() -> None:
    with Provider("openai-chat", [say("done")]) as provider:
        async with model_at(provider) as model:
            desk = Desk()
            await Harness(model, desk.catalogue).run("please", ADA)
    shown = [each["function"] for each in provider.asked[0].body["tools"]]
    assert [each["parameters"] for each in shown] == [spec.parameters for spec in desk.catalogue.visible_to(ADA)]
    assert not any("strict" in each for each in shown)
