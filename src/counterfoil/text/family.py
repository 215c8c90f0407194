"""A family of models, as data: how they write calls, reasoning and prose, and how they were shown tools and results."""

from __future__ import annotations

from typing import Literal

import msgspec

from counterfoil.text.grammars import AnyGrammar


class Marks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands before and after something. White space in them is stripped where it was written, and only once.

    `after` is white space that follows and belongs to nothing.
    """

    open: str = ""
    close: str = ""
    after: str = ""


class Results(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How results go back: each between `open` and `close`, all of a turn's between `begin` and `end`.

    `{name}` and `{id}` in them are the call's; `json` writes the text as a JSON string.
    """

    role: str = "tool"
    open: str = ""
    close: str = ""
    begin: str = ""
    end: str = ""
    separator: str = "\n"
    json: bool = False


class Declaration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How tools are declared in the prompt: `{tools}` in `text` is all of them, each written in `style`."""

    text: str = "{tools}"
    style: Literal["function", "bare", "pythonic", "typescript", "xml", "braces", "line"] = "function"
    separator: str = "\n"
    each: tuple[str, str] = ("", "")


class Family(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One family. `pitfalls`, `models` and `sources` are for people."""

    name: str
    title: str
    models: tuple[str, ...]
    sources: tuple[str, ...]
    pitfalls: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    parsers: tuple[str, ...] = ()
    """What vLLM and SGLang call the parser of this format."""
    calls: AnyGrammar
    gap: str = "\n"
    """What is written between prose and a call: it belongs to neither."""
    reasoning: Marks = Marks("<think>\n", "\n</think>", "\n\n")
    answer: Marks = Marks()
    """What prose is written between, where it has markers of its own."""
    prefill: str = ""
    """How every reply begins, where the prompt has already written it."""
    stop: tuple[str, ...] = ()
    """What ends a reply: stripped from its end when a server leaves it there."""
    results: Results = Results()
    tools: Declaration = Declaration()
