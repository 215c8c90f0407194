"""The benchmark of calls in text: what is measured reads back what was written, by us and by the peers."""

import json
from pathlib import Path
from typing import Any

import llguidance
import pytest
from benchmarks import text as benchmark
from benchmarks.measures import text, text_peers

SIZE = 10_000


class Letters:
    """A vocabulary of bytes."""

    engine = llguidance.LLTokenizer("byte")

    def __call__(self, said: str) -> list[int]:
        return list(said.encode())


@pytest.mark.parametrize("name", text.NAMES)
@pytest.mark.parametrize("shape", text.SHAPES)
def test_each_family_reads_back_what_it_wrote(name: str, shape: str) -> None:
    given = text.sample(name, SIZE, shape)
    assert len(given.message.calls) > 10
    assert shape != "mixed" or SIZE * 0.9 < given.bytes < SIZE * 1.1
    assert text.same(given, text.parse(given))
    for size in (4, 40):
        assert text.same(given, text.feed(given, text_peers.cut(given.text, size)))


def test_what_is_lost_is_noticed() -> None:
    given = text.sample("hermes", SIZE)
    assert not text.same(given, text.parse(given._replace(text=given.text[:-200])))


@pytest.mark.parametrize("name", text.NAMES)
def test_each_family_is_measured(name: str) -> None:
    cost = text.measure(name, SIZE, rounds=1)
    assert min(cost.whole, cost.by4, cost.by40, cost.small, cost.small_by4, cost.growth, cost.growth_by4) > 0


@pytest.mark.parametrize("name", text.NAMES)
def test_a_grammar_takes_the_reply_that_its_masks_are_measured_along(name: str) -> None:
    letters: Any = Letters()
    found = text.masks(name, letters, rounds=1)
    assert len(found.taken) == text.sample(name, 1).bytes


def test_a_peer_is_measured_on_what_it_reads(tmp_path: Path) -> None:
    text.write(tmp_path, ("hermes",), [2_000, 4_000])
    shapes = json.loads((tmp_path / "hermes.json").read_text())["shapes"]

    def alone(said: str) -> list[Any]:
        if not said.startswith("<tool_call>"):
            raise ValueError("prose")
        return [json.loads(each.split("</tool_call>")[0])["arguments"] for each in said.split("<tool_call>")[1:]]

    found = text_peers.measure(alone, shapes)
    assert found["shape"] == "calls alone"
    assert found["bytes"] == len(shapes["calls alone"]["texts"][1].encode())
    assert text_peers.measure(lambda _: [], shapes) == {"shape": None}


def test_growth_is_the_time_of_a_text_per_that_of_half_of_it() -> None:
    found = text_peers.summary([(1_000, 1.0), (2_000, 2.0), (4_000, 8.0)])
    assert found == {"small": 1e-3, "bytes": 4_000, "rate": 5e-4, "growth": 4.0}
    assert "growth" not in text_peers.summary([(1_000, 1.0)])


def test_markers_come_whole() -> None:
    said = "Well, <tool_call>x<｜tool▁call▁begin｜>abcdefgh[TOOL_CALLS]"
    pieces = text_peers.Tokens().cut(said)
    assert "".join(pieces) == said
    assert {"<tool_call>", "<｜tool▁call▁begin｜>", "[TOOL_CALLS]", "abcd"} <= set(pieces)


def test_the_table_says_what_a_peer_cannot_do() -> None:
    whole = {"shape": "calls alone", "bytes": 30_372, "small": 12.34, "rate": 0.0398, "growth": 4.03}
    row = benchmark.peer_row({"family": "glm", "reader": "a 1", "whole": whole, "by4": {"shape": None}})
    assert row == ["glm", "a 1", "12.3 (calls alone)", "0.04 at 30 KB", "4.03", "reads none", "-", "-", "-"]
    absent = benchmark.peer_row({"family": "all", "reader": "a", "whole": None, "by4": None})
    assert absent[2] == "does not install here"
    assert len(row) == len(absent) == len(benchmark.HEAD)
