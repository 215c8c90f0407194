"""Text from a model, a tool or a stranger, made harmless for a terminal.

Escape sequences, control characters, and the invisible characters that reorder or hide text are shown as what they
are (`\\x1b`, `\\u202e`), so that what a person approves is what will be done.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import msgspec

from counterfoil.types.unseen import UNSEEN


def inert(text: str, *, lines: bool = True) -> str:
    """Show every character that a terminal would obey or hide as its escape. `lines` keeps line feeds."""
    if text.isascii() and text.isprintable():
        return text
    return "".join([_shown(character, lines) for character in text])


def inert_json(value: Any) -> str:
    """A JSON value as one line of inert text."""
    return inert(msgspec.json.encode(value).decode(), lines=False)


def _shown(character: str, lines: bool) -> str:
    if character == "\n" and lines:
        return character
    # Python calls printable what is no control, format (bidi, zero width, tag), surrogate, separator, private or
    # unassigned; of spaces only the ASCII one, but the others are seen as what they are.
    unprintable = not character.isprintable() and unicodedata.category(character) != "Zs"
    if unprintable or character in UNSEEN:
        number = ord(character)
        return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
    return character
