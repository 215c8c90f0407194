"""What a tool may know of the call it serves. Never part of the schema that the model sees."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import anyio.from_thread

from counterfoil.types.label import Label
from counterfoil.types.session import Session


def idempotency_key(run_id: str, call_id: str) -> str:
    """Name a call for the outside world, whatever the attempt: the first half of a SHA-256."""
    return hashlib.sha256(f"{run_id}:{call_id}".encode()).hexdigest()[:32]


class Context:
    """The call being served: a tool that takes a parameter of this type gets it.

    Hand `idempotency_key` to the service you act on: it tells two attempts at one call from two calls.
    """

    __slots__ = ("_report", "call_id", "label", "run_id", "session")

    def __init__(
        self,
        session: Session,
        run_id: str,
        call_id: str,
        report: Callable[[str, float | None], Any] | None = None,
    ) -> None:
        self.session = session
        self.run_id = run_id
        self.call_id = call_id
        self._report = report
        self.label: Label | None = None
        """Of what the arguments are made, in a run that follows it: a store keeps it beside a text, and gives the text
        back as `Text(text, label)`. None for a call that only looks something up."""

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at this call, and for no other call: 32 hex digits."""
        return idempotency_key(self.run_id, self.call_id)

    def progress(self, message: str, fraction: float | None = None) -> None:
        """Tell whoever watches the run how far the call is; `fraction` is 0 to 1. From any thread; never blocks."""
        if self._report is not None:
            self._report(message, fraction)

    def check_cancelled(self) -> None:
        """In a sync tool: stop here if the run was cancelled or the call timed out (raises the backend's exception).

        An async tool needs no such call: it is stopped at its next `await`.
        """
        anyio.from_thread.check_cancelled()
