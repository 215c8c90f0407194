"""Everything a check may look at: one call, about to be judged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from counterfoil.gate.past import Past
from counterfoil.tools.tool import Tool
from counterfoil.types.message import ToolCall
from counterfoil.types.session import Session
from counterfoil.types.verdict import Verdict


class Attempt:
    """One call before the gate. A check may replace `arguments` (a clamp) if it says so in `notes`."""

    __slots__ = (
        "_approved_by",
        "_given",
        "arguments",
        "at",
        "call",
        "canonical",
        "doubtful",
        "notes",
        "past",
        "run_id",
        "session",
        "tool",
    )

    def __init__(
        self,
        call: ToolCall,
        tool: Tool,
        session: Session,
        run_id: str,
        arguments: dict[str, Any] | None,
        canonical: bytes,
        past: Past,
        at: float,
        *,
        approved_by: str | None = None,
        doubtful: bool = False,
    ) -> None:
        self.call = call
        self.tool = tool
        self.session = session
        self.run_id = run_id
        self.arguments: dict[str, Any] = arguments if arguments is not None else {}
        self.canonical = canonical
        self.past = past
        self.at = at
        self._given = self.arguments
        self._approved_by = approved_by
        self.doubtful = doubtful
        """Whether an identical call is in doubt: it may have taken effect already."""
        self.notes: list[str] = []

    @property
    def approved_by(self) -> str | None:
        """Who approved exactly these arguments, if somebody did: a check that changes them voids the approval."""
        return self._approved_by if self.arguments is self._given else None


Check = Callable[[Attempt], "Verdict | Awaitable[Verdict | None] | None"]
"""Judge one attempt: `None` or `Allowed` lets it pass, a `Refusal` ends it, a `Confirm` asks a person first."""
