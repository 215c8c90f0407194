"""Fields of JSON bodies: what must be there, what is left over, and bytes in base64."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Container, Iterable, Mapping
from typing import Any, TypeGuard, TypeVar, cast, overload

from counterfoil.types.error import WireError
from counterfoil.types.message import Ext

T = TypeVar("T", str, int)
_WORDS: dict[type[Any], str] = {str: "a string", int: "a number", dict: "an object", list: "an array"}


@overload
def need(body: Any, key: str, kind: type[dict[Any, Any]], where: str) -> dict[str, Any]: ...
@overload
def need(body: Any, key: str, kind: type[list[Any]], where: str) -> list[Any]: ...
@overload
def need(body: Any, key: str, kind: type[T], where: str) -> T: ...
def need(body: Any, key: str, kind: type[Any], where: str) -> Any:
    """The field `key` of an object, which must be there and of that type. Raises `WireError` saying where it is not."""
    value = an_object(body, where).get(key)
    if not isinstance(value, kind):
        raise WireError(f"{where}/{key}: expected {_WORDS[kind]}, found {_found(value)}")
    return value


@overload
def maybe(body: Mapping[str, Any], key: str, kind: type[dict[Any, Any]], where: str) -> dict[str, Any] | None: ...
@overload
def maybe(body: Mapping[str, Any], key: str, kind: type[list[Any]], where: str) -> list[Any] | None: ...
@overload
def maybe(body: Mapping[str, Any], key: str, kind: type[T], where: str) -> T | None: ...
def maybe(body: Mapping[str, Any], key: str, kind: type[Any], where: str) -> Any:
    """The field `key`, or `None` if it is absent or null; of another type, it raises `WireError`."""
    value = body.get(key)
    if value is not None and not isinstance(value, kind):
        raise WireError(f"{where}/{key}: expected {_WORDS[kind]}, found {_found(value)}")
    return value


def sub(body: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The object inside an object; an empty one if it is absent or null."""
    value: Any = body.get(key)
    return value or {}


def items(body: Mapping[str, Any], key: str) -> list[Any]:
    """The array inside an object; an empty one if it is absent or null."""
    value: Any = body.get(key)
    return value or []


def as_object(value: Any) -> dict[str, Any] | None:
    """The value, if it is an object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_array(value: Any) -> list[Any] | None:
    """The value, if it is an array."""
    return value if _is_array(value) else None


def an_object(value: Any, where: str) -> dict[str, Any]:
    """The value, which must be an object. Raises `WireError` saying where it is not."""
    if not isinstance(value, dict):
        raise WireError(f"{where}: expected an object, found {_found(value)}")
    return cast("dict[str, Any]", value)


def obj(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def arr(value: Any) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if _is_array(value) else []


def _is_array(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def objects(value: Any, where: str) -> list[dict[str, Any]]:
    """The value, which must be an array of objects. Raises `WireError` saying where it is not."""
    if not _is_array(value):
        raise WireError(f"{where}: expected an array, found {_found(value)}")
    return [an_object(each, f"{where}/{index}") for index, each in enumerate(value)]


def rest(body: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """The fields that are not known."""
    return {key: value for key, value in body.items() if key not in known}


def leftover(body: Mapping[str, Any], always: Container[str], sometimes: Container[str] = ()) -> dict[str, Any]:
    """The fields for a wire's `ext` slot: those not known to us, and those known ones that say nothing explicitly.

    `always` are the fields that are always written again; `sometimes` those that are written unless they are empty.
    """
    return {
        key: value for key, value in body.items() if key not in always and (key not in sometimes or says_nothing(value))
    }


def without(body: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A body without the fields that hold what we write where we have nothing to say."""
    return {key: value for key, value in body.items() if key not in defaults or defaults[key] != value}


def says_nothing(value: Any) -> bool:
    """Whether a field might as well be absent. Zero says something."""
    return value is None or value is False or value in ("", [], {})


def nulls(body: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """Those of the fields that are there, and null."""
    return {key: None for key in keys if key in body and body[key] is None}


def fill(out: dict[str, Any], slot: Mapping[str, Any]) -> dict[str, Any]:
    """Add what an `ext` slot holds to a body. It never replaces what we have to say; `$...` are notes, not fields."""
    for key, value in slot.items():
        if key not in out and not key.startswith("$"):
            out[key] = value
    return out


def ext(wire: str, fields: Mapping[str, Any]) -> Ext:
    """An `ext` slot that holds one wire's fields, or nothing if there are none."""
    return {wire: dict(fields)} if fields else {}


def own(slot: Ext, wire: str) -> dict[str, Any]:
    """What an `ext` slot holds of one wire's."""
    return slot.get(wire) or {}


def text64(data: bytes) -> str:
    """Bytes as base64 text."""
    return base64.b64encode(data).decode()


def exact64(text: str) -> bytes | None:
    """Base64 text as bytes, if writing them gives the very text again."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if text64(data) == text else None


def _found(value: Any) -> str:
    if value is None:
        return "nothing"
    return next((word for kind, word in _WORDS.items() if isinstance(value, kind)), "something else")


def said(slot: Ext, wire: str) -> dict[str, Any]:
    """What an `ext` slot holds of one wire's and the wire says: all but its notes to itself (`$...`)."""
    fields = slot.get(wire)
    if not fields:
        return {}
    return {key: value for key, value in fields.items() if not key.startswith("$")}


def note(slot: Ext, wire: str, key: str) -> Any:
    """A note of a wire to itself in an `ext` slot, or `None`."""
    return own(slot, wire).get(key)
