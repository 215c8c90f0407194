"""Each example runs as its first lines say, and says what it is there to show."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_kit import Cli, python

EXAMPLES = Path(__file__).parents[2] / "examples"
SAID = {
    "order_desk": ["1.1 bad_arguments", "1.2 not_permitted", "2.1 done | ships today", "answered | ORD-1 ships today"],
    "confirm_elsewhere": [
        "ask: waiting: cancel_order {'order_id': 'ORD-1'}",
        "approve: cancel_order {'order_id': 'ORD-1'} for ada",
        "go_on: answered: ORD-1 is cancelled | ORD-1 is cancelled.\ngo_on: answered: ORD-1 is cancelled",
    ],
    "outside_call": ["1 done: 42.16 km", "2 done: [note: digits was 99", "3 bad_arguments", "4 not_permitted"],
}


def test_no_example_is_left_out() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAID)


@pytest.mark.parametrize("name", SAID)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    done = python(str(EXAMPLES / f"{name}.py"), cwd=tmp_path)
    assert (done.code, done.err) == (0, ""), done
    for words in SAID[name]:
        assert words in done.out, done


def test_the_desk_is_a_catalogue_for_the_command(cli: Cli) -> None:
    desk = f"{EXAMPLES / 'order_desk.py'}:desk"
    assert "lookup_order  read  orders:read" in cli("tools", desk, code=0).out
