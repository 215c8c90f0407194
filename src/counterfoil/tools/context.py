"""What a tool may know of the call it serves. Never part of the schema that the model sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel

from counterfoil.types.session import Session


class Context:
    """The call being served: a tool that takes a parameter of this type gets it.

    `idempotency_key` is the same for every attempt at this call and no other: hand it to the service you act on.
    """

    __slots__ = ("_report", "call_id", "idempotency_key", "run_id", "session")

    def __init__(
        self,
        session: Session,
        run_id: str,
        call_id: str,
        idempotency_key: str,
        report: Callable[[str, float | None], Any] | None = None,
    ) -> None:
        self.session = session
        self.run_id = run_id
        self.call_id = call_id
        self.idempotency_key = idempotency_key
        self._report = report

    def progress(self, message: str, fraction: float | None = None) -> None:
        """Tell whoever watches the run how far the call is; `fraction` is 0 to 1. From any thread; never blocks."""
        if self._report is not None:
            self._report(message, fraction)

    def check_cancelled(self) -> None:
        """In a sync tool: stop here if the run was cancelled or the call timed out (raises the backend's exception).

        An async tool needs no such call: it is stopped at its next `await`.
        """
        anyio.from_thread.check_cancelled()
