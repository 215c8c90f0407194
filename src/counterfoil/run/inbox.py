"""What people send to a run, and the entries it becomes."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from counterfoil.gate.checks.confirmation import digest
from counterfoil.journal.journal import Item
from counterfoil.run.state import Call, State
from counterfoil.run.step import Done, next_step
from counterfoil.types.entry import Answered, Declassified, Ended, Entry, Finished, Settled
from counterfoil.types.grant import Grant
from counterfoil.types.message import Text, ToolResult
from counterfoil.types.outcome import Outcome

if TYPE_CHECKING:
    from counterfoil.run.decisions import Decisions

log = logging.getLogger("counterfoil.run")


async def post(to: Decisions, run_id: str, kind: str, ref: str, by: str, data: Mapping[str, Any]) -> Item | None:
    """Leave something for a run, and have somebody go on with it; or the item that stands there already."""
    earlier = await to.journal.post(run_id, kind, ref, by, data)
    if earlier is None:
        await wake(to, run_id)
    return earlier


async def wake(to: Decisions, run_id: str) -> None:
    """Have somebody go on with a run. That it is ready is journalled, so what fails here is made up for later."""
    if to.wake is not None:
        try:
            await to.wake(run_id)
        except Exception:  # whatever the queue raised, what was to be done here has been done
            log.exception("run %s could not be put on the queue: it is ready, and will be found", run_id)


def confirmation_id(run_id: str, call: Call) -> str:
    """What an answer refers to: this call with these arguments, asked about for this time."""
    return f"{run_id}/{call.call.id}/{call.asked}-{call.digest[:16]}"


def doubt_ref(call_id: str, started_at: float) -> str:
    """What a settlement refers to: this attempt at this call, and no later one."""
    return f"{call_id}/{started_at}"


def take_up(item: Item, state: State, run_id: str) -> Iterator[Entry]:
    """The entries of one item; none when it no longer fits (the call is answered, expired, or changed since).

    Whoever takes a run over reads its inbox from the start, so an item must say what it refers to: what was meant for
    an earlier prompt, question or attempt is not for this one.
    """
    if item.kind == "cancel":
        if int(item.ref) >= state.prompts and not isinstance(next_step(state), Done):
            said = f": {item.data['reason']}" if item.data.get("reason") else ""
            yield Ended(Outcome("cancelled", detail=f"cancelled by {item.by}{said}"))
        return
    call = state.calls.get(str(item.data.get("call_id")))
    if call is None:
        return
    if item.kind == "declassify":
        done = any(isinstance(each, Declassified) and each.call_id == call.call.id for each in state.entries)
        if call.result is not None and not done:
            yield Declassified(call.call.id, item.by, item.at)
    elif item.kind == "answer" and call.waiting and item.ref == confirmation_id(run_id, call):
        yield from _answer(item, call, state, run_id)
    elif item.kind == "result" and call.result is None and call.started is not None:
        # Its worker had lost the run to another one, but it did come to an end.
        if item.ref == doubt_ref(call.call.id, call.started.at):
            yield msgspec.convert(item.data, Finished)
    elif (
        item.kind == "settle"
        and call.doubt is not None
        and item.ref == doubt_ref(call.call.id, call.started.at if call.started else 0.0)
    ):
        result = None
        if (text := item.data.get("result")) is not None:
            result = ToolResult(call.call.id, (Text(text),), name=call.call.name)
        yield Settled(call.call.id, item.data["how"], item.by, result, item.at)


def _answer(item: Item, call: Call, state: State, run_id: str) -> Iterator[Entry]:
    data = item.data
    if not hmac.compare_digest(str(data["digest"]), call.digest):
        return
    if call.expires_at is not None and item.at >= call.expires_at:
        return
    edited = data.get("arguments")
    bound = call.digest
    if edited is not None and state.session is not None:
        # Who edits has read and approved what he wrote: the approval is bound to that.
        bound = digest(run_id, call.call.id, call.call.name, edited, state.session)
    grant = None if data.get("grant") is None else msgspec.convert(data["grant"], Grant)
    yield Answered(
        call.call.id, bool(data["approved"]), item.by, bound, str(data.get("reason", "")), edited, False, item.at, grant
    )


def expired(state: State, now: float) -> Iterator[Entry]:
    """An entry for each confirmation that nobody answered in time."""
    for call in list(state.open):
        if call.waiting and call.expires_at is not None and now >= call.expires_at:
            yield Answered(call.call.id, approved=False, digest=call.digest, expired=True, at=now)
