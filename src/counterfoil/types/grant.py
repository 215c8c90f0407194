"""An approval that stands: what a person said once for calls to come."""

from __future__ import annotations

from typing import Any

import msgspec


class Always(msgspec.Struct, frozen=True, kw_only=True):
    """How far an approval reaches beyond its call: the same tool, for the same requester, for so many seconds.

    `arguments` are JSON Schemas by argument name, `{"amount": {"maximum": 50}}`; what is not named must be as in the
    call that was approved, so `Always()` covers exactly its repetition.
    """

    arguments: dict[str, dict[str, Any]] = {}
    seconds: float = 30 * 86400

    def pattern(self, approved: dict[str, Any]) -> dict[str, Any]:
        """The JSON Schema that the arguments of a later call must satisfy."""
        properties = {name: {"const": value} for name, value in approved.items()} | self.arguments
        return {
            "type": "object",
            "properties": properties,
            "required": sorted(approved),
            "additionalProperties": False,
        }


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A standing approval. `arguments` is the JSON Schema that a call's must satisfy; times are Unix seconds."""

    id: str
    requester: str
    tool: str
    arguments: dict[str, Any]
    by: str
    at: float
    expires_at: float
    confirmation: str
    """The confirmation that was answered so."""
    revoked_at: float | None = None
    revoked_by: str = ""

    def holds(self, now: float) -> bool:
        """Whether it stands at that time."""
        return self.revoked_at is None and self.at <= now < self.expires_at
