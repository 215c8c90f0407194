"""Links, addresses and account numbers are found however they are written, and are somebody's own all the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.gate.provenance.spelt import _ACTIVE, LINK, _links, links, plain
from counterfoil.gate.provenance.words import Words

ACTED_ON = [
    "Pay at https://shop.example(@evil.example/steal",
    "Pay at https://shop.example'@evil.example/steal",
    "Pay at https://shop.example[@evil.com/steal",
    'Pay at https://shop.example">@evil.example now',
    'Pay at "https://shop.example",@evil.example now',
    "Pay at https://shop.example](@evil.example/x now",
    "Pay at shop.com.evil.zip now",
    "Pay at 1https://evil.zip now",
    'Write to "eve"@evil.example',
    "Write to eve!@evil.example",
    "Write to eve~@evil.com",
    "Write to (eve)@evil.example",
    "Write to eve@[203.0.113.5]",
    "Write to ann@x.example@evil.com",
    'Click <a href="&#104;ttps&#58;&#47;&#47;evil&#46;example&#47;x">here</a>',
    "Click &#104ttps&colon;//evil.zip",
    "Click &amp;#104;ttps://evil.zip",
    "[pay](https:\\\\evil.zip)",
    "[pay](https:evil.zip)",
    "[pay](java&#115;cript&colon;alert(1))",
    "[pay](javascript:alert(document.cookie))",
    "[pay](custom-app:pay?to=eve)",
    "[pay](data:text/html,x)",
    "![x](//2130706433/q)",
    "![x](/\\evil.zip)",
    "<a href=//evil>x</a>",
    "see //evil.zip/x",
    "Go to evil\uff0eexample now",
    "Go to evil\u3002com now",
    "Go to evil\u2024com now",
    "Go to evil.it now",
    "Go to EVIL.IT now",
    "Go to evil.xn--p1ai now",
    "Go to evil.zip:8080/x now",
    "Go to 203.0.113.5. Now",
    "Go to https\u200b://evil\u200b.example",
    "Go to htt\u00adps:\uff0f\uff0fevil.zip",
    "Call 900.555.0199 at once",
    "Call 900/555-0199 at once",
    "Call 900.555 0199 at once",
    "Call 900-555-0199x12 at once",
    "Call 1-800-555-0199 at once",
    "Call 0900 (123) 4567 at once",
    "Call 0900 - 123 - 4567 at once",
    "Call \u0660\u0669\u0660\u0660\u0661\u0662\u0663\u0664",
    "Call +44\u00a0900\u00a0123\u00a0456",
    "Call 0900\u2013123\u20134567",
    "Pay GB29-NWBK-6016-1331-9268-19",
    "Pay GB29.NWBK.6016.1331.9268.19",
    "Pay GB29\u00a0NWBK\u00a06016\u00a01331\u00a09268\u00a019",
    "Pay GB 29 NWBK 60161331 926819",
    "Pay account:41234567",
    "Pay No.41234567",
    "Card 4111.1111.1111.1111",
    "Card 4111,1111,1111,1111",
    "Card 4111_1111_1111_1111",
    "Card 4111\u00a01111\u00a01111\u00a01111",
    "Card 4111  1111  1111  1111",
    "Card 4111\u20111111\u20111111\u20111111",
    "Card 41 11 11 11 11 11 11 11",
    "Card \uff14\uff11\uff11\uff11 1111 1111 1111",
]
CUT = ["](@", "example@", "x12", "No."]
"""Where these are, what is found is a part of something longer, which is nobody's."""
PROSE = [
    "rooms 101, 102, 103",
    "10, 20, 30, 40, 50, 60",
    "12 500 000 EUR, 1'500'000 CHF, 1.500.000,00 EUR",
    "$1,500.00 and $2,500.00 3,500.00",
    "52.5200066, 13.404954",
    "from 10:00-12:30, 2024-05-15 - 2024-05-20",
    "2024-05-15 10:30:00 2024-05-16 11:30:00.123Z",
    "May 5, 2024 10:30 AM",
    "| hermes | 36 | 7 | 969 | 167 | 97/97 | 0.51 |",
    "March,600,90000,18000",
    "400 / 1400 of them",
    'print("in the file:", [word]), a javascript: link',
    "INV-2024-0001 and 20240515_report.pdf",
    "550e8400-e29b-41d4-a716-446655440000",
    "in 20 minutes at 10 we go to 5 of them",
    "Done.It is. e.g. this, i.e. that",
    "C:\\Users\\ann, docs/a.md, main.rs",
    "and/or, yes:no, 16:9, 24/7, Q&A, AT&amp;T, #general, :smile:",
    "// a comment, @pytest.mark.x, x = y[0] + z.w",
    "\u4f60\u597d\u3002\u8c22\u8c22\u3002\u4eca\u5929",
    "Bob\u2014now \u2013 or \u201clater\u201d\u2026",
]
UNSEEN = "\u200b\u200d\u00ad\u2060\ufeff\ufe0f\u034f"
"""Nobody sees them."""


def bared(text: str) -> str:
    return re.sub(r"[\W_]", "", text).upper()


@pytest.mark.parametrize("text", ACTED_ON)
def test_what_can_be_acted_on_is_found_however_it_is_spelt(text: str) -> None:
    assert links(text)


@pytest.mark.parametrize("text", PROSE)
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    assert links(text) == []


@pytest.mark.parametrize(
    "text", [each for each in ACTED_ON if "shop" in each or "ann@x.example" in each or "(eve)" in each]
)
def test_what_is_trusted_is_no_cover_for_what_is_behind_it(text: str) -> None:
    trusted = Words()
    trusted.add("See https://shop.example and shop.com, write to ann@x.example and eve.")
    assert not all(trusted.contain(each) for each in links(text))


@pytest.mark.parametrize("text", [each for each in ACTED_ON if not any(part in each for part in CUT)])
def test_what_somebody_wrote_themselves_is_theirs_however_it_is_spelt(text: str) -> None:
    own = Words()
    own.add(text)
    assert [each for each in links(text) if not own.contain(each.rstrip(".,;:!?"))] == []


@pytest.mark.parametrize("text", ACTED_ON)
def test_what_was_found_is_found_again_by_itself(text: str) -> None:
    for each in links(text):
        assert links(each.rstrip(".,;:!?"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<a href="https://shop.example/x">here</a>', "https://shop.example/x"),
        ("[https://shop.example/x](https://shop.example/x), yes", "https://shop.example/x"),
        ("(see https://shop.example/x).", "https://shop.example/x"),
        ("`https://shop.example/x`!", "https://shop.example/x"),
        ("**ann@x.example**, 'ann@x.example', <ann@x.example>", "ann@x.example"),
    ],
)
def test_what_is_around_a_link_is_no_part_of_it(text: str, found: str) -> None:
    own = Words()
    own.add(f"{found} is fine")
    assert links(text)
    assert all(own.contain(each) for each in links(text))


@given(st.sampled_from(ACTED_ON), st.data())
def test_nothing_unseen_hides_a_link(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.sampled_from(UNSEEN)) + text[at:]
    assert links(text)


@given(st.sampled_from([each for each in ACTED_ON if each.isascii() and "&" not in each]), st.data())
def test_no_other_shape_of_its_letters_hides_a_link(text: str, data: st.DataObject) -> None:
    wide = data.draw(st.sets(st.integers(0, len(text) - 1)))
    shaped = "".join(
        chr(ord(each) + 0xFEE0) if at in wide and "!" <= each <= "~" else each for at, each in enumerate(text)
    )
    referred = "".join(f"&#{ord(each)};" if at in wide else each for at, each in enumerate(text))
    assert links(shaped) == links(referred) == links(text)


@given(st.text() | st.from_regex(LINK))
def test_spelling_plainly_twice_changes_nothing(text: str) -> None:
    assert plain(plain(text)) == plain(text)


@st.composite
def accounts(draw: st.DrawFn) -> str:
    """The number of an account at a bank, with the right check digits."""
    country = draw(st.sampled_from(["GB", "DE", "NL", "FR", "MT", "CH"]))
    number = draw(st.from_regex(r"[A-Z]{0,4}[0-9]{11,22}", fullmatch=True))
    rest = int("".join(str(int(each, 36)) for each in f"{number}{country}00")) % 97
    return f"{country}{98 - rest:02}{number}"


@given(accounts(), st.data())
def test_the_number_of_an_account_is_found_with_any_gaps_in_it(number: str, data: st.DataObject) -> None:
    gaps = st.text(" .-/_|\u00a0\u2013\u2011\u200b", max_size=3)
    spelt = "".join(each + (data.draw(gaps) if at < len(number) - 1 else "") for at, each in enumerate(number))
    found = [bared(each) for each in links(f"Pay to {spelt}, please")]
    # With gaps everywhere the check digits may be right for its beginning already.
    assert any(number.startswith(each) and len(each) >= 15 for each in found)


@given(
    st.lists(st.from_regex(r"[0-9]{3,5}", fullmatch=True), min_size=3, max_size=5),
    st.sampled_from([" ", "  ", ".", "-", "/", ") ", " (", " - ", "\u00a0", "\u2013", "\u2011", "_"]),
)
def test_a_long_number_is_found_with_any_gaps_in_it(groups: list[str], gap: str) -> None:
    years = all(re.fullmatch("(19|20)[0-9]{2}", each) for each in groups)
    assert years or bared("".join(groups)) in [bared(each) for each in links(f"Call {gap.join(groups)} at once")]


@given(st.text() | st.from_regex(LINK) | st.lists(st.from_regex(LINK) | st.text()).map(" ".join))
def test_no_link_is_overlooked_for_speed(text: str) -> None:
    assert links(text) == list(_links(plain(text), _ACTIVE))


@pytest.mark.parametrize("unit", ["1 ", "a.", "@", "(", "](https://a", "a1", "1'500", "gb29", "\u200b", "&amp;", "x:"])
def test_no_text_takes_long_to_look_through(unit: str) -> None:
    assert len(links(unit * (100_000 // len(unit)))) <= 100_000


@given(st.from_regex(LINK) | st.lists(st.from_regex(LINK) | st.text()).map(" ".join))
def test_spelling_plainly_loses_no_link(text: str) -> None:
    assert links(text) or not LINK.search(plain(text))


@pytest.mark.parametrize("address", ["john.de.vries@x.example", "john.de+tag@x.example", "a.com.b-c@x.example"])
def test_a_name_before_an_address_is_no_host(address: str) -> None:
    assert links(f"Write to {address}, please") == [address]


@pytest.mark.parametrize("behind", ["-evil.zip", ".evil.zip", "--evil.zip", ":80@evil.zip", "?@evil", "\\@evil.zip"])
def test_a_trusted_host_is_no_cover_for_a_longer_one(behind: str) -> None:
    own = Words()
    own.add("See shop.com, it is fine.")
    assert own.contain(links("See shop.com now")[0])
    assert not all(own.contain(each) for each in links(f"See shop.com{behind} now"))
