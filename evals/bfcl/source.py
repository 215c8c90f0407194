"""Values as source text of Java and JavaScript, such that BFCL's own readers of it give the values back.

Those readers are regular expressions, and know only some ways to write a thing: several are tried.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from evals.bfcl.data import Language

_SUFFIXES = {"float": "f", "long": "L", "Bigint": "n"}


def source(read: Callable[..., Any], language: Language, declared: dict[str, Any], values: list[Any]) -> str:
    """The first acceptable value that can be written, as text; where none reads back as itself, the first as JSON.

    `declared` is the parameter as BFCL declares it; text among the values is the name of a variable, or source already.
    """
    kind, items = declared.get("type", "any"), declared.get("items", {}).get("type")
    spellings = _java if language == "java" else _javascript
    known = [value for value in values if value != ""]
    for value in known:
        for text in [value] if isinstance(value, str) else spellings(value, kind, items):
            if _reads(read, text, kind, items, value):
                return text
    return known[0] if known and isinstance(known[0], str) else json.dumps(known[0] if known else "")


def _reads(read: Callable[..., Any], text: str, kind: str, items: str | None, value: Any) -> bool:
    try:
        found = read(text, kind, items) if items else read(text, kind)
    except (ValueError, NotImplementedError):
        return False
    if isinstance(value, dict):
        # Each key has a list of acceptable values.
        return isinstance(found, dict) and found.keys() == value.keys() and all(found[k] in value[k] for k in value)
    return type(found) is type(value) and bool(found == value)


def _java(value: Any, kind: str, items: str | None) -> Iterator[str]:
    if isinstance(value, list):
        for quote in ("", '"', "'"):
            written = ", ".join(_literal(each, quote, items) for each in value)
            yield f"new ArrayList<>(Arrays.asList({written}))" if kind == "ArrayList" else f"new Object[]{{{written}}}"
    elif isinstance(value, dict):
        puts = " ".join(f'put("{key}", {_literal(options[0], chr(34), None)});' for key, options in value.items())
        yield f"new HashMap<String, Object>() {{{{ {puts} }}}}"
        yield "new HashMap<>()"
    else:
        yield _literal(value, "", kind)


def _javascript(value: Any, kind: str, items: str | None) -> Iterator[str]:
    if isinstance(value, list):
        for quote in ('"', "'", ""):
            yield f"[{', '.join(_literal(each, quote, items) for each in value)}]"
            yield f"[{','.join(_literal(each, quote, items) for each in value)}]"
    elif isinstance(value, dict):
        for quote in ('"', "'", ""):
            for mark in ('"', ""):
                fields = ", ".join(f"{mark}{key}{mark}: {_entry(options[0], quote)}" for key, options in value.items())
                yield f"{{{fields}}}"
    else:
        yield _literal(value, "", kind)


def _entry(value: Any, quote: str) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_literal(each, quote, None) for each in value)}]"
    return _literal(value, quote, None)


def _literal(value: Any, quote: str, kind: str | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    return f"{value}{_SUFFIXES.get(kind or '', '')}"
