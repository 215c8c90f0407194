"""The calls that are right, through every format: what comes back is what was written, or it is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bfcl_kit import BAD, WEATHER
from evals.bfcl import main, run, through
from evals.bfcl.data import CATEGORIES, Bench, Calls, Case
from evals.bfcl.declared import declare
from evals.bfcl.lowered import Unsayable

from counterfoil import dialects, text, wires
from counterfoil.types.message import user

SAYABLE = "multiple,parallel,irrelevance,live_relevance,simple_java"


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """Run it; returns the exit code, what it says by way, and standard error."""
    code = main([*argv, "--json"])
    said = capsys.readouterr()
    return code, {row["way"]: row for row in map(json.loads, said.out.splitlines())}, said.err


@pytest.mark.usefixtures("wheel")
def test_every_wire_dialect_and_family_gives_the_right_calls_back(capsys: pytest.CaptureFixture[str]) -> None:
    code, ways, err = told(capsys, "--categories", SAYABLE)
    assert (code, err) == (0, "")
    assert set(ways) == {"direct", *wires.names(), *dialects.names(), *text.names()}
    assert {way: row["right"] for way, row in ways.items()} == dict.fromkeys(ways, 6)


@pytest.mark.usefixtures("wheel")
def test_every_kind_of_value_goes_through(capsys: pytest.CaptureFixture[str]) -> None:
    code, ways, _ = told(capsys, "--categories", "simple_python")
    assert code == 0
    assert all(row["right"] + row["unsayable"] == 3 and row["right"] >= 1 for row in ways.values()), ways
    assert {ways[wire]["right"] for wire in wires.names()} == {3}
    # One case's ground truth is text where its own schema wants an integer: a strict mode has no words for it.
    assert {ways[name]["unsayable"] for name in dialects.names()} == {1}
    assert {ways[name]["unsayable_fitting"] for name in dialects.names()} == {0}


@pytest.mark.usefixtures("wheel")
def test_a_ground_truth_that_the_checker_refuses_is_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--categories", "live_simple", "--through", "anthropic"]) == 0
    assert "refuses its own ground truth of: live_simple_0" in capsys.readouterr().out


class Spoiling:
    """A format that loses something."""

    name = "spoiling"

    def take(self, calls: Calls, *_: Any) -> Calls:
        return [
            (name, {key: float(value) if value == 1 else value for key, value in each.items()}) for name, each in calls
        ]


@pytest.mark.usefixtures("wheel")
def test_what_is_lost_is_seen_and_is_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(through.Direct, "take", lambda self, calls, messages, tools: calls[:-1])
    assert main(["--categories", "parallel", "--through", "direct"]) == 1
    assert "lost  direct  parallel_0" in capsys.readouterr().out


@pytest.mark.usefixtures("wheel")
def test_an_integer_that_became_a_float_is_lost_even_if_the_checker_takes_it() -> None:
    case = Case("x", CATEGORIES["simple_python"], (user("x"),), (BAD,), ({"bad": {"x": [1, 1.0]}},))
    row = run.take(Bench(), case, declare(case), [("bad", {"x": 1})], Bench().judge(case, []), Spoiling())
    assert (row.valid, row.kind) == (True, "changed")


def test_names_lose_their_dots_only_where_a_family_has_none_and_get_them_back() -> None:
    case = Case("x", CATEGORIES["simple_python"], (user("x"),), (WEATHER, {**WEATHER, "name": "weather_today"}))
    calls: Calls = [("weather.today", {"city": "Rome"}), ("weather_today", {"city": "Rome"})]
    names = through.cleaned(["weather.today", "weather_today", "weather/today"])
    assert len({*names.values()}) == 3
    assert names["weather_today"] == "weather_today"
    (harmony,) = through.ways(["harmony"])
    assert harmony.take(calls, case.messages, declare(case).specs) == calls


def test_declarations_keep_what_a_schema_can_say_and_tell_the_rest() -> None:
    odd = {**BAD, "parameters": {"type": "dict", "required": ["x", "gone"], "properties": {"x": {"type": "queue"}}}}
    declared = declare(Case("x", CATEGORIES["simple_python"], (), (WEATHER, odd)))
    schema = declared.specs[0].parameters["properties"]
    kinds = {name: each.get("type") for name, each in schema.items()}
    assert kinds == {
        "city": "string", "days": "integer", "level": "number", "where": "array", "more": "object",
        "filter": "object", "any": None, "Content-Type": "string",
    }  # fmt: skip
    assert schema["where"]["items"] == {"type": "number"}
    assert "enum" not in schema["Content-Type"]
    assert declared.notes == ("bad/x: the type 'queue' is said as any", "bad: required, and not declared: gone")


def test_null_is_not_said_where_it_would_come_back_as_absent() -> None:
    case = Case("x", CATEGORIES["simple_python"], (), (WEATHER,))
    (strict,) = through.ways(["openai-strict"])
    with pytest.raises(Unsayable, match="null at /days"):
        strict.take([("weather.today", {"city": "Rome", "days": None})], (), declare(case).specs)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--categories", "multi_turn_base"], "multi_turn_base is not measured here"),
        (["--categories", "simple-python"], "Did you mean simple_python"),
        (["--through", "openai_chat"], "Did you mean openai-chat"),
        (["--model", "local", "--through", "hermes"], "--through is for the oracle"),
        (["--policy", "small"], "--policy is for a model that writes by itself"),
        (["--limit", "0"], "0 is no count"),
    ],
)
@pytest.mark.usefixtures("wheel")
def test_bad_usage_is_a_sentence_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], argv: list[str], said: str
) -> None:
    assert main(argv) == 2
    assert said in capsys.readouterr().err


def test_without_the_wheel_the_line_that_installs_it_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *_: None if name == "bfcl_eval" else object())
    assert main([]) == 2
    assert "pip install --no-deps bfcl-eval==2026.3.23" in capsys.readouterr().err


def test_another_version_of_the_data_is_a_sentence(capsys: pytest.CaptureFixture[str], wheel: Path) -> None:
    (wheel / "site/bfcl_eval/data/BFCL_v4_multiple.json").write_text('{"id": 1}\n')
    assert main(["--categories", "multiple"]) == 2
    assert "cannot be read" in capsys.readouterr().err
