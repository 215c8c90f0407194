"""Rules switched off, in the process that asks for it: what is then lost or done twice must be seen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from counterfoil.journal.log import ChainedLog
from counterfoil.run import recovery
from counterfoil.run.state import Call
from counterfoil.types.entry import Entry, Finished, Settled
from counterfoil.types.message import Text, ToolResult


def commit_does_not_wait() -> None:
    """That a call was started may still be on its way to the disk when it acts."""

    async def commit(self: ChainedLog, entries: Sequence[Entry]) -> None:
        self.append(entries)

    ChainedLog.commit = commit  # type: ignore[method-assign]


def resume_runs_again() -> None:
    """What was under way when its process died is run again, whatever it was."""

    async def recover(call: Call, *_: Any, **__: Any) -> Settled:
        return Settled(call.call.id, "retry", by="nobody", at=time.time())

    recovery.recover = recover


def resume_believes() -> None:
    """What was under way when its process died is taken as done."""

    async def recover(call: Call, *_: Any, **__: Any) -> Finished:
        return Finished(ToolResult(call.call.id, (Text("done, surely"),), name=call.call.name))

    recovery.recover = recover
