"""The leaves of a structured value, and the label of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from counterfoil.gate.provenance.words import key
from counterfoil.tools.guess import Handling, words_of
from counterfoil.types.json import is_array, is_object
from counterfoil.types.label import Integrity, Label, Leaves, join, lowest

_HOST = r"(?:[a-z\d]{1,30}(?:-[a-z\d]{1,30})?\.)"
_ONE_WORD = re.compile(
    r"[a-zÀ-ÖØ-öø-ɏ]{0,24}(?:[-_][a-zÀ-ÖØ-öø-ɏ]{1,24})?|[-+\d:., TZ/%]{0,40}|"
    rf"[a-z\d%+]{{1,24}}(?:[._-][a-z\d%+]{{1,24}}){{0,2}}@{_HOST}{{1,3}}[a-z]{{2,24}}|{_HOST}{{1,2}}[a-z]{{2,24}}|"
    r"(?=[^\d]*\d)(?:[^\W\d_]{0,12}[\d_.:#/+-]++){1,9}[^\W\d_]{0,12}|[0-9a-f-]{1,64}",
    re.I | re.A,
)
"""What `typed` text may look like: a word or two, an address, a host, a number, a date, an id. Anything more could be
an order, also without a space: in a script that has none, or put together with other characters."""
_TYPED_LENGTH = 80
_NAME = 32
_WORDS = 2
"""Keys with more in them, and those that are no identifier, are text that somebody may have written."""
_LETTERS = re.compile(r"[^\W\d]+(?:-[^\W\d]+)*")
_NUMBERS = 8
_ECHO = 4
"""Shorter inputs are not looked for in results: they are everywhere."""


class Leaf(NamedTuple):
    """A scalar of a result, or a key that is no plain name: which record, the path inside it, and the value."""

    record: int
    path: str
    value: Any


def records(value: Any) -> list[Any]:
    """The records of a result: the items of a list, or the one thing that it is."""
    return value if is_array(value) else [] if value is None else [value]


def walk(value: Any, is_field: Callable[[str], bool] | None = None) -> Iterator[Leaf]:
    """Every leaf of a value; a key of an object is one too, unless its path is that of a field."""
    for number, record in enumerate(records(value)):
        stack: list[tuple[str, Any]] = [("", record)]
        while stack:
            at, item = stack.pop()
            if is_object(item):
                for name, each in reversed(item.items()):
                    plain = name.isidentifier()
                    inner = name if plain else name.replace(".", "\0")  # so that no key can pretend to be a path
                    inner = f"{at}.{inner}" if at else inner
                    if is_field is None or not _discriminates(name, each, item):
                        stack.append((inner, each))
                    if not plain or len(name) > _NAME or not (is_field is None or is_field(inner)):
                        stack.append((inner, name))
            elif is_array(item):
                stack.extend([(at, each) for each in reversed(item)])
            elif item is not None:
                yield Leaf(number, at, item)


def _discriminates(name: str, value: Any, of: Mapping[str, Any]) -> bool:
    """Whether a value only says which other field there is: `{"type": "file", "file_id": ...}`."""
    return name in ("type", "kind") and isinstance(value, str) and (value in of or f"{value}_id" in of)


def fields_of(how: Handling) -> Callable[[str], bool]:
    """Whether a path inside an argument of a tool is that of a field."""
    return lambda path: how.is_field(path.rpartition(".")[2])


def no_field(path: str) -> bool:
    """No path is: every key was chosen by somebody."""
    return False


@lru_cache(maxsize=4096)
def _is_plain(name: str) -> bool:
    """Whether a key that nobody declared is too short for an order."""
    return name.isascii() and len(name) <= _NAME and len(words_of(name)) <= _WORDS


def _fields_in(leaves: Leaves) -> Callable[[str], bool] | None:
    """Whether a path inside a result is that of a field. Who may choose what is under any key may choose the key."""
    if not leaves.fields and leaves.default != "untrusted":
        return no_field if leaves.default in ("typed", "user", "config") else None
    patterns = [pattern.split(".") for pattern in leaves.fields]

    def is_field(path: str) -> bool:
        parts = path.split(".")
        depth = len(parts) - 1
        names = {
            each[depth]
            for each in patterns
            if len(each) > depth and all(a in ("*", b) for a, b in zip(each[:depth], parts, strict=False))
        }
        return parts[-1] in names or ("*" not in names and _is_plain(parts[-1]))

    return is_field


def scalars(value: Any, is_field: Callable[[str], bool] | None = None) -> Iterator[Any]:
    """The scalars of an argument, and those of its keys that are no plain names, or no field's."""
    for _, _, each in walk([value], is_field):
        yield each


def covers(pattern: str, path: str) -> bool:
    """Whether a declared path covers a leaf's: it is the path, or leads to it; `*` stands for one key."""
    want, have = pattern.split("."), path.split(".")
    return len(want) <= len(have) and all(a in ("*", b) for a, b in zip(want, have, strict=False))


def declared_integrity(path: str, fields: Mapping[str, Integrity], default: Integrity) -> Integrity:
    """What is declared of a path: by the longest that covers it, and of those the one with the fewest `*`."""
    if not fields:
        return default
    if (exact := fields.get(path)) is not None:
        return exact
    found = [pattern for pattern in fields if covers(pattern, path)]
    if not found:
        return default
    return fields[max(found, key=lambda each: (each.count("."), -each.split(".").count("*")))]


def integrity_of(leaf: Leaf, leaves: Leaves) -> Integrity:
    """The integrity of one leaf.

    What is declared `typed` and is more than one word is untrusted all the same, and a number or a flag is never worse
    than `typed`: it cannot carry orders.
    """
    return _integrity(leaf, leaves, declared_integrity(leaf.path, leaves.fields, leaves.default))


def _integrity(leaf: Leaf, leaves: Leaves, said: Integrity) -> Integrity:
    if said in ("typed", "untrusted"):
        if leaf.record in leaves.own and "." not in leaf.path:
            said = "user"  # who wrote a record has not written what others added to it: the comments in a ticket
        elif not isinstance(leaf.value, str):
            said = "typed"
        elif said == "typed" and not (len(leaf.value) <= _TYPED_LENGTH and _ONE_WORD.fullmatch(leaf.value)):
            said = "untrusted"
    if leaves.lowered and (echoed := leaves.lowered.get(f"{leaf.record}.{leaf.path}")) is not None:
        said = lowest(said, echoed)
    return said


def labelled(value: Any, leaves: Leaves) -> Iterator[tuple[Leaf, Integrity, bool]]:
    """Every leaf of a result with its integrity, and whether it is secret. Each path is looked up once.

    Words one by one in a list are a text all the same, and so are many numbers where text may stand.
    """
    paths: dict[str, tuple[Integrity, bool]] = {}
    listed: Counter[tuple[int, str, bool]] = Counter()
    for leaf in [Leaf(0, "", value)] if leaves.text else walk(value, _fields_in(leaves)):
        known = paths.get(leaf.path)
        if known is None:
            said = declared_integrity(leaf.path, leaves.fields, leaves.default)
            known = paths[leaf.path] = said, bool(leaves.secret) and is_secret(leaf, leaves.secret)
        integrity = _integrity(leaf, leaves, known[0])
        if integrity == "typed":
            word = isinstance(leaf.value, str)
            if _LETTERS.fullmatch(leaf.value) if word else known[0] == "untrusted":
                place = leaf.record, leaf.path, word
                listed[place] += 1
                if listed[place] > (_WORDS if word else _NUMBERS):
                    integrity = "untrusted"
        yield leaf, integrity, known[1]


def is_secret(leaf: Leaf, secret: Collection[str]) -> bool:
    """Whether a leaf is under one of the paths that never leave. A single name is one at any depth, in any case."""
    names = leaf.path.casefold().split(".")
    return any(covers(pattern, leaf.path) or pattern.casefold() in names for pattern in secret)


def label_value(
    value: Any,
    how: Handling,
    source: str,
    *,
    me: Collection[str] = (),
    requester: str = "",
    inputs: Mapping[str, Integrity] | None = None,
    given: Label | None = None,
    made: bool = False,
) -> tuple[Label, Leaves | None]:
    """Label what a tool returned: the label of the whole, and the labels inside it when they differ.

    `me` are the requester's names with the services (folded): the records whose `author` is one of them are theirs.
    `inputs` are the call's text arguments (folded) with their integrity: a leaf that repeats one is no better than it,
    and a result that is not taken apart is no better than any. But what is `typed` stays so, since what it says of a
    value is that outsiders choose it, and that it can carry no orders, wherever it is from. `given` is the label that
    the tool itself put on it, which can only lower: how a stored text keeps the label it was stored with.
    """
    readers = frozenset({requester, *me} - {""}) if how.private else None
    base = Label("user", source, readers)
    if given is not None:
        base = join(base, given)
    inputs = inputs or {}
    if how.default == "untrusted" and not how.secret and not how.declared:
        # Nothing is declared: the whole is untrusted, without a look at it. Ids are the service's, unless it is a text.
        ids = how.fields and given is None and not isinstance(value, str)
        inside = Leaves("untrusted", how.fields, keys=how.keys, made=made) if ids else None
        return join(base, how.outside), inside
    default = how.default
    if not how.fields and default != "typed":
        for integrity in inputs.values():
            default = lowest(default, integrity)
    if given is not None:
        default = lowest(default, given.integrity)
    fields: dict[str, Integrity] = {path: lowest(each, base.integrity) for path, each in how.fields.items()}
    own = _own(value, how.author, me) if base.integrity == "user" else ()
    leaves = Leaves(default, fields, how.secret, own, text=isinstance(value, str), keys=how.keys, made=made)
    lowered: dict[str, Integrity] = {}
    worst: Integrity = base.integrity
    secret = bool(how.secret) and leaves.text  # nobody knows where in it
    empty = bool(value)
    for leaf, integrity, hidden in labelled(value, leaves):
        empty = False
        echo = _echo(leaf.value, inputs) if inputs else None
        if echo is not None and integrity != "typed" and lowest(integrity, echo) != integrity:
            place = f"{leaf.record}.{leaf.path}"
            lowered[place] = integrity = lowest(lowest(integrity, echo), lowered.get(place, "user"))
        worst = lowest(worst, integrity)
        secret = secret or hidden
    if empty:  # at every end, and all the same somebody made it
        worst = lowest(worst, default)
    if lowered:
        leaves = msgspec.structs.replace(leaves, lowered=lowered)
    return Label(worst, base.source, base.readers, base.secret or secret), leaves


def _own(value: Any, author: str, me: Collection[str]) -> tuple[int, ...]:
    if not author or not me:
        return ()
    return tuple(
        number
        for number, record in enumerate(records(value))
        if is_object(record) and isinstance(name := record.get(author), str) and key(name) in me
    )


def _echo(value: Any, inputs: Mapping[str, Integrity]) -> Integrity | None:
    """The integrity of the inputs that a leaf repeats, if it repeats one."""
    if not isinstance(value, str):
        return None
    folded = key(value)
    found: Integrity | None = None
    for text, integrity in inputs.items():
        if len(text) >= _ECHO and (text in folded or (len(folded) >= _ECHO and folded in text)):
            found = integrity if found is None else lowest(found, integrity)
    return found
