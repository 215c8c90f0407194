"""What a tool does and what its arguments are for, where nobody has declared it: guessed from names and types.

A guess errs to the strict side: what is not known to be harmless has consequences, and every result is untrusted, the
replies of writing tools included. Each guess can say why it was made, so that a developer can put it right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from counterfoil.tools.trust import Act, Role, RoleName, Trust, role_name
from counterfoil.tools.vocabulary import (
    ACTS,
    CONTENT,
    CRITICAL,
    FETCHING,
    FIELDS,
    IDS,
    KEYS,
    OUTWARD,
    OWN,
    PARTICLES,
    PEOPLE,
    READING,
    TARGETS,
    TEXT_FORMATS,
    TURNING,
    WHEN,
)
from counterfoil.types.entry import Effect
from counterfoil.types.json import is_array, is_object
from counterfoil.types.label import Integrity, Label, Leaves


class Handling(msgspec.Struct, frozen=True):
    """What is declared of a tool and what is guessed, put together: what the check works with."""

    act: Act
    roles: dict[str, RoleName]
    default: Integrity = "untrusted"
    fields: dict[str, Integrity] = {}
    secret: tuple[str, ...] = ()
    private: bool = False
    keys: tuple[str, ...] = ()
    author: str = ""
    widens: dict[str, Act] = {}
    words: dict[str, dict[str, tuple[str, ...]]] = {}
    why: dict[str, str] = {}
    """For each guess (`act`, `to`, `returns`), the reason. What was declared is not in it."""

    declared: bool = True
    """Whether somebody said what it returns."""
    harmless: bool = False
    """Whether it only reads, whatever its arguments."""
    outside: Label = Label()
    """What a result has of which nothing is declared."""
    bare: bool = False
    """Whether a text that it returns is an outsider's, and that is all that is to be said of it."""
    finer: bool = False
    """Whether something that it returns may be better than the service's own: then its inputs always count."""
    settled: tuple[Label, Leaves] | None = None
    """The label of a text that it returns and those inside it, where no better or worse was read: the service's own."""
    names: frozenset[str] = frozenset()
    """The names of its arguments and of the fields inside them."""

    def act_of(self, arguments: Mapping[str, Any]) -> Act:
        """What a call with these arguments does."""
        for argument, act in self.widens.items():
            if arguments.get(argument) not in (None, "", [], {}):
                return act
        return self.act

    def role(self, argument: str) -> RoleName:
        """What an argument is for; one that nobody has heard of names what is acted on."""
        return self.roles.get(argument, "target")

    def is_field(self, name: str) -> bool:
        """Whether a key of an object is the name of a field. Any other is a value that somebody chose."""
        return name in self.names or FIELDS.issuperset(words_of(name))

    def explain(self) -> tuple[str, ...]:
        """Each guess in a line, for a person who may correct it."""
        told = {"act": self.act, "returns": self.default, **self.roles}
        return tuple(f"{what}: {told[what]} (guessed: {why})" for what, why in self.why.items())


def handling(
    name: str,
    parameters: Mapping[str, Any],
    effect: Effect,
    trust: Trust | None = None,
    markers: Mapping[str, tuple[Any, ...]] | None = None,
    hints: Mapping[str, Any] | None = None,
) -> Handling:
    """Put together what is declared of a tool and guess the rest.

    `parameters` is its JSON Schema, `markers` its parameters' `Annotated` metadata, `hints` an MCP server's claims
    (`readOnlyHint`, `destructiveHint`), which may only make the check stricter.
    """
    declared, why = trust or Trust(), dict[str, str]()
    act = declared.act
    properties: dict[str, Any] = parameters.get("properties") or {}
    if act is None:
        act, why["act"] = _act(name, effect, properties, declared.foreign, hints or {})
    roles: dict[str, RoleName] = {}
    for argument, schema in properties.items():
        marked = [each for each in (markers or {}).get(argument, ()) if isinstance(each, Role)]
        if argument in declared.roles:
            roles[argument] = role_name(declared.roles[argument])
        elif marked:
            roles[argument] = marked[-1].role
        else:
            roles[argument], reason = _role(argument, schema if is_object(schema) else {}, act)
            if act != "read":
                why[argument] = reason
    keys = declared.keys
    if keys is None:
        keys = tuple(each for each in properties if act == "read" and _words(each) & KEYS)
    returns = declared.returns
    if returns is None:
        why["returns"] = "nothing is declared of its results, so an outsider may have written them"
        if not declared.foreign:
            returns = IDS
            why["returns"] += "; only a record's id is taken for the service's own"
    how = Handling(
        act,
        roles,
        returns if isinstance(returns, str) else "untrusted",
        returns if isinstance(returns, dict) else {},
        declared.secret,
        declared.private,
        keys,
        declared.author,
        declared.widens,
        declared.words,
        why,
        "returns" not in why,
        act == "read" and not declared.widens,
        Label("untrusted", name),
        "returns" in why and not declared.private and not declared.secret,
        bool(declared.author) or not {"user", "config"}.isdisjoint(_integrities(returns)),
        names=frozenset(_property_names(parameters)),
    )
    return named(how, name)


def named(how: Handling, name: str) -> Handling:
    """How the same tool is treated under a name that another has given it: a prefix says nothing of what it does."""
    settled = None
    if how.default == "system" and not (how.fields or how.secret or how.private or how.author or how.widens):
        made = how.act not in ("read", "fetch")
        settled = Label("system", name), Leaves("system", text=True, keys=how.keys, made=made)
    return msgspec.structs.replace(how, outside=Label("untrusted", name), settled=settled)


def _property_names(schema: Any) -> Iterator[str]:
    """The names of properties anywhere in a schema."""
    if is_object(schema):
        for name, each in schema.items():
            if name == "properties" and is_object(each):
                yield from each
            yield from _property_names(each)
    elif is_array(schema):
        for each in schema:
            yield from _property_names(each)


def _integrities(returns: Integrity | dict[str, Integrity] | None) -> Iterable[Integrity | None]:
    return returns.values() if isinstance(returns, dict) else (returns,)


def _act(
    name: str, effect: Effect, properties: Mapping[str, Any], foreign: bool, hints: Mapping[str, Any]
) -> tuple[Act, str]:
    ordered = words_of(name)
    words = frozenset(ordered)
    reads = ordered[0] in READING and not words & TURNING and not PARTICLES.intersection(ordered[1:2])
    harmless = effect == "read" if not foreign else reads and hints.get("readOnlyHint") is not False
    if not foreign and reads and effect != "read":
        # Nobody said what it does: the default effect is `write`. Only its name speaks for it.
        harmless = effect == "write"
    if harmless and not hints.get("destructiveHint"):
        leaving = next((each for each in properties if _words(each) & {"url", "uri", "link", "host", "domain"}), None)
        if leaving is not None:
            return "fetch", f"it reads, and {leaving} leaves with the request"
        if words & FETCHING:
            return "fetch", f"its name says {_first(words & FETCHING)}: what it is asked for leaves"
        return "read", f"its name begins with {ordered[0]}" if reads else "its effect is read"
    if words & FETCHING and not words & (OUTWARD | OWN):
        return "fetch", f"its name says {_first(words & FETCHING)}: what it is asked for leaves"
    if hints.get("destructiveHint"):
        return "destroy", "its server says that it destroys"
    for act, verbs in ACTS:
        if words & verbs:
            return act, f"its name says {_first(words & verbs)}"
    if words & OWN and not words & OUTWARD and not any(_words(each) & PEOPLE for each in properties):
        return "self", f"its name says {_first(words & OWN)}, and it names nobody else"
    return "send", "nothing says that it stays with the requester"


def _role(argument: str, schema: Mapping[str, Any], act: Act) -> tuple[RoleName, str]:
    words = _words(argument)
    types = schema_types(schema)
    text_format = str(schema.get("format", ""))
    if words & {"attachment", "attachments"}:
        return "resource", "its name says that data goes along"
    if text_format in TEXT_FORMATS:
        return "target", f"its format is {text_format}"
    if words & CONTENT and "id" not in words:
        return "content", f"its name says {_first(words & CONTENT)}"
    if words & CRITICAL:
        return "critical", f"its name says {_first(words & CRITICAL)}"
    if words & WHEN and not words & {"id"}:
        if act == "pay" and words & {"start", "end", "day"}:
            return "critical", "a booking is for a time"
        return "plain", "it is a time"
    if types and types <= {"boolean", "null"}:
        return "plain", "it is a flag"
    if words & TARGETS:
        return "target", f"its name says {_first(words & TARGETS)}"
    if types and types <= {"integer", "number", "null"}:
        return "critical", "it is a number of unknown meaning"
    if "enum" in schema or "const" in schema:
        return "critical", "it is a choice of unknown meaning"
    return "target", "nothing says what it is for"


def schema_types(schema: Mapping[str, Any]) -> frozenset[str]:
    """The JSON types that a schema names, through `anyOf`; empty when it does not say."""
    kind = schema.get("type")
    found: set[str] = {kind} if isinstance(kind, str) else set(kind) if is_array(kind) else set()
    for each in schema.get("anyOf") or ():
        if is_object(each):
            found |= schema_types(each)
    return frozenset(found)


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a snake, kebab or camel case name, in order; one at least. A prefix of them is not one of them."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return tuple(part.lower() for part in parts) or (name.lower(),)


def _words(name: str) -> frozenset[str]:
    return frozenset(words_of(name))


def _first(words: frozenset[str]) -> str:
    return repr(min(words))
