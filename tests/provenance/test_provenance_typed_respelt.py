"""What outsiders chose is theirs however an honest model spells it."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.gate.provenance.typed import Typed


class Page(NamedTuple):
    """What was read."""

    source: str


PAGE = Page("a page")
IBAN = "GB29NWBK60161331926819"


def read(*values: Any) -> Typed:
    typed = Typed()
    for each in values:
        typed.add(each, PAGE)
    return typed


@pytest.mark.parametrize(
    ("value", "respelt"),
    [
        (IBAN, "GB29 NWBK 6016 1331 9268 19"),
        (IBAN, "gb29-nwbk-6016-1331-9268-19"),
        (IBAN, "IBAN: GB29\u00a0NWBK\u00a06016\u00a01331\u00a09268\u00a019"),
        ("GB29 NWBK 6016 1331 9268 19", IBAN),
        ("0900-123-4567", "(0900) 123 4567"),
        ("0900-123-4567", "+44 900 123 4567"),
        ("+44 900 123 4567", "09001234567"),
        ("0900-123-4567", "\uff10\uff19\uff10\uff10 1234567"),
        ("0900-123-4567", "\u0660\u0669\u0660\u0660 \u0661\u0662\u0663 4567"),
        ("eve@evil.example", "eve\u200b@evil.example"),
        ("Ren\u00e9e-M", "Renee M"),
        ("2026-12-24", "24 December 2026"),
        ("2026-12-24", "December 24th"),
        ("2026-12-24", "24.12.2026"),
        ("2026-12-24", "12/24/2026"),
        ("2026-12-24", "24.12."),
        ("2026-12-24", "20261224"),
        ("2026-12-24T16:30", "24 December 2026"),
        ("24 December 2026", "2026-12-24"),
        ("24.12.2026", "2026-12-24"),
        ("16:30", "4:30 pm"),
    ],
)
def test_a_typed_value_is_known_again_in_another_spelling(value: str, respelt: str) -> None:
    assert read(value).near(respelt) is PAGE
    assert read(value).chose(respelt, "target")
    assert not read(value).chose(respelt, "target", exists=True)


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (IBAN, "GB29 NWBK 6016 1331 9268 20"),
        ("0900-123-4567", "0900-123-4568"),
        ("2026-12-24", "25 December 2026"),
        ("2026-12-24", "Ritz"),
        ("2026-01-02", "report-1.2.pdf"),
        ("16:30", "4:30 am"),
        ("10:00", "Inbox"),
    ],
)
def test_another_value_is_not_taken_for_it(value: str, other: str) -> None:
    assert read(value).near(other) is None
    assert not read(value).chose(other, "target")


@pytest.mark.parametrize("amount", [97.0, "97.00", "97.00 EUR", "97,00", "EUR 97", "\u0669\u0667"])
def test_any_critical_figure_may_be_worked_out_from_a_typed_one(amount: Any) -> None:
    assert read(48.5).chose(amount, "critical")
    assert not read("Ann").chose(amount, "critical")


def test_what_has_no_figure_in_it_and_what_exists_is_not_worked_out() -> None:
    assert not read(48.5).chose("EUR", "critical")
    assert not read(48.5).chose("2024-05-15", "critical", exists=True)
    assert not read(48.5).chose("97.00 EUR", "content")


def test_a_number_that_an_outsider_chose_is_found_in_a_text_in_another_spelling() -> None:
    assert read("0900-123-4567").links("Call (0900) 123 4567.")
    assert read(IBAN).links("Pay GB29 NWBK 6016 1331 9268 19, please.")
    assert not read(IBAN).links("Call (0900) 123 4567.")


@given(
    st.from_regex(r"[A-Za-z]{2}[0-9]{6,16}", fullmatch=True),
    st.lists(st.sampled_from([" ", "-", ".", "/", "\u00a0", "\u2013", "\u200b", "("]), max_size=6),
    st.data(),
)
def test_nothing_between_its_letters_and_figures_hides_a_typed_value(
    value: str, gaps: list[str], data: st.DataObject
) -> None:
    spelt = value
    for gap in gaps:
        at = data.draw(st.integers(0, len(spelt)))
        spelt = spelt[:at] + gap + spelt[at:]
    assert read(value).near(spelt) is PAGE
    assert read(spelt).near(value) is PAGE


@given(st.dates(), st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d %B %Y", "%B %d, %Y", "%b %d", "%d/%m/%y"]))
def test_a_day_is_the_same_in_every_spelling(day: Any, spelling: str) -> None:
    day = day.replace(year=2000 + day.year % 100, day=min(day.day, 28))
    assert read(day.isoformat()).near(day.strftime(spelling)) is PAGE
    assert read(day.strftime(spelling)).near(day.isoformat()) is PAGE
