"""Strings that are written as they are, between markers: no quotes, no escapes, and so no JSON."""

from __future__ import annotations

from typing import Any

from counterfoil.text.constrain.fit import Ours
from counterfoil.text.constrain.nodes import Words

COUNTED = 64
"""Characters that an engine counts while it looks for markers."""
_SHORT = 40
"""Characters of a pattern that an engine looks for anywhere in a text."""


def raw_text(schema: dict[str, Any], without: tuple[str, ...], then: str) -> Words:
    """Text that a string's schema allows, and what ends it.

    To count and to look for markers at once is more than engines do for long. So where there is much to count, the
    characters that markers begin with are left out; and a bound of our own is left out instead.
    """
    least, most, pattern = schema.get("minLength", 0), schema.get("maxLength"), schema.get("pattern")
    much = least > COUNTED or (most is not None and most > COUNTED)
    if isinstance(pattern, str) and (matched := whole(pattern)) is not None:
        return (
            Words(without, then, pattern=matched)
            if much
            else Words(without, then, least=least, most=most, pattern=matched)
        )
    if not much or (isinstance(most, Ours) and not least):
        return Words(without, then, least=least, most=None if much else most)
    return Words(without, then, chars="".join(sorted({each[0] for each in without})), least=least, most=most)


def lost(schema: dict[str, Any]) -> list[str]:
    """The keywords of a string's schema that raw text is not held to."""
    found = ["format"] if "format" in schema else []
    if "pattern" not in schema:
        return found
    if whole(schema["pattern"]) is None:
        return [*found, "pattern"]
    lengths = [key for key in ("minLength", "maxLength") if not isinstance(schema.get(key, Ours()), Ours)]
    return [*found, *(key for key in lengths if schema[key] > COUNTED)]


def whole(pattern: str) -> str | None:
    """A schema's pattern, which may match anywhere, as one that matches all of a text; `None` if that is not plain."""
    begins, ends = pattern.startswith("^"), pattern.endswith("$") and not pattern.endswith(r"\$")
    inner = pattern[1 if begins else 0 : len(pattern) - 1 if ends else len(pattern)]
    if any(sign in inner.replace(r"\^", "").replace("[^", "").replace(r"\$", "") for sign in "^$"):
        return None
    if "|" in inner and (begins or ends) and not (inner.startswith("(") and inner.endswith(")")):
        return None
    # Searched for in a long text, a long pattern is more than engines take: there it has to be all of the text.
    around = "(?s:.)*" if len(inner) < _SHORT else ""
    return f"{'' if begins else around}({inner}){'' if ends else around}"
