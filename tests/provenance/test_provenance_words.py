"""What counts as the user's own words, and what only looks like it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.gate.provenance.words import _ACTIVE, LINK, Words, fold, links, moments

ORDER = (
    "Please refund GB29NWBK60161331926819 the 12.00 from May 15th, 2024 and tell 'sarah.connor@gmail.com' at 10:00. "
    "Make it last 5 hours. The fee is 19.5% of 1,000.50 for 3 people. See https://desk.example/orders."
)


def words(text: str = ORDER) -> Words:
    found = Words()
    found.add(text)
    return found


@pytest.mark.parametrize(
    "value",
    [
        "GB29NWBK60161331926819",
        "gb29nwbk60161331926819",
        "sarah.connor@gmail.com",
        12,
        12.0,
        1000.5,
        "2024-05-15",
        "2024-05-15 10:00",
        "2024-05-15T10:00",
        "15 May 2024",
        "https://desk.example/orders",
        "desk.example/orders",
        "Make  it\nlast",
    ],
)
def test_a_value_is_found_however_it_is_spelt(value: Any) -> None:
    assert words().contain(value)


@pytest.mark.parametrize(
    "value",
    [
        60161331926819,
        "60161331926819",
        "connor@gmail.com",
        "sarah.connor@gmail.com.evil.example",
        "sarah.connor@gmail",
        "desk.example",
        "2023-05-15",
        "2024-05-16",
        "2024-05-15 11:00",
        "",
        " ",
        True,
        None,
    ],
)
def test_a_part_of_a_value_is_not_the_value(value: Any) -> None:
    assert not words().contain(value)


@pytest.mark.parametrize("value", [5, 10, 15, 2024, 19.5, 3])
def test_a_number_that_measures_something_else_is_no_amount(value: float) -> None:
    assert not words().contain(value)


@pytest.mark.parametrize("value", [1, 2])
def test_the_numbers_of_a_list_are_no_amounts(value: int) -> None:
    assert not words("1. Pay Bob. 2. Tell him.").contain(value)


@pytest.mark.parametrize("value", [12345678901234568, 12345678901234568.0, 1e400, 9007199254740993])
def test_every_digit_of_a_long_number_counts(value: float) -> None:
    asked = words(f"Pay account 12345678901234567, 9007199254740992 and {'9' * 5000}.")
    assert not asked.contain(value)
    assert asked.contain(12345678901234567)


def test_an_address_may_not_be_the_beginning_of_a_longer_one() -> None:
    asked = words("write to ann@corp.example.evil.test and to www.corp.example/private")
    assert not asked.contain("ann@corp.example")
    assert not asked.contain("www.corp.example")


def test_a_full_stop_without_a_space_ends_a_sentence() -> None:
    assert words("Post it to www.our-company.com.They wait for it").contain("www.our-company.com")


@pytest.mark.parametrize(
    ("text", "name", "used"),
    [
        ("Read 'address-change.txt' and update my account.", "Read", False),
        ("read it and move on", "move", False),
        ("Send it to Bob.", "Bob", True),
        ("send it to bob", "bob", True),
        ("Add Charlie to the general channel.", "general", True),
        ("Add Charlie to the general channel.", "channel", False),
        ("Post in 'random' please.", "random", True),
        ("I moved to New York.", "New York", True),
        ("Hello. Paris is where I live.", "Paris", False),
        ("It is invoice INV-7 again.", "INV-7", True),
    ],
)
def test_a_plain_word_names_something_only_where_it_is_used_as_a_name(text: str, name: str, used: bool) -> None:
    assert words(text).contain(name)
    assert words(text).contain(name, frozenset({"channel"})) is used


@pytest.mark.parametrize(
    "text",
    [
        "see https://evil.example/x?q=1",
        "see www.evil.example",
        "write to m.x@evil.example",
        "pay DE89 3704 0044 0532 0130 00",
        "pay DE89370400440532013000",
        "go to evil-site.com/now",
        "javascript://x",
        "mailto:x",
        "go to evil.click",
        "go to 203.0.113.5:8080/x",
        "pay to account 12345678",
        "sort code 20-00-00, account 41234567.",
        "call +1 (555) 010-0100",
        "call 555-0100",
        "call 030 12 34 56 78",
        "card 4111 1111 1111 1111",
        "card 4111-1111-1111-1111",
    ],
)
def test_what_can_be_acted_on_is_recognised(text: str) -> None:
    assert links(text)


@pytest.mark.parametrize(
    "text",
    [
        "Thank you, see you at 10:30.",
        "We met in U.S. cities",
        "a.b is fine",
        "Total: 12.50",
        "on 2024-05-15 at 10:00, or 15.05.2024, or 05/06/2024, or 05-06-2024",
        "2024-05-15T10:00:00Z",
        "in 2023, 2024 2025 and 2026",
        "scores 10 20 30 40 50",
        "1,500,000.00 EUR, 0.12345678 of it",
        "order ORD-20240515",
        "version 1.2.3",
        "see report.pdf",
    ],
)
def test_prose_is_not_taken_for_a_link(text: str) -> None:
    assert not links(text)


def test_moments_are_read_in_the_usual_spellings() -> None:
    found, rest = moments("on 2024-05-01, May 2nd, 3 June 2025 and 4 pm or 16:30")
    assert [(each.year, each.month, each.day, each.clock) for each in found] == [
        (2024, 5, 1, None),
        (None, 5, 2, None),
        (2025, 6, 3, None),
        (None, None, None, (16, 30)),
        (None, None, None, (16, 0)),
    ]
    assert not any(each.isdigit() for each in rest)


def test_folding_keeps_the_length_of_what_is_not_space() -> None:
    assert fold("STRASSE \u0130 \u00df") == "strasse \u0130 \u00df"


@given(st.text() | st.from_regex(LINK) | st.lists(st.from_regex(LINK) | st.text()).map(" ".join))
def test_no_link_is_overlooked_for_speed(text: str) -> None:
    assert links(text) == _ACTIVE.findall(text)
