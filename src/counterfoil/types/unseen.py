"""Characters that count as printable and are drawn as nothing."""

from __future__ import annotations

_RANGES = (
    (0x034F, 0x034F),  # the grapheme joiner
    (0x115F, 0x1160),  # fillers of Hangul
    (0x17B4, 0x17B5),  # vowels of Khmer that stand for none
    (0x180B, 0x180D),  # variation selectors of Mongolian
    (0x180F, 0x180F),
    (0x2800, 0x2800),  # Braille without a dot
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
UNSEEN = frozenset(chr(number) for first, last in _RANGES for number in range(first, last + 1))
"""Unicode's Default_Ignorable_Code_Point, as far as it counts as printable, and blank Braille."""
