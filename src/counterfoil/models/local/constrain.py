"""Grammars that are sure to be enforced: what the constraint engine cannot express is loosened, and said."""

from __future__ import annotations

from typing import Any

import msgspec

from counterfoil.models.local.engine import Engine
from counterfoil.text.constrain import Bounds, loosened
from counterfoil.text.constrain.fit import fit, fit_answer
from counterfoil.text.constrain.report import Feature
from counterfoil.text.embedded.grammar import answer_grammar
from counterfoil.types.request import ToolSpec

_MOST_KEPT = 1000


class Constrainer:
    """Fits schemas to the engine, once each: as little as possible is given up of them.

    A call still always parses, and the gate validates it against the original.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[bytes, tuple[dict[str, Any], bool]] = {}

    def fit(self, tools: tuple[ToolSpec, ...]) -> tuple[tuple[ToolSpec, ...], list[str]]:
        """Return the tools with schemas that can be enforced, and the names of those that were loosened."""
        fitted: list[ToolSpec] = []
        loose: list[str] = []
        for tool in tools:
            key = b"tool" + msgspec.json.encode(tool.parameters)
            if key not in self._known:
                self._keep(key, fit(tool, Bounds(), self._wrong))
            schema, is_loose = self._known[key]
            fitted.append(msgspec.structs.replace(tool, parameters=schema))
            if is_loose:
                loose.append(tool.name)
        return tuple(fitted), loose

    def schema(self, schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """Return a schema of an answer that can be enforced, and whether it is looser than the one given."""
        key = msgspec.json.encode(schema)
        if key not in self._known:
            self._keep(key, fit_answer(schema, Bounds(), self._wrong))
        return self._known[key]

    def _keep(self, key: bytes, found: tuple[dict[str, Any], tuple[Feature, ...]]) -> None:
        if len(self._known) > _MOST_KEPT:
            self._known.clear()
        self._known[key] = found[0], bool(loosened(found[1]))

    def _wrong(self, schema: dict[str, Any]) -> str | None:
        return self._engine.check(answer_grammar(schema))
