"""Read JSON written by a model: strictly, and saying where it broke."""

from __future__ import annotations

import json
from typing import Any, TypeGuard

import msgspec

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode
canonical = msgspec.json.Encoder(order="sorted").encode
"""Encode JSON so that equal values give equal bytes: keys sorted, no spaces."""

MAX_DEPTH = 200
"""Arguments nested deeper than this are refused: nobody's schema needs it, and parsers recurse."""


def read_object(text: str) -> tuple[dict[str, Any] | None, str | None]:
    """Parse the arguments of a call: the object and no error, or no object and what is wrong with the text.

    Refused are: anything but one object, text after it, a key written twice (parsers disagree on which counts), NaN
    and infinities, numbers too large for a float, and nesting beyond `MAX_DEPTH` (RFC 8259, sections 4 and 6).
    """
    try:
        value = _decode(text)  # an object, or it raises
        # Each key that was written has a colon behind it. As many colons as keys: none was repeated, nothing is nested.
        # The decoder itself refuses NaN, overflow and halves of surrogate pairs.
        if text.count(":") == len(value) and "[" not in text:
            return value, None
        # For the others one look in C: if nothing is lost by decoding and encoding again, no key was repeated.
        shallow = text.count("{") + text.count("[") <= MAX_DEPTH
        if shallow and _encode(value) == msgspec.json.format(text.encode(), indent=-1):
            return value, None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    return _read_slowly(text)


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


def own(arguments: dict[str, Any]) -> dict[str, Any]:
    """Copy an object with all that is in it, so that whoever gets it may change it."""
    return {name: _own(value) if type(value) in (dict, list) else value for name, value in arguments.items()}


def _own(value: Any) -> Any:
    if is_object(value):
        return own(value)
    return [_own(each) for each in value] if is_array(value) else value


class _Refused(ValueError):
    pass


def _read_slowly(text: str) -> tuple[dict[str, Any] | None, str | None]:
    if not text.strip():
        return None, "the arguments are empty: expected one JSON object, {} when there is nothing to say"
    try:
        value = json.loads(
            text, object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float, parse_int=_integer
        )
        # Lone surrogates parse, but nothing downstream can store them.
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        return (
            None,
            f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}{_near(error.msg, text, error.pos)}",
        )
    except UnicodeError:
        return None, "a string contains half of a surrogate pair"
    except RecursionError:
        return None, f"nested more than {MAX_DEPTH} levels deep"
    except _Refused as error:
        return None, str(error)
    if not is_object(value):
        return None, f"expected one JSON object, found {_kind(value)}"
    if depth(value) > MAX_DEPTH:
        return None, f"nested more than {MAX_DEPTH} levels deep"
    return value, None


def _near(message: str, text: str, position: int) -> str:
    if position >= len(text.rstrip()) or message.startswith("Unterminated"):
        return ", where the text ends: it was cut off"
    return f", near {text[max(0, position - 12) : position + 12]!r}"


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _Refused(f"the key {twice!r} is written twice in one object: write it once")
    return result


def _constant(name: str) -> Any:
    raise _Refused(f"{name} is not a JSON number")


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _Refused(f"the number {text[:20]} is too large")
    return value


def _integer(text: str) -> int:
    if len(text) > 1000:
        raise _Refused("a number has more than 1,000 digits")
    return int(text)


def _kind(value: Any) -> str:
    return _NAMES.get(type(value), "null")


_NAMES: dict[Any, str] = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}


def depth(value: Any) -> int:
    """How deeply a JSON value is nested; a scalar is 0. Does not recurse."""
    deepest = 0
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        item, level = stack.pop()
        deepest = max(deepest, level)
        if is_object(item):
            stack.extend((each, level + 1) for each in item.values())
        elif is_array(item):
            stack.extend((each, level + 1) for each in item)
    return deepest
