"""What counts as the user's own words, and what only looks like it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.gate.provenance.spelt import links
from counterfoil.gate.provenance.words import Words, fold, key, moments, whole

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


@given(st.text())
def test_folding_changes_nothing_but_case_and_space(text: str) -> None:
    folded, spaced = fold(text), " ".join(text.split())
    assert len(folded) == len(spaced)
    assert all(a == b or (a == b.lower() and a.upper() == b) for a, b in zip(folded, spaced, strict=True))


@pytest.mark.parametrize("other", ["\u212a", "\uff4b", "k\u200b", "k\u0301", "\u043a"])
def test_look_alikes_are_different(other: str) -> None:
    assert fold(other) != fold("k")
    assert not words("Pay 'kim7' now.").contain(f"{other}im7")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Mail o'brien@x.example it.", "brien@x.example"),
        ("Mail o\u2019brien@x.example it.", "brien@x.example"),
        ("Mail r&d@x.example it.", "d@x.example"),
        ("Mail a=b@x.example it.", "b@x.example"),
        ("Mail a!b@x.example it.", "b@x.example"),
        ("Mail ann@x.example\u200b.evil.test it.", "ann@x.example"),
        ("Mail ann@x.example\u0338 it.", "ann@x.example"),
        ("Send to https://api.example/hook?id=5&dry=1 it.", "https://api.example/hook?id=5"),
        ("Send to https://api.example/hook?id=5&dry=1 it.", "https://api.example/hook"),
        ("Send to https://api.example/hook?id=5&dry=1 it.", "https://api.example/hook?id"),
        ("Send to https://api.example/hook#top it.", "https://api.example/hook"),
        ("Send to https://api.example/hook%20x it.", "https://api.example/hook"),
        ("Send to https://api.example/~ann it.", "https://api.example/"),
        ("Delete INV\u20117 now.", "INV"),
        ("Pay 1'500 now.", "500"),
    ],
)
def test_words_are_not_cut_short(text: str, part: str) -> None:
    assert not words(text).contain(part)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("It's Bob's, or 'Ann's'.", "Bob"),
        ("Write to 'ann@x.example', (bob@x.example) and <cid@x.example>!", "ann@x.example"),
        ("Write to 'ann@x.example', (bob@x.example) and <cid@x.example>!", "bob@x.example"),
        ("Write to 'ann@x.example', (bob@x.example) and <cid@x.example>!", "cid@x.example"),
        ("Is it https://x.example/a?", "https://x.example/a"),
        ("**Bob** is here", "Bob"),
        ("Post in #general!", "general"),
        ("Tell Bob\u2014now.", "Bob"),
        ("Paris\u2013London", "London"),
        ("See http://x.example/a.", "https://x.example/a/"),
        ("Vote \U0001f44d now", "\U0001f44d"),
    ],
)
def test_marks_around_words_are_no_part_of_them(text: str, value: str) -> None:
    assert words(text).contain(value)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("1,500", {1500}),
        ("1,500.25", {1500.25}),
        ("1'500", {1500}),
        ("1\u2019500.50", {1500.5}),
        ("12,50", {12.5}),
        ("12.5", {12.5}),
        ("0.125", {0.125}),
        ("1234.567", {1234.567}),
        ("$12.50", {12.5}),
        ("-5", {-5}),
        ("12,5", set[float]()),
        ("1.500", set[float]()),
        ("1.500,00", set[float]()),
        ("1,50,000", set[float]()),
        ("1 500", set[float]()),
        ("1\u00a0500", set[float]()),
        ("1\u202f500", set[float]()),
        ("12.5k", set[float]()),
        ("5 million", set[float]()),
        ("1.2.3", set[float]()),
    ],
)
def test_a_number_counts_only_where_it_can_be_read_in_one_way(written: str, read: set[float]) -> None:
    tried = [
        1,
        1.5,
        5,
        -5,
        12,
        12.5,
        50,
        125,
        150,
        500,
        0.125,
        1500,
        1500.25,
        1500.5,
        1234.567,
        50000,
        150000,
        1.2,
        2.3,
    ]
    assert {each for each in tried if words(f"Pay {written} to Ann.").contain(each)} == read


@pytest.mark.parametrize("value", ["11/", "11.", "https://11", "http://11/", "(11)", "11,"])
def test_a_short_number_is_not_made_an_identifier_by_what_is_around_it(value: str) -> None:
    asked = words("Read the newest 11. Then, of 11, (11), see https://11 or 11/ and http://11/ once.")
    assert not asked.contain(value, frozenset({"mail"}))


@pytest.mark.parametrize(
    ("text", "value", "same"),
    [
        ("Pay wallet 'aBcD12'.", "aBcD12", True),
        ("Pay wallet 'aBcD12'.", "AbCd12", False),
        ("Pay wallet 'aBcD12'.", "abcd12", False),
        ("Pay 'Room12'.", "room12", True),
        ("Pay 'INV-77'.", "inv-77", True),
        ("Mail Ann.B7@X.example.", "ann.b7@x.example", True),
    ],
)
def test_identifiers_that_only_their_case_tells_apart_are_different(text: str, value: str, same: bool) -> None:
    assert words(text).contain(value) is same


@given(st.integers() | st.floats(allow_nan=False), st.integers() | st.floats(allow_nan=False))
def test_numbers_go_by_one_key_exactly_if_they_are_equal(one: float, other: float) -> None:
    assert (key(one) == key(other)) is (one == other)


@pytest.mark.parametrize("value", [1_000_000.0, 12345678.0, 12345679.0, -4_000_000.0])
def test_a_whole_number_goes_by_all_its_digits(value: float) -> None:
    assert key(value) == str(int(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Pay to IBAN DE89 3704 0044 0532 0130 00.", 130),
        ("Pay to IBAN DE89 3704 0044 0532 0130 00.", 3704),
        ("Pay to IBAN DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000.", 130),
        ("Call 030 1234567.", 1234567),
        ("See https://x.example/500/x", 500),
        ("Mail ann.Smith@x.example.", "smith@x.example"),
        ("Delete report.Final.docx now.", "Final.docx"),
        ("Delete report.Final.docx now.", "report"),
        ("Take v1.Old", "v1"),
        ("See README.md.", "https://readme.md"),
        ("See https://bank.example.", "http://bank.example"),
        ("See https://x.example/?to=http://evil.example/a", "http://evil.example/a"),
    ],
)
def test_what_is_inside_something_else_was_not_said(text: str, value: Any) -> None:
    assert not words(text).contain(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Pay account 12345678.", 12345678),
        ("Mail ann.Smith@x.example.", "ann.smith@x.example"),
        ("Delete report.Final.docx now.", "report.Final.docx"),
        ("Post to www.our-company.com.They wait.", "www.our-company.com"),
        ("See bank.example/x.", "https://bank.example/x"),
        ("See 'https://bank.example/x'.", "https://bank.example/x"),
    ],
)
def test_what_was_said_is_found_whole(text: str, value: Any) -> None:
    assert words(text).contain(value)


@pytest.mark.parametrize("mark", ["*", ".", "..", "~", "%", "-", "@", "?"])
def test_marks_alone_name_nobody(mark: str) -> None:
    assert not words(f"- Delete '{mark}', **all** of it... Share it with {mark}.").contain(mark, frozenset({"path"}))


def test_in_a_script_without_capitals_not_every_word_is_a_name() -> None:
    order = "\u0627\u062d\u0630\u0641 \u0643\u0644 \u0627\u0644\u0645\u0644\u0641\u0627\u062a"
    assert not words(order).contain("\u0643\u0644", frozenset({"path"}))


@pytest.mark.parametrize("text", ["a://x " * 20_000, ("/" * 2000 + " a://x/y ") * 200, "x" * 100_000, "://x" * 20_000])
def test_a_long_text_of_an_outsiders_is_looked_through_in_no_time(text: str) -> None:
    """It would take hours if each place were looked at from each place."""
    assert not whole(text, "x.example")
    assert not whole(text, "a.example/x")
    assert isinstance(whole(text, "x"), bool)
