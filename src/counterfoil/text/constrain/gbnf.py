"""Grammars in GBNF, llama.cpp's own language, which is XGrammar's EBNF as well: everything spelt out in characters."""

from __future__ import annotations

import json
from typing import Any

from counterfoil.text.constrain.nodes import Alt, Chars, Json, Lit, Node, Ref, Rep, Rules, Seq, Words
from counterfoil.text.constrain.report import Feature
from counterfoil.text.constrain.values import JSON, Values, part

EMPTY = '""'
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LOST = ("pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def gbnf(rules: Rules) -> str:
    """Write a grammar, from its rule `root`."""
    return _Printer().write(rules)


def lost(report: tuple[Feature, ...]) -> tuple[Feature, ...]:
    """The report as it is for GBNF, which holds a value to its kind and length, but not to patterns and ranges."""
    return tuple(
        Feature(each.tool, each.path, each.feature, "approximated", "GBNF spells characters, not patterns and ranges")
        if each.how in ("enforced", "narrowed") and each.feature in _LOST
        else each
        for each in report
    )


class _Printer:
    def __init__(self) -> None:
        self._rules: dict[str, str] = {}
        self._extra: dict[str, Node] = {}
        self._made: dict[Any, str] = {}

    def write(self, rules: Rules) -> str:
        self._rules["root"] = ""
        self._rules["root"] = self._node(rules.start)
        waiting = {**rules.rules, **self._extra}
        while waiting:
            for name, node in waiting.items():
                self._rules[name] = self._node(node)
            waiting = {name: node for name, node in self._extra.items() if name not in self._rules}
        return "".join(f"{name} ::= {body or EMPTY}\n" for name, body in self._rules.items())

    def _node(self, node: Node) -> str:
        match node:
            case Lit(text):
                return _quoted(text)
            case Seq(parts):
                return " ".join(
                    f"({self._node(each)})" if isinstance(each, Alt) else self._node(each) for each in parts
                )
            case Alt(options):
                return " | ".join(self._node(each) for each in options)
            case Rep(inner, least, most):
                return f"({self._node(inner)}){_times(least, most)}"
            case Ref(name):
                return name
            case Chars(of, least, most):
                return f"[{of}]{_times(least, most)}"
            case Json(schema):
                return self._json(schema)
            case Words():
                return self._words(node)

    def _json(self, schema: Any) -> str:
        key = repr(schema)
        if key not in self._made:
            name = self._made[key] = f"json{len(self._made)}"
            values = Values(JSON, self._extra, part(schema, "$defs"), name)
            self._extra[name] = values.value(schema)
        return self._made[key]

    def _words(self, words: Words) -> str:
        then = f" {_quoted(words.then)}" if words.then else ""
        then += f" [ \\n]{{0,{words.blank}}}" if words.blank else ""
        if words.chars or not words.without:
            first = f"[^\\x00{_class(words.not_first + words.chars)}] " if words.not_first else ""
            least = max(0, words.least - bool(first))
            return f"{first}[^\\x00{_class(words.chars)}]{_times(least, words.most)}{then}"
        key = (words.without, words.not_first, bool(words.least))
        if key not in self._made:
            name = self._made[key] = f"text{len(self._made)}"
            for state, body in _automaton(name, words):
                self._rules[state] = body
        return f"{self._made[key]}{then}"


def _automaton(name: str, words: Words) -> list[tuple[str, str]]:
    """Rules for text in which none of some literals occurs: one for each of their beginnings (Aho, Corasick 1975)."""
    literals = [each for each in words.without if each]
    starts = {each[:count] for each in literals for count in range(len(each))}
    states = {state: index for index, state in enumerate(sorted(starts, key=lambda each: (len(each), each)))}
    found: list[tuple[str, str]] = []

    def arms(state: str, barred: str) -> list[str]:
        held = {
            start[len(state) - cut]
            for cut in range(len(state) + 1)
            for start in (*starts, *literals)
            if start[: len(state) - cut] == state[cut:] and len(start) > len(state) - cut
        }
        result: list[str] = []
        for character in sorted(held - set(barred)):
            said = state + character
            if any(said.endswith(literal) for literal in literals):
                continue
            target = next(said[cut:] for cut in range(len(said) + 1) if said[cut:] in starts)
            result.append(f"[{_class(character)}] {name}-{states[target]}")
        return [*result, f"[^\\x00{_class(''.join(sorted(held | set(barred))))}] {name}-0"]

    for state, index in states.items():
        found.append((f"{name}-{index}", f"({' | '.join(arms(state, ''))})?"))
    first = " | ".join(arms("", words.not_first)) if words.least or words.not_first else f"{name}-0"
    return [(name, first), *found]


def _times(least: int, most: int | None) -> str:
    if (least, most) == (1, 1):
        return ""
    if most is None:
        return "*" if least == 0 else "+" if least == 1 else f"{{{least},}}"
    return "?" if (least, most) == (0, 1) else f"{{{least},{most}}}"


def _quoted(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(each, each) for each in text) + '"'


def _class(characters: str) -> str:
    escapes = {**_ESCAPES, "]": "\\]", "[": "\\[", "^": "\\x5E", "-": "\\x2D"}
    return "".join(escapes.get(each, each) for each in characters)


def formats(rules: Rules) -> dict[str, Any]:
    """Write a grammar as a structural tag: JSON stays a schema, and the engine's own way with schemas is used."""
    return {"type": "structural_tag", "format": _format(rules.start, rules, ())}


def _format(node: Node, rules: Rules, within: tuple[str, ...]) -> dict[str, Any]:
    match node:
        case Lit(text):
            return {"type": "const_string", "value": text}
        case Seq(parts):
            return {"type": "sequence", "elements": [_format(each, rules, within) for each in parts]}
        case Alt(options):
            return {"type": "or", "elements": [_format(each, rules, within) for each in options]}
        case Rep(inner, least, most):
            content = _format(inner, rules, within)
            if (least, most) == (0, 1):
                return {"type": "optional", "content": content}
            if most is None:
                return {"type": "plus" if least else "star", "content": content}
            return {"type": "repeat", "min": least, "max": most, "content": content}
        case Ref(name) if name not in within:
            return _format(rules.rules[name], rules, (*within, name))
        case Json(schema):
            # Written and read again: plain values, of which nobody can change ours.
            return {"type": "json_schema", "json_schema": json.loads(json.dumps(schema))}
        case _:
            grammar = gbnf(Rules(node, rules.rules if isinstance(node, Ref) else {}))
            return {"type": "grammar", "syntax": "ebnf", "grammar": grammar}
