"""The port to whatever enforces a grammar, and the engine that checks one before it is sent."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

from counterfoil.text.constrain.lark import HEADER, json_rule
from counterfoil.types.error import MissingExtra


class Engine(Protocol):
    """Says whether a grammar, in the engine's own language, will be enforced."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def check(self, grammar: str) -> str | None:
        """Say what is wrong with a grammar; `None` if it will be enforced."""
        ...

    def check_schema(self, schema: dict[str, Any]) -> str | None:
        """Say what is wrong with a schema; `None` if every keyword in it will be enforced."""
        ...


class LlGuidance:
    """`llguidance`, which llama.cpp, vLLM and SGLang can be built with. Needs the extra `local`."""

    name = "llguidance"

    def __init__(self) -> None:
        try:
            module: Any = import_module("llguidance")
        except ImportError as error:
            raise MissingExtra("Checking grammars with llguidance", "local") from error
        self._matcher: Any = module.LLMatcher

    def check(self, grammar: str) -> str | None:
        """Compile a grammar, to say what is wrong with it."""
        failed, notes = self._matcher.validate_grammar_with_warnings(grammar)
        return "\n".join(notes) if failed else None

    def check_schema(self, schema: dict[str, Any]) -> str | None:
        """Compile a schema, to say what is wrong with it."""
        return self.check(f"{HEADER}\nstart: {json_rule(schema)}\n")
