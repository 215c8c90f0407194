"""The calls of a family as rules: each name bound to the arguments of its own schema, in the family's own markers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from counterfoil.text.cast import Schemas
from counterfoil.text.constrain.arguments import Tags, keywords, python_style, readable
from counterfoil.text.constrain.fit import Bounds, Check, fit
from counterfoil.text.constrain.nodes import NOTHING, Chars, Json, Lit, Node, Ref, Rep, Words, alt, maybe, seq, spread
from counterfoil.text.constrain.report import Feature
from counterfoil.text.constrain.values import Style, Values, part
from counterfoil.text.family import Family
from counterfoil.text.grammars import Unwritable
from counterfoil.text.grammars.braces import BraceCalls
from counterfoil.text.grammars.grammar import name_error
from counterfoil.text.grammars.harmony import CALL, CHANNEL, CONSTRAIN, MESSAGE, START, HarmonyCalls
from counterfoil.text.grammars.json_calls import JsonCalls
from counterfoil.text.grammars.named import NamedCalls
from counterfoil.text.grammars.pythonic import PythonicCalls
from counterfoil.text.grammars.react import ReactCalls
from counterfoil.text.grammars.tagged import TaggedCalls
from counterfoil.text.grammars.toolformer import ToolformerCalls
from counterfoil.text.jsontext import dumps, shield
from counterfoil.text.literals import write_literal
from counterfoil.text.reader import family_marks
from counterfoil.text.source import markers
from counterfoil.types.request import ToolSpec

_LONGEST = 300
"""Characters of a text in brackets."""
_ANY_TEXT = {"type", "description", "title", "maxLength"}
"""What a schema may say of such a text."""
_ID = Chars("a-zA-Z0-9", 1, 9)


class Form(msgspec.Struct, frozen=True):
    """How the calls of one turn stand together."""

    begin: str = ""
    separator: str = ""
    end: str = ""
    most: int | None = None
    """Calls that the family writes in one turn, where it is fewer than asked for."""

    def of(self, one: Node, most: int, rules: dict[str, Node]) -> Node:
        """Up to so many of a call, at least one. What follows the first is a rule."""
        most = most if self.most is None else min(most, self.most)
        if most > 1:
            rules["next"] = alt(spread(seq(Lit(self.separator), one)))
            rules["more"] = Rep(Ref("next"), 0, most - 1)
        return seq(Lit(self.begin), one, Ref("more") if most > 1 else NOTHING, Lit(self.end))


class Caller:
    """Writes the calls of one family and catalogue. The rules they refer to gather in `rules`."""

    def __init__(self, family: Family, tools: tuple[ToolSpec, ...], bounds: Bounds, check: Check | None) -> None:
        self.family, self.rules = family, dict[str, Node]()
        self.report: list[Feature] = []
        self._schemas = Schemas(tools)
        self._shielded = markers(*family_marks(family))
        self._fitted = [(tool.name, *fit(tool, bounds, check)) for tool in tools]
        for _, _, features in self._fitted:
            self.report.extend(features)

    def calls(self, most: int) -> Node:
        """Up to so many calls."""
        ones: list[Node] = []
        for index, (name, schema, _) in enumerate(self._fitted):
            wrong = None if isinstance(self.family.calls, JsonCalls) else name_error(name)
            if wrong is not None:
                raise Unwritable(f"{name!r} cannot be written as a name: choose letters, digits, _ and -")
            rule = self._one(name, schema, f"t{index}")
            ones.append(rule)
        return self._form().of(alt(ones), most, self.rules)

    def _form(self) -> Form:
        match self.family.calls:
            case JsonCalls(form="array") as calls:
                return Form(calls.open + calls.inside[0], calls.separator, calls.inside[1] + calls.close)
            case JsonCalls(form="lines") as calls:
                return Form(calls.open, calls.separator, calls.close)
            case JsonCalls(separator=separator) | TaggedCalls(grouped=False, separator=separator):
                return Form(separator=separator)
            case (
                NamedCalls(begin=begin, separator=separator, end=end)
                | TaggedCalls(begin=begin, separator=separator, end=end)
            ):
                return Form(begin, separator, end)
            case PythonicCalls(form="list", open=opens, close=closes):
                return Form(f"{opens}[", ", ", f"]{closes}")
            case PythonicCalls(open=opens, close=closes):
                return Form(opens, "\n", closes)
            case HarmonyCalls():
                # Generation ends at the token behind a call, so nothing can be asked to follow it.
                return Form(most=1)
            case ReactCalls():
                return Form(separator="\n")
            case _:
                return Form()

    def _one(self, name: str, schema: dict[str, Any], prefix: str) -> Node:
        match self.family.calls:
            case JsonCalls() as calls:
                return self._json(calls, name, Json(schema))
            case NamedCalls() as calls:
                before, found, behind = calls.label.format(name=name, index="\0").partition("\0")
                identity = seq(Lit(calls.id), _ID) if calls.id else NOTHING
                label = seq(Lit(before), Chars("0-9", 1, 3) if found else NOTHING, Lit(behind))
                return seq(Lit(calls.open), label, identity, Lit(calls.middle), Json(schema), Lit(calls.close))
            case TaggedCalls() as calls:
                defs = part(schema, "$defs")
                tags = Tags(calls, name, self._schemas, self._shielded, self.family.stop)
                body = tags.body(schema, defs)
                self.report.extend(tags.notes)
                inner = seq(Lit(f"{calls.open}{name}{calls.named}"), body, Lit(calls.close))
                return inner if calls.grouped else seq(Lit(calls.begin), inner, Lit(calls.end))
            case PythonicCalls() as calls:
                plain = calls.literals == "json"
                style = Style(write=self._literal(plain)) if plain else python_style(self._literal(plain))
                return seq(Lit(f"{name}("), self._keywords(style, name, schema, prefix), Lit(")"))
            case ToolformerCalls():
                # Its end is looked for without regard to quotes.
                style = Style(write=self._literal(True), quote='"', without=("\\", "\n", ")]", ") ", ")->", ")→"))
                return seq(Lit(f"[{name}("), self._keywords(style, name, schema, prefix), Lit(")]"))
            case BraceCalls() as calls:
                return self._braces(calls, name, schema, prefix)
            case HarmonyCalls(namespace=namespace):
                head = f"{START}assistant{CHANNEL}commentary to={namespace}{name} {CONSTRAIN}json{MESSAGE}"
                return seq(Lit(head), Json(schema), maybe(Lit(CALL)))
            case ReactCalls(form="brackets"):
                return seq(Lit(f"Action: {name}["), self._bracketed(name, schema))
            case ReactCalls():
                return seq(Lit(f"Action: {name}\nAction Input: "), Json(schema))

    def _json(self, calls: JsonCalls, name: str, arguments: Node) -> Node:
        keys = calls.keys
        slots: dict[str, Node] = {
            "name": Lit(dumps(name)),
            "arguments": arguments,
            "id": seq(Lit('"'), _ID, Lit('"')),
        }
        members: list[Node] = []
        for slot in keys.order:
            key = {"name": keys.name, "arguments": keys.arguments, "id": keys.id}[slot]
            if key:
                members.append(seq(Lit(f"{', ' if members else ''}{dumps(key)}: "), slots[slot]))
        body = seq(Lit("{"), *members, Lit("}"))
        return seq(Lit(calls.open), body, Lit(calls.close)) if calls.form == "object" else body

    def _bracketed(self, name: str, schema: dict[str, Any]) -> Node:
        """The text of an only parameter that may be any text, or a JSON object."""
        properties = part(schema, "properties")
        key = next(iter(properties), "")
        plain = len(properties) == 1 and self._schemas.types(name, key) == ("string",)
        if plain and set(held := part(properties, key)) <= _ANY_TEXT:
            most = min(held.get("maxLength", _LONGEST), _LONGEST)
            return Words(("\n", "]"), "]", not_first="{ \t", least=1, most=most)
        return seq(Json(schema), Lit("]"))

    def _braces(self, calls: BraceCalls, name: str, schema: dict[str, Any], prefix: str) -> Node:
        style = Style(
            write=lambda held: calls.written(held, self._shielded),
            separator=",",
            colon=":",
            quote=calls.quote,
            without=tuple(each for each in family_marks(self.family) if each),
            bare_keys=True,
        )
        held = part(schema, "properties")
        known = {key: readable(each, self._schemas.types(name, key), "array", "object") for key, each in held.items()}
        whole = {**schema, "type": "object", **({"properties": known} if held else {})}
        values = self._values(style, schema, prefix)
        body = values.value(whole)
        self._lose(name, values)
        return seq(Lit(f"{calls.open}{calls.label}{name}"), body, Lit(calls.close))

    def _literal(self, plain: bool) -> Callable[[Any], str]:
        return lambda held: shield(write_literal(held, json=plain), self._shielded)

    def _keywords(self, style: Style, name: str, schema: dict[str, Any], prefix: str) -> Node:
        values = self._values(style, schema, prefix)
        found = keywords(values, schema)
        self._lose(name, values)
        return found

    def _lose(self, name: str, values: Values) -> None:
        why = "text of this kind is not held to it"
        self.report += [Feature(name, "/", each, "approximated", why) for each in sorted(values.lost)]

    def _values(self, style: Style, schema: dict[str, Any], prefix: str) -> Values:
        return Values(style, self.rules, part(schema, "$defs"), prefix)
