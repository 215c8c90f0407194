"""What a provider looked up, ran or was given to cite before its model wrote: it may hold anybody's orders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from counterfoil.types.label import Label
from counterfoil.types.message import Block, Message, Opaque, Text
from counterfoil.wires import _fields as fields

LOOKED_UP = Label("untrusted", "what the model's provider looked up")
_MARK = Opaque("", None, LOOKED_UP)
"""A block of no wire's: it labels the reply that it ends, and is never said to anybody."""


def mark(*slots: Mapping[str, Any], of: frozenset[str]) -> tuple[Opaque, ...]:
    """The block that ends a reply with something in a field `of` lookups, in any of the slots; else none."""
    for slot in slots:
        if not of.isdisjoint(slot) and any(_holds(slot.get(key)) for key in of):
            return (_MARK,)
    return ()


def _holds(value: Any) -> bool:
    """Whether a field says that there was something. Counts of zero and empty lists in an object say that not."""
    inner = fields.as_object(value)
    return bool(value) if inner is None else any(inner.values())


def cited(block: Block, wire: str, field: str, *, told: bool = False) -> Block:
    """The block with a label, if it is a text with citations: in that field of the wire's, or `told` of."""
    if type(block) is Text and (told or (block.ext and fields.own(block.ext, wire).get(field))):
        return msgspec.structs.replace(block, label=LOOKED_UP)
    return block


def all_cited(blocks: Iterable[Block], wire: str, field: str) -> tuple[Block, ...]:
    """The same for all blocks of a reply."""
    return tuple([cited(block, wire, field) for block in blocks])


def unmarked(message: Message) -> Message:
    """The message as wires say it."""
    if not any(type(block) is Opaque and not block.wire for block in message.blocks):
        return message
    rest = [block for block in message.blocks if not (isinstance(block, Opaque) and not block.wire)]
    return msgspec.structs.replace(message, blocks=tuple(rest))
