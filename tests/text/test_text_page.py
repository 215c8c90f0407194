"""The page of families is the one that the data generates."""

from __future__ import annotations

from pathlib import Path

from counterfoil import text
from counterfoil.text.table import sections

PAGE = Path(__file__).parents[2] / "docs" / "families.md"
BEGIN, END = "<!-- families -->\n\n", "\n\n<!-- /families -->"


def test_the_page_shows_what_the_data_says() -> None:
    written = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    generated = sections(text.families().values())
    assert written == generated, f"put this into docs/families.md:\n{generated}"


def test_every_family_says_whom_it_is_for_and_where_it_was_read() -> None:
    for family in text.families().values():
        assert family.models
        assert family.sources
