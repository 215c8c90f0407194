"""A result that is not shown to the model, and the name under which it can be handed on all the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from counterfoil.types.json import is_array, is_object, own
from counterfoil.types.label import Label

_NAME = re.compile(r"\$v[1-9][0-9]{0,8}")
_TOLD = 80
"""How much of a call's arguments a source is named by."""
_BEGINNING = 200


class Handle(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What an opaque tool returned: its name in the run (`$v3`), its source in words, and the value as JSON.

    A name stands for one value in its run and never for another: it is that of the call, which has one result.
    """

    name: str
    source: str
    value: Any
    label: Label | None = None
    """Who could have written it, and who may read it. `None`: an outsider, and anybody."""

    @property
    def beginning(self) -> str:
        """How it begins, for a person to read."""
        text = self.value if isinstance(self.value, str) else msgspec.json.encode(self.value).decode()
        return text if len(text) <= _BEGINNING else f"{text[:_BEGINNING]}... ({len(text):,} characters)"


def name_of(number: int) -> str:
    """The name of the result of a run's first, second, third... call."""
    return f"$v{number}"


def names_in(value: Any) -> Iterator[str]:
    """Every leaf of an argument that is such a name, whole."""
    if isinstance(value, str):
        if value[:2] == "$v" and _NAME.fullmatch(value):
            yield value
    elif is_object(value):
        for each in value.values():
            yield from names_in(each)
    elif is_array(value):
        for each in value:
            yield from names_in(each)


def quoted_in(value: Any, handles: Mapping[str, Handle]) -> Iterator[str]:
    """Every such name of a result that is there inside a longer text, where it stands for nothing."""
    if isinstance(value, str):
        if "$v" in value and not _NAME.fullmatch(value):
            yield from (name for name in _NAME.findall(value) if name in handles)
    elif is_object(value):
        for each in value.values():
            yield from quoted_in(each, handles)
    elif is_array(value):
        for each in value:
            yield from quoted_in(each, handles)


def revealed(value: Any, handles: Mapping[str, Handle]) -> Any:
    """The same with each name replaced by what it stands for. Whoever gets it may change it."""
    if isinstance(value, str):
        handle = handles.get(value)
        return value if handle is None else own({"": handle.value})[""]
    if is_object(value):
        return {name: revealed(each, handles) for name, each in value.items()}
    return [revealed(each, handles) for each in value] if is_array(value) else value


def told(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call in words, as the source of what came of it."""
    said = ", ".join([str(each) for each in arguments.values()])[:_TOLD]
    return f"{tool} ({said})" if arguments else tool
