"""Find where a JSON value ends while it arrives. What is inside is checked later, by `types.json`."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Literal

from counterfoil.text.source import Markers, Sink, Source, Wait, markers
from counterfoil.types.json import read_object

How = Literal["whole", "stop", "end", "broken"]
"""How a value ended: complete; at a marker that is not part of it; with the text; where it is no JSON any more."""

_PLAIN = r'[^"\\\x00-\x1f]'
_STRING = rf'"{_PLAIN}*+(?:\\[^\x00-\x1f]{_PLAIN}*+)*+"'
_IN_STRING = re.compile(r'["\\\x00-\x1f]')


@lru_cache(maxsize=1024)
def _structure(stops: Markers) -> re.Pattern[str]:
    return re.compile(rf'{_STRING}|["{{}}\[\]]|{stops.source}')


@lru_cache(maxsize=1024)
def _scalar(stops: Markers) -> re.Pattern[str]:
    return re.compile(rf'[\s,:{{}}\[\]"]|{stops.source}')


def value(src: Source, stops: Markers, sink: Sink) -> Wait[How]:
    """Read one value, which begins right here. A marker inside a string is part of the string.

    A string with a raw line break in it is not JSON; it ends in `broken`, and no marker after it is shielded.
    """
    first = yield from src.peek()
    if first == '"':
        src.at += 1
        sink('"')
        return (yield from _string(src, sink))
    if first not in "{[" or not first:
        return (yield from _bare(src, stops, sink))
    pattern, depth = _structure(stops), 0
    while True:
        text, at = src.text, src.at
        position = at
        while found := pattern.search(text, position):
            mark = found[0]
            if mark in "{[":
                depth += 1
            elif mark in "}]":
                depth -= 1
            elif mark == '"':
                break
            elif mark[0] != '"':
                sink(text[at : found.start()])
                src.at = found.start()
                return "stop"
            position = found.end()
            if not depth:
                sink(text[at:position])
                src.at = position
                return "whole"
        if found is not None:  # a string of which the end has not come, or that is none
            src.at = found.end()
            sink(text[at : src.at])
            how = yield from _string(src, sink)
            if how != "whole":
                return how
            continue
        src.at = len(text) if src.ended else max(position, stops.held(text, position))
        sink(text[at : src.at])
        if src.ended:
            return "end"
        yield


def _string(src: Source, sink: Sink) -> Wait[How]:
    """Read the rest of a string."""
    while True:
        text, at = src.text, src.at
        position, held = at, len(text)
        while found := _IN_STRING.search(text, position):
            if found[0] == '"':
                src.at = found.end()
                sink(text[at : src.at])
                return "whole"
            if found[0] != "\\" or "\0" <= text[found.end() : found.end() + 1] <= "\x1f":
                src.at = found.start()
                sink(text[at : src.at])
                return "broken"
            position = found.end() + 1
            if position > len(text):
                held = found.start()
                break
        src.at = len(text) if src.ended else held
        sink(text[at : src.at])
        if src.ended:
            return "end"
        yield


def _bare(src: Source, stops: Markers, sink: Sink) -> Wait[How]:
    pattern = _scalar(stops)
    while True:
        text, at = src.text, src.at
        found = pattern.search(text, at)
        held = len(text) if src.ended else stops.held(text, at)
        src.at = min(held, len(text) if found is None else found.start())
        sink(text[at : src.at])
        if found is not None and found.start() <= held:
            return "whole"
        if src.ended:
            return "end"
        yield


def read_value(text: str) -> tuple[Any, str | None]:
    """Parse any JSON value as strictly as the arguments of a call: the value, or what is wrong."""
    found, error = read_object(f'{{"":{text}\n}}')
    if found is not None and len(found) == 1:
        return found[""], None
    return None, error or "not one JSON value"


def dumps(value: Any, *, compact: bool = False) -> str:
    """Write JSON as chat templates do: spaces after commas and colons, letters as they are. Raises `ValueError`."""
    separators = (",", ":") if compact else (", ", ": ")
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=separators)


def same(first: Any, second: Any) -> bool:
    """Whether two values are the same JSON: `1`, `1.0` and `true` are three."""
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def shield(text: str, marks: Markers) -> str:
    """Write the markers in a JSON text so that no reader, and no tokenizer, takes them for markers."""
    pattern = _in_json(marks).pattern
    if pattern.search(text) is None:
        return text
    return pattern.sub(lambda found: f"\\u{ord(found[0][0]):04x}{found[0][1:]}", text)


@lru_cache(maxsize=1024)
def _in_json(marks: Markers) -> Markers:
    return markers(*marks.literals, *(dumps(mark)[1:-1] for mark in marks.literals))
