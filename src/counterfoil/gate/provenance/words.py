"""Is this value literally in somebody's own words? Spelling is normalised; meaning is not guessed at."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_MONTHS = re.findall(r"\w+", "january february march april may june july august september october november december")
_MONTH = {name: number for number, full in enumerate(_MONTHS, 1) for name in (full, full[:3])}
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_YEAR = r"(?:19|20)\d\d"
_ISO = re.compile(rf"(?<![\w-])({_YEAR})[-/](\d\d?)[-/](\d\d?)(?![\d-])(?:t(?=\d))?", re.I)
_MONTH_DAY = re.compile(rf"\b({_NAMES})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+({_YEAR})\b)?", re.I)
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_NAMES})\b(?:,?\s+({_YEAR})\b)?", re.I)
_TIME = re.compile(r"(?<![\w:.])(\d{1,2}):(\d\d)(?::\d\d)?(?![\d:])\s*([ap])?\.?(?:m\b\.?)?", re.I)
_HOUR = re.compile(r"(?<![\w:.])(\d{1,2})\s*([ap])\.?m\b\.?", re.I)
_NO_AMOUNT = re.compile(
    r"(?<![\w.,])\d[\d,.]*\s*(?:%|percent\b|(?:seconds?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?|people|"
    r"persons?|guests?|nights?|times)\b)|(?:(?<=^)|(?<=[.!?:;\s]))\d{1,2}[.)](?=\s+[A-Z])",
    re.I,
)
"""Numbers that measure something else than an amount, and the numbers of a list."""
_NUMBER = re.compile(r"(?<![\w.,/@-])[-+]?\d[\d,]*(?:\.\d+)?(?![\w/@-]|[.,]\d)")
_SENTENCE = re.compile(r"(?<=[a-z0-9])\.(?=[A-Z][a-z])")
_QUOTES = "'\"`\u2018\u2019\u201c\u201d\u00ab\u00bb"
_MARKED = re.compile(r"[\d@._/:#+]")
_WHEN = 64
"""What is longer than that is no date and no time of day."""
_LONG = 100
"""A number with more digits is none that anybody means."""
_BEFORE_A_NAME = frozenset(("to", "with", "from", "named", "called"))
_DOMAINS = (
    "com|net|org|io|dev|app|info|biz|xyz|top|site|online|example|test|co|me|ai|eu|uk|de|ru|cn|fr|ch|us|ca|au|jp|"
    "kr|br|es|nl|pl|se|no|fi|dk|ie|za|mx|ar|cl|tr|gr|pt|cz|hu|ro|ua|il|ae|sg|hk|tw|th|vn|my|ph|nz|su|cc|tv|ws|tk|"
    "ml|ga|cf|gq|pw|icu|click|link|shop|store|club|live|work|lol|cam|cfd|sbs|quest|bond|buzz|website|space|fun|"
    "press|tech|cloud|digital|page|blog|news|pro|mobi|gov|edu|mil|bank|finance|support|services|company"
)
"""The ends of names that programs make links of by themselves, but for those that are attributes in every code."""
LINK = re.compile(
    r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://[^\s'\"<>()\[\]]+|\bwww\.[^\s'\"<>()\[\]]+|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\bmailto:[^\s'\"<>]+|"
    r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b|\b(?:0x[0-9a-f]{40}|bc1[a-z0-9]{25,60})\b|"
    rf"(?<![\w@.-])(?:[\w-]+\.)+(?:{_DOMAINS})\b(?:/[^\s'\"<>()\[\]]*)?|"
    r"(?<![\w@.-])(?:[\w-]+\.)+[a-z]{2,}/[^\s'\"<>()\[\]]+|"
    r"(?<![\w.,:/-])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])(?::\d+)?(?:/[^\s'\"<>()\[\]]*)?",
    re.I,
)
"""Links, addresses and account numbers that say what they are."""
_DIALLED = (
    r"(?<![\w.,:/+-])(?!\d\d[ ./-]\d\d[ ./-]\d{4}\b)(?:\+\d(?:[ ().\-/]{0,2}\d){6,}|0\d(?:[ ()-]{0,2}\d){6,}|"
    r"(?!(?:19|20)\d\d\b)(?=(?:[ -]?\d){8}|\d{3}[ -]\d{4}\b)\d{3,}(?:[ -]\d{3,})*)(?!\w)"
)
"""Numbers of accounts, cards and telephones: long, and no date."""
_ACTIVE = re.compile(f"{LINK.pattern}|{_DIALLED}", re.I)
"""What makes a message dangerous to act on."""
_SUSPECT = re.compile(r"[@:\d]|\.\S")
"""What each of them has in it somewhere, and most prose has not."""


def links(text: str) -> list[str]:
    """Every link, address, and number of an account or a telephone in a text."""
    return _ACTIVE.findall(text) if _SUSPECT.search(text) else []


def fold(text: str) -> str:
    """Bring a text to the spelling that is compared: one space for each gap, lower case, as long as it is then."""
    spaced = " ".join(text.split())
    if spaced.isascii():
        return spaced.lower()
    return "".join([low if len(low := each.lower()) == 1 else each for each in spaced])


def key(value: Any) -> str:
    """A leaf as it is looked up: strings folded, numbers the same however they are written."""
    if isinstance(value, str):
        return fold(value)
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return format(value, "g") if isinstance(value, float) and value == int_or(value) else str(value)


def int_or(value: float) -> float:
    """The whole number that a float is, or the nearest below; infinities as they are."""
    return value if value in (float("inf"), float("-inf")) or value != value else float(int(value))


class When(NamedTuple):
    """A date or a time of day as it was written; what was not written is `None`."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    clock: tuple[int, int] | None = None


def moments(text: str) -> tuple[list[When], str]:
    """The dates and times in a text, and what is left of it without them."""
    found: list[When] = []

    def date(year: str | None, month: int, day: str) -> str:
        found.append(When(int(year) if year else None, month, int(day)))
        return " \0 "

    def clock(hour: str, minute: str, half: str | None) -> str:
        hours = int(hour) % 12 + (12 if half in "pP" else 0) if half else int(hour)
        found.append(When(clock=(hours, int(minute))))
        return " \0 "

    text = _ISO.sub(lambda m: date(m[1], int(m[2]), m[3]), text)
    text = _MONTH_DAY.sub(lambda m: date(m[3], _MONTH[m[1].lower()], m[2]), text)
    text = _DAY_MONTH.sub(lambda m: date(m[3], _MONTH[m[2].lower()], m[1]), text)
    text = _TIME.sub(lambda m: clock(m[1], m[2], m[3]), text)
    return found, _HOUR.sub(lambda m: clock(m[1], "0", m[2]), text)


class Words:
    """Texts that one trusted party wrote."""

    def __init__(self) -> None:
        self._given: list[str] = []
        self._texts: list[tuple[str, str]] = []
        self._numbers: set[int | float] = set()
        self._dates: set[tuple[int | None, int, int]] = set()
        self._clocks: set[tuple[int, int]] = set()
        self._years: set[int] = set()

    def add(self, text: str) -> None:
        """Take up one text. It is looked at when somebody looks for something."""
        self._given.append(text)

    def _look(self) -> None:
        given, self._given = self._given, []
        for text in given:
            spaced = " ".join(_SENTENCE.sub(". ", text).split())
            self._texts.append((spaced, fold(spaced)))
            found, rest = moments(text)
            for when in found:
                if when.month is not None and when.day is not None:
                    self._dates.add((when.year, when.month, when.day))
                if when.clock is not None:
                    self._clocks.add(when.clock)
            self._years.update(int(each) for each in re.findall(rf"\b{_YEAR}\b", text))
            for number in _NUMBER.findall(_NO_AMOUNT.sub(" \0 ", rest)):
                if len(number) <= _LONG:
                    digits = number.replace(",", "")
                    # Of a long whole one, such as an account has, every digit counts.
                    self._numbers.add(float(digits) if "." in digits else int(digits))

    def contain(self, value: Any, naming: frozenset[str] | None = None) -> bool:
        """Whether a leaf is there, whole.

        With `naming`, the words of the argument that it is for, a plain word counts only where it is used as a name:
        quoted, capitalised inside a sentence, or beside one of those words. "Read" at the start of an order is no city.
        """
        if isinstance(value, bool) or value is None:
            return False
        self._look()
        if isinstance(value, int | float):
            return value in self._numbers
        wanted = fold(str(value)).rstrip("/")
        if not wanted:
            return False
        bare = re.sub(r"^https?://", "", wanted)
        return any(_found(raw, low, bare, naming) for raw, low in self._texts) or self._when(wanted)

    def _when(self, wanted: str) -> bool:
        if len(wanted) > _WHEN or not any(each.isdigit() for each in wanted):
            return False
        found, rest = moments(wanted)
        if not found or rest.replace("\0", "").strip(" ,t") not in ("", "at", "on"):
            return False
        return all(self._said(when) for when in found)

    def _said(self, when: When) -> bool:
        if when.clock is not None:
            return when.clock in self._clocks
        month, day = when.month or 0, when.day or 0
        if (when.year, month, day) in self._dates:
            return True
        return (None, month, day) in self._dates and (when.year is None or not self._years or when.year in self._years)


def whole(text: str, wanted: str) -> bool:
    """Whether a folded text has another in it, and not as a part of a longer word or number."""
    return wanted != "" and _found("", text, wanted, None)


def _found(raw: str, low: str, wanted: str, naming: frozenset[str] | None) -> bool:
    start = low.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if not _glued(low, start, end) and (naming is None or _named(raw, low, start, end, naming)):
            return True
        start = low.find(wanted, start + 1)
    return False


def _glued(low: str, start: int, end: int) -> bool:
    """Whether it is only a part of a longer word, address, number or link."""
    before, at = (low[start - 1], low[start - 2 : start - 1]) if start else (" ", "")
    if before.isalnum() or before in "_@+/":
        if not low.endswith("://", 0, start):
            return True
    elif (before in ".-" and at.isalnum()) or (before in ":," and at.isdigit()):
        return True
    after, then = low[end : end + 1], low[end + 1 : end + 2]
    if not after:
        return False
    if after.isalnum() or after in "_@+/":
        return True
    return (after in ".-" and then.isalnum()) or (after in ":," and then.isdigit())


def _named(raw: str, low: str, start: int, end: int, naming: frozenset[str]) -> bool:
    """Whether it is used as a name there."""
    if _MARKED.search(low[start:end]):
        return True
    if raw[start - 1 : start] in _QUOTES and start and raw[end : end + 1] in _QUOTES and end < len(raw):
        return True
    before = low[max(0, start - 32) : start].rstrip()
    previous, following = re.search(r"\w*\W?$", before), re.match(r"\W?\w*", low[end : end + 24].lstrip())
    last, first = (each[0].strip(" .,;:!?'\"()") if each else "" for each in (previous, following))
    if naming & {last, first} or last in _BEFORE_A_NAME:
        return True
    begins = not before or before[-1] in ".!?:;\0" or before[-1] in _QUOTES
    words = raw[start:end].split(" ")
    return any(
        (word[:1].isupper() and not (begins and number == 0)) or not (word.islower() or word.istitle())
        for number, word in enumerate(words)
    )
