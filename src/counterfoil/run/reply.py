"""Believe a model's reply: give its calls ids of ours, and mark what could not be read."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from counterfoil.types.json import MAX_DEPTH, canonical, depth, is_array, is_object, read_object
from counterfoil.types.message import Block, Message, Reasoning, Text, ToolCall, sound
from counterfoil.types.request import Reply


def admit(reply: Reply, turn: int, model: str | None = None) -> tuple[Message, tuple[str, ...]]:
    """Return the reply's message with the calls renumbered `turn.1`, `turn.2`, ..., and what had to be put right.

    A model's own ids are kept as `provider_id`: they may be blank, or repeat. `model` is the name under which it was
    asked.
    """
    message = reply.message
    blocks: list[Block] = []
    notes: list[str] = []
    seen: set[str] = set()
    number = 0
    for block in message.blocks:
        if not isinstance(block, ToolCall):
            blocks.append(_sound(block))
            continue
        number += 1
        provider_id, name, raw = block.provider_id or block.id, block.name, block.raw
        if not (provider_id.isascii() and name.isascii() and (raw is None or raw.isascii())):
            provider_id, name, raw = sound(provider_id), sound(name), None if raw is None else sound(raw)
        if provider_id in seen or not provider_id:
            notes.append(
                f"call {turn}.{number} came with the {'repeated' if provider_id else 'blank'} id {provider_id!r}"
            )
        seen.add(provider_id)
        if block.ext and (mended := block.ext.get("text", {}).get("$recovered")):
            notes.extend(f"call {turn}.{number}: {note}" for note in mended)
        error = block.parse_error
        arguments = block.arguments
        if error is None and (arguments is None or block.raw is None):
            arguments, error = _arguments(block)
        elif error is not None:
            arguments = None
        blocks.append(
            ToolCall(
                f"{turn}.{number}",
                name,
                arguments,
                raw,
                error,
                provider_id,
                block.kind,
                block.label,
                block.ext,
            )
        )
    return Message("assistant", tuple(blocks), message.name, message.ext, model), tuple(notes)


def _sound(block: Block) -> Block:
    if isinstance(block, Text | Reasoning) and not block.text.isascii():
        return msgspec.structs.replace(block, text=sound(block.text))
    return block


def _arguments(call: ToolCall) -> tuple[dict[str, Any] | None, str | None]:
    """Read arguments that no wire has read, and look over those that were given as a Python object."""
    if call.arguments is not None:
        error = _not_json(call.arguments)
        return (call.arguments, None) if error is None else (None, error)
    if call.kind == "custom":
        return {"input": call.raw or ""}, None
    if call.raw is not None:
        return read_object(call.raw)
    return None, "there are none: expected one JSON object, {} when there is nothing to say"


def _not_json(arguments: Any) -> str | None:
    """Say why a Python object is not a JSON object that can be stored and read back as it is."""
    if not isinstance(arguments, dict):
        return f"expected one JSON object, found {type(arguments).__name__}"
    try:
        text = canonical(arguments)
        # msgspec writes NaN and infinity as null: only a text with a null in it can hide one.
        if b"null" in text and _has_nonfinite(arguments):
            return "NaN and infinity are not JSON numbers"
        if text.count(b"[") + text.count(b"{") > MAX_DEPTH and depth(arguments) > MAX_DEPTH:
            return f"nested more than {MAX_DEPTH} levels deep"
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        return f"not JSON: {error}"
    return None


def _has_nonfinite(value: Any) -> bool:
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float) and not math.isfinite(item):
            return True
        if is_object(item):
            stack.extend(item.values())
        elif is_array(item):
            stack.extend(item)
    return False
