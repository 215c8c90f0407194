"""Arguments grounded in the conversation: what a small model may write is what somebody has said.

A schema is narrowed by enumerating, per argument, the values that occur in the texts; what conforms to the narrowed
schema conforms to the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from jsonschema_rs import validator_for

from counterfoil.routing.bm25 import words
from counterfoil.types.request import ToolSpec

MAX_WORDS = 40
"""Words of a text of which every run is offered for a free string: 40 words have 820 runs."""

_NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w-])")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_COUNT = "zero one two three four five six seven eight nine ten eleven twelve".split()
_PROPER = frozenset(words("name city town country person customer contact recipient street company"))
_INTRODUCTION = re.compile(r"[:,]\s+|\b(?:that|saying|says|because|since|reason(?: is)?|as)\s+", re.IGNORECASE)
_EDGES = " \t\n\r,.;:!?\"'()[]"


def grounded(tool: ToolSpec, texts: Sequence[str]) -> tuple[ToolSpec, list[str]]:
    """Narrow a tool's arguments to what the texts say; also name the required ones of which they say nothing.

    `texts` go from the nearest (the clause itself) to the farthest (earlier messages): an argument takes its values
    from the first text that has any. Optional arguments stay if a text has a number, an identifier or a listed value
    for them. Nested objects and arrays are left as they are.
    """
    properties: dict[str, Any] = tool.parameters.get("properties") or {}
    required: list[str] = list(tool.parameters.get("required") or ())
    found = {name: said(schema, texts) for name, schema in properties.items()}
    claimed = [str(value) for name, values in found.items() if not _is_free(properties[name]) for value in values or ()]
    kept: dict[str, Any] = {}
    missing: list[str] = []
    for name, schema in properties.items():
        values = found[name]
        if values is None:
            if name in required:
                kept[name] = schema
        elif values:
            if not _is_free(schema):
                kept[name] = {"enum": _in_role(name, values, texts[0]) if "enum" in schema else values}
            elif name in required:
                kept[name] = {"enum": likely(tool, name, values, claimed)}
        elif name in required:
            missing.append(name)
    narrowed = {**tool.parameters, "properties": kept, "required": required}
    return ToolSpec(tool.name, tool.description, narrowed), missing


def regrounded(tool: ToolSpec, arguments: dict[str, Any], error: str, texts: Sequence[str]) -> ToolSpec | None:
    """Narrow a tool for a second try: what the error speaks of gets other values, what it does not stays as it was.

    Values that the error proposes (in quotes, or with digits in them) come first. `None` if there are none to try.
    """
    blamed = [name for name, value in arguments.items() if name in error or str(value) in error] or list(arguments)
    kept: dict[str, Any] = {}
    for name, schema in (tool.parameters.get("properties") or {}).items():
        if name in arguments and name not in blamed:
            kept[name] = {"enum": [arguments[name]]}
            continue
        values = said(schema, (suggestions(error), *texts), [arguments[name]] if name in arguments else ())
        if values == []:
            return None
        kept[name] = schema if values is None else {"enum": values}
    return ToolSpec(tool.name, tool.description, {**tool.parameters, "properties": kept})


def suggestions(text: str) -> str:
    """Pick what an error message proposes: quoted values and words with digits, in their order."""
    found = re.findall(r"[\"'`]([^\"'`\n]{1,60})[\"'`]|\b([\w-]*\d[\w-]*)", text)
    return " ".join(dict.fromkeys(quoted or plain for quoted, plain in found))


def said(schema: Any, texts: Sequence[str], without: Sequence[Any] = ()) -> list[Any] | None:
    """List the values for one argument that the texts hold; `None` if its kind (an object, a flag) is not looked for."""
    if not isinstance(schema, dict) or "const" in schema or "$ref" in schema:
        return None
    search = _search(schema)
    if search is None:
        return None
    check = validator_for(schema)
    for text in texts:
        found: list[Any] = []
        for value in search(schema, text):
            if value not in found and value not in without and check.is_valid(value):
                found.append(value)
        if found:
            return found
    return [] if "enum" not in schema else None


def identifiers(tools: Sequence[ToolSpec], text: str) -> set[str]:
    """Name the tools of which some patterned argument occurs literally in a text: a number of theirs was said."""
    return {
        tool.name
        for tool in tools
        for schema in (tool.parameters.get("properties") or {}).values()
        if isinstance(schema, dict) and schema.get("pattern") and any(_matches(schema, text))
    }


def likely(tool: ToolSpec, name: str, runs: list[str], claimed: Sequence[str]) -> list[str]:
    """Keep the likelier runs of words for a free string, where there are any (rules of English).

    Not what other arguments have claimed, nor what begins with the tool's own name. A name is written with a capital
    letter; prose is what follows `:`, `that`, `because` and their like.
    """
    verbs = set(words(tool.name))
    schema = tool.parameters["properties"][name]
    telling = set(words(f"{name} {schema.get('description', '')}"))
    rules = [
        lambda run: not any(value.casefold() in run.casefold() for value in claimed),
        lambda run: not verbs & set(words(run.split()[0])),
    ]
    if telling & _PROPER:
        opening = max(runs, key=len).split()[0]
        rules += [_is_capital, lambda run: run.split()[0] != opening]
    elif tails := [run for run in runs if run in _tails(runs)]:
        runs = tails
    for rule in rules:
        runs = [run for run in runs if rule(run)] or runs
    return runs


def nameless(tool: ToolSpec, text: str) -> bool:
    """Whether a tool requires a name and the text has none in capitals: then it is likely not meant."""
    for name in tool.parameters.get("required") or ():
        schema = tool.parameters["properties"].get(name, {})
        if _is_free(schema) and set(words(f"{name} {schema.get('description', '')}")) & _PROPER:
            return not any(_is_capital(word.strip(_EDGES) or "-") for word in text.split()[1:])
    return False


def _is_capital(run: str) -> bool:
    return all(word[0].isupper() for word in run.split())


def _in_role(name: str, values: list[Any], text: str) -> list[Any]:
    """Tell `from` and `to` apart among listed values: a unit behind a number is where it comes from."""
    role = set(name.casefold().split("_"))
    behind = [each for each in values if re.search(rf"\d\s*{re.escape(str(each))[:-1]}", text, re.IGNORECASE)]
    if not role & {"from", "to"} or not behind or len(values) < 2:
        return values
    return behind if "from" in role else [each for each in values if each not in behind] or values


def _tails(runs: list[str]) -> set[str]:
    whole = max(runs, key=len)
    return {whole[match.end() :].strip(_EDGES) for match in _INTRODUCTION.finditer(whole)}


def _is_free(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "string" and "enum" not in schema and "pattern" not in schema


def _search(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return _listed
    kind = schema.get("type")
    if kind == "string":
        return _matches if "pattern" in schema else _runs
    return {"integer": _integers, "number": _numbers}.get(kind) if isinstance(kind, str) else None


def _listed(schema: dict[str, Any], text: str) -> Iterator[Any]:
    spoken = text.casefold()
    for value in schema["enum"]:
        if not isinstance(value, str):
            continue
        word = value.casefold().replace("_", " ")
        # Singular and plural are one word to the person who types.
        stem = re.escape(word[:-1] if word.endswith("s") and len(word) > 3 else word)
        if re.search(rf"(?<![^\W\d_]){stem}(?:s|es)?(?!\w)", spoken):
            yield value


def _matches(schema: dict[str, Any], text: str) -> Iterator[str]:
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
    if prefix := re.match(r"\^?((?:[A-Za-z0-9 _#:-]|\\[-/.])+)(?![*+?{|])", pattern):
        literal = prefix.group(1).replace("\\", "")
        for word in re.findall(r"(?<![\w-])\w+(?![\w-])", text):
            if any(character.isdigit() for character in word) and exact.fullmatch(literal + word):
                yield literal + word


def _runs(_: dict[str, Any], text: str) -> Iterator[str]:
    found = [match.span() for match in re.finditer(r"\S+", text)][:MAX_WORDS]
    for first in range(len(found)):
        for last in range(first, len(found)):
            if run := text[found[first][0] : found[last][1]].strip(_EDGES):
                yield re.sub(r"['\u2019]s$", "", run)


def _numbers(_: dict[str, Any], text: str) -> Iterator[int | float]:
    for match in _NUMBER.finditer(text):
        plain = match.group().replace(",", "")
        yield float(plain) if "." in plain else int(plain)
    # "12kg": a number written against its unit.
    for match in re.finditer(r"(?<![\w.-])(\d+(?:\.\d+)?)(?=[^\W\d_]+\b)", text):
        yield float(match.group(1)) if "." in match.group(1) else int(match.group(1))
    for match in _PERCENT.finditer(text):
        yield float(match.group(1)) / 100
    words = re.findall(r"[a-z]+", text.casefold())
    yield from (number for number, word in enumerate(_COUNT) if word in words)


def _integers(schema: dict[str, Any], text: str) -> Iterator[int]:
    yield from (int(value) for value in _numbers(schema, text) if value == int(value))



def unheard(tool: ToolSpec, arguments: dict[str, Any], texts: Sequence[str]) -> list[str]:
    """Name the arguments whose values nobody has said: strings that occur in no text, numbers and identifiers alike."""
    spoken = " ".join(texts).casefold()
    properties: dict[str, Any] = tool.parameters.get("properties") or {}
    found: list[str] = []
    for name, value in arguments.items():
        schema = properties.get(name, {})
        if isinstance(schema, dict) and "enum" in schema:
            continue
        if isinstance(value, str):
            heard = value.casefold() in spoken or bool(schema.get("pattern")) and value in (said(schema, texts) or ())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            heard = any(value in set(_numbers({}, text)) for text in texts)
        else:
            continue
        if not heard:
            found.append(name)
    return found
