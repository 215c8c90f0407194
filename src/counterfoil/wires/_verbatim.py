"""Names and ids in replies: who reads a reply gave the names, and answers with the ids, so both stay as they are."""

from __future__ import annotations

from counterfoil.wires._ids import Ids, Names


class SameNames(Names):
    """Every name as it is."""

    def __init__(self) -> None:
        super().__init__(())

    def __call__(self, name: str) -> str:
        """The name."""
        return name


class SameIds(Ids):
    """Every id as it is."""

    def add(self, call_id: str, provider_id: str | None = None) -> str:
        """The id."""
        return call_id

    def __call__(self, call_id: str) -> str:
        """The id."""
        return call_id
