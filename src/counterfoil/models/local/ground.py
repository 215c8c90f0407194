"""Arguments grounded in the conversation: what a small model may write is what somebody has said.

A schema is narrowed by enumerating, per argument, the values that occur in the texts; what conforms to the narrowed
schema conforms to the original.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from jsonschema_rs import validator_for

from counterfoil.models.local.likely import EDGES, in_role, likely
from counterfoil.types.request import ToolSpec

MAX_WORDS = 40
"""Words of a text of which every run is offered for a free string: 40 words have 820 runs."""

Schema = dict[str, Any]

_NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w-])")
_NUMBER_AND_UNIT = re.compile(r"(?<![\w.-])(\d+(?:\.\d+)?)(?=[^\W\d_]+\b)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_COUNT = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_PREFIX = re.compile(r"\^?((?:[A-Za-z0-9 _#:-]|\\[-/.])+)(?![*+?{|])")
_PROPOSED = re.compile(r"[\"'`]([^\"'`\n]{1,60})[\"'`]|\b([\w-]*\d[\w-]*)")


def grounded(tool: ToolSpec, texts: Sequence[str]) -> tuple[ToolSpec, list[str]]:
    """Narrow a tool's arguments to what the texts say; also name the required ones of which they say nothing.

    `texts` go from the nearest (the clause itself) to the farthest (earlier messages): an argument takes its values
    from the first text that has any. Optional arguments stay if a text has a number, an identifier or a listed value
    for them. Nested objects and arrays are left as they are.
    """
    schemas, required = properties(tool), _required(tool)
    found = {name: said(schema, texts) for name, schema in schemas.items()}
    claimed = [str(value) for name, values in found.items() if not is_free(schemas[name]) for value in values or ()]
    kept: dict[str, Schema] = {}
    missing: list[str] = []
    for name, schema in schemas.items():
        values = found[name]
        if values is None:
            if name in required:
                kept[name] = schema
        elif not values:
            if name in required:
                missing.append(name)
        elif not is_free(schema):
            kept[name] = {"enum": in_role(name, values, texts[0]) if "enum" in schema else values}
        elif name in required:
            kept[name] = {"enum": likely(tool.name, name, str(schema.get("description", "")), values, claimed)}
    return _with(tool, kept), missing


def regrounded(tool: ToolSpec, arguments: dict[str, Any], error: str, texts: Sequence[str]) -> ToolSpec | None:
    """Narrow a tool for a second try: what the error speaks of gets other values, what it does not stays as it was.

    Values that the error proposes (in quotes, or with digits in them) come first. `None` if there are none to try.
    """
    blamed = [name for name, value in arguments.items() if name in error or str(value) in error] or list(arguments)
    kept: dict[str, Schema] = {}
    for name, schema in properties(tool).items():
        if name in arguments and name not in blamed:
            kept[name] = {"enum": [arguments[name]]}
            continue
        values = said(schema, (suggestions(error), *texts), [arguments[name]] if name in arguments else ())
        if values == []:
            return None
        kept[name] = schema if values is None else {"enum": values}
    return _with(tool, kept)


def suggestions(text: str) -> str:
    """Pick what an error message proposes: quoted values and words with digits, in their order."""
    found = [match.group(1) or match.group(2) for match in _PROPOSED.finditer(text)]
    return " ".join(dict.fromkeys(found))


def said(schema: Schema, texts: Sequence[str], without: Sequence[Any] = ()) -> list[Any] | None:
    """List the values for one argument that the nearest telling text holds, without those in `without`.

    `None` if the argument is of a kind that is not looked for: an object, a list, a flag.
    """
    search = _search(schema)
    if search is None:
        return None
    fits = validator_for(schema).is_valid
    for text in texts:
        found: list[Any] = []
        for value in search(schema, text):
            if value not in found and value not in without and fits(value):
                found.append(value)
        if found:
            return found
    # Nothing was said of a listed value: the model chooses among all of them.
    return None if "enum" in schema else []


def identifiers(tools: Sequence[ToolSpec], text: str) -> set[str]:
    """Name the tools of which some patterned argument occurs in a text: a number of theirs was said."""
    return {
        tool.name
        for tool in tools
        for schema in properties(tool).values()
        if "pattern" in schema and any(True for _ in _matches(schema, text))
    }


def unheard(tool: ToolSpec, arguments: dict[str, Any], texts: Sequence[str]) -> list[str]:
    """Name the arguments whose values nobody has said: strings that occur in no text, numbers that were not named."""
    spoken = " ".join(texts).casefold()
    schemas = properties(tool)
    found: list[str] = []
    for name, value in arguments.items():
        schema = schemas.get(name, {})
        if isinstance(value, bool) or "enum" in schema:
            continue
        if isinstance(value, str):
            heard = value.casefold() in spoken or ("pattern" in schema and value in (said(schema, texts) or ()))
        elif isinstance(value, int | float):
            heard = any(value in set(_numbers({}, text)) for text in texts)
        else:
            continue
        if not heard:
            found.append(name)
    return found


def properties(tool: ToolSpec) -> dict[str, Schema]:
    """Give a tool's arguments and their schemas; a boolean schema counts as an empty one."""
    declared: dict[str, Any] = tool.parameters.get("properties") or {}
    return {name: schema if isinstance(schema, dict) else {} for name, schema in declared.items()}


def is_free(schema: Schema) -> bool:
    """Whether an argument is a string of any form."""
    return schema.get("type") == "string" and "enum" not in schema and "pattern" not in schema


def _required(tool: ToolSpec) -> list[str]:
    return list(tool.parameters.get("required") or ())


def _with(tool: ToolSpec, schemas: dict[str, Schema]) -> ToolSpec:
    return msgspec.structs.replace(tool, parameters={**tool.parameters, "properties": schemas})


def _search(schema: Schema) -> Callable[[Schema, str], Iterator[Any]] | None:
    if "const" in schema or "$ref" in schema:
        return None
    if "enum" in schema:
        return _listed
    match schema.get("type"):
        case "string":
            return _matches if "pattern" in schema else _runs
        case "integer":
            return _integers
        case "number":
            return _numbers
        case _:
            return None


def _listed(schema: Schema, text: str) -> Iterator[Any]:
    spoken = text.casefold()
    for value in schema["enum"]:
        if not isinstance(value, str):
            continue
        word = value.casefold().replace("_", " ")
        # Singular and plural are one word to the person who types.
        stem = re.escape(word[:-1] if word.endswith("s") and len(word) > 3 else word)
        if re.search(rf"(?<![^\W\d_]){stem}(?:s|es)?(?!\w)", spoken):
            yield value


def _matches(schema: Schema, text: str) -> Iterator[str]:
    pattern = str(schema["pattern"])
    try:
        bare = re.compile(pattern.removeprefix("^").removesuffix("$"), re.IGNORECASE)
        exact = re.compile(pattern)
    except re.error:
        return
    for match in bare.finditer(text):
        for value in (match.group(), match.group().upper(), match.group().lower()):
            if exact.search(value):
                yield value
                break
    # "order 1005" for ^ORD-[0-9]{4}$: what is said without its prefix.
    if prefix := _PREFIX.match(pattern):
        literal = prefix.group(1).replace("\\", "")
        for word in re.findall(r"(?<![\w-])\w+(?![\w-])", text):
            if any(character.isdigit() for character in word) and exact.fullmatch(literal + word):
                yield literal + word


def _runs(_: Schema, text: str) -> Iterator[str]:
    found = [match.span() for match in re.finditer(r"\S+", text)][:MAX_WORDS]
    for first in range(len(found)):
        for last in range(first, len(found)):
            if run := text[found[first][0] : found[last][1]].strip(EDGES):
                yield re.sub(r"['\u2019]s$", "", run)


def _numbers(_: Schema, text: str) -> Iterator[int | float]:
    for match in _NUMBER.finditer(text):
        yield _number(match.group().replace(",", ""))
    for match in _NUMBER_AND_UNIT.finditer(text):
        yield _number(match.group(1))
    for match in _PERCENT.finditer(text):
        yield float(match.group(1)) / 100
    spoken = set(re.findall(r"[a-z]+", text.casefold()))
    yield from (number for number, word in enumerate(_COUNT) if word in spoken)


def _integers(schema: Schema, text: str) -> Iterator[int]:
    yield from (int(value) for value in _numbers(schema, text) if value == int(value))


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)
