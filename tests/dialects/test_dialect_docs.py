"""The documentation's table is the one that the code generates."""

from __future__ import annotations

from pathlib import Path

from counterfoil import dialects
from counterfoil.dialects.table import table

PAGE = Path(__file__).parents[2] / "docs" / "dialects.md"
BEGIN, END = "<!-- table -->\n", "\n<!-- /table -->"


def test_the_page_shows_the_table_that_the_code_generates() -> None:
    written = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    generated = table(dialects.get(name).rules for name in dialects.names())
    assert written == generated, f"paste this into docs/dialects.md:\n{generated}"


def test_every_dialect_says_where_its_rules_were_read() -> None:
    for name in dialects.names():
        assert dialects.get(name).rules.source
        assert f"| `{name}` " in table([dialects.get(name).rules])
