"""Is this value literally in somebody's own words? Spelling is normalised; meaning is not guessed at."""

from __future__ import annotations

import re
import unicodedata
from typing import Any, NamedTuple

from counterfoil.gate.provenance.spelt import QUOTES, YEAR, links, plain

_MONTHS = re.findall(r"\w+", "january february march april may june july august september october november december")
_MONTH = {name: number for number, full in enumerate(_MONTHS, 1) for name in (full, full[:3])}
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_ISO = re.compile(rf"(?<![\w-])({YEAR})[-/](\d\d?)[-/](\d\d?)(?![\d-])(?:t(?=\d))?", re.I)
_MONTH_DAY = re.compile(rf"\b({_NAMES})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+({YEAR})\b)?", re.I)
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_NAMES})\b(?:,?\s+({YEAR})\b)?", re.I)
_TIME = re.compile(r"(?<![\w:.])(\d{1,2}):(\d\d)(?::\d\d)?(?![\d:])\s*([ap])?\.?(?:m\b\.?)?", re.I)
_HOUR = re.compile(r"(?<![\w:.])(\d{1,2})\s*([ap])\.?m\b\.?", re.I)
_NO_AMOUNT = re.compile(
    r"(?<![\w.,'])\d[\d,.']*\s*(?:%|percent\b|(?:seconds?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?|"
    r"people|persons?|guests?|nights?|times|dozen|hundred|thousand|(?:m|b|tr)illions?)\b)|"
    r"(?:(?<=^)|(?<=[.!?:;\s]))\d{1,2}[.)](?=\s+[A-Z])",
    re.I,
)
"""Numbers that measure something else than an amount, or a part of one, and the numbers of a list."""
_NUMBER = re.compile(
    r"(?<![\w.,/@'\u2019-])[-+]?(?:\d{1,3}(?:[^\S\n]\d{3})++(?!\d)(?:[.,]\d+)?|"
    r"(?!\d{1,3}[^\S\n]\d{3}(?!\d))\d++(?:[.,'\u2019]\d++)*+)(?![\w/@-])"
)
"""Figures and what parts them, the spaces that may part thousands included."""
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:(?:,\d{3})+|(?:['\u2019]\d{3})+)(?:\.\d+)?")
_SINGLE = re.compile(r"[-+]?(?:\d+|(?:0|\d{4,})\.\d+|\d+\.(?:\d\d?|\d{4,}))")
_COMMA = re.compile(r"[-+]?\d+,\d\d")
_SENTENCE = re.compile(r"(?<=[a-z])\.(?=[A-Z][a-z][^\s.@/\d]*[.,;:!?]?(?!\S))")
"""A full stop without a space after it. In a name of a file, an address or a version there is more."""
_UNBROKEN = re.compile(r"[^\s\"'<>(\[]*")
_INSIDE = frozenset("/=?&#@")
_LINKED = 2048
"""How long a link may be that another stands in."""
_FILES = ("md", "py", "sh", "rs", "pl", "zip", "mov", "cc")
"""Names of files that look like hosts: whoever named the file has named no host."""
_MARKED = re.compile(r"[\d@._/:#+]")
_WHEN = 64
"""What is longer than that is no date and no time of day."""
_LONG = 100
"""A number with more digits is none that anybody means."""
_BEFORE, _AFTER = ".-&!#$%*?^|~`\u2010\u2011\u2212", ".-&!#$%*?^|~`=\u2010\u2011\u2212"
_IN_ADDRESSES = "'\u2019\"=/{}"
_ATTACHED = frozenset(("Mn", "Mc", "Me", "Cf", "Pc"))
"""The kinds of characters that stand for nothing by themselves: marks on others, and those that nobody sees."""
_CASED = re.compile(r"(?=.*\d)(?=.*[a-z])(?=.+[A-Z])[\w+=-]{4,128}")
"""Identifiers that differ from others by their case alone, as those of wallets, keys and short links do."""
_HOSTED = re.compile(r"(?:https?://)?[\w-]+(?:\.[\w-]+)+(?:[:/?#]|$)|https?://[\w-]{4,}")
_PADDING = " ./\\:,;!?'\"()[]{}<>-_"
_TOLD = 4
"""Numbers of fewer figures are everywhere in prose."""
_BEFORE_A_NAME = frozenset(("to", "with", "from", "named", "called"))


def fold(text: str) -> str:
    """Bring a text to the spelling that is compared: one space for each gap, lower case, as long as it is then."""
    spaced = " ".join(text.split())
    if spaced.isascii():
        return spaced.lower()
    # Only what has the other as its capital: the sign for kelvin is no other spelling of "k".
    lower = {ord(each): low for each in set(spaced) if (low := each.lower()).upper() == each and len(low) == 1}
    return spaced.translate(lower)


def key(value: Any) -> str:
    """A leaf as it is looked up: strings folded, numbers the same however they are written."""
    if isinstance(value, str):
        return fold(value)
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


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
            if (seen := " ".join(plain(spaced).split())) != spaced:
                self._texts.append((seen, fold(seen)))  # as `links` gives what they wrote
            found, rest = moments(text)
            for when in found:
                if when.month is not None and when.day is not None:
                    self._dates.add((when.year, when.month, when.day))
                if when.clock is not None:
                    self._clocks.add(when.clock)
            self._years.update(int(each) for each in re.findall(rf"\b{YEAR}\b", text))
            for written in _NUMBER.findall(_NO_AMOUNT.sub(" \0 ", _apart(rest))):
                if len(written) <= _LONG and (number := _number(written)) is not None:
                    self._numbers.add(number)

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
        wanted = fold(str(value))
        if not wanted.strip("/") or (naming is not None and (_is_padded(wanted) or not _says_something(wanted))):
            return False
        bare = _bare(wanted)
        exact = str(value) if _CASED.fullmatch(str(value)) else ""
        return any(
            _found(raw, low, bare, naming, exact) and _same_scheme(wanted, bare, low) for raw, low in self._texts
        ) or self._when(wanted)

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


def _number(written: str) -> int | float | None:
    """What a number is that can be read in one way only. Of a long whole one, every digit counts."""
    if _GROUPED.fullmatch(written):
        written = re.sub(r"[,'\u2019]", "", written)
    elif _COMMA.fullmatch(written):
        written = written.replace(",", ".")
    elif not _SINGLE.fullmatch(written):
        return None
    return float(written) if "." in written else int(written)


def _bare(wanted: str) -> str:
    """A link without its scheme and its last slash; anything else as it is."""
    return wanted.removeprefix("https://").removeprefix("http://").rstrip("/") if _HOSTED.match(wanted) else wanted


def _same_scheme(wanted: str, bare: str, low: str) -> bool:
    """Whether a link is as safe as what they wrote, and a link at all: `http` is not `https`, nor a file a host."""
    if wanted == bare or wanted.removesuffix("/") == bare:
        return True
    if wanted.startswith("http://") and f"https://{bare}" in low:
        return False
    return wanted.removesuffix("/") in low or not bare.endswith(tuple(f".{each}" for each in _FILES))


def _apart(text: str) -> str:
    """A text in which no amount can be found inside the number of an account or a telephone, or inside a link."""
    text = plain(text)  # as `links` gives what it finds
    for each in links(text):
        if not each.isdigit():
            text = text.replace(each, " \0 ")
    return text


def _says_something(wanted: str) -> bool:
    """Whether there is a letter or a figure in it: marks alone are everywhere."""
    return any(map(str.isalnum, wanted))


def _is_padded(wanted: str) -> bool:
    """Whether it is a short number with marks around it, which is as much everywhere in prose as without them."""
    core = wanted.removeprefix("https://").removeprefix("http://").strip(_PADDING)
    return core != wanted and len(core) < _TOLD and core.isdigit()


def whole(text: str, wanted: str) -> bool:
    """Whether a folded text has another in it, and not as a part of a longer word or number."""
    return wanted != "" and _found("", text, wanted, None)


def _found(raw: str, low: str, wanted: str, naming: frozenset[str] | None, exact: str = "") -> bool:
    """Whether it is there whole; `exact` is how it must be written if its case tells it from others."""
    start = low.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        written = raw[start:end]
        if (
            not _glued(low, start, end)
            and (naming is None or _named(raw, low, start, end, naming))
            and (written == exact or not (exact or _CASED.fullmatch(written)))
        ):
            return True
        start = low.find(wanted, start + 1)
    return False


def _glued(low: str, start: int, end: int) -> bool:
    """Whether it is only a part of a longer word, address, number or link."""
    address = "@" in low[start:end]
    before, at = (low[start - 1], low[start - 2 : start - 1]) if start else (" ", "")
    if low.endswith("://", 0, start):
        backwards = low[max(0, start - _LINKED) : start - 3][::-1]
        unbroken = _UNBROKEN.match(backwards)
        if unbroken is not None and not _INSIDE.isdisjoint(unbroken[0]):  # a link inside another is none of theirs
            return True
    elif _joins(before):
        return True
    if _links_up(before, at, _BEFORE) or (address and at.isalnum() and before in _IN_ADDRESSES):
        return True
    after, then = low[end : end + 1], low[end + 1 : end + 2]
    return after != "" and (_joins(after) or _links_up(after, then, _AFTER))


def _joins(char: str) -> bool:
    """Whether a character is a part of the word, address or link that it touches, seen or unseen."""
    if char.isalnum() or char in "_@+/\\":
        return True
    return not char.isascii() and unicodedata.category(char) in _ATTACHED


def _links_up(char: str, beyond: str, marks: str) -> bool:
    """Whether a mark joins what is on both sides of it."""
    if beyond.isdigit() and char in ":,'\u2019\u2012\u2013":
        return True
    return char in marks and beyond.isalnum()


def _named(raw: str, low: str, start: int, end: int, naming: frozenset[str]) -> bool:
    """Whether it is used as a name there."""
    if _MARKED.search(low[start:end]):
        return True
    if raw[start - 1 : start] in QUOTES and start and raw[end : end + 1] in QUOTES and end < len(raw):
        return True
    before = low[max(0, start - 32) : start].rstrip()
    previous, following = re.search(r"\w*\W?$", before), re.match(r"\W?\w*", low[end : end + 24].lstrip())
    last, first = (each[0].strip(" .,;:!?'\"()") if each else "" for each in (previous, following))
    if naming & {last, first} or last in _BEFORE_A_NAME:
        return True
    begins = not before or before[-1] in ".!?:;\0" or before[-1] in QUOTES
    words = raw[start:end].split(" ")
    return any(
        (word[:1].isupper() and not (begins and number == 0))
        or (word.upper() != word.lower() and not (word.islower() or word.istitle()))
        for number, word in enumerate(words)
    )
