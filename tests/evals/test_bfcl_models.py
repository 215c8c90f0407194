"""Asking a model: what is kept, what is not asked again, and how text without a grammar is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import anyio
import pytest
from bfcl_kit import LOOK
from evals.bfcl import main
from evals.bfcl.data import CATEGORIES, Bench, Case, sample
from evals.bfcl.declared import declare
from evals.bfcl.models import Plain, Unconstrained, loose

from counterfoil.models.function import Function
from counterfoil.models.local import SMALL
from counterfoil.models.local.chat import Chat
from counterfoil.models.local.engine import Decoded, Listener, Piece
from counterfoil.models.local.gguf import Metadata
from counterfoil.text.embedded.family import BARE
from counterfoil.types.error import ContextOverflow, ModelError
from counterfoil.types.message import Message, Text, ToolCall, user
from counterfoil.types.request import Reply, Request, Sampling


class Clerk:
    """A model that looks up whatever order it was asked for by its number, and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails: Exception | None = None

    def __call__(self, request: Request) -> Reply | str:
        said = request.messages[-1].text
        self.asked.append(said)
        if self.fails is not None:
            raise self.fails
        if "0012" in said:
            return Reply(Message("assistant", (ToolCall("1", "desk.look_up", {"order": "0012"}),)))
        if said == "Sing":
            return Reply(Message("assistant", (ToolCall("1", "desk.look_up", {"number": 1}),)))
        if said == "Anything":
            return Reply(Message("assistant", (ToolCall("1", "desk.look_up", raw='{"ord', parse_error="cut off"),)))
        return "I would rather not."


@pytest.fixture
def clerk(monkeypatch: pytest.MonkeyPatch, wheel: Path) -> Clerk:
    clerk = Clerk()
    monkeypatch.setattr(
        "evals.bfcl.evaluate.open_model", lambda spec, **_: [Plain("constrained", Function(clerk, name="clerk"))]
    )
    return clerk


def ask(folder: Path, *more: str, categories: str = "multiple,irrelevance,live_relevance") -> int:
    return main(["--model", "local", "--categories", categories, "--out", str(folder), *more])


def test_answers_are_judged_kept_and_drawn(clerk: Clerk, wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(wheel / "out", "--json") == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    counts = {row["category"]: (row["cases"], row["right"], row["conform"], row["broken"]) for row in said}
    assert counts == {
        "multiple": (1, 1, 1, 0),
        "irrelevance": (2, 1, 0, 0),
        "live_relevance": (1, 0, 0, 1),
        "all": (4, 2, 1, 1),
    }
    rows = [json.loads(line) for line in (wheel / "out/cases.jsonl").read_text().splitlines()]
    assert rows[0]["calls"] == [["desk.look_up", {"order": "0012"}]]
    plot = ElementTree.parse(wheel / "out/score.svg")  # noqa: S314 - our own file
    bars = [each.text for each in plot.iter() if each.tag.endswith("title")]
    assert bars == ["multiple, constrained: 1 of 1", "irrelevance, constrained: 1 of 2",
                    "live_relevance, constrained: 0 of 1"]  # fmt: skip


def test_what_is_there_is_not_asked_again_and_a_torn_line_is(clerk: Clerk, wheel: Path) -> None:
    ask(wheel / "out")
    assert len(clerk.asked) == 4
    kept = wheel / "out/cases.jsonl"
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-20])
    clerk.asked.clear()
    ask(wheel / "out")
    assert len(clerk.asked) == 1
    assert [json.loads(line)["id"] for line in kept.read_bytes().splitlines()] == [
        json.loads(line)["id"] for line in whole.splitlines()
    ]


def test_a_failure_keeps_what_was_answered(clerk: Clerk, wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(wheel / "out", categories="multiple")
    clerk.fails = ModelError("the host is down")
    assert ask(wheel / "out") == 2
    assert "the host is down" in capsys.readouterr().err
    clerk.fails = ContextOverflow("too long")
    assert ask(wheel / "out") == 0
    rows = [json.loads(line) for line in (wheel / "out/cases.jsonl").read_bytes().splitlines()]
    assert [row.get("kind") for row in rows] == [None, "overflow", "overflow", "overflow"]


def test_other_settings_are_refused(clerk: Clerk, wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(wheel / "out")
    assert ask(wheel / "out", "--max-tokens", "9") == 2
    assert "max tokens was 256 and is now 9" in capsys.readouterr().err


def test_other_declarations_are_refused(clerk: Clerk, wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(wheel / "out")
    data = wheel / "site/bfcl_eval/data/BFCL_v4_multiple.json"
    data.write_text(data.read_text().replace("Where is", "Where's"))
    assert ask(wheel / "out") == 2
    assert "multiple_0 was asked in other words" in capsys.readouterr().err


@pytest.mark.usefixtures("wheel")
def test_a_larger_sample_holds_the_smaller_and_another_seed_is_another() -> None:
    cases = [Case(str(number), CATEGORIES["multiple"], (), ()) for number in range(50)]
    assert sample(cases, 9, 0) == sample(cases, 30, 0)[:9] == sample(reversed(cases), 9, 0)
    assert sample(cases, 9, 1) != sample(cases, 9, 0)
    assert len(sample(Bench().cases(CATEGORIES["irrelevance"]), None, 0)) == 2


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"name": "f", "arguments": {"a": {"b": "}"}}} and {"name": "g", "parameters": {}}', ["f", "g"]),
        ('```json\n{ "name":"f" ,\n "arguments" : {}}\n```', ["f"]),
        ('<tool_call>{"type": "function", "function": {"name": "f", "arguments": {}}}</tool_call>', ["f"]),
        ('{"name": "f", "arguments": {"a": ', []),
        ('{"name": "f", "arguments": "none"} {"a": {"name": "g"}}', []),
    ],
)
def test_calls_are_found_in_free_text(text: str, names: list[str]) -> None:
    assert [name for name, _ in loose(text)] == names


class Writer:
    """An engine that would write this for ever."""

    context = 1000

    def __init__(self, text: str) -> None:
        self.text = text
        self.grammars: list[str | None] = []

    def check(self, grammar: str) -> str | None:
        return None

    def decode(self, prompt: str, grammar: str | None, sampling: Sampling, listener: Listener) -> Decoded:
        self.grammars.append(grammar)
        for number in range(1000):
            if listener(Piece(self.text[number % len(self.text)])):
                return Decoded("cancelled", output=number)
        raise AssertionError("nobody stopped it")

    def close(self) -> None:
        pass


def test_unconstrained_means_no_grammar_and_the_same_help() -> None:
    template = "{% for turn in messages %}{{ turn.content }}\n{% endfor %}"
    chat = Chat(Metadata("m", "a", "l", template, 1000, (), "", ""), BARE)
    engine = Writer('Sure: {"name": "elsewhere", "arguments": {"x": 1}} ')
    model = Unconstrained("m", engine, chat, SMALL)
    specs = declare(Case("x", CATEGORIES["multiple"], (), (LOOK,))).specs

    async def both() -> list[Any]:
        asked = [user("Look up the order A-12 at the desk"), user("Sing")]
        return [(await model.ask(Request((each,), specs))).calls for each in asked]

    assert anyio.run(both) == [[("elsewhere", {"x": 1})], []]
    assert len(engine.grammars) == 1
    assert "look_up" not in (engine.grammars[0] or "")


def test_prose_is_kept_beside_the_calls() -> None:
    message = Message("assistant", (Text("Here."), ToolCall("1", "f", {})))
    answer = anyio.run(Plain("model", Function(lambda _: Reply(message))).ask, Request((user("x"),)))
    assert (answer.calls, answer.text, answer.broken) == ([("f", {})], "Here.", "")
