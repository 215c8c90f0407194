"""What a caller gets: where a run stands, and what waits for a person."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from counterfoil.run.inbox import confirmation_id
from counterfoil.run.state import Call, State
from counterfoil.types.entry import Entry
from counterfoil.types.error import ConfirmationError
from counterfoil.types.json import canonical
from counterfoil.types.label import Traced
from counterfoil.types.message import Message, ToolCall, ToolResult
from counterfoil.types.outcome import Outcome
from counterfoil.types.verdict import Confirm


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """One call that waits for a person. `call` has the exact arguments; `digest` is what an approval is bound to."""

    id: str
    run_id: str
    call: ToolCall
    digest: str
    reason: str
    expires_at: float | None
    requester: str
    four_eyes: bool = False
    grantable: bool = False
    """Whether it may be approved for calls to come as well."""
    code: str = ""
    """Why the provenance check asks, in a word that does not change; empty where something else does."""
    arguments: tuple[Traced, ...] = ()
    """Where each argument came from, where the provenance check asks."""


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """One call that may or may not have taken effect, until a person settles it."""

    run_id: str
    call: ToolCall
    key: str
    reason: str
    started_at: float


class Run:
    """Where a run stands when control comes back. Everything here is read off its entries."""

    def __init__(self, run_id: str, state: State, outcome: Outcome, output: Any = None) -> None:
        self.id = run_id
        self.state = state
        self.outcome = outcome
        self.output = output
        """The structured answer, as the type that was asked for."""

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.outcome.kind}: {len(self.entries)} entries>"

    @property
    def text(self) -> str:
        """The prose of the model's last message."""
        last = self.state.messages[-1] if self.state.messages else None
        return last.text if last is not None and last.role == "assistant" else ""

    @property
    def messages(self) -> list[Message]:
        """The whole conversation: each call has exactly one result, in order."""
        return list(self.state.messages)

    @property
    def entries(self) -> list[Entry]:
        """The journal of the run."""
        return list(self.state.entries)

    @property
    def results(self) -> dict[str, ToolResult]:
        """Our call id (`turn.number`) to its result."""
        return self.state.results

    @property
    def confirmations(self) -> list[Confirmation]:
        """The calls that wait for a person."""
        return confirmations(self.id, self.state)

    @property
    def batches(self) -> list[list[Confirmation]]:
        """The same calls, those together that are asked about for the same reason."""
        return batched(self.confirmations)

    @property
    def doubts(self) -> list[Doubt]:
        """The calls that may or may not have taken effect."""
        return [_doubt(self.id, call) for call in self.state.unsettled]


def confirmations(run_id: str, state: State) -> list[Confirmation]:
    """The calls of a run that wait for a person, in order."""
    return [_confirmation(run_id, call, state) for call in state.open if call.waiting]


def batched(confirmations: Iterable[Confirmation]) -> list[list[Confirmation]]:
    """Put together what a person can decide in one go, in order.

    One batch are the calls of one tool, in one turn of one run, for one requester, that are asked about for the same
    reason: where the provenance check asks, the same arguments are the matter and come from the same kind of origin.
    Each keeps its own id and digest, and is answered with these.
    """
    found: dict[tuple[Any, ...], list[Confirmation]] = {}
    for each in confirmations:
        turn = each.call.id.partition(".")[0]
        matter = tuple(sorted((traced.argument, traced.origin) for traced in each.arguments if not traced.trusted))
        key = each.run_id, turn, each.requester, each.call.name, each.four_eyes, each.code, why(each), matter
        found.setdefault(key, []).append(each)
    return list(found.values())


def batch_digest(batch: Sequence[Confirmation]) -> str:
    """What proves that a batch was shown as it is: SHA-256 of its ids and digests; of one call, its own digest."""
    if len(batch) == 1:
        return batch[0].digest
    return hashlib.sha256(canonical([[each.id, each.digest] for each in batch])).hexdigest()


def why(confirmation: Confirmation) -> str:
    """Why it is asked, without what `arguments` says as well: the same for calls that differ in their values only."""
    reason = confirmation.reason
    if not confirmation.code:
        return reason
    from counterfoil.gate.provenance.wording import describe  # noqa: PLC0415 - only where the provenance check asks

    for each in confirmation.arguments:
        if not each.trusted:
            reason = reason.replace(f"; {describe(each)}", "", 1)
    return reason


def _shown(call: Call) -> ToolCall:
    return msgspec.structs.replace(call.call, arguments=call.arguments)


def _confirmation(run_id: str, call: Call, state: State) -> Confirmation:
    assert isinstance(call.verdict, Confirm)
    return Confirmation(
        id=confirmation_id(run_id, call),
        run_id=run_id,
        call=_shown(call),
        digest=call.digest,
        reason=call.verdict.reason,
        expires_at=call.expires_at,
        requester=state.session.requester if state.session else "",
        four_eyes=call.verdict.four_eyes,
        grantable=call.verdict.grantable,
        code=call.verdict.code,
        arguments=call.verdict.arguments,
    )


def _doubt(run_id: str, call: Call) -> Doubt:
    started = call.started
    return Doubt(
        run_id=run_id,
        call=_shown(call),
        key=started.key if started else "",
        reason=call.doubt or "",
        started_at=started.at if started else 0.0,
    )


def find_confirmation(confirmation_id: str, run_id: str, state: State) -> Confirmation:
    """Find the waiting confirmation of that id. Raises `ConfirmationError` saying why it cannot be answered."""
    for each in confirmations(run_id, state):
        if each.id == confirmation_id:
            if each.expires_at is not None and time.time() >= each.expires_at:
                raise ConfirmationError(f"{confirmation_id} has expired: the call will not be done")
            return each
    parts = confirmation_id.rsplit("/", 2)
    call = state.calls.get(parts[1]) if len(parts) == 3 else None
    if call is not None and call.answer is not None:
        said = "approved" if call.answer.approved else "declined"
        raise ConfirmationError(f"{confirmation_id} was {said} by {call.answer.by} already")
    raise ConfirmationError(f"nothing waits under {confirmation_id!r}: see the run's confirmations")
