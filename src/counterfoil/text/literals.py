"""Read the keyword arguments of a Python call whose values are literals: Python's and JSON's. Nothing is evaluated."""

from __future__ import annotations

import re
from typing import Any

from counterfoil.text.jsontext import dumps
from counterfoil.types.json import MAX_DEPTH, is_array, is_object

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+"|'[^'\\\r\n]*+(?:\\.[^'\\\r\n]*+)*+')
      | (?P<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))
      | (?P<word>[^\W\d][\w.\-]*)
      | (?P<sign>\*\*|[=,:(){}\[\]])
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))", re.DOTALL)
_SIMPLE = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a",
    "\\": "\\", "'": "'", '"': '"', "/": "/", "\n": "",
}  # fmt: skip
_WORDS: dict[str, Any] = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
KEY = re.compile(r"[^\W\d][\w\-]*")
"""A keyword that can be written bare."""


class Misread(ValueError):
    """The text is not what it should be: says where and what was expected."""


def read_keywords(text: str) -> dict[str, Any]:
    """Read `a=1, b="x"`, and `**{...}` for names that are no identifiers. Raises `Misread`."""
    reader = _Literals(text)
    found: dict[str, Any] = {}
    while reader.kind != "end":
        if found and not reader.take(","):
            raise reader.expected("a comma")
        if reader.kind == "end" and found:
            break
        if reader.take("**"):
            more = reader.value(0)
            if not is_object(more):
                raise reader.expected("a dictionary behind **")
        else:
            if reader.kind != "word":
                raise reader.expected("a keyword: every argument needs its name")
            key = reader.advance()
            if not reader.take("="):
                raise reader.expected(f"= behind {key}")
            more = {key: reader.value(0)}
        for key, held in more.items():
            if key in found:
                raise Misread(f"the argument {key!r} is written twice: write it once")
            found[key] = held
    return found


def write_keywords(arguments: dict[str, Any], *, json: bool) -> str:
    """Write keyword arguments: strings in JSON's quotes, other values as Python or as JSON writes them."""
    bare = {key: held for key, held in arguments.items() if KEY.fullmatch(key)}
    rest = {key: held for key, held in arguments.items() if key not in bare}
    parts = [f"{key}={write_literal(held, json=json)}" for key, held in bare.items()]
    if rest:
        parts.append(f"**{write_literal(rest, json=json)}")
    return ", ".join(parts)


def write_literal(value: Any, *, json: bool) -> str:
    """Write one value. Raises `ValueError` for what is not JSON."""
    if json or isinstance(value, str | float):
        return dumps(value)
    if is_array(value):
        return "[" + ", ".join(write_literal(each, json=json) for each in value) + "]"
    if is_object(value):
        return "{" + ", ".join(f"{dumps(key)}: {write_literal(each, json=json)}" for key, each in value.items()) + "}"
    return str(value) if value is None or value is True or value is False else dumps(value)


class _Literals:
    """Tokens of a text, one at a time, and the values that they make."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.kind, self.token = "", ""
        self.advance()

    def advance(self) -> str:
        """Go on to the next token; returns the one that was."""
        before = self.token
        found = _TOKEN.match(self.text, self.at)
        if found is None or found.lastgroup is None:
            raise Misread(f"not a literal at {self.text[self.at : self.at + 20]!r}")
        self.kind, self.token = found.lastgroup, found[found.lastgroup]
        self.at = found.end()
        return before

    def take(self, sign: str) -> bool:
        """Whether the next token is this sign; then it is read."""
        if self.kind != "sign" or self.token != sign:
            return False
        self.advance()
        return True

    def expected(self, what: str) -> Misread:
        """The error that something else was expected here."""
        return Misread(f"expected {what}, found {self.token[:20]!r}" if self.token else f"cut off: expected {what}")

    def value(self, depth: int) -> Any:
        """Read one value."""
        if depth > MAX_DEPTH:
            raise Misread(f"nested more than {MAX_DEPTH} levels deep")
        if self.kind == "string":
            return _unquote(self.advance())
        if self.kind == "number":
            return _number(self.advance())
        if self.kind == "word" and self.token in _WORDS:
            return _WORDS[self.advance()]
        if self.take("["):
            return self._items("]", depth)
        if self.take("("):
            return self._items(")", depth)
        if self.take("{"):
            return self._members(depth)
        raise self.expected("a literal: a string in quotes, a number, a list, a dictionary, True, False or None")

    def _items(self, close: str, depth: int) -> list[Any]:
        found: list[Any] = []
        while not self.take(close):
            if found and not self.take(","):
                raise self.expected(f", or {close}")
            if found and self.take(close):
                break
            found.append(self.value(depth + 1))
        return found

    def _members(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self.take("}"):
            if found and not self.take(","):
                raise self.expected(", or }")
            if found and self.take("}"):
                break
            if self.kind != "string":
                raise self.expected("a key in quotes")
            key = _unquote(self.advance())
            if key in found:
                raise Misread(f"the key {key!r} is written twice in one object: write it once")
            if not self.take(":"):
                raise self.expected(": behind a key")
            found[key] = self.value(depth + 1)
        return found


def _number(text: str) -> int | float:
    if len(text) > 1000:
        raise Misread("a number has more than 1,000 digits")
    if text.lstrip("-").isdigit():
        return int(text)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise Misread(f"the number {text[:20]} is too large")
    return value


def _unquote(text: str) -> str:
    inner = text[1:-1]
    if "\\" not in inner:
        return inner
    found = _ESCAPE.sub(_unescape, inner)
    try:  # JSON writes what is beyond the first plane as two halves
        return found if found.isascii() else found.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeError:
        raise Misread("a string contains half of a surrogate pair") from None


def _unescape(found: re.Match[str]) -> str:
    two, four, eight, octal, simple = found.groups()
    if simple is not None:
        return _SIMPLE.get(simple, found[0])
    code = int(octal, 8) if octal is not None else int(two or four or eight, 16)
    return chr(code) if code <= 0x10FFFF else found[0]
