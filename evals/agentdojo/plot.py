"""What each policy asks of a person against what it lets through, as a small SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from evals.agentdojo.policies import PUBLISHED, REFUSING
from evals.agentdojo.report import Figures

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 860, 500, 64, 210, 58, 84
_OURS, _THEIRS = "#2f6f9f", "#999"
_TICKS = (0, 1, 5, 10, 25, 50, 100)
_LETTER = 6.2
Box = tuple[float, float, float, float]


def draw(figures: Sequence[Figures]) -> str:
    """Draw a point for each policy that was attacked, and hollow ones for what others have published."""
    points = [(each.policy, each.asked or 0.0, each.breached, True) for each in figures if each.breached is not None]
    points += [(name, 0.0, through, False) for name, through in PUBLISHED]
    far = max([1.0, *(each[1] for each in points)])

    def x(value: float) -> float:
        return _LEFT + value / far * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        # The square root spreads what is near zero, where the difference is.
        return _TOP + (1 - math.sqrt(value / 100)) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="11" fill="#333">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        '<text x="12" y="20" font-size="13" font-weight="bold">AgentDojo, a fully compromised model: what gets '
        "through, and what that asks of a person</text>",
        '<text x="12" y="38" fill="#777">breach, % of (task, injection) pairs (scale: square root)</text>',
    ]
    for tick in _TICKS:
        parts.append(f'<line x1="{_LEFT}" x2="{x(far):.1f}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 10}" y="{y(tick) + 4:.1f}" text-anchor="end" fill="#777">{tick} %</text>')
    base = _HEIGHT - _BOTTOM + 18
    for tenth in range(0, int(far * 10 + 1e-9) + 1, 2):
        parts.append(f'<text x="{x(tenth / 10):.1f}" y="{base}" text-anchor="middle" fill="#777">{tenth / 10:g}</text>')
    parts.append(f'<text x="{x(far / 2):.1f}" y="{base + 18}" text-anchor="middle">confirmations per task</text>')
    # A name stands on no other name and on no point.
    taken = [(x(each[1]) - 6, y(each[2] or 0.0) - 6, x(each[1]) + 6, y(each[2] or 0.0) + 6) for each in points]
    for name, asked, through, ours in sorted(points, key=lambda each: (each[2] or 0.0, -each[1])):
        parts += _point(name, x(asked), y(through or 0.0), ours, taken)
    refusing = ", ".join(f"{name} {solved}" for name, solved in REFUSING)
    notes = (
        "hollow: published, GPT-4o, ordinary attacks and not the worst case",
        f"not drawn, for they refuse and do not ask; tasks that they solve: {refusing}",
    )
    for number, note in enumerate(notes):
        parts.append(f'<text x="12" y="{_HEIGHT - 22 + 14 * number}" fill="#777">{escape(note)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _point(name: str, x: float, y: float, ours: bool, taken: list[Box]) -> list[str]:
    """A circle and its name, moved up until it stands free; a line leads to a name that was moved."""
    base, width = y + 4, _LETTER * len(name)
    box = (x + 11, base - 10, x + 11 + width, base + 3)
    while any(_overlap(box, each) for each in taken):
        base -= 2
        box = (box[0], base - 10, box[2], base + 3)
    taken.append(box)
    colour = _OURS if ours else _THEIRS
    lead = f'<path d="M{x + 3:.1f} {y - 4:.1f}L{x + 9:.1f} {base - 3:.1f}" stroke="{colour}"/>' if base < y else ""
    return [
        lead,
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour if ours else "#fff"}" stroke="{colour}">'
        f"<title>{escape(name)}</title></circle>",
        f'<text x="{x + 11:.1f}" y="{base:.1f}" fill="{"#333" if ours else "#888"}">{escape(name)}</text>',
    ]


def _overlap(first: Box, second: Box) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]
