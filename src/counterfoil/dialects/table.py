"""The dialects as a Markdown table, for the documentation: generated, so that it says what the code does."""

from __future__ import annotations

from collections.abc import Iterable

from counterfoil.dialects.rules import Rules

_OPTIONAL = {"keep": "stays optional", "nullable": "required, null for absent"}
_NULL = {"type": "`type: null`", "flag": "`nullable: true`", "none": "as JSON text"}
_REFS = {
    "recursive": "kept, recursion too",
    "optional": "kept; recursion only inside optional properties",
    "acyclic": "kept; recursion as JSON text",
    "inline": "copied; recursion as JSON text",
}
_DICTS = {"schema": "`additionalProperties`", "list": "list of key and value"}
_TUPLES = {"prefix": "`prefixItems`", "object": "numbered object", "union": "array of the union"}


def table(dialects: Iterable[Rules]) -> str:
    """One row per property of a dialect, one column per dialect."""
    rules = list(dialects)
    rows = [
        ("strict mode", [_strict(each) for each in rules]),
        ("keywords", [", ".join(f"`{word}`" for word in sorted(each.keywords)) for each in rules]),
        ("formats", [_formats(each) for each in rules]),
        ("objects", ["closed" if each.closed else "left open" for each in rules]),
        ("optional property", [_OPTIONAL[each.optional] for each in rules]),
        ("null", [_NULL[each.null] for each in rules]),
        ("unions", ["`anyOf`" if each.unions else "as JSON text" for each in rules]),
        ("list of types", ["kept" if each.type_lists else "a union" for each in rules]),
        ("`allOf`", ["kept if plain, else merged" if each.all_of else "merged" for each in rules]),
        ("`$ref`", [_REFS[each.refs] for each in rules]),
        ("dict", [_DICTS[each.dicts] for each in rules]),
        ("tuple", [_TUPLES[each.tuples] for each in rules]),
        ("enum of", [", ".join(sorted(each.enums)) for each in rules]),
        ("`const`", ["kept" if each.const else "enum of one" for each in rules]),
        ("any value", ["kept" if each.untyped else "as JSON text" for each in rules]),
        ("limits", [_limits(each) for each in rules]),
    ]
    head = ["", *(f"`{each.name}`" for each in rules)]
    lines = [head, ["---"] * len(head), *([f"**{name}**", *cells] for name, cells in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _strict(rules: Rules) -> str:
    if not rules.strict:
        return "no: every tool is lowered"
    return "one switch per request" if rules.whole_request else "per tool"


def _formats(rules: Rules) -> str:
    if "format" not in rules.keywords:
        return "none"
    return "any" if rules.formats is None else ", ".join(sorted(rules.formats))


def _limits(rules: Rules) -> str:
    return "; ".join(f"{each.most:,} {each.what} per {each.per}" for each in rules.limits) or "none known"
