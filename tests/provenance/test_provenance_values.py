"""A plan that is written wrongly says so when it is made, not when a call is judged by it."""

from __future__ import annotations

from typing import Any

import pytest

from counterfoil import Intent, Pick


@pytest.mark.parametrize("wrong", [{"where": "account"}, {"arguments": ["ORD-1"]}, {"take": None}])
def test_a_rule_that_cannot_be_one_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="take='field'"):
        Pick("lookup_order", **wrong)


@pytest.mark.parametrize(
    "wrong", [{"fixed": [1]}, {"taken": {"account": "account"}}, {"taken": []}, {"open": "amount"}]
)
def test_an_intent_that_cannot_be_one_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="is Intent"):
        Intent("refund", **wrong)
