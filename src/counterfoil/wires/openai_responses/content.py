"""Parts of messages and of results: texts, images, files."""

from __future__ import annotations

from typing import Any

from counterfoil.types.message import Block, Media, Opaque, Text
from counterfoil.wires import _fields as fields
from counterfoil.wires._chat import data_url, from_url
from counterfoil.wires._envelope import placeholder
from counterfoil.wires._scribe import Losses
from counterfoil.wires.wire import Body

NAME = "openai-responses"
REFUSAL = "$refusal"
_BARE = "$bare"
_EMPTY = "$empty"


def read_part(body: Body, where: str) -> Text | Media | Opaque:
    """Understand a part that somebody else than the model wrote."""
    match body.get("type"):
        case "input_text":
            slot = fields.rest(body, "type", "text")
            return Text(fields.need(body, "text", str, where), ext=fields.ext(NAME, slot))
        case "input_image":
            return _read_image(body) or Opaque(NAME, body)
        case "input_file":
            return _read_file(body) or Opaque(NAME, body)
        case _:
            return Opaque(NAME, body)


def _read_image(body: Body) -> Media | None:
    url, file_id = body.get("image_url"), body.get("file_id")
    slot = fields.rest(body, "type", "image_url", "file_id", "detail")
    if body.get("detail") != "auto":
        slot["$detail"] = body.get("detail")
    if isinstance(url, str) and "file_id" not in body:
        media = from_url(url, "image/*")
        return Media(media.media_type, media.data, media.url, ext=fields.ext(NAME, slot))
    if isinstance(file_id, str) and "image_url" not in body:
        return Media("image/*", file_id=file_id, ext=fields.ext(NAME, slot))
    return None


def _read_file(body: Body) -> Media | None:
    slot = fields.ext(NAME, fields.rest(body, "type", "file_data", "file_url", "file_id", "filename"))
    name = body.get("filename")
    match [body.get(key) for key in ("file_data", "file_url", "file_id")]:
        case [str(text), None, None]:
            media = from_url(text, "")
            return None if media.data is None else Media(media.media_type, media.data, name=name, ext=slot)
        case [None, str(url), None]:
            return Media("application/*", url=url, name=name, ext=slot)
        case [None, None, str(file_id)]:
            return Media("application/*", file_id=file_id, name=name, ext=slot)
        case _:
            return None


def write_part(losses: Losses, block: Block, path: str) -> Body | None:
    """Say a part, or nothing."""
    match block:
        case Text(text):
            losses.foreign(block.ext, path)
            if not text:
                losses.lose(path, "an empty text", "dropped")
                return None
            return fields.fill({"type": "input_text", "text": text}, fields.own(block.ext, NAME))
        case Media():
            losses.foreign(block.ext, path)
            return _write_media(losses, block, path)
        case Opaque(wire, data) if wire == NAME:
            return dict(data)
        case Opaque(wire):
            losses.lose(path, f"a block that only {wire} understands", "dropped")
        case _:
            losses.lose(path, "a block that only the model can say", "dropped")
    return None


def _write_media(losses: Losses, block: Media, path: str) -> Body:
    kind = block.media_type
    image = kind.startswith("image/")
    places = [place for place in (block.data, block.url, block.file_id) if place is not None]
    if len(places) != 1 or kind.startswith(("audio/", "video/")):
        losses.lose(path, f"{kind}, or where it is", "placeholder")
        return {"type": "input_text", "text": placeholder(block)}
    if block.data is None and kind != ("image/*" if image else "application/*"):
        losses.lose(f"{path}/media_type", "which kind of media a link leads to", "rewritten")
    slot = fields.own(block.ext, NAME)
    if image:
        if block.name is not None:
            losses.lose(f"{path}/name", "the name of an image", "dropped")
        body: Body = {"type": "input_image"}
        body |= {"file_id": block.file_id} if block.file_id is not None else {"image_url": data_url(block)}
        detail = slot.get("$detail", "auto")
        return fields.fill({**body, "detail": detail} if detail is not None else body, slot)
    body = {"type": "input_file"}
    if block.name is not None:
        body["filename"] = block.name
    if block.data is not None:
        body["file_data"] = data_url(block)
        if block.name is None:
            losses.lose(f"{path}/name", "a file without a name", "rewritten")
            body["filename"] = f"file.{kind.rpartition('/')[2]}"
    else:
        body |= {"file_id": block.file_id} if block.file_id is not None else {"file_url": block.url}
    return fields.fill(body, slot)


def read_output_part(body: Body, where: str) -> Text | None:
    """Understand a part of the model's own words; `None` if it is something else."""
    match body.get("type"):
        case "output_text":
            slot: dict[str, Any] = {}
            empty: dict[str, Any] = {}
            for key, value in fields.rest(body, "type", "text", "annotations").items():
                (empty if fields.says_nothing(value) else slot)[key] = value
            if body.get("annotations"):
                slot["annotations"] = body["annotations"]
            elif "annotations" not in body:
                slot[_BARE] = True
            if empty:
                slot[_EMPTY] = empty
            return Text(fields.need(body, "text", str, where), ext=fields.ext(NAME, slot))
        case "refusal":
            slot = {**fields.rest(body, "type", "refusal"), REFUSAL: True}
            return Text(fields.need(body, "refusal", str, where), ext=fields.ext(NAME, slot))
        case _:
            return None


def write_output_part(block: Text) -> Body:
    """Say words of the model's."""
    slot = fields.own(block.ext, NAME)
    if REFUSAL in slot:
        return fields.fill({"type": "refusal", "refusal": block.text}, slot)
    body: Body = {"type": "output_text", "text": block.text, **fields.obj(slot.get(_EMPTY))}
    if _BARE not in slot:
        body["annotations"] = slot.get("annotations") or []
    return fields.fill(body, slot)
