"""One text that entered a run's context, and what it is as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from counterfoil.gate.provenance.words import fold
from counterfoil.types.handle import told
from counterfoil.types.label import Label, Leaves


class Read:
    """One text: a result, or what was said. It is looked into later, if at all."""

    __slots__ = ("_folded", "_text", "_value", "arguments", "call_id", "clean", "label", "leaves", "tool")

    def __init__(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        text: str | Callable[[], str],
        label: Label,
        leaves: Leaves | None = None,
        clean: bool = False,
        call_id: str = "",
    ) -> None:
        self.tool = tool
        self.call_id = call_id
        self.arguments = arguments
        self._text = text
        self.label = label
        self.leaves = leaves
        self.clean = clean
        self._value: Any = self
        self._folded: str | None = None

    @property
    def text(self) -> str:
        """The whole of it."""
        if not isinstance(self._text, str):
            self._text = self._text()
        return self._text

    @property
    def source(self) -> str:
        """What it is, in words."""
        return told(self.label.source or self.tool, self.arguments) if self.arguments else self.label.source

    @property
    def folded(self) -> str:
        """The text as values are compared with it."""
        if self._folded is None:
            self._folded = fold(self.text)
        return self._folded

    @property
    def value(self) -> Any:
        """What the result is as JSON; `None` if it is not, or was cut. Kept, once asked for."""
        if self._value is self:
            self._value = self.decoded()
        return self._value

    def decoded(self) -> Any:
        """The same, not kept."""
        if self.leaves is not None and self.leaves.text:
            return self.text
        try:
            return msgspec.json.decode(self.text)
        except msgspec.DecodeError:
            return None
