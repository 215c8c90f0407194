"""Grammars in the dialect of Lark that `llguidance` reads, and servers that are built with it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from counterfoil.text.constrain.nodes import Alt, Chars, Json, Lit, Node, Ref, Rep, Rules, Seq, Words

HEADER = "%llguidance {}"
_SPACING = {"whitespace_flexible": False, "key_separator": ": ", "item_separator": ", "}
_SPECIAL = re.compile(r"[.^$*+?()\[\]{}|\\/\-&~#]")
_LINE = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}


def lark(rules: Rules, special: Mapping[str, int] | None = None) -> str:
    """Write a grammar.

    `special` are the tokens that the model's tokenizer knows as control tokens, with their numbers: a marker among them
    is one token, and not the characters of its name.
    """
    return _Printer(special or {}).write(rules)


def json_rule(schema: Any) -> str:
    """Write a JSON value, spaced as models write it."""
    if not isinstance(schema, dict):
        schema = {} if schema is True else {"not": {}}
    return f"%json {json.dumps({**schema, 'x-guidance': _SPACING}, ensure_ascii=False)}"


class _Printer:
    def __init__(self, special: Mapping[str, int]) -> None:
        self._special = dict(special)
        marks = sorted(special, key=len, reverse=True)
        self._marks = re.compile("|".join(map(re.escape, marks)) if marks else r"(?!)")
        self._lines: list[str] = []
        self._made: dict[str, str] = {}

    def write(self, rules: Rules) -> str:
        start = self._node(rules.start)
        for name, node in rules.rules.items():
            self._lines.append(f"{_name(name)}: {self._node(node)}")
        return "\n".join([HEADER, f"start: {start}", *self._lines]) + "\n"

    def _node(self, node: Node) -> str:
        match node:
            case Lit(text):
                return self._literal(text)
            case Seq(parts):
                return " ".join(
                    f"({self._node(each)})" if isinstance(each, Alt) else self._node(each) for each in parts
                )
            case Alt(options):
                return " | ".join(self._node(each) for each in options)
            case Rep(inner, least, most):
                return f"({self._node(inner)}){_times(least, most)}"
            case Ref(name):
                return _name(name)
            case Chars(of, least, most):
                held = self._rule("CHARS", f"/[{slashed(of)}]{_times(max(1, least), most)}/")
                return held if least else f"({held})?"
            case Json(schema):
                return self._rule("json", json_rule(schema))
            case Words():
                return self._words(node)

    def _literal(self, text: str) -> str:
        """A literal; the control tokens in it as what they are."""
        parts: list[str] = []
        at = 0
        for found in self._marks.finditer(text):
            if found.start() > at:
                parts.append(_quoted(text[at : found.start()]))
            parts.append(f"<[{self._special[found[0]]}]>")
            at = found.end()
        if at < len(text) or not parts:
            parts.append(_quoted(text[at:]))
        return " ".join(parts)

    def _words(self, words: Words) -> str:
        blank = f" /[ {_LINE[chr(10)]}]{{0,{words.blank}}}/" if words.blank else ""
        if words.pattern is not None:
            body = f"/{slashed(words.pattern)}/"
        elif words.chars:
            body = f"/[^{_class(words.chars)}]{_times(words.least, words.most)}/"
        elif words.not_first:
            most = None if words.most is None else max(0, words.most - 1)
            body = f"/[^{_class(words.not_first)}](?s:.){_times(max(0, words.least - 1), most)}/"
        else:
            body = f"/(?s:.){_times(words.least, words.most)}/"
        if words.pattern is not None and (words.least or words.most is not None):
            body += f" & /(?s:.){_times(words.least, words.most)}/"
        # What a control token is the text cannot hold anyway: there are no characters for it.
        held = () if words.chars else words.without
        banned = [_escaped(each) for each in held if not self._marks.fullmatch(each)]
        banned += [slashed(each) for each in words.never]
        if banned:
            body += f" & ~/(?s:.)*({'|'.join(banned)})(?s:.)*/"
        if not words.then:
            return self._rule("WORDS", body)
        # The lexer takes as much as it can, so what ends a text has to stand in the same terminal.
        inner = self._rule("WORDS", body)
        first = self._marks.search(words.then)
        plain = words.then if first is None else words.then[: first.start()]
        rest = words.then[len(plain) :]
        said = self._rule("SAID", f"{inner} {_quoted(plain)}{'' if rest else blank}") if plain else inner
        if not rest:
            return said
        spaces = f" ({self._rule('CHARS', f'/[ {_LINE[chr(10)]}]{{1,{words.blank}}}/')})?" if words.blank else ""
        return f"{said if plain or words.least else f'({said})?'} {self._literal(rest)}{spaces}"

    def _rule(self, kind: str, body: str) -> str:
        if body not in self._made:
            self._made[body] = f"{kind}{len(self._made)}"
            self._lines.append(f"{self._made[body]}: {body}")
        return self._made[body]


def _name(name: str) -> str:
    return "r_" + name.lower().replace("-", "_")


def _times(least: int, most: int | None) -> str:
    if (least, most) == (1, 1):
        return ""
    if most is None:
        return "*" if least == 0 else "+" if least == 1 else f"{{{least},}}"
    return "?" if (least, most) == (0, 1) else f"{{{least},{most}}}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _escaped(text: str) -> str:
    return "".join(_LINE.get(each) or _SPECIAL.sub(r"\\\g<0>", each) for each in text)


def slashed(pattern: str) -> str:
    """A pattern between slashes."""
    return re.sub(r"(?<!\\)((?:\\\\)*)/", r"\1\\/", pattern).replace("\n", r"\n")


def _class(characters: str) -> str:
    return "".join(_LINE.get(each) or (f"\\{each}" if each in "[]^-\\/" else each) for each in characters)
