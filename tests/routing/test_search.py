from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.routing import Bm25, ToolSearch, clauses, words
from counterfoil.types.request import ToolSpec


def _tool(name: str, description: str, **properties: Any) -> ToolSpec:
    return ToolSpec(name, description, {"type": "object", "properties": properties})


TOOLS = (
    _tool("getWeather", "Forecast for a city", city={"type": "string"}),
    _tool("send_message", "Send a text to somebody", to={"type": "string"}),
    _tool("convert", "Change a quantity", unit={"enum": ["kg", "pounds"]}),
    _tool("book", "Reserve", where={"type": "object", "properties": {"table": {"description": "near the window"}}}),
)


def _best(query: str) -> str | None:
    found = ToolSearch(TOOLS).find(query, 1)
    return found[0].tool.name if found else None


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("What's the weather like?", "getWeather"),
        ("forecasts for cities", "getWeather"),
        ("messages to send", "send_message"),
        ("12 pounds", "convert"),
        ("something by the windows", "book"),
        ("sing a song", None),
        ("", None),
    ],
)
def test_the_tool_that_shares_the_telling_words_is_found(query: str, name: str | None) -> None:
    assert _best(query) == name


def test_hits_are_ranked_and_limited() -> None:
    hits = ToolSearch(TOOLS).find("send the weather forecast by message")
    assert [hit.tool.name for hit in hits] == ["getWeather", "send_message"] or [hit.tool.name for hit in hits] == [
        "send_message",
        "getWeather",
    ]
    assert hits[0].score >= hits[1].score > 0
    assert len(ToolSearch(TOOLS).find("send the weather forecast by message", 1)) == 1


def test_words_are_cut_to_stems() -> None:
    assert words("findCustomerOrders") == ["find", "customer", "order"]
    assert words("cancelled cancels cancellation") == ["cancel"] * 3
    assert words("The ordered, the shipping & what was shipped") == ["order", "ship", "ship"]
    assert words("Größe 12") == words("GRÖSSE 12")


def test_rare_words_tell_more() -> None:
    index = Bm25(["order apple", "order pear", "order plum"])
    assert index.scores("apple")[0] > index.scores("order")[0] > index.scores("none")[0] == 0
    assert max(range(3), key=index.scores("order pear").__getitem__) == 1


@given(st.text(max_size=200))
def test_any_text_may_be_searched_for(query: str) -> None:
    search = ToolSearch(TOOLS)
    assert all(hit.score > 0 for hit in search.find(query))
    assert clauses(query, search, 1.0)


def test_an_empty_catalogue_has_no_hits() -> None:
    assert ToolSearch(()).find("anything") == []
    assert Bm25([]).scores("anything") == []


def test_a_request_is_split_where_every_part_fits_a_tool() -> None:
    search = ToolSearch(TOOLS)
    assert clauses("the weather in Oslo and convert 3 kg", search, 0.5) == ["the weather in Oslo", "convert 3 kg"]
    assert clauses("send bread and butter", search, 0.5) == ["send bread and butter"]
