"""A grammar as a tree of values, which printers write in the language of one engine or another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec


class Lit(msgspec.Struct, frozen=True):
    """These characters."""

    text: str


class Seq(msgspec.Struct, frozen=True):
    """One after the other."""

    parts: tuple[Node, ...]


class Alt(msgspec.Struct, frozen=True):
    """One of them."""

    options: tuple[Node, ...]


class Rep(msgspec.Struct, frozen=True):
    """`least` to `most` times."""

    node: Node
    least: int = 0
    most: int | None = None


class Ref(msgspec.Struct, frozen=True):
    """A rule, by name."""

    name: str


class Chars(msgspec.Struct, frozen=True):
    """Characters of a class, as it stands between the brackets of a regular expression."""

    of: str
    least: int = 1
    most: int | None = 1


class Json(msgspec.Struct, frozen=True):
    """A JSON value that conforms to a schema."""

    schema: dict[str, Any]


class Words(msgspec.Struct, frozen=True):
    """Text without any of the literals `without`, and then the literal `then`, which may be among them.

    The rest narrows the text, where an engine can: no match of the patterns `never`, no character of `not_first` at its
    beginning, none of `chars` anywhere, `least` to `most` characters, a match of the whole by `pattern`. `blank` is how
    much white space may follow `then`, and belongs to nothing.
    """

    without: tuple[str, ...] = ()
    then: str = ""
    never: tuple[str, ...] = ()
    not_first: str = ""
    chars: str = ""
    blank: int = 0
    least: int = 0
    most: int | None = None
    pattern: str | None = None


Node = Lit | Seq | Alt | Rep | Ref | Chars | Json | Words


class Rules(msgspec.Struct, frozen=True):
    """A grammar: where it starts, and the rules that are referred to."""

    start: Node
    rules: dict[str, Node] = {}


NOTHING = Lit("")


def seq(*parts: Node) -> Node:
    """Put nodes in a row; literals that touch are one."""
    found: list[Node] = []
    for part in parts:
        for each in part.parts if isinstance(part, Seq) else (part,):
            last = found[-1] if found else None
            if isinstance(each, Lit) and isinstance(last, Lit):
                found[-1] = Lit(last.text + each.text)
            elif each != NOTHING:
                found.append(each)
    return found[0] if len(found) == 1 else Seq(tuple(found)) if found else NOTHING


def alt(options: Iterable[Node]) -> Node:
    """Choose between nodes."""
    found: dict[int, Node] = {}
    for option in options:
        for each in option.options if isinstance(option, Alt) else (option,):
            if each not in found.values():
                found[len(found)] = each
    kept = tuple(found.values())
    assert kept, "a choice between nothing matches nothing"
    return kept[0] if len(kept) == 1 else Alt(kept)


def spread(node: Node) -> tuple[Node, ...]:
    """The ways in which a node can go on, each with all of the literal that it begins with in one piece.

    Lexers take the longest piece: one that is cut short would lose against prose, which can begin the same way.
    """
    if isinstance(node, Alt):
        return tuple(each for option in node.options for each in spread(option))
    if isinstance(node, Seq):
        at = next((index for index, part in enumerate(node.parts[:2]) if isinstance(part, Alt)), None)
        if at is not None and (at == 0 or isinstance(node.parts[0], Lit)):
            before, choice, behind = node.parts[:at], node.parts[at], node.parts[at + 1 :]
            assert isinstance(choice, Alt)
            return tuple(each for option in choice.options for each in spread(seq(*before, option, *behind)))
    return (node,)


def maybe(node: Node) -> Node:
    """A node, or nothing."""
    return Rep(node, 0, 1)


def listed(one: Node, separator: str, least: int, most: int | None) -> Node:
    """So many of a node, with a separator between each two."""
    if most == 0:
        return NOTHING
    more = Rep(seq(Lit(separator), one), max(0, least - 1), None if most is None else most - 1)
    whole = one if most == 1 else seq(one, more)
    return whole if least else maybe(whole)


def opening(node: Node) -> str:
    """The longest literal with which everything that a node matches begins."""
    match node:
        case Lit(text):
            return text
        case Seq(parts):
            text = ""
            for part in parts:
                text += opening(part)
                if not isinstance(part, Lit):
                    break
            return text
        case Alt(options):
            return _common([opening(each) for each in options])
        case Rep(inner, least) if least:
            return opening(inner)
        case _:
            return ""


def _common(texts: list[str]) -> str:
    first, last = min(texts), max(texts)
    return first[: next((at for at, each in enumerate(first) if last[at : at + 1] != each), len(first))]


def after(node: Node, prefix: str) -> Node | None:
    """What a node still matches behind a prefix that has been written already; `None` if that cannot be."""
    if not prefix:
        return node
    match node:
        case Lit(text):
            return Lit(text[len(prefix) :]) if text.startswith(prefix) else None
        case Alt(options):
            kept = [rest for each in options if (rest := after(each, prefix)) is not None]
            return alt(kept) if kept else None
        case Rep(inner, least, most):
            left = None if most is None else most - 1
            more = NOTHING if left == 0 else Rep(inner, max(0, least - 1), left)
            return after(seq(inner, more), prefix)
        case Seq(parts):
            return _after_first(parts, prefix)
        case _:
            return None


def _after_first(parts: tuple[Node, ...], prefix: str) -> Node | None:
    first, rest = parts[0], seq(*parts[1:])
    if isinstance(first, Lit) and prefix.startswith(first.text):
        return after(rest, prefix[len(first.text) :])
    options: list[Node] = []
    if isinstance(first, Rep) and not first.least:
        without = after(rest, prefix)
        options += [] if without is None else [without]
    if isinstance(first, Alt):
        found = [after(seq(each, rest), prefix) for each in first.options]
        options += [each for each in found if each is not None]
    elif (behind := after(first, prefix)) is not None:
        options.append(seq(behind, rest))
    return alt(options) if options else None
