"""What becomes of calls whose process died, was stopped, or lost the run to another one while they were running."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import anyio
import msgspec

from counterfoil.run.inbox import doubt_ref, post
from counterfoil.run.state import Call, State
from counterfoil.tools.tool import Tool
from counterfoil.types.entry import Doubted, Finished, Settled
from counterfoil.types.message import ToolResult

if TYPE_CHECKING:
    from counterfoil.run.activation import Activation

log = logging.getLogger("counterfoil.run")


async def recover(call: Call, tool: Tool | None, now: float) -> Finished | Settled | Doubted:
    """Find out what became of a call whose process died or whose outcome is unknown, by its tool's `lookup`."""
    started = call.started
    if tool is None or tool.lookup is None or started is None:
        return Doubted(call.call.id, call.doubt or "its process died while it was running")
    try:
        with anyio.fail_after(tool.limits.timeout):
            found = await tool.lookup(started.key)
        if found is not None:
            return Finished(ToolResult(call.call.id, tool.content(found), name=tool.name))
    except Exception as error:  # the service is the user's code: any failure of it means that we do not know
        log.warning("lookup of %s (call %s) failed: %s", tool.name, call.call.id, type(error).__name__, exc_info=error)
        return Doubted(call.call.id, "its process died, and the look-up of what became of it failed")
    if now <= started.at + (tool.limits.timeout or 0):
        return Doubted(call.call.id, "it may still be running: the service does not know it yet")
    return Settled(call.call.id, "retry", by="lookup", at=now)


async def take_over(activation: Activation) -> None:
    """Hear what came while nobody worked on the run, before anything of it is done: it may have been cancelled.

    And ask again about calls in doubt: their services may know by now.
    """
    await activation.take_up_inbox()
    for call in activation.state.unsettled:
        tool = activation.tools.get(call.call.name)
        if call.result is None and tool is not None and tool.lookup is not None:
            found = await recover(call, tool, time.time())
            if not isinstance(found, Doubted):
                await activation.commit(found)


async def interrupted(activation: Activation) -> None:
    """Cancelled from outside: what was writing at that moment is in doubt, and the journal says so."""
    for call in activation.state.open:
        started = call.started
        if started is None or call.result is not None or call.doubt is not None:
            continue
        if started.effect in ("write", "irreversible"):
            await activation.commit(Doubted(call.call.id, "it was cancelled while it was running"))


async def send_late(activation: Activation) -> None:
    """The run has another owner: send it the results that it does not have, of what was run here."""
    if not activation.effects:
        return
    run_id = activation.run_id
    known = State(record.entry for record in await activation.harness.journal.read(run_id)).calls
    for entry in activation.effects:
        id = entry.result.call_id
        call = known.get(id)
        if call is not None and call.started is not None and call.result is None:
            ref, by = doubt_ref(id, call.started.at), f"the worker that ran it (owner {activation.log.epoch})"
            data = {"call_id": id, "result": msgspec.to_builtins(entry.result)}
            await post(activation.harness, run_id, "result", ref, by, data)
