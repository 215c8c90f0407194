"""Turn what a tool returned into the content of a result: projected, encoded, and cut to size."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, cast

import msgspec

from counterfoil.types.json import is_array, is_object
from counterfoil.types.label import Label
from counterfoil.types.message import Media, Opaque, Text

Content = tuple[Text | Media | Opaque, ...]


def to_content(value: Any, returns: Collection[str] | None, max_chars: int) -> Content:
    """Make content of a return value: a string as it is, blocks as they are, anything else as JSON.

    `returns` keeps only those fields of an object, or of each object in a list. Raises `TypeError` when the value has
    no JSON form.
    """
    if returns is not None:
        value = project(value, returns)
    if isinstance(value, str):
        return (_cut(value, max_chars),)
    if isinstance(value, Text | Media):
        value = (value,)
    if isinstance(value, list | tuple) and any(isinstance(each, Text | Media) for each in cast("Any", value)):
        whole = [Text(each) if isinstance(each, str) else each for each in cast("Iterable[Any]", value)]
        if not all(isinstance(each, Text | Media) for each in whole):
            raise TypeError(_NESTED)
        blocks = cast("list[Text | Media]", whole)
        for block in blocks:
            label: Any = block.label
            if label is not None and not isinstance(label, Label):
                raise TypeError(f"a block has {label!r} as its label: write Label({label!r})")
        return tuple(_cut(block.text, max_chars, block) if isinstance(block, Text) else block for block in blocks)
    said = "done" if value is None else to_json(value)
    if '"type":"text"' in said or '"type":"media"' in said:
        _refuse_blocks(value)
    return (_cut(said, max_chars),)


_NESTED = (
    "a tool returned a block inside other data: its label would be lost. Return a block, or a list of blocks and texts"
)


def _refuse_blocks(value: Any) -> None:
    """Look for blocks inside data, whatever keeps them."""
    if isinstance(value, Text | Media):
        raise TypeError(_NESTED)
    for each in _within(value):
        _refuse_blocks(each)


def _within(value: Any) -> Iterable[Any]:
    if is_object(value):
        return value.values()
    if isinstance(value, list | tuple | set | frozenset):
        return cast("Iterable[Any]", value)
    if isinstance(value, msgspec.Struct):
        return [getattr(value, name) for name in value.__struct_fields__]
    held: dict[str, Any] = getattr(value, "__dict__", {})
    return held.values()


def to_json(value: Any) -> str:
    """Encode any value of the usual kinds, pydantic models included."""
    return msgspec.json.encode(value, enc_hook=_encode).decode()


def to_builtins(value: Any) -> Any:
    """Turn a value into plain JSON values, as a schema sees it."""
    return msgspec.to_builtins(value, enc_hook=_encode, str_keys=True)


def _encode(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"a tool returned a {type(value).__name__}, which has no JSON form")


def project(value: Any, returns: Collection[str]) -> Any:
    """Keep only those fields of an object, or of each object in a list."""
    value = to_builtins(value)
    if is_object(value):
        return {name: value[name] for name in returns if name in value}
    if is_array(value):
        return [project(each, returns) for each in value]
    return value


def _cut(text: str, max_chars: int, block: Text | None = None) -> Text:
    kept = cut(text, max_chars)
    return msgspec.structs.replace(block, text=kept) if block else Text(kept)


def cut(text: str, max_chars: int) -> str:
    """Cut a text to size, saying by how much. Halves of surrogate pairs, which nothing can store, become `?`."""
    if len(text) > max_chars:
        note = f"\n[cut: the first {max_chars:,} of {len(text):,} characters. Ask for less, or for a part.]"
        text = text[:max_chars] + note
    return text if text.isascii() else text.encode(errors="replace").decode()
