"""Grammars that are sure to be enforced: what the constraint engine cannot express is loosened, and said."""

from __future__ import annotations

from typing import Any

import msgspec

from counterfoil.models.local.engine import Engine
from counterfoil.text.embedded.grammar import answer_grammar
from counterfoil.types.request import ToolSpec

_LENIENT = {"x-guidance": {"lenient": True, "coerce_one_of": True}}


class Constrainer:
    """Fits tools to the engine, once each. `loosened` names the tools of which a call may not conform.

    The ladder: the schema as it is; without the keywords that the engine does not know; any JSON object. A call still
    always parses, and the gate validates it against the original.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[bytes, tuple[dict[str, Any], bool]] = {}

    def fit(self, tools: tuple[ToolSpec, ...]) -> tuple[tuple[ToolSpec, ...], list[str]]:
        """Return the tools with schemas that can be enforced, and the names of those that were loosened."""
        fitted: list[ToolSpec] = []
        loosened: list[str] = []
        for tool in tools:
            schema, loose = self.schema(tool.parameters)
            fitted.append(msgspec.structs.replace(tool, parameters=schema))
            if loose:
                loosened.append(tool.name)
        return tuple(fitted), loosened

    def schema(self, schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """Return a schema that can be enforced, and whether it is looser than the one given."""
        key = msgspec.json.encode(schema)
        if key not in self._known:
            if len(self._known) > 1000:
                self._known.clear()
            self._known[key] = self._ladder(schema)
        return self._known[key]

    def _ladder(self, schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        if self._engine.check(answer_grammar(schema)) is None:
            return schema, False
        lenient = {**schema, **_LENIENT}
        if self._engine.check(answer_grammar(lenient)) is None:
            return lenient, True
        return {"type": "object", "additionalProperties": True}, True
