"""Messages and their blocks, rich enough for every wire. Equal content is equal; storage lives elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from counterfoil.types.label import Label

Role = Literal["system", "user", "assistant", "tool"]
Ext = dict[str, Any]
"""What one wire says and no other, `{"anthropic": {"cache_control": {...}}}`: written back to that wire only."""

Code = Literal[
    "unknown_tool",
    "bad_arguments",
    "not_permitted",
    "over_limit",
    "repeated_call",
    "untrusted_origin",
    "declined",
    "expired",
    "in_doubt",
    "not_parsed",
]
"""Why a call was refused: a closed set, on which models, dashboards and tests may rely."""


class _Block(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """gc=False: a block is a tree of JSON values, so it cannot be part of a reference cycle."""


class Text(_Block, frozen=True, tag="text"):
    """Prose."""

    text: str
    label: Label | None = None
    ext: Ext = {}


class Media(_Block, frozen=True, tag="media"):
    """An image, a sound, a film or a document: its bytes, or the URL or provider's file id they are found at."""

    media_type: str
    """MIME type, `image/png`; `image/*` where the wire does not say."""
    data: bytes | None = None
    url: str | None = None
    file_id: str | None = None
    name: str | None = None
    label: Label | None = None
    ext: Ext = {}


class Reasoning(_Block, frozen=True, tag="reasoning"):
    """What the model thought. `signature` and `redacted` are opaque and go back verbatim, to the same wire only."""

    text: str = ""
    signature: str | None = None
    redacted: str | None = None
    id: str | None = None
    label: Label | None = None
    ext: Ext = {}


class ToolCall(_Block, frozen=True, tag="tool_call"):
    """One request of the model's: a name and some JSON.

    `arguments` is `None` when what the model wrote is not one JSON object: then `raw` is what it wrote and
    `parse_error` says where it broke. `raw` is kept beside `arguments` where they differ in more than spelling can
    tell (key order, big numbers). A `custom` call has free text in `raw`. Inside a run `id` is ours (`turn.index`)
    and `provider_id` the model's.
    """

    id: str
    name: str
    arguments: dict[str, Any] | None = None
    raw: str | None = None
    parse_error: str | None = None
    provider_id: str | None = None
    kind: Literal["function", "custom"] = "function"
    label: Label | None = None
    ext: Ext = {}


class Opaque(_Block, frozen=True, tag="opaque"):
    """A block that only its own wire understands, kept in its place; of no `wire` (""), one that is never written."""

    wire: str
    data: Any
    label: Label | None = None


class ToolResult(_Block, frozen=True, tag="tool_result"):
    """What became of one call. `code` is set when the call was refused."""

    call_id: str
    content: tuple[Text | Media | Opaque, ...] = ()
    is_error: bool = False
    code: Code | None = None
    name: str | None = None
    """The tool's name, for the wires that pair by it."""
    label: Label | None = None
    ext: Ext = {}

    @property
    def text(self) -> str:
        """The texts of the content, joined by newlines."""
        return "\n".join([block.text for block in self.content if isinstance(block, Text)])


Block = Text | Media | Reasoning | ToolCall | ToolResult | Opaque


class Message(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What one party said, as blocks in order. Results of one turn's calls are one message of role `tool`."""

    role: Role
    blocks: tuple[Block, ...]
    name: str | None = None
    ext: Ext = {}
    model: str | None = None
    """Which model said it, as it was asked for: what it signed goes back to a model of its family only."""

    @property
    def text(self) -> str:
        """The prose of the message."""
        return "".join([block.text for block in self.blocks if isinstance(block, Text)])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the message, in order."""
        return tuple([block for block in self.blocks if isinstance(block, ToolCall)])

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results of the message, in order."""
        return tuple([block for block in self.blocks if isinstance(block, ToolResult)])


def sound(text: str) -> str:
    """The text without halves of surrogate pairs: no store and no wire can take them (Unicode 16, section 3.9)."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def user(content: str | Iterable[Block]) -> Message:
    """Make a user message of a string or of blocks."""
    return Message("user", (Text(content),) if isinstance(content, str) else tuple(content))


def system(content: str) -> Message:
    """Make a system message of a string."""
    return Message("system", (Text(content),))
