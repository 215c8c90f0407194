"""Reading takes work in proportion to the text, whatever the text: counted, not timed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from text_cases import TOOLS, formats, reply

from counterfoil import text
from counterfoil.text.reader import family_marks
from counterfoil.text.source import Markers, Source
from counterfoil.types.message import ToolCall
from counterfoil.types.stream import fold

ONE_EACH = ("hermes", "kimi-k2", "qwen3-coder", "lfm2", "gemma4", "harmony", "react", "toolformer")
SHAPES: dict[str, Callable[[str, str, str], str]] = {
    "openers": lambda opener, call, mark: opener,
    "calls that are cut": lambda opener, call, mark: call[:-3],
    "near-markers": lambda opener, call, mark: f"{opener[:-1]}{mark[:-1]}",
    "one closing marker after the other": lambda opener, call, mark: mark,
    "whole calls": lambda opener, call, mark: f"{call}\n",
    "braces": lambda opener, call, mark: "{",
    "brackets on lines": lambda opener, call, mark: "[\n",
    "objects that never end": lambda opener, call, mark: '{"name": "ask", "arguments": \n',
    "fences": lambda opener, call, mark: "```\n",
    "spaces": lambda opener, call, mark: " ",
    "quotes": lambda opener, call, mark: '"\\',
    "labels": lambda opener, call, mark: "Thought 1\nAction: \n",
}


class Counted:
    """Counts the characters that are looked at: each piece of text that a pattern was tried on, from where it began."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.steps = 0
        feed, until, held = Source.feed, Source.until, Markers.held

        def feeding(source: Source, piece: str) -> None:
            self.steps += len(source.text) - source.at + len(piece)
            feed(source, piece)

        def reading(source: Source, marks: Markers, sink: Any) -> Any:
            before = source.at
            found = yield from until(source, marks, sink)
            self.steps += max(0, source.at - before) + 1
            return found

        def holding(marks: Markers, whole: str, at: int) -> int:
            self.steps += min(len(whole) - at, marks.longest) + 1
            return held(marks, whole, at)

        patch.setattr(Source, "feed", feeding)
        patch.setattr(Source, "until", reading)
        patch.setattr(Markers, "held", holding)


def hostile(form: text.Format, shape: str, length: int) -> str:
    opener = next(iter(form.family.calls.openers()))
    call = form.render(reply([ToolCall("", "ask", {"question": "x"})]))
    marks = [*family_marks(form.family), *form.family.calls.openers()]
    piece = SHAPES[shape](opener, call, marks[len(marks) // 2])
    begun = call[: call.index("x") + 1] if shape in ("quotes", "one closing marker after the other", "spaces") else ""
    return begun + piece * (length // len(piece))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", formats(), ids=text.names())
def test_twice_the_text_is_twice_the_work(form: text.Format, shape: str) -> None:
    work: list[int] = []
    for length in (4_000, 8_000):
        whole = hostile(form, shape, length)
        with pytest.MonkeyPatch.context() as patch:
            counted = Counted(patch)
            reader = form.reader()
            events = [event for at in range(0, len(whole), 7) for event in reader.feed(whole[at : at + 7])]
            fold(events + reader.close())
        work.append(counted.steps)
    assert work[1] <= 2.3 * work[0] + 500
    assert work[0] <= 60 * 4_000


@pytest.mark.parametrize(
    "shape", ["openers", "calls that are cut", "near-markers", "one closing marker after the other"]
)
@pytest.mark.parametrize("name", ONE_EACH)
def test_a_megabyte_of_hostile_text_is_read(name: str, shape: str) -> None:
    form = text.get(name, TOOLS)
    whole = hostile(form, shape, 1_000_000)
    assert all(
        call.arguments is None or call.arguments == {"question": "x"} for call in form.parse(whole).message.calls
    )


def test_a_name_or_a_value_of_a_megabyte_is_read() -> None:
    long = "x" * 1_000_000
    for form in formats():
        found = form.parse(form.render(reply([ToolCall("", "ask", {"question": long})])))
        assert [call.arguments for call in found.message.calls] == [{"question": long}]


def test_a_fence_may_be_of_any_length() -> None:
    form = text.get("hermes", TOOLS)
    call = form.render(reply([ToolCall("", "ping", {})]))
    for length in (3, 4, 100_000):
        fence = "`" * length
        whole = f"{fence}\n{call}\n{fence[1:]}\n{call}\n{fence}\n{call}"
        assert len(form.parse(whole).message.calls) == 1


def test_the_patterns_of_beginnings_match_every_beginning() -> None:
    marks = Markers(frozenset({"<tool_call>", "<tool>", "[x"}))
    for literal in marks.literals:
        for length in range(1, len(literal)):
            assert marks.held(f"abc{literal[:length]}", 0) == 3
    assert marks.held("abc", 0) == 3
    assert re.fullmatch(marks.source, "<tool>")
