"""The score by category as a small SVG: a row a category, a bar a way."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from evals.bfcl.report import Sum, Sums

_LEFT, _WIDTH, _BAR, _GAP, _TOP = 190, 420, 12, 10, 58
_COLOURS = ("#2f6f9f", "#c98b3c", "#7a7a7a")


def draw(title: str, sums: Sums, ways: Sequence[str], categories: Sequence[str]) -> str:
    """Draw the share of cases that are right, 0 to 100 %, with the counts at the ends of the bars."""
    step = len(ways) * _BAR + _GAP
    height = _TOP + len(categories) * step + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 110} {height}" '
        'font-family="sans-serif" font-size="11" fill="#333">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="12" y="20" font-size="13" font-weight="bold">{escape(title)}</text>',
    ]
    for index, way in enumerate(ways):
        left = 12 + 130 * index
        parts.append(f'<rect x="{left}" y="30" width="10" height="10" fill="{_colour(index)}"/>')
        parts.append(f'<text x="{left + 15}" y="39">{escape(way)}</text>')
    for percent in (0, 25, 50, 75, 100):
        x = _LEFT + _WIDTH * percent / 100
        parts.append(f'<line x1="{x:g}" y1="{_TOP - 4}" x2="{x:g}" y2="{height - 20}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:g}" y="{height - 8}" text-anchor="middle" fill="#777">{percent} %</text>')
    for row, category in enumerate(categories):
        y = _TOP + row * step
        middle = y + len(ways) * _BAR / 2 + 4
        parts.append(f'<text x="{_LEFT - 8}" y="{middle:g}" text-anchor="end">{escape(category)}</text>')
        for index, way in enumerate(ways):
            each = sums.get((way, category), Sum())
            width = _WIDTH * each.right / each.cases if each.cases else 0
            top = y + index * _BAR
            parts.append(
                f'<rect x="{_LEFT}" y="{top}" width="{max(width, 1):.1f}" height="{_BAR - 2}" fill="{_colour(index)}">'
                f"<title>{escape(f'{category}, {way}: {each.right} of {each.cases}')}</title></rect>"
            )
            parts.append(
                f'<text x="{_LEFT + width + 5:.1f}" y="{top + _BAR - 3}" font-size="9">{each.right}/{each.cases}</text>'
            )
    return "\n".join([*parts, "</svg>\n"])


def _colour(index: int) -> str:
    return _COLOURS[index % len(_COLOURS)]
