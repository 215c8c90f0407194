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

from counterfoil.tools import vocabulary as vocab
from counterfoil.tools.trust import ACTS, Act, Role, RoleName, Trust, role_name
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
    required: frozenset[str] = frozenset()
    preset: dict[str, Any] = {}
    """What an argument is that is left out, where its schema says so."""
    names: frozenset[str] = frozenset()
    """The names of the fields inside its arguments, as its schema has them."""

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
        return name in (self.names or vocab.FIELDS)

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
    (`readOnlyHint`, `destructiveHint`): a foreign tool is harmless only if its name says so too.
    """
    declared, why = trust or Trust(), dict[str, str]()
    act = declared.act
    properties: dict[str, Any] = parameters.get("properties") or {}
    if act is None:
        act, why["act"] = _act(name, effect, parameters, declared.foreign, hints or {})
    widens = declared.widens
    if "act" in why and act == "read":
        loose = [each for each, schema in properties.items() if _is_loose(schema, parameters) and each not in widens]
        widens = dict[str, Act](dict.fromkeys(loose, "fetch")) | widens
        if loose:
            why["act"] += f"; but with {', '.join(loose)} it can fetch, as there can be an address among any fields"
    roles: dict[str, RoleName] = {}
    gravest = max((act, *widens.values()), key=ACTS.index)
    for argument, schema in properties.items():
        marked = [each for each in (markers or {}).get(argument, ()) if isinstance(each, Role)]
        if argument in declared.roles:
            roles[argument] = role_name(declared.roles[argument])
        elif marked:
            roles[argument] = marked[-1].role
        else:
            roles[argument], reason = _role(argument, schema if is_object(schema) else {}, gravest, name)
            if act != "read":
                why[argument] = reason
    keys = declared.keys
    if keys is None:
        keys = tuple(each for each in properties if act == "read" and _words(each) & vocab.KEYS)
    returns = declared.returns
    if returns is None:
        why["returns"] = "nothing is declared of its results, so an outsider may have written them"
        if not declared.foreign:
            returns = vocab.IDS
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
        widens,
        declared.words,
        why,
        "returns" not in why,
        act == "read" and not widens,
        Label("untrusted", name),
        "returns" in why and not declared.private and not declared.secret,
        bool(declared.author) or not {"user", "config"}.isdisjoint(_integrities(returns)),
        required=frozenset(parameters.get("required") or ()),
        preset={name: each["default"] for name, each in properties.items() if is_object(each) and "default" in each},
        names=frozenset(_property_names([{**parameters, "properties": None}, *properties.values()])),
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
    name: str, effect: Effect, parameters: Mapping[str, Any], foreign: bool, hints: Mapping[str, Any]
) -> tuple[Act, str]:
    words = _words(name)
    # With a program among its arguments, what it does is in there.
    reads = _reads(name) and not any(_words(each) & vocab.PROGRAMS for each in parameters.get("properties") or ())
    if foreign:
        harmless = reads and hints.get("readOnlyHint") is True
    else:
        # The default effect is `write`: then nobody said what it does, and only its name speaks for it.
        harmless = effect == "read" or (effect == "write" and reads)
    if hints.get("destructiveHint"):
        harmless = False
    going = words & vocab.FETCHING
    if words_of(name)[0] in vocab.ASKING:
        going |= words & vocab.ELSEWHERE
    if harmless:
        leaving = _leaving(parameters, foreign=foreign)
        if leaving is not None:
            return "fetch", f"it reads, and {leaving} leaves with the request"
        if going:
            return "fetch", f"its name says {_first(going)}: what it is asked for leaves"
        return "read", f"its name begins with {words_of(name)[0]}" if reads else "its effect is read"
    if not foreign and going and not _acts(name):
        return "fetch", f"its name says {_first(going)}: what it is asked for leaves"
    if hints.get("destructiveHint"):
        return "destroy", "its server says that it destroys"
    for act, verbs in vocab.ACTS:
        if words & verbs:
            return act, f"its name says {_first(words & verbs)}"
    people = any(_words(each) & vocab.PEOPLE for each in parameters.get("properties") or ())
    if words & vocab.OWN and not words & (vocab.OUTWARD | vocab.MORE - vocab.OWN) and not people:
        return "self", f"its name says {_first(words & vocab.OWN)}, and it names nobody else"
    return "send", "nothing says that it stays with the requester"


def _reads(name: str) -> bool:
    """Whether a name says that its tool looks something up, and nothing else."""
    first, *rest = words_of(name)
    if not name.isascii():
        return False  # what its words mean is not known
    if not rest:
        return first in vocab.READING | vocab.ALONE
    if first not in vocab.READING:
        return False
    words = frozenset(rest)
    if words & (vocab.VERBS | vocab.TURNING) or rest[-1] in vocab.LAST:
        return False
    if first == "check" and ("in" in words or rest[-1] in vocab.TICKED):
        return False
    if rest[0] in vocab.PARTICLES and (rest[0], first in vocab.SEEKING) != ("for", True):
        return False
    if "to" in words and first not in vocab.GOING:
        return False
    return all(
        first in vocab.LOOKING and _is_thing(rest, at) for at, word in enumerate(rest) if word in vocab.NOUN_VERBS
    )


def _is_thing(rest: list[str], at: int) -> bool:
    """Whether the word there, which can be a verb, has no object: nothing follows, or what is asked about it."""
    return rest[at - 1 : at] != ["for"] and (at + 1 == len(rest) or rest[at + 1] in vocab.ABOUT)


def _acts(name: str) -> bool:
    """Whether a name that says that something is fetched says that more is done."""
    words = _words(name)
    verbs = words & (vocab.OUTWARD | vocab.OWN | vocab.MORE)
    return bool(verbs) or any(words_of(name)[0] in each for _, each in vocab.ACTS)


def _leaving(schema: Any, name: str = "", *, foreign: bool) -> str | None:
    """The first field, however deep, that can be an address in the net."""
    if is_array(schema):
        return next((found for each in schema if (found := _leaving(each, name, foreign=foreign))), None)
    if not is_object(schema):
        return None
    if isinstance(text_format := schema.get("format"), str) and text_format in vocab.NET_FORMATS:
        return name or text_format
    for key, each in schema.items():
        if key == "properties" and is_object(each):
            for field, inner in each.items():
                if _is_address(field, inner, foreign=foreign):
                    return field
                if (found := _leaving(inner, field, foreign=foreign)) is not None:
                    return found
        elif (found := _leaving(each, name, foreign=foreign)) is not None:
            return found
    return None


def _is_loose(schema: Any, root: Mapping[str, Any], seen: frozenset[str] = frozenset()) -> bool:
    """Whether an object can stand there whose fields nobody has named."""
    if is_array(schema):
        return any(_is_loose(each, root, seen) for each in schema)
    if not is_object(schema):
        return False
    if isinstance(ref := schema.get("$ref"), str) and ref not in seen:
        named_there: dict[str, Any] = root.get("$defs") or root.get("definitions") or {}
        there = named_there.get(ref.rpartition("/")[2])
        return there is None or _is_loose(there, root, seen | {ref})
    fields: dict[str, Any] = schema.get("properties") or {}
    more = schema.get("additionalProperties", not fields) is not False or bool(schema.get("patternProperties"))
    if more and "object" in schema_types({"type": schema.get("type")}):
        return True
    inside: list[Any] = [schema.get(each) for each in ("items", "prefixItems", "anyOf", "oneOf", "allOf")]
    return any(_is_loose(each, root, seen) for each in (*inside, *fields.values()))


def _is_address(field: str, schema: Any, *, foreign: bool) -> bool:
    words = words_of(field)
    types = schema_types(schema) if is_object(schema) else frozenset[str]()
    if words[-1] in ("id", "ids") or (types and types <= {"boolean", "integer", "number", "null"}):
        return False  # a record's id, or too small for an address
    if foreign and not field.isascii():
        return True  # it may look like a word that it is not
    return any(word in vocab.LEAVING or word.endswith(vocab.ADDRESSES) for word in words)


def _role(argument: str, schema: Mapping[str, Any], act: Act, name: str) -> tuple[RoleName, str]:
    ordered = words_of(argument)
    words = frozenset(ordered)
    last = _last(ordered)
    types = schema_types(schema)
    text_format = str(schema.get("format", ""))
    if words & {"attachment", "attachments"}:
        return "resource", "its name says that data goes along"
    if text_format in vocab.TEXT_FORMATS:
        return "target", f"its format is {text_format}"
    if types and types <= {"boolean", "null"}:
        return _flag(ordered, act)
    # The last word says what it is: an end user is no time, and a message's recipient no message.
    if "id" not in words and last in vocab.CONTENT:
        if (role := _naming(last, act, name)) is not None:
            return role, f"its name ends with {last!r}, which there may be already"
        return "content", f"its name ends with {last!r}"
    if "id" not in words and last in vocab.WHEN:
        if act in vocab.GRAVE or (act == "send" and words & vocab.LASTING):
            return "critical", "it is a time, and it says how much is done"
        return "plain", "it is a time"
    if words & vocab.CRITICAL:
        return "critical", f"its name says {_first(words & vocab.CRITICAL)}"
    if words & vocab.TARGETS:
        return "target", f"its name says {_first(words & vocab.TARGETS)}"
    if types and types <= {"integer", "number", "null"}:
        return "critical", "it is a number of unknown meaning"
    if "enum" in schema or "const" in schema:
        return "critical", "it is a choice of unknown meaning"
    return "target", "nothing says what it is for"


def _flag(ordered: tuple[str, ...], act: Act) -> tuple[RoleName, str]:
    """A flag changes the stakes, unless it is known to be about form alone."""
    if act in vocab.GRAVE:
        return "critical", "it is a flag, and it says what is done"
    harmless = ordered[-1] in vocab.HARMLESS and set(ordered) <= vocab.HARMLESS | vocab.COPULAS
    if harmless or (act in ("read", "fetch") and ordered[0] == "include"):
        return "plain", "it is a flag, and about form"
    return "critical", "it is a flag of unknown meaning"


def _naming(last: str, act: Act, name: str) -> RoleName | None:
    """What an argument is for that could be prose, if something that there is already is named by it."""
    ordered, words = words_of(name), _words(name)
    if act == "destroy":
        return None if last in vocab.PARTING and last not in words else "target"
    if act in vocab.GRAVE:
        named = vocab.LABELS - vocab.SAYING if act == "pay" else vocab.LABELS | words
        return "target" if last in named else None
    made = _makes(name) and (last != "filename" or ordered[-1] in vocab.THINGS)
    if last not in vocab.TITLES or made:
        return None
    if act == "send" and not words & vocab.TOUCHING:
        handed = last == "filename" or (words & vocab.HANDING and words & vocab.THINGS)
        return "resource" if handed else None
    return "target" if act in ("self", "send") or last == "filename" else None


def _makes(name: str) -> bool:
    """Whether a name says that its tool makes something, and does no more with it: then its title is a new one."""
    verbs = [each for each in words_of(name) if each in vocab.MORE | vocab.OWN]
    return bool(verbs) and verbs[0] in vocab.MAKING and vocab.MORE.isdisjoint(verbs[1:])


def _last(ordered: tuple[str, ...]) -> str:
    """The word that says what a name is for: the end of it, but for a number, and of a span its time."""
    named = [word for word in ordered if not word.isdigit()] or list(ordered)
    if named[-1] in ("from", "to") and named[-2:-1] in (["date"], ["time"], ["day"]):
        return named[-2]
    return named[-1]


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
    """The words of a snake, kebab or camel case name, in order; one at least. A prefix of them is not one of them.

    A part with anything in it but ASCII stays as it is: no letter of another alphabet can make it look like another.
    """
    return tuple(_parts(name)) or (name.lower(),)


def _parts(name: str) -> Iterator[str]:
    for part in re.findall(r"[0-9A-Za-z\x80-\U0010ffff]+", name):
        if part.isascii():
            yield from map(str.lower, re.findall(r"[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+|\d+", part))
        else:
            yield part


def _words(name: str) -> frozenset[str]:
    return frozenset(words_of(name))


def _first(words: frozenset[str]) -> str:
    return repr(min(words))
