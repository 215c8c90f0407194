"""What becomes of calls whose process died, was stopped, or lost the run to another one while they were running."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import anyio
import msgspec

from counterfoil.run.concurrency import OnWait
from counterfoil.run.inbox import doubt_ref, post
from counterfoil.run.perform import Performer
from counterfoil.run.state import Call, State
from counterfoil.tools.tool import Tool
from counterfoil.types.entry import Doubted, Finished, Judged, Settled
from counterfoil.types.verdict import Refusal

if TYPE_CHECKING:
    from counterfoil.run.activation import Activation

log = logging.getLogger("counterfoil.run")


PATIENCE = 60.0
"""Seconds that a run waits at most for a call of a dead process to have had its time."""


async def recover(
    call: Call, tool: Tool | None, performer: Performer, *, patient: bool
) -> Finished | Settled | Doubted:
    """Find out what became of a call whose process died or whose outcome is unknown, by its tool's `lookup`.

    What the service does not know may still be on its way to it, for as long as the tool may take. That time is waited
    for here, if `patient`: the clock of whoever started the call may have been another one.
    """
    if tool is None or tool.lookup is None or call.started is None:
        return Doubted(call.call.id, call.doubt or "its process died while it was running")
    whole_time = tool.limits.timeout or 0.0
    try:
        found: Finished | Settled | None = await _looked_up(call, tool, performer)
        if found is None and patient and whole_time <= PATIENCE:
            await anyio.sleep(whole_time)
            found = await _looked_up(call, tool, performer)
            found = found or Settled(call.call.id, "retry", by="lookup", at=time.time())
    except Exception as error:  # the service is the user's code: any failure of it means that we do not know
        told = None if tool.secretive else error
        log.warning("lookup of %s (call %s) failed: %s", tool.name, call.call.id, type(error).__name__, exc_info=told)
        return Doubted(call.call.id, "its process died, and the look-up of what became of it failed")
    return found or Doubted(call.call.id, "it may still be running: the service does not know it yet")


async def _looked_up(call: Call, tool: Tool, performer: Performer) -> Finished | None:
    assert tool.lookup is not None, "only what can be looked up is"
    assert call.started is not None, "only what was started is"
    with anyio.fail_after(tool.limits.timeout):
        found = await tool.lookup(call.started.key)
    return None if found is None else performer.finished(call, tool, found)


async def recover_all(activation: Activation, calls: Iterable[Call]) -> None:
    """Recover calls at once, and journal what became of each as soon as it is known. Raises what journalling raises."""

    async def one(call: Call, on_wait: OnWait) -> None:
        on_wait()  # the others need not wait for this one
        found = await recover(call, activation.tools.get(call.call.name), activation.performer, patient=True)
        if call.doubt is None or not isinstance(found, Doubted):
            await activation.commit(found)

    await activation.loop.together([functools.partial(one, call) for call in calls])


async def barred(
    call: Call, tool: Tool | None, refusal: Refusal, why: str, performer: Performer
) -> Judged | Finished | Settled | Doubted:
    """What becomes of a call that was let through and cannot run now. `why` is for a person to read.

    Only what has never been started is refused: of the rest nobody may be told that it was not run.
    """
    if call.started is None:
        return Judged(call.call.id, refusal)
    if call.started.effect == "read":
        return performer.untold(call, refusal.message)
    if tool is not None and tool.lookup is not None:
        return await recover(call, tool, performer, patient=True)
    return Doubted(call.call.id, f"its process died while it was running, and it cannot be run again: {why}")


async def take_over(activation: Activation) -> None:
    """Hear what came while nobody worked on the run, before anything of it is done: it may have been cancelled.

    And ask again about calls in doubt: their services may know by now.
    """
    await activation.take_up_inbox()
    await recover_all(activation, [call for call in activation.state.unsettled if _may_know(call, activation)])


def _may_know(call: Call, activation: Activation) -> bool:
    tool = activation.tools.get(call.call.name)
    return call.result is None and tool is not None and tool.lookup is not None


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
            await post(activation.harness, run_id, "result", ref, by, {"call_id": id, **msgspec.to_builtins(entry)})
