"""BFCL's function declarations as a catalogue: its types are those of Python, Java or JavaScript, not of a schema."""

from __future__ import annotations

from typing import Any

import msgspec

from counterfoil.tools.catalogue import Catalogue
from counterfoil.tools.tool import Tool
from counterfoil.types.request import ToolSpec
from evals.bfcl.data import Case, Language

_TYPES = {
    "string": "string",
    "integer": "integer",
    "float": "number",
    "boolean": "boolean",
    "array": "array",
    "tuple": "array",
    "dict": "object",
    "any": None,
}
_KEPT = ("description", "default", "format", "minItems", "maxItems", "minimum", "maximum")
_TITLES = {"java": "Java", "javascript": "JavaScript"}


class Declared(msgspec.Struct, frozen=True):
    """A case's functions as tools, under their own names, and what of them JSON Schema could not say."""

    catalogue: Catalogue
    notes: tuple[str, ...] = ()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What a model is told."""
        return tuple(tool.spec for tool in self.catalogue)


def declare(case: Case) -> Declared:
    """Make a catalogue of a case's functions.

    Names keep their dots: where a provider takes none, its wire's plan renames them and back. In Java and JavaScript
    every argument is source text, as BFCL asks for it. Raises `CatalogueError` for what is no tool.
    """
    notes: list[str] = []
    tools: list[Tool] = []
    for function in case.functions:
        writing = _Writing(function["name"], notes)
        schema = writing.root(function["parameters"], case.category.language)
        spec = ToolSpec(function["name"], function.get("description", ""), schema)
        tools.append(Tool.from_declaration(spec, _never, effect="read"))
    return Declared(Catalogue(tools), tuple(notes))


async def _never(**arguments: Any) -> None:
    raise NotImplementedError("BFCL's functions are only ever called on paper")


class _Writing:
    """Writes one function's parameters, and notes what cannot be said."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self._name = name
        self._notes = notes

    def root(self, parameters: dict[str, Any], language: Language) -> dict[str, Any]:
        if language != "python":
            properties = {
                name: _source_text(given, _TITLES[language]) for name, given in parameters["properties"].items()
            }
            parameters = {**parameters, "properties": properties}
        return self.schema(parameters, "")

    def schema(self, given: dict[str, Any], at: str) -> dict[str, Any]:
        kind = given.get("type", "any")
        if kind not in _TYPES:
            self._note(at, f"the type {kind!r} is said as any")
        written: dict[str, Any] = {}
        if (said := _TYPES.get(kind)) is not None:
            written["type"] = said
        written |= {key: given[key] for key in _KEPT if key in given}
        if options := given.get("enum"):
            written["enum"] = options
        elif options is not None:
            self._note(at, "an enum without values is left out: nothing would be allowed")
        properties = given.get("properties")
        if said == "object" and properties:
            written["properties"] = {name: self.schema(each, f"{at}/{name}") for name, each in properties.items()}
            required = given.get("required") or []
            written["required"] = [name for name in required if name in properties]
            if lost := [name for name in required if name not in properties]:
                self._note(at, f"required, and not declared: {', '.join(lost)}")
        elif said == "object" and not at:
            written["properties"] = {}
        if said == "array" and isinstance(given.get("items"), dict):
            written["items"] = self.schema(given["items"], f"{at}/items")
        return written

    def _note(self, at: str, what: str) -> None:
        self._notes.append(f"{self._name}{at}: {what}")


def _source_text(given: dict[str, Any], language: str) -> dict[str, Any]:
    """A parameter of another language: a string with a piece of its source, whose type is told in words."""
    items = given.get("items", {}).get("type")
    of = f" of {items}" if items else ""
    fields = given.get("properties")
    entries = f" Its entries: {msgspec.json.encode(fields).decode()}." if fields else ""
    told = f"{given.get('description', '')} {language} source text of type {given['type'] or 'any'}{of}.{entries}"
    return {"type": "string", "description": told.strip()}
