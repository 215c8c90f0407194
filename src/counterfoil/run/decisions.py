"""What people decide about runs: from any process with the journal, whoever works on them."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal

import msgspec

from counterfoil.journal.journal import Journal, Status
from counterfoil.run.inbox import doubt_ref, post
from counterfoil.run.run import Confirmation, Doubt, Run, confirmations, find_confirmation
from counterfoil.run.secrets import refuse_edit
from counterfoil.run.state import State
from counterfoil.run.step import standing
from counterfoil.tools.arguments import compile_schema
from counterfoil.tools.catalogue import Catalogue
from counterfoil.types.entry import Declassified, Finished, Record
from counterfoil.types.error import CatalogueError, ConfirmationError, RunNotFound, SettlementError
from counterfoil.types.grant import Always, Grant
from counterfoil.types.handle import Handle
from counterfoil.types.message import Text, ToolResult

Wake = Callable[[str], Awaitable[None]]
"""Has somebody go on with a run soon, given its id. Safe to call too often."""


def fold(records: Iterable[Record]) -> State:
    """What the records of a run add up to."""
    return State(record.entry for record in records)


def _grant(always: Always, found: Confirmation, answer: dict[str, Any], by: str) -> Grant:
    if not answer["approved"]:
        raise ConfirmationError("what is declined is declined once: leave `always` out")
    if not found.grantable:
        raise ConfirmationError(f"{found.call.name} is asked about each time ({found.reason}): leave `always` out")
    if always.seconds <= 0:
        raise ConfirmationError("a standing approval needs an end in the future: Always(seconds=...)")
    approved = answer.get("arguments") or found.call.arguments or {}
    if unknown := sorted(set(always.arguments) - set(approved)):
        raise ConfirmationError(
            f"the call has no argument {unknown[0]!r}: it has {', '.join(sorted(approved)) or 'none'}"
        )
    pattern = always.pattern(approved)
    try:
        fits = compile_schema(pattern, "always").is_valid(approved)
    except CatalogueError as error:
        raise ConfirmationError(f"arguments are JSON Schemas by name: {error}") from error
    if not fits:
        raise ConfirmationError("it would not cover the very call that is approved: widen its arguments")
    now = time.time()
    return Grant(
        id=secrets.token_hex(8),
        requester=found.requester,
        tool=found.call.name,
        arguments=pattern,
        by=by,
        at=now,
        expires_at=now + always.seconds,
        confirmation=found.id,
    )


def _vouched(call_id: str, by: str) -> ConfirmationError:
    return ConfirmationError(f"{by} has vouched for the result of call {call_id} already: it counts once and for all")


class Decisions:
    """What people decide about the runs of a journal."""

    journal: Journal
    catalogue: Catalogue
    wake: Wake | None

    async def read(self, run_id: str) -> Run:
        """See where a run stands, without owning it or doing anything."""
        state = fold(await self.journal.read(run_id))
        return Run(run_id, state, standing(state))

    async def confirmations(self, run_id: str | None = None) -> list[Confirmation]:
        """What waits for a person, in one run or in all."""
        ids = [run_id] if run_id else await self._resting("waiting")
        now = time.time()
        found = [each for id in ids for each in confirmations(id, fold(await self.journal.read(id)))]
        answered = {(id, item.ref) for id in ids for item in await self.journal.inbox(id) if item.kind == "answer"}
        return [
            each
            for each in found
            if (each.run_id, each.id) not in answered and (each.expires_at is None or now < each.expires_at)
        ]

    async def answer(
        self,
        confirmation_id: str,
        *,
        approve: bool,
        by: str,
        reason: str = "",
        arguments: dict[str, Any] | None = None,
        digest: str | None = None,
        always: Always | None = None,
    ) -> Confirmation:
        """Approve or decline one call, once, from any process with the journal; `resume` the run to act on it.

        `reason` is what the model reads of a refusal. `arguments` approves the call with these instead: they pass the
        whole gate again. `digest`, if given, must be the confirmation's: a page sends it back to prove what was shown.
        `always` approves calls to come as well, as far as it says. Raises `ConfirmationError` when there is nothing to
        answer, it has expired, somebody has answered, the digest differs, four eyes are needed and these are the
        requester's, or such calls are asked about each time.
        """
        if not by:
            raise ConfirmationError("an answer needs a name: by='...'")
        run_id = confirmation_id.rsplit("/", 2)[0]
        try:
            state = fold(await self.journal.read(run_id))
        except RunNotFound as error:
            raise ConfirmationError(f"nothing waits under {confirmation_id!r}: {error}") from error
        found = find_confirmation(confirmation_id, run_id, state)
        if digest is not None and not hmac.compare_digest(digest, found.digest):
            raise ConfirmationError("the call has changed since it was shown: look at it again")
        if found.four_eyes and approve and by == found.requester:
            raise ConfirmationError(f"{by} asked for this call, so somebody else must approve it")
        data: dict[str, Any] = {"call_id": found.call.id, "approved": approve, "digest": found.digest, "reason": reason}
        named = () if always is None else always.arguments
        refuse_edit(found.call, arguments, named, self.catalogue.get(found.call.name))
        if arguments is not None:
            data["arguments"] = arguments
        grant = None if always is None else _grant(always, found, data, by)
        if grant is not None:
            data["grant"] = msgspec.to_builtins(grant)
        earlier = await post(self, run_id, "answer", confirmation_id, by, data)
        if earlier is not None:
            said = "approved" if earlier.data["approved"] else "declined"
            raise ConfirmationError(f"{confirmation_id} was {said} by {earlier.by} already")
        if grant is not None:
            await self.journal.grant(grant)
        return found

    async def grants(self, requester: str | None = None) -> list[Grant]:
        """What was approved for calls to come and still stands, for one requester or for all."""
        now = time.time()
        return [each for each in await self.journal.grants(requester) if each.holds(now)]

    async def revoke(self, grant_id: str, *, by: str) -> Grant:
        """Take a standing approval back, from the next call on. Raises `ConfirmationError` when none stands."""
        found = next((each for each in await self.grants() if each.id == grant_id), None)
        if found is None or not by:
            raise ConfirmationError(f"there is no standing approval {grant_id!r}" if by else "a name is needed: by=...")
        await self.journal.revoke(grant_id, by, time.time())
        return found

    async def doubts(self, run_id: str | None = None) -> list[Doubt]:
        """The calls of which nobody knows whether they took effect, in one run or in all."""
        ids = [run_id] if run_id else await self._resting("doubt")
        return [each for id in ids for each in (await self.read(id)).doubts]

    async def settle(
        self,
        run_id: str,
        call_id: str,
        how: Literal["happened", "retry", "abandon"],
        *,
        by: str,
        result: str | None = None,
        started_at: float | None = None,
    ) -> None:
        """Say what became of a call in doubt; `resume` the run to go on.

        `happened`: it took effect, and `result` is what the model reads; `retry`: it certainly did not, run it again
        with the same key; `abandon`: nobody knows and nobody will. `started_at`, if given, must be the doubt's: what
        somebody has found out about one attempt is then never taken for the next. Raises `SettlementError`.
        """
        if how not in ("happened", "retry", "abandon") or not by:
            raise SettlementError("settle a call as happened, retry or abandon, with a name: by='...'")
        run = await self.read(run_id)
        doubt = next((each for each in run.doubts if each.call.id == call_id), None)
        if doubt is None:
            raise SettlementError(f"call {call_id} of run {run_id} is not in doubt")
        if started_at is not None and started_at != doubt.started_at:
            raise SettlementError(f"call {call_id} was run again since it was looked at: look at it again")
        if how == "retry" and call_id in run.results:
            raise SettlementError(
                f"run {run_id} was stopped and has gone on without call {call_id}: settle it as happened or abandon"
            )
        tool = self.catalogue.get(doubt.call.name)
        until = doubt.started_at + ((tool.limits.timeout or 0) if tool else 0)
        if how == "retry" and time.time() < until:
            raise SettlementError(f"call {call_id} may still be running: wait {until - time.time():.0f} seconds")
        ref = doubt_ref(call_id, doubt.started_at)
        data = {"call_id": call_id, "how": how, "result": result}
        earlier = await post(self, run_id, "settle", ref, by, data)
        if earlier is not None:
            raise SettlementError(f"{earlier.by} has settled call {call_id} as {earlier.data['how']} already")

    async def declassify(self, run_id: str, call_id: str, *, by: str) -> None:
        """Vouch for the text of one result, which somebody has read: calls may act on its words from then on.

        It counts from the run's next step on, once and for all, and for nothing else that was read. Raises
        `ConfirmationError` when there is no such text, the model was not shown it, or somebody vouches for it already.
        """
        if not by:
            raise ConfirmationError("a name is needed: by=...")
        run = await self.read(run_id)
        result = run.results.get(call_id)
        if result is None:
            raise ConfirmationError(f"call {call_id} of run {run_id} has no result that could be vouched for")
        for entry in run.entries:
            match entry:
                case Finished(ToolResult(call_id=id), handle=Handle(name)) if id == call_id:
                    raise ConfirmationError(
                        f"the model is not shown the result of call {call_id}, so it cannot act on its words: approve "
                        f"the call that {name} is handed to"
                    )
                case Declassified(id, earlier) if id == call_id:
                    raise _vouched(call_id, earlier)
                case _:
                    pass
        if not all(isinstance(each, Text) for each in result.content):
            raise ConfirmationError(f"the result of call {call_id} is more than text: only texts can be vouched for")
        posted = await post(self, run_id, "declassify", call_id, by, {"call_id": call_id})
        if posted is not None:
            raise _vouched(call_id, posted.by)

    async def _resting(self, status: Status) -> list[str]:
        """The runs that rest like that, those included that somebody has answered in part."""
        both: tuple[Status, Status] = (status, "ready")
        return [info.id for each in both for info in await self.journal.runs(status=each, limit=10_000)]
