"""Whether an identifier that was found in one place can be meant by another: file 11 is not e-mail 11."""

from __future__ import annotations

import re

from counterfoil.tools.guess import words_of

_VERBS = frozenset(
    re.findall(
        r"\w+",
        "get list search find read view show check count create add append delete remove cancel update set send share "
        "reschedule schedule move copy make new all by of in for from to id ids",
    )
)


def akin(place: str, tool: str, argument: str) -> bool:
    """Whether what was found at `place`, a tool and a path, can be meant by an argument, or else by a look-up."""
    return bool(_nouns(place) & (_nouns(argument) or _nouns(tool)))


def _nouns(name: str) -> frozenset[str]:
    return frozenset(word.rstrip("s") for part in name.split() for word in words_of(part) if word not in _VERBS)
