"""The port: a journal is the only truth about a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from counterfoil.types.entry import Entry, Record
from counterfoil.types.grant import Grant

Status = Literal["ready", "running", "waiting", "doubt", "failed", "done", "erased"]
"""Where a run stands, as an index that can be rebuilt from its entries.

`ready`: somebody should go on with it, because it was submitted, its process died, or something came from outside;
`waiting` for a person, in `doubt`, `failed`: its model could not answer; `erased`: it was done, and what it held is
gone.
"""


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the index of runs. Times are Unix seconds."""

    id: str
    status: Status
    requester: str
    epoch: int
    created: float
    updated: float
    wake: int = 0
    """How many things have come for it from outside."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """Something that came from outside a run, for whoever owns it to take up.

    An answer, a settlement, a cancel, the result of a call whose worker had lost the run by then, or that a person
    vouches for a result.
    """

    n: int
    at: float
    by: str
    kind: Literal["answer", "settle", "cancel", "result", "declassify"]
    ref: str
    data: Mapping[str, Any]


class Log(Protocol):
    """The right to write one run: held by one process at a time, fenced by its epoch."""

    @property
    def run_id(self) -> str:
        """The run."""
        ...

    @property
    def epoch(self) -> int:
        """How many owners the run has had."""
        ...

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries, all or none, after those before. Returns at once; they are written soon.

        Raises `Fenced` when another process owns the run by now, `JournalError` when what came before could not be
        written; after either the log takes nothing more, so that no gap is possible.
        """
        ...

    async def commit(self, entries: Sequence[Entry]) -> None:
        """Add entries, and return when no crash and no power cut can lose them or any before. Raises as `append`."""
        ...

    async def inbox(self, after: int = 0) -> list[Item]:
        """What came from outside since item `after`."""
        ...

    async def release(self, status: Status, *, seen: int | None = None, due: float | None = None) -> bool:
        """Give the run up, all entries written. Safe to call twice, and on a log that failed.

        With `seen`, the last item of the inbox that was taken up, the run is kept, and the answer is `False`, if
        something has come since: so none is overlooked; and it raises `Fenced` if another process owns the run by now.
        A run that waits is `ready` again at `due` (Unix seconds).
        """
        ...


class Journal(Protocol):
    """Keeps entries per run, in order, for ever. Safe for many processes where its storage is."""

    async def create(self, run_id: str, requester: str, entries: Sequence[Entry]) -> Log:
        """Begin a run with its first entries, both or neither. Raises `JournalError` when the id is taken."""
        ...

    async def claim(self, run_id: str) -> tuple[Log, list[Record]]:
        """Become a run's owner and read it. Raises `RunNotFound`, `RunBusy`, `JournalCorrupt`."""
        ...

    async def read(self, run_id: str) -> list[Record]:
        """Read a run without owning it. Raises `RunNotFound`, `JournalCorrupt`."""
        ...

    async def post(self, run_id: str, kind: str, ref: str, by: str, data: Mapping[str, Any]) -> Item | None:
        """Leave something in a run's inbox: durable when it returns. A run that rested and is not done is `ready`.

        Returns `None` if it was taken, or the item that stands there already under the same `kind` and `ref`: the
        first one counts, from however many processes they come.
        """
        ...

    async def inbox(self, run_id: str) -> list[Item]:
        """What came for a run from outside, in order."""
        ...

    async def runs(
        self,
        *,
        status: Status | None = None,
        requester: str | None = None,
        since: float | None = None,
        before: float | None = None,
        limit: int = 100,
    ) -> list[RunInfo]:
        """List runs, the latest first; of those last written to `since` one time and `before` another (Unix seconds).

        One whose owner died while running, and one that has waited until it was due, are `ready`.
        """
        ...

    async def grant(self, grant: Grant) -> None:
        """Keep a standing approval: durable when it returns."""
        ...

    async def grants(self, requester: str | None = None) -> list[Grant]:
        """The standing approvals of one requester or of all, the latest first, those included that stand no more."""
        ...

    async def revoke(self, grant_id: str, by: str, at: float) -> None:
        """Take a standing approval back: durable when it returns. The first revocation counts."""
        ...

    async def aclose(self) -> None:
        """Write what is left and let go of the storage."""
        ...
