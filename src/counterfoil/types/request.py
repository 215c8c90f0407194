"""What a model is sent and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from counterfoil.types.message import Ext, Message

Stop = Literal["end", "tool_calls", "length", "refused", "other"]


class ToolSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model is told of a tool. `parameters` is a JSON Schema 2020-12 object.

    A `custom` tool takes free text, which `format` may bind to a grammar
    (`{"type": "grammar", "syntax": "lark", "definition": "..."}`).
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    kind: Literal["function", "custom"] = "function"
    format: dict[str, Any] | None = None
    strict: bool | None = None
    output_schema: dict[str, Any] | None = None
    ext: Ext = {}


class ToolChoice(msgspec.Struct, frozen=True, omit_defaults=True):
    """How free the model is: `auto` (calls or prose), `any` (at least one call), `none` (prose only).

    `names` narrows the choice to a subset; one tool by name is `ToolChoice("any", ("f",))`. `parallel` is whether
    several calls may come in one turn (`None`: the provider's default).
    """

    mode: Literal["auto", "any", "none"] = "auto"
    names: tuple[str, ...] | None = None
    parallel: bool | None = None


AUTO = ToolChoice()


class Output(msgspec.Struct, frozen=True, omit_defaults=True):
    """A structured answer: the JSON Schema it must conform to, under a name."""

    schema: dict[str, Any]
    name: str = "answer"
    description: str = ""
    strict: bool | None = None


class Sampling(msgspec.Struct, frozen=True, omit_defaults=True):
    """How to decode. Everything is optional; `None` is the provider's default."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question to a model: the history, the catalogue, and how it may answer.

    In a run `messages` is a `History`: an immutable view of a list that only grows, so making a request copies nothing.
    """

    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = AUTO
    model: str = ""
    sampling: Sampling = Sampling()
    output: Output | None = None
    stream: bool = False
    ext: Ext = {}


class Usage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a reply cost: tokens, and money in the currency of the price list (`None`: unknown).

    `input_tokens` includes `cached_tokens`; `output_tokens` includes `reasoning_tokens`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    ext: Ext = {}


class Reply(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a model answered. `stop` is derived (calls present: `tool_calls`), `stop_raw` is the provider's word."""

    message: Message
    stop: Stop = "end"
    stop_raw: str | None = None
    usage: Usage | None = None
    model: str | None = None
    id: str | None = None
    ext: Ext = {}
