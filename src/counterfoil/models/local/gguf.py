"""Read the metadata of a GGUF file: what the model is, its chat template, its control tokens.

The format is documented in the ggml project (`docs/gguf.md`, version 3); versions 2 and 3 read the same here.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from counterfoil.types.error import ModelError

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_CONTROL, _USER_DEFINED = 3, 4
_MOST = 50_000_000
"""No string or array of a sound file has more bytes or items."""


class Metadata(msgspec.Struct, frozen=True):
    """What a GGUF file says of its model. `context` is the length it was trained for, in tokens."""

    name: str
    architecture: str
    licence: str
    template: str
    context: int
    control: tuple[str, ...]
    bos: str
    eos: str


def read(path: Path) -> Metadata:
    """Read a file's metadata; `ModelError` if it is not a GGUF file, or has no chat template."""
    found = values(path)
    architecture = str(found.get("general.architecture", ""))
    tokens: list[str] = found.get("tokenizer.ggml.tokens", [])
    types: list[int] = found.get("tokenizer.ggml.token_type", [])
    template = str(found.get("tokenizer.chat_template", ""))
    if not template:
        raise ModelError(f"{path.name} has no chat template: take an instruct model, not a base model.")
    return Metadata(
        name=str(found.get("general.name", path.stem)),
        architecture=architecture,
        licence=str(found.get("general.license", "unknown")),
        template=template,
        context=int(found.get(f"{architecture}.context_length", 2048)),
        control=tuple(
            token
            for token, kind in zip(tokens, types, strict=False)
            if kind in (_CONTROL, _USER_DEFINED) and token.strip()
        ),
        bos=_token(tokens, found.get("tokenizer.ggml.bos_token_id")),
        eos=_token(tokens, found.get("tokenizer.ggml.eos_token_id")),
    )


def special(path: Path) -> dict[str, int]:
    """Read the control tokens that no text spells, with their numbers; `ModelError` if it is not a GGUF file."""
    found = values(path)
    kinds = zip(found.get("tokenizer.ggml.tokens", []), found.get("tokenizer.ggml.token_type", []), strict=False)
    return {token: number for number, (token, kind) in enumerate(kinds) if kind == _CONTROL}


def values(path: Path) -> dict[str, Any]:
    """Read all metadata by their keys; `ModelError` if it is not a GGUF file."""
    try:
        with path.open("rb") as file:
            return _Reader(file, path).values()
    except OSError as error:
        raise ModelError(
            f"{path.name} cannot be read: {error.strerror or error}. Give the path of a GGUF file."
        ) from error


def _token(tokens: list[str], index: Any) -> str:
    return tokens[index] if isinstance(index, int) and 0 <= index < len(tokens) else ""


class _Reader:
    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path

    def values(self) -> dict[str, Any]:
        if self._take(4) != b"GGUF":
            raise ModelError(f"{self._path.name} is not a GGUF file.")
        version = self._number("<I")
        if version not in (2, 3):
            raise ModelError(f"{self._path.name} is GGUF version {version}: versions 2 and 3 can be read.")
        self._number("<Q")
        count = self._number("<Q")
        return {self._string(): self._value(self._number("<I")) for _ in range(min(count, 10_000))}

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            inner, length = self._number("<I"), self._length()
            if inner in _SCALARS:
                code = _SCALARS[inner][1]
                return list(struct.unpack(f"<{length}{code}", self._take(length * struct.calcsize(f"<{code}"))))
            return [self._value(inner) for _ in range(length)]
        if kind not in _SCALARS:
            raise ModelError(f"{self._path.name} holds a value of unknown type {kind}: the file is damaged or too new.")
        return self._number(_SCALARS[kind])

    def _string(self) -> str:
        return self._take(self._length()).decode("utf-8", "replace")

    def _length(self) -> int:
        length = int(self._number("<Q"))
        if length > _MOST:
            raise ModelError(f"{self._path.name} is damaged: a length of {length} in its metadata.")
        return length

    def _number(self, layout: str) -> Any:
        return struct.unpack(layout, self._take(struct.calcsize(layout)))[0]

    def _take(self, length: int) -> bytes:
        found = self._file.read(length)
        if len(found) != length:
            raise ModelError(f"{self._path.name} is damaged: it ends inside its metadata.")
        return found
