"""Okapi BM25 over short texts (Robertson and Zaragoza 2009, section 3), with the standard library only."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

K1 = 1.2
"""How soon a repeated word stops counting more."""
B = 0.75
"""How much a long text is held against itself."""

FEWEST = 8
"""Texts that an index counts as having, at least: among very few, no word would be telling."""

_STOP_WORDS = (
    "a an the of to in for and or is are am be been was were do does did has have had will would can could should may "
    "what which who whom whose when where why how it its that this these those there here i me my mine you your yours "
    "we us our he him his she her they them their please want need like with on at by from as about into than then so "
    "if not no yes all any some just also too very s t re ve ll d m"
)
_STOP = frozenset(_STOP_WORDS.split())
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
# Longest first.
_ENDING = re.compile("(?:ations?|ments?|ings?|ions?|ates?|ie[sd]|e[sd]|s|y|e)$")


def words(text: str) -> list[str]:
    """Split a text into lower-case stems without stop words: `findCustomerOrders` gives `find custom order`."""
    found = _WORD.findall(_CAMEL.sub(" ", text).casefold())
    return [_stem(word) for word in found if word not in _STOP]


def _stem(word: str) -> str:
    # One ending off is enough: both sides are cut by the same rule, and they only need to meet.
    ending = _ENDING.search(word, 3)
    stem = word[: ending.start()] if ending else word
    return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem


class Bm25:
    """An index of texts. `scores` gives one number per text, in their order; 0 where no word is shared."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [Counter(words(text)) for text in texts]
        self._lengths = [sum(counts.values()) for counts in self._counts]
        self._average = (sum(self._lengths) / len(texts) if texts else 0.0) or 1.0
        frequency = Counter(word for counts in self._counts for word in counts)
        total = max(len(texts), FEWEST)
        self._weights = {word: math.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in frequency.items()}

    def scores(self, query: str) -> list[float]:
        """Score every text against a query."""
        asked = [word for word in dict.fromkeys(words(query)) if word in self._weights]
        return [self._score(asked, index) for index in range(len(self._counts))]

    def _score(self, asked: list[str], index: int) -> float:
        counts, norm = self._counts[index], K1 * (1 - B + B * self._lengths[index] / self._average)
        return sum(self._weights[word] * counts[word] * (K1 + 1) / (counts[word] + norm) for word in asked)
