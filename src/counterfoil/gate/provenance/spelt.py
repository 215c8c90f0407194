"""How a text is seen and followed, however it is written; and what in it can be acted on."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator

YEAR = r"(?:19|20)\d\d"
QUOTES = "'\"`\u2018\u2019\u201c\u201d\u00ab\u00bb"
_GAPS, _SHORTEST, _LONGEST, _COUNTED = 3, 15, 34, 8
"""Of account numbers: what is between two characters at most; how many there are; how many are figures at least."""
_DIALLED, _AMOUNT, _LISTED = 8, 9, 12
"""How many figures a telephone number has at least; an amount in groups, and a list of small numbers, at most."""
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
_UNTIL = r"(?:[^\s<\]]|\](?!\())++"
"""Links run on to the next space or tag, whatever else is in them: a browser finds the host behind the last `@`."""
_APP = (
    "https?|ftps?|file|wss?|mailto|tel|smsto|sms|callto|sips?|skype|facetime|blob|intent|"
    "bitcoin|ethereum|litecoin|monero|lightning|upi|payto|whatsapp|tg|ldaps?|view-source|data(?=:[^\\s,]*[/,;])"
)
"""What needs no slashes behind its colon to be followed."""
_BY_CASE = "it|at|be|to|in|is|li|lt|lv|ee|hr|si|sk|bg|lu|ly|gg|vc|fm|mn|ge|kz"
"""Ends of names that begin sentences too, where somebody forgot a space: not when they look like that."""
_GAP = r"[ .\-/_:|*~]{0,3}"
_JOINT = rf"(?:\||(?<=\d{{4}}),(?=\d{{4}}(?!\d))| ?[-./()_*~:\\+'^]{{1,3}} ?| (?!\d\d?:\d\d(?!\d)|{YEAR}[-/]\d\d?[-/]))"
_BOUND = r"(?<!\w)(?<!\w[-/+_])(?<!\d[.,:'])"
"""No number begins there: what is before it makes an identifier, or a longer number, of it."""
_NAME = r"(?<![\w.-])(?:[\w-]++\.)+"
_FOLLOWED = (
    # with a scheme; behind any without slashes only if there is a query
    rf"(?P<link>(?<![a-z])(?:[a-z][a-z0-9+.-]{{0,31}}://|(?:{_APP}):(?=[^\s\"'<>()\[\]{{}}*`])|(?:java|vb)script:(?=[^\s)\]>,.]{{2}})|"
    rf"[a-z][a-z0-9+.-]{{1,31}}:(?:[/\\]{{2}}|[^\s<?:]{{0,64}}\?\w+=)){_UNTIL}|\bwww\.{_UNTIL}|"
    # with the scheme of the page: where a link is written, or if it looks like a host
    rf"(?:(?<![^(\[=\"'])[/\\]{{2}}(?=[\w\[])|(?<![\w:/\\])[/\\]{{2}}(?=[\w-]{{1,64}}[./\\]\w)){_UNTIL})|"
    r"(?P<address>(?:(?<![^\s<>@()\[\],;:/\\])[^\s<>@()\[\],;:/\\]++|(?<=\S))@(?:[\w-]++(?:\.[\w-]++)+|\[[\w.:]+\]))|"
    # with nothing but the name or the number of the host
    rf"(?P<host>{_NAME}(?:{_DOMAINS}|xn--[\w-]+|(?-i:{_BY_CASE}|{_BY_CASE.upper()}))(?!\w)(?:[.-]+[\w-]+)*+(?!@)"
    rf"(?:[/\\?#]{_UNTIL}|:\d{_UNTIL})?|{_NAME}[a-z]{{2,}}(?::\d{{1,5}})?[/\\]{_UNTIL}|"
    rf"(?<![\w.-])\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?!\w|\.\d)(?:[:/]{_UNTIL})?)|"
)
_FIGURED = (
    rf"(?P<account>\b[a-z]{{2}}\d{{2}}(?:{_GAP}[a-z0-9]{{4}}){{2,7}}(?:{_GAP}[a-z0-9]{{1,3}})?\b|"
    r"\b(?:0x[0-9a-f]{40}|bc1[a-z0-9]{25,60})\b)|"
    r"(?P<loose>(?<![^\W_])[a-z][\W_]{0,3}[a-z][\W_]{0,3}\d(?=[\W_]{0,3}\d))|"
    # dates, times, amounts
    rf"(?P<other>{_BOUND}(?:{YEAR}[-/]\d\d?[-/]\d\d?|\d\d?[ ./-]\d\d?[ ./-]{YEAR})(?:T(?=\d)|(?!\w|[-./]\d))|"
    r"(?<![\w:.])\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?z?(?![\w:])|"
    rf"{_BOUND}\d{{1,3}}(?:(?:,\d{{3}}){{1,5}}(?:\.\d+)?|(?:'\d{{3}}){{1,5}}(?:\.\d+)?|(?:\.\d{{3}}){{1,5}},\d+)"
    rf"(?![\w/-]|[.,']\d)|{_BOUND}(?!\d{{3,}}[.,]\d{{3,}}{_JOINT}\d{{3}})\d{{1,7}}[.,]\d++(?![\w/-]|[.,]\d))|"
    rf"(?P<number>{_BOUND}(?:\+ ?)?\(?\d++(?:{_JOINT}\d++)*+)"
)
_ACTIVE, _FIGURES = re.compile(_FOLLOWED + _FIGURED, re.I), re.compile(_FIGURED, re.I)
"""What makes a message dangerous to act on.

`loose` may begin the number of an account, `number` may be one; `other` is none, and no part of one.
"""
_SUSPECT = re.compile(r"[@:\d\\&]|\.\S|/[^\w\s]")
"""What each of them has in it somewhere, and most prose has not. Texts that are not ASCII are spelt plainly first."""
_FOLLOWABLE = re.compile(r"[@\\]|[a-z]:\S|:[^\s\d]|\.[^\W\d]|//|/\\|\d\.\d{1,3}\.\d|\?\w+=|\bwww\.", re.I)
"""What there is besides figures in each that a browser or a mail program follows."""
_REFERENCE = re.compile(r"&#\w+;?|&[a-z]\w{1,31};", re.I)
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"), "-")
_UNSEEN = dict.fromkeys((*range(9), *range(14, 28), 127, 0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0))
_PLAIN = {
    **_DASHES,
    **_UNSEEN,
    **dict.fromkeys((*range(0xFE00, 0xFE10), *range(0x180B, 0x1810), *range(0xE0100, 0xE01F0))),
    0x3002: ".",
}
"""What is seen as something else, or not at all: dashes, fillers, and the full stop that browsers take for a dot."""
_LETTERED = re.compile(r"(?!x\d|ext)[^\W\d]", re.I)
_TRAIL = ".,;:!?)]}>'\"*`|"
_GOES_ON = re.compile(r".*(?:[@/\\:?#%=&]|\.\w)", re.S)
_ENDS = re.compile(r"[\"'>)\]}]")


def plain(text: str) -> str:
    """Spell a text as it is seen and followed: no references, nothing unseen, one kind of space, dash and digit."""
    for _ in range(4):
        before = text
        text = text.translate(_UNSEEN)
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text).translate(_PLAIN)
            text = "".join([_seen(each) for each in text])
        if "&" in text:
            text = _REFERENCE.sub(lambda found: html.unescape(found[0]), text)
        if text == before:
            break
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))


def _seen(char: str) -> str:
    if char.isascii():
        return char
    kind = unicodedata.category(char)
    return "" if kind == "Cf" else str(unicodedata.decimal(char)) if kind == "Nd" else char


def links(text: str) -> list[str]:
    """Every link, address, and number of an account or a telephone in a text, spelt plainly."""
    if text.isascii() and not _SUSPECT.search(text):
        return []
    text = plain(text)
    return list(_links(text, _ACTIVE if _FOLLOWABLE.search(text) else _FIGURES))


def _links(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    at = 0
    while (match := pattern.search(text, at)) is not None:
        kind, found, at = match.lastgroup, match[0], match.end()
        if kind in ("link", "host"):
            link = _ended(found)
            at = match.start() + max(len(link), 1)
            yield link
        elif kind == "address":
            yield _unquoted(found, text[at : at + 1])
        elif kind == "account":
            found = _account(text, match.start()) or found
            at = match.start() + len(found)
            yield found
        elif kind == "loose":
            account = _account(text, match.start())
            yield from [account] if account else []
            at = match.start() + max(len(account), 2)
        elif kind == "number":
            # Letters behind the last figures make an identifier of those, but for an extension.
            if _LETTERED.match(text, at):
                found = found.rstrip("0123456789")
            if _is_dialled(found):
                yield found.rstrip(_TRAIL + " -/(")


def _ended(link: str) -> str:
    """A link without what closes the sentence, the quotation or the tag that it is in.

    Nothing is taken off that has more of a host or of a path behind it.
    """
    goes_on = _GOES_ON.match(link)
    ends = _ENDS.search(link, goes_on.end() if goes_on else 0)
    return (link[: ends.start()] if ends else link).rstrip(_TRAIL)


def _unquoted(address: str, behind: str) -> str:
    """An address without the marks before it, if the same are behind it: then they are no part of it."""
    return address.lstrip(behind) if behind and behind in QUOTES + "*_~|" else address


def _account(text: str, start: int) -> str:
    """The account number (IBAN) that begins there, however it is parted: its check digits must be right."""
    letters: list[str] = []
    gap = 0
    for at in range(start, min(len(text), start + 34 * 4)):
        each = text[at]
        if not (each.isascii() and each.isalnum()):
            gap += 1
            if gap > _GAPS:
                break
            continue
        gap = 0
        letters.append(each.upper())
        after = text[at + 1 : at + 2]
        if len(letters) >= _SHORTEST and not (after.isascii() and after.isalnum()) and _checks("".join(letters)):
            return text[start : at + 1]
        if len(letters) == _LONGEST:
            break
    return ""


def _checks(account: str) -> bool:
    turned = account[4:] + account[:4]
    return sum(map(str.isdigit, account)) >= _COUNTED and int("".join(str(int(each, 36)) for each in turned)) % 97 == 1


def _is_dialled(number: str) -> bool:
    """Whether a run of figures is the number of an account, a card or a telephone, however it is parted."""
    parts = re.findall(r"\d+", number)
    sizes = [len(each) for each in parts]
    count = sum(sizes)
    if number.startswith("+"):
        return count >= _DIALLED - 1
    if all(re.fullmatch(YEAR, each) for each in parts):
        return False
    if re.fullmatch(r"\d{3}\W\d{4}", number):
        return True
    if count < _DIALLED or (count <= _AMOUNT and re.fullmatch(r"\d\d?(?: \d{3})+", number)):
        return False
    if number[0] in "0(" or max(sizes) >= 3 or max(sizes) == 1:
        return True
    return count > _AMOUNT and (count > _LISTED or not re.fullmatch(r"[\d ]+", number))
