"""One stretch of work on one run: carry out its steps until it is done or must wait.

There is one path. What differs between fresh, resumed, recovered and answered runs is only which entries are there
already.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import anyio
import msgspec

from counterfoil.gate.attempt import Attempt
from counterfoil.gate.checks.arguments import not_parsed
from counterfoil.gate.checks.confirmation import digest
from counterfoil.gate.checks.exists import unknown_tool
from counterfoil.journal.journal import Log, Status
from counterfoil.run.inbox import expired, take_up
from counterfoil.run.perform import perform, recover, start
from counterfoil.run.reply import admit
from counterfoil.run.state import Call, State
from counterfoil.run.step import (
    NUDGER,
    AskModel,
    Done,
    Invoke,
    Judge,
    Nudge,
    Recover,
    Stop,
    Wait,
    next_step,
)
from counterfoil.run.together import together
from counterfoil.tools.tool import Tool
from counterfoil.types.entry import Doubted, Ended, Entry, Finished, Judged, Said
from counterfoil.types.error import ModelError
from counterfoil.types.history import History
from counterfoil.types.message import Message, Text
from counterfoil.types.outcome import Outcome
from counterfoil.types.request import AUTO, Reply, Request, ToolChoice, ToolSpec
from counterfoil.types.session import Session
from counterfoil.types.stream import ReplyFold, StreamEvent
from counterfoil.types.verdict import Confirm, Refusal, Verdict

if TYPE_CHECKING:
    from counterfoil.run.harness import Harness

log = logging.getLogger("counterfoil.run")


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """A tool says how far it is; `fraction` is 0 to 1. Shown to whoever watches, never journalled."""

    call_id: str
    message: str
    fraction: float | None = None


Event = Entry | StreamEvent | Progress
"""What a stream yields: journal entries as they are written, and the model's words as they come."""

Watch = Callable[[Event], None]

_STATUS: dict[str, Status] = {"waiting": "waiting", "in_doubt": "doubt", "failed": "ready"}


class Activation:
    """Owns a run for a while. `events` does the work as it is drained; `outcome` is there when it ends."""

    def __init__(
        self, harness: Harness, journal_log: Log, state: State, *, watch: Watch | None, answer_tool: Tool | None
    ) -> None:
        assert state.session is not None, "a run begins with Opened"
        self.harness = harness
        self.log = journal_log
        self.run_id = journal_log.run_id
        self.state = state
        self.watch = watch
        self.session: Session = state.session
        self.answer_tool = answer_tool
        self.outcome = Outcome("failed", detail="the run was interrupted: resume it")
        self.seen = 0
        """The last item of the inbox that was taken up."""
        seconds = self.session.budget.seconds
        self.deadline = None if seconds is None else time.monotonic() + seconds
        specs = harness.catalogue.visible_to(self.session)
        self.specs: tuple[ToolSpec, ...] = (*specs, answer_tool.spec) if answer_tool else specs
        self.history = History(state.messages)

    @staticmethod
    def standing(state: State) -> Outcome:
        """How a run stands that nobody is working on, from its entries alone."""
        match next_step(state):
            case Wait(outcome) | Done(outcome):
                return outcome
            case _ if state.ended is not None:
                return state.ended
            case _:
                return Outcome("failed", "interrupted", "its process stopped before it was done: resume it")

    @staticmethod
    def status(state: State) -> Status:
        """The same, as the index has it."""
        return _STATUS.get(Activation.standing(state).kind, "done")

    async def write(self, *entries: Entry, durable: bool = False) -> None:
        """Journal entries, then fold them: nothing is true that is not written."""
        await self.log.append(entries, durable=durable)
        for entry in entries:
            self.state.apply(entry)
            if self.watch is not None:
                self.watch(entry)

    async def events(self, deltas: bool) -> AsyncIterator[Event]:
        """Do the work, yielding what happens. With `deltas` the model's words come as it writes them.

        No task and no cancel scope is open across a `yield`, so a consumer may stop at any point: the run can be
        resumed from its last entry.
        """
        state = self.state
        status: Status = "ready"
        try:
            while True:
                told = len(state.entries)
                step = next_step(state)
                match step:
                    case Judge(calls):
                        await self._judge(calls)
                    case Invoke(calls):
                        await self._invoke(calls)
                    case AskModel():
                        async for event in self._ask(step, deltas):
                            yield event
                    case Recover(calls):
                        await self._recover(calls)
                    case Nudge():
                        text = (
                            f"Give your answer by calling {self.answer_tool.name if self.answer_tool else 'the tool'}."
                        )
                        await self.write(Said(Message("user", (Text(text),), NUDGER), notes=("no structured answer",)))
                    case Stop(which):
                        await self.write(Ended(Outcome("limit", which, f"the run reached its limit of {which}")))
                    case Wait(outcome) | Done(outcome):
                        if await self._take_up_inbox():
                            continue
                        self.outcome = outcome
                        status = _STATUS.get(outcome.kind, "done")
                for entry in state.entries[told:]:
                    yield entry
                if isinstance(step, Wait | Done):
                    return
                if state.ended is not None and state.ended.kind == "failed":
                    self.outcome = state.ended
                    return
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._interrupted()
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await self.log.release(status)

    async def _ask(self, step: AskModel, deltas: bool) -> AsyncIterator[StreamEvent]:
        if await self._take_up_inbox():
            return
        if self.deadline is not None and time.monotonic() >= self.deadline and not step.answer_only:
            await self.write(Ended(Outcome("limit", "seconds", "the run reached its limit of seconds")))
            return
        request = self._request(step)
        try:
            if deltas:
                adding = ReplyFold()
                async for event in self.harness.model.stream(request):
                    adding.add(event)
                    if self.watch is not None:
                        self.watch(event)
                    yield event
                if not adding.done:
                    raise ModelError("the model's answer was cut off before its end: resume the run to ask again")
                reply = adding.reply
            else:
                reply = await self.harness.model.reply(request)
        except ModelError as error:
            log.warning("run %s: the model failed: %s", self.run_id, error)
            await self.write(Ended(Outcome("failed", type(error).__name__, str(error))))
            return
        await self._said(reply)

    async def _said(self, reply: Reply) -> None:
        message, notes = admit(reply, self.state.turn + 1)
        await self.write(Said(message, reply.stop, reply.stop_raw, reply.usage, notes))

    def _request(self, step: AskModel) -> Request:
        state, choice, tools = self.state, AUTO, self.specs
        if step.answer_only:
            choice = ToolChoice("none")
        elif self.answer_tool is not None:
            only = (self.answer_tool.name,) if step.must_answer or len(tools) == 1 else None
            choice = ToolChoice("any", only)
        history = self.history
        if history.length != len(state.messages):
            history = self.history = History(state.messages)
        return Request(history, tools, choice, self.harness.model.name, self.harness.sampling)

    def _tool(self, name: str) -> Tool | None:
        if self.answer_tool is not None and name == self.answer_tool.name:
            return self.answer_tool
        return self.harness.catalogue.get(name)

    # -- judging

    async def _judge(self, calls: list[Call]) -> None:
        for call in calls:
            entry = await self._verdict(call)
            await self.write(entry)

    async def _verdict(self, call: Call) -> Judged:
        asked = call.call
        tool = self._tool(asked.name)
        if tool is None:
            return Judged(asked.id, unknown_tool(asked, [spec.name for spec in self.specs]))
        if call.arguments is None:
            return Judged(asked.id, not_parsed(asked))
        now = time.time()
        doubtful = bool(self.state.doubts) and call.identity in self.state.doubts
        answer = call.answer
        approved_by = None
        if answer is not None and answer.approved:
            expected = digest(self.run_id, asked.id, tool.name, call.arguments, self.session)
            approved_by = answer.by if answer.digest == expected else None
        attempt = Attempt(
            asked,
            tool,
            self.session,
            self.run_id,
            call.arguments,
            call.canonical,
            self.state.past,
            now,
            approved_by=approved_by,
            doubtful=doubtful,
        )
        verdict: Verdict = await self.harness.gate.judge(attempt)
        changed = attempt.arguments if attempt.arguments is not call.arguments else None
        if isinstance(verdict, Confirm):
            bound = digest(self.run_id, asked.id, tool.name, attempt.arguments, self.session)
            expires = now + self.harness.gate.confirmations_expire
            return Judged(asked.id, verdict, bound, changed, expires)
        if isinstance(verdict, Refusal):
            return Judged(asked.id, verdict)
        return Judged(asked.id, verdict, arguments=changed)

    # -- running

    async def _invoke(self, calls: list[Call]) -> None:
        """Start these calls together, irreversible ones one at a time after the others."""
        pairs: list[tuple[Call, Tool]] = []
        for call in calls:
            tool = self._tool(call.call.name)
            if tool is None:  # the catalogue changed since the call was judged
                await self.write(Judged(call.call.id, unknown_tool(call.call, [spec.name for spec in self.specs])))
            else:
                pairs.append((call, tool))
        batch = [(call, tool) for call, tool in pairs if tool.effect != "irreversible"] or pairs[:1]
        fresh = [start(call, tool, self.run_id) for call, tool in batch if call.started is None]
        if fresh:
            await self.write(*fresh, durable=any(entry.effect != "read" for entry in fresh))
        if len(batch) == 1:
            await self._perform(*batch[0])
        elif batch:
            await together([functools.partial(self._perform, call, tool) for call, tool in batch])

    async def _perform(self, call: Call, tool: Tool) -> None:
        report = None
        if (watch := self.watch) is not None:
            id = call.call.id

            def report(message: str, fraction: float | None) -> None:
                watch(Progress(id, message, fraction))

        entry = await perform(call, tool, self.session, self.run_id, report)
        if isinstance(entry, Doubted) and tool.lookup is not None:
            found = await recover(call, tool, time.time())
            entry = found if isinstance(found, Finished) else entry
        await self.write(entry, durable=tool.effect != "read")

    async def _recover(self, calls: list[Call]) -> None:
        for call in calls:
            await self.write(await recover(call, self._tool(call.call.name), time.time()), durable=True)

    async def _interrupted(self) -> None:
        """Cancelled from outside: what was writing at that moment is in doubt, and the journal says so."""
        for call in self.state.open:
            started = call.started
            if started is None or call.result is not None or call.doubt is not None:
                continue
            if started.effect in ("write", "irreversible"):
                await self.write(Doubted(call.call.id, "it was cancelled while it was running"), durable=True)

    # -- what comes from outside

    async def _take_up_inbox(self) -> bool:
        """Turn what people sent into entries. Says whether anything changed."""
        items = await self.log.inbox(self.seen)
        now = time.time()
        changed = False
        for item in items:
            self.seen = item.n
            for entry in take_up(item, self.state, self.run_id):
                await self.write(entry, durable=True)
                changed = True
        for entry in expired(self.state, now):
            await self.write(entry)
            changed = True
        return changed
