"""Find and replace in JSON values: what a secret's copies look like, and how a value that was replaced comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

from counterfoil.types.json import is_array, is_object

PLACEHOLDER = re.compile(r"\[secret [0-9a-f]{20}\]")


def has_placeholder(value: Any) -> bool:
    """Whether a placeholder is somewhere in a JSON value."""
    return any(isinstance(leaf, str) and PLACEHOLDER.search(leaf) for leaf in leaves(value))


def leaves(value: Any) -> Iterable[Any]:
    """Every scalar in a JSON value."""
    if is_object(value):
        for each in value.values():
            yield from leaves(each)
    elif is_array(value):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterable[tuple[tuple[Any, ...], Any]]:
    """Every scalar in a JSON value, by its path."""
    if is_object(value):
        for name, each in value.items():
            yield from paths(each, (*path, name))
    elif is_array(value):
        for at, each in enumerate(value):
            yield from paths(each, (*path, at))
    else:
        yield path, value


def spellings(leaf: Any) -> set[str]:
    """How a scalar is written: as it is, in Python, in a URL, and inside JSON strings, up to a JSON text in another."""
    if isinstance(leaf, bool) or leaf is None:
        return set()
    text = leaf if isinstance(leaf, str) else json.dumps(leaf)
    found = {text}
    for _ in range(2):
        found |= {json.dumps(each, ensure_ascii=plain)[1:-1] for each in found for plain in (True, False)}
    return {*found, repr(text)[1:-1], quote(text, safe=""), quote_plus(text)}


def scrub(value: Any, forms: list[tuple[str, str]]) -> Any:
    """A JSON value with each of these forms of a secret replaced by what stands for it."""
    if isinstance(value, str):
        for form, placeholder in forms:
            if form in value:
                value = value.replace(form, placeholder)
        return value
    if is_object(value):
        return {scrub(name, forms): scrub(each, forms) for name, each in value.items()}
    if is_array(value):
        return [scrub(each, forms) for each in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return dict(forms).get(json.dumps(value), value)
    return value


def restored(now: Any, shown: Any, real: Any) -> Any:
    """What was written where nothing has changed since it was replaced; what is there now elsewhere."""
    if now == shown:
        return real
    if is_object(now) and is_object(shown) and is_object(real):
        return {name: restored(each, shown.get(name), real.get(name)) for name, each in now.items()}
    if is_array(now) and is_array(shown) and is_array(real) and len(now) == len(shown) == len(real):
        return [restored(*each) for each in zip(now, shown, real, strict=True)]
    return now
