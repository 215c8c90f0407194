"""Images, films, sounds and documents of Converse: its format words and MIME types, and where the bytes are."""

from __future__ import annotations

import re
from typing import Any

from counterfoil.types.message import Ext, Media
from counterfoil.wires import _fields as fields

NAME = "bedrock"
_FOREIGN = re.compile(r"[^a-zA-Z0-9\s()\[\]-]")
_SPACES = re.compile(r"\s+")
KINDS = ("image", "video", "audio", "document")
_OFFICE = "application/vnd.openxmlformats-officedocument."
# The first format of a MIME type is the one we write; the others are remembered in the `ext` slot.
_FORMATS: dict[str, dict[str, str]] = {
    "image": {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"},
    "video": {
        "mp4": "video/mp4",
        "mov": "video/quicktime",
        "mkv": "video/x-matroska",
        "webm": "video/webm",
        "flv": "video/x-flv",
        "mpeg": "video/mpeg",
        "mpg": "video/mpeg",
        "wmv": "video/x-ms-wmv",
        "three_gp": "video/3gpp",
    },
    "audio": {
        "mp3": "audio/mpeg",
        "wav": "audio/wav",
        "aac": "audio/aac",
        "flac": "audio/flac",
        "mp4": "audio/mp4",
        "ogg": "audio/ogg",
        "opus": "audio/opus",
        "webm": "audio/webm",
        "m4a": "audio/m4a",
        "mkv": "audio/x-matroska",
        "pcm": "audio/pcm",
        "mka": "audio/x-matroska",
        "x-aac": "audio/aac",
        "mpeg": "audio/mpeg",
        "mpga": "audio/mpeg",
    },
    "document": {
        "pdf": "application/pdf",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": _OFFICE + "wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": _OFFICE + "spreadsheetml.sheet",
        "html": "text/html",
        "txt": "text/plain",
        "md": "text/markdown",
    },
}
_TYPES: dict[str, tuple[str, str]] = {
    **{mime: (kind, word) for kind, table in _FORMATS.items() for word, mime in reversed(table.items())},
    "image/jpg": ("image", "jpeg"),
    "audio/mp3": ("audio", "mp3"),
    "audio/x-wav": ("audio", "wav"),
}


def read_media(kind: str, body: dict[str, Any]) -> Media | None:
    """Understand an image, film, sound or document; `None` if it says more than `Media` can hold."""
    source = fields.obj(body.get("source"))
    mime = _FORMATS[kind].get(body.get("format") or "")
    name = body.get("name")
    if len(source) != 1 or mime is None or "error" in body or (kind == "document") != isinstance(name, str):
        return None
    extra: dict[str, Any] = fields.rest(body, "format", "source", "name")
    if _TYPES[mime] != (kind, body["format"]):
        extra["format"] = body["format"]
    slot: Ext = fields.ext(NAME, extra)
    text = source.get("bytes")
    if isinstance(text, str):
        data = fields.exact64(text)
        return Media(mime, data=data, name=name, ext=slot) if data else None
    place = fields.obj(source.get("s3Location"))
    return Media(mime, url=place["uri"], name=name, ext=slot) if place.keys() == {"uri"} else None


def write_media(block: Media) -> dict[str, Any] | None:
    """Say media; `None` where Converse has no format for it, or cannot get at it."""
    known = _TYPES.get(block.media_type)
    if known is None:
        return None
    kind, word = known
    if block.data:
        source: dict[str, Any] = {"bytes": fields.text64(block.data)}
    elif block.url is not None and block.url.startswith("s3://"):
        source = {"s3Location": {"uri": block.url}}
    else:
        return None
    body: dict[str, Any] = {"format": word}
    if kind == "document":
        body["name"] = _document_name(block.name)
    return {kind: {**body, "source": source, **fields.own(block.ext, NAME)}}


def _document_name(name: str | None) -> str:
    """A name as Converse takes it: letters, digits, single spaces, hyphens and brackets."""
    return _SPACES.sub(" ", _FOREIGN.sub("-", name or ""))[:200].strip() or "document"


def says_all(block: Media) -> bool:
    """Whether what `write_media` says of media is all there is to say."""
    kind, word = _TYPES[block.media_type]
    named = block.name == _document_name(block.name) if kind == "document" else block.name is None
    return (
        _FORMATS[kind][fields.own(block.ext, NAME).get("format", word)] == block.media_type
        and named
        and block.file_id is None
        and (block.data is None or block.url is None)
    )
