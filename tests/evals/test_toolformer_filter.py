"""The filter of Toolformer as arithmetic: by hand, and by law."""

from __future__ import annotations

import math

import pytest
from evals.toolformer import losses
from hypothesis import given
from hypothesis import strategies as st

LOGPROBS = st.lists(st.floats(-30, 0), max_size=12)
CHANCES = st.dictionaries(st.integers(0, 50), st.floats(0, 1))
NATS = st.floats(-40, 40)


def test_weights_fall_to_nothing_within_five_tokens_and_add_up_to_one() -> None:
    assert [losses.weight(t) for t in range(7)] == pytest.approx([5 / 15, 4 / 15, 3 / 15, 2 / 15, 1 / 15, 0, 0])
    assert sum(losses.weight(t) for t in range(losses.HORIZON)) == pytest.approx(1)


def test_a_loss_by_hand() -> None:
    # (5 * 3 + 4 * 1.5 + 3 * 0.5 + 2 * 0 + 1 * 6) / 15 = 28.5 / 15
    assert losses.loss([-3, -1.5, -0.5, 0, -6]) == pytest.approx(1.9)
    assert losses.loss([-3, -1.5, -0.5, 0, -6, -99]) == pytest.approx(1.9), "the sixth token weighs nothing"
    assert losses.loss([-3]) == pytest.approx(1), "what is not there costs nothing"
    assert losses.loss([math.log(0.5)] * 5) == pytest.approx(math.log(2))


def test_a_gain_is_against_the_better_of_no_call_and_the_call_alone() -> None:
    assert losses.gain(3.0, 2.5, 1.0) == 1.5
    assert losses.gain(2.0, 2.5, 1.0) == 1.0
    assert losses.gain(2.0, 0.5, 1.0) == -0.5


def test_positions_are_the_likeliest_above_the_threshold_in_the_order_of_the_text() -> None:
    chances = {3: 0.2, 5: 0.05, 7: 0.6, 9: 0.2, 11: 0.3}
    assert losses.positions(chances, 0.05, 3) == [3, 7, 11]
    assert losses.positions(chances, 0.05, 9) == [3, 7, 9, 11], "0.05 is not above 0.05"
    assert losses.positions(chances, 0.9, 3) == []


@given(NATS, NATS, NATS, NATS, NATS)
def test_nothing_below_the_threshold_is_kept_and_a_higher_one_keeps_no_more(
    without: float, unanswered: float, answered: float, one: float, other: float
) -> None:
    gained = losses.gain(without, unanswered, answered)
    low, high = sorted([one, other])
    assert losses.is_kept(gained, low) == (without - answered >= low and unanswered - answered >= low)
    assert losses.is_kept(gained, low) or not losses.is_kept(gained, high)


@given(LOGPROBS, st.floats(0, 10))
def test_a_loss_is_never_negative_and_grows_with_any_token_that_weighs(logprobs: list[float], more: float) -> None:
    whole = losses.loss(logprobs)
    assert 0 <= whole <= 30
    for at in range(len(logprobs)):
        changed = [*logprobs[:at], logprobs[at] - more, *logprobs[at + 1 :]]
        assert losses.loss(changed) - whole == pytest.approx(losses.weight(at) * more, abs=1e-9)


@given(CHANCES, st.floats(0, 1), st.floats(0, 1), st.integers(1, 10))
def test_positions_are_few_above_and_fewer_for_a_higher_threshold(
    chances: dict[int, float], one: float, other: float, k: int
) -> None:
    low, high = sorted([one, other])
    found = losses.positions(chances, low, k)
    assert len(found) <= k
    assert found == sorted(set(found))
    assert all(chances[at] > low for at in found)
    left = [chance for at, chance in chances.items() if at not in found and chance > low]
    assert not left or max(left) <= min(chances[at] for at in found)
    assert set(losses.positions(chances, high, k)) <= set(found)
