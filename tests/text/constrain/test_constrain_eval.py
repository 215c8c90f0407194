"""The measurement itself: what it counts, and that it goes on where it was."""

from __future__ import annotations

from pathlib import Path

from constrain_kit import TOOLS
from evals.constrained.run import Judge, Row, Rows, table

from counterfoil.types.message import ToolCall

CALLS = (
    ToolCall("1", "ping", {}),
    ToolCall("2", "get_weather", {"city": "Graz", "days": 99}),
    ToolCall("3", "get_weather", None, "{", "cut off"),
    ToolCall("4", "nothing", {}),
)


def test_calls_are_parsed_or_not_and_conform_or_not() -> None:
    judge = Judge(TOOLS)
    assert judge.row(CALLS, ()) == {
        "calls": 4,
        "parsed": 3,
        "valid": 1,
        "loose_calls": 0,
        "loose_parsed": 0,
        "loose_valid": 0,
    }
    loose = judge.row(CALLS, ("get_weather",))
    assert (loose["calls"], loose["loose_calls"], loose["loose_parsed"], loose["loose_valid"]) == (2, 2, 1, 0)


def test_what_was_asked_is_not_asked_again(tmp_path: Path) -> None:
    kept = Rows(tmp_path / "rows.jsonl")
    kept.add([Row("a", "suite", "free", "hermes", calls=2, parsed=1)])
    again = Rows(tmp_path / "rows.jsonl")
    assert again.has("a", "free")
    assert not again.has("a", "constrained")
    assert again.rows == kept.rows


def test_what_is_cut_off_counts_for_nothing_and_is_counted() -> None:
    rows = [
        Row("a", "suite", "constrained", "hermes", calls=1, parsed=1, valid=1),
        Row("b", "suite", "constrained", "hermes", calls=1, cut=True),
        Row("a", "suite", "free", "hermes", calls=2, parsed=1, cut=True),
    ]
    lines = list(table(rows))
    assert "| 2 | 2 | 1 | 1 | 1 (100.0%) | 1 (100.0%) |" in lines[2]
    assert "| 1 | 1 | 1 | 2 | 1 (50.0%) | 0 (0.0%) |" in lines[6]
