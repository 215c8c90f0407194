"""One stretch of work on one run: carry out its steps until it is done or must wait.

There is one path. What differs between fresh, resumed, recovered and answered runs is only which entries are there
already.
"""

from __future__ import annotations

import functools
import hmac
import logging
import time
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import anyio

from counterfoil.gate.attempt import Attempt
from counterfoil.gate.checks.arguments import not_parsed
from counterfoil.gate.checks.confirmation import digest
from counterfoil.gate.checks.exists import unknown_tool
from counterfoil.journal.journal import Log
from counterfoil.models.model import Model, NoModel
from counterfoil.run.concurrency import EventLoop, OnWait, closing
from counterfoil.run.event import Event, Watch, reporter
from counterfoil.run.handles import Handles
from counterfoil.run.inbox import expired, take_up
from counterfoil.run.judging import judged
from counterfoil.run.perform import Performer, start
from counterfoil.run.recovery import barred, interrupted, recover, recover_all, send_late, take_over
from counterfoil.run.reply import admit
from counterfoil.run.secrets import Listener
from counterfoil.run.slots import in_turn
from counterfoil.run.state import Call, State
from counterfoil.run.step import (
    NUDGER,
    AskModel,
    AskPlan,
    Done,
    Invoke,
    Judge,
    Nudge,
    Recover,
    Step,
    Stop,
    Wait,
    next_step,
    standing,
    status,
)
from counterfoil.tools.tool import Tool
from counterfoil.types.entry import Doubted, Ended, Entry, Finished, Judged, Said
from counterfoil.types.error import Fenced, ModelError
from counterfoil.types.history import History
from counterfoil.types.message import Message, Text
from counterfoil.types.outcome import Outcome
from counterfoil.types.request import AUTO, Reply, Request, ToolChoice, ToolSpec
from counterfoil.types.session import Session
from counterfoil.types.stream import ReplyFold, StreamEvent
from counterfoil.types.verdict import ALLOWED, Refusal

if TYPE_CHECKING:
    from counterfoil.run.harness import Harness

log = logging.getLogger("counterfoil.run")


class Activation:
    """Owns a run for a while. `run` does the work, `stream` too, as it is drained; then `outcome` says how it rests."""

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
        self._model_has_failed = False
        """Then the run rests, and a resume asks again."""
        self.effects: list[Finished] = []
        """The results of what may not simply be done again: if the run has gone to another process, they are sent."""
        self.seen = 0
        """The last item of the inbox that was taken up."""
        seconds = self.session.budget.seconds
        self.deadline = None if seconds is None else time.monotonic() + seconds
        specs = harness.catalogue.visible_to(self.session)
        self.tools = harness.catalogue.by_name
        if answer_tool is not None:
            self.tools = {**self.tools, answer_tool.name: answer_tool}
        self.specs: tuple[ToolSpec, ...] = (*specs, answer_tool.spec) if answer_tool else specs
        self.history = History(state.messages)
        self.loop = EventLoop()
        who = self.session.requester
        self.held = harness.secrets.of(self.run_id, who, self.tools) if harness.catalogue.secretive else None
        """The run's secrets, if any tool has to do with them."""
        self.handles = Handles(state) if harness.catalogue.opaque or state.handles else None
        """What the model is not shown, if any tool keeps its results from it."""
        self._follow, self._grants = state.follow, harness.journal.grants
        labels = harness.labels(state, self.session, self.held) if state.follows else None
        self.performer = Performer(self.session, self.run_id, self.loop, self.held, labels, self.handles)
        # A run of outside calls asks no model, and a harness that has none cannot begin another.
        self.model: Model = harness.model or NoModel()

    async def __aenter__(self) -> Activation:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the run up, where it does not rest by itself.

        What was writing when it was cancelled from outside is in doubt, and the journal says so.
        """
        if kind is None:
            return
        with anyio.CancelScope(shield=True):
            try:
                if issubclass(kind, anyio.get_cancelled_exc_class()):
                    await interrupted(self)
                elif isinstance(error, Fenced):
                    await send_late(self)
            finally:
                await self.log.release(status(self.state, standing(self.state)))

    async def run(self) -> None:
        """Do the work."""
        async with self:
            if self.state.open:
                await take_over(self)
            while (step := await self._next()) is not None:
                if isinstance(step, AskModel):
                    await self._ask(step)
                else:
                    await self._carry_out(step)

    async def stream(self) -> AsyncIterator[Event]:
        """Do the same work, yielding what happens, the model's words as it writes them.

        No task and no cancel scope is open across a `yield`, so a consumer may stop at any point: the run can be
        resumed from its last entry.
        """
        entries = self.state.entries
        told = len(entries)
        async with self:
            if self.state.open:
                await take_over(self)
            while (step := await self._next()) is not None:
                if isinstance(step, AskModel):
                    async with closing(self._hear(step)) as events:
                        async for event in events:
                            yield event
                else:
                    await self._carry_out(step)
                for entry in entries[told:]:
                    yield entry
                told = len(entries)

    def write(self, *entries: Entry) -> None:
        """Journal entries, then fold them: nothing is true that is not written."""
        self.log.append(entries)
        for entry in entries:
            self.state.apply(entry)
        if self.watch is not None:
            self._show(entries)

    async def commit(self, *entries: Entry) -> None:
        """Do the same, waiting until no crash can lose them."""
        await self.log.commit(entries)
        for entry in entries:
            self.state.apply(entry)
        self._show(entries)

    def _show(self, entries: Sequence[Entry]) -> None:
        if self.watch is not None:
            for entry in entries:
                self.watch(entry)

    async def _carry_out(self, step: Step) -> None:
        match step:
            case Judge(calls):
                await self._judge(calls)
            case Invoke(calls):
                await (in_turn(self, calls) if self.harness.catalogue.queues else self.invoke(calls))
            case Recover(calls):
                await recover_all(self, calls)
            case AskPlan():
                await self._ask_plan()
            case Nudge():
                text = f"Give your answer by calling {self.answer_tool.name if self.answer_tool else 'the tool'}."
                message = Message("user", (Text(text),), NUDGER)
                self.write(Said(message, notes=("no structured answer",)))
            case Stop(which):
                self.write(Ended(Outcome("limit", which, f"the run reached its limit of {which}")))
            case _:
                raise AssertionError(f"{step} is not carried out here")

    async def _next(self) -> Step | None:
        """The next step to carry out; `None` when the run rests, and `outcome` says how."""
        while not self._model_has_failed:
            step = next_step(self.state)
            if self.deadline is not None and self._too_late(step):
                self.write(Ended(Outcome("limit", "seconds", "the run reached its limit of seconds")))
            elif not isinstance(step, Wait | Done):
                if not self.harness.draining:
                    return step
                self.outcome = Outcome("failed", "interrupted", "its process is shutting down: resume it elsewhere")
                await self.log.release("ready")
                return None
            elif not self._expire() and await self._rest(step.outcome):
                return None
        if not await self._rest(self.outcome):
            await self.log.release("ready")
        return None

    async def _rest(self, outcome: Outcome) -> bool:
        """Give the run up, if nothing has come for it since its inbox was last read; otherwise take that up."""
        state = self.state
        due = min([call.expires_at for call in state.open if call.waiting and call.expires_at], default=None)
        if await self.log.release(status(state, outcome), seen=self.seen, due=due):
            self.outcome = outcome
            if self.held is not None and status(state, outcome) == "done":
                self.harness.secrets.forget(self.run_id)
            return True
        await self.take_up_inbox()
        return False

    def _too_late(self, step: Step) -> bool:
        """Whether the time is up for something that has not begun. Last words, and rest, are never too late."""
        begins = isinstance(step, Judge | Invoke | AskPlan) or (isinstance(step, AskModel) and not step.answer_only)
        return begins and self.deadline is not None and time.monotonic() >= self.deadline

    # -- asking the model

    async def _ask(self, step: AskModel) -> None:
        if (request := await self._before(step)) is not None:
            try:
                reply = await self.model.reply(request)
            except ModelError as error:
                await self._model_failed(error)
            else:
                await self._said(reply)

    async def _hear(self, step: AskModel) -> AsyncIterator[StreamEvent]:
        if (request := await self._before(step)) is None:
            return
        adding = ReplyFold()
        listener = None if self.held is None else Listener(self.held)
        try:
            async with closing(self.model.stream(request)) as events:
                async for said in events:
                    adding.add(said)
                    event = said if listener is None else listener.heard(said)
                    if event is None:
                        continue
                    if self.watch is not None:
                        self.watch(event)
                    yield event
            if not adding.done:
                raise ModelError("the model's answer was cut off before its end: resume the run to ask again")
        except ModelError as error:
            await self._model_failed(error)
        else:
            await self._said(adding.reply)

    async def _before(self, step: AskModel) -> Request | None:
        """What to ask; nothing if something came from outside."""
        return None if await self.take_up_inbox() else self._request(step)

    async def _model_failed(self, error: ModelError) -> None:
        log.warning("run %s: the model failed: %s", self.run_id, error)
        self._model_has_failed = True
        self.outcome = Outcome("failed", type(error).__name__, str(error))
        self.write(Ended(self.outcome))

    async def _said(self, reply: Reply) -> None:
        message, notes = admit(reply, self.state.turn + 1, self.model.name)
        if self.held is not None:
            message, notes = self.held.admit(message), tuple(self.held.scrubbed(list(notes)))
        self.write(Said(message, reply.stop, reply.stop_raw, reply.usage, notes))

    async def _ask_plan(self) -> None:
        from counterfoil.run.planning import planned  # noqa: PLC0415 - most runs ask for no plan

        if await self.take_up_inbox():
            return
        try:
            self.write(await planned(self))
        except ModelError as error:
            await self._model_failed(error)

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
        return Request(history, tools, choice, self.model.name, self.harness.sampling)

    # -- judging

    async def _judge(self, calls: list[Call]) -> None:
        """Judge a turn's calls in order, each with what the ones before have used up; journal them as one."""
        entries: list[Judged] = []
        judge, now = self.harness.gate.judge, time.time()
        apply = self.state.apply
        for call in calls:
            attempt = self._attempt(call, now)
            if isinstance(attempt, Refusal):
                entry = Judged(call.call.id, attempt)
            else:
                verdict = await judge(attempt)
                if verdict is ALLOWED and attempt.arguments is call.arguments:
                    entry = Judged(call.call.id, ALLOWED, intent=attempt.intent)
                else:
                    entry = judged(attempt, verdict, self.held, self.harness.gate.confirmations_expire)
            apply(entry)
            entries.append(entry)
        self.log.append(entries)
        self._show(entries)

    def _attempt(self, call: Call, now: float) -> Attempt | Refusal:
        asked, state = call.call, self.state
        tool = self.tools.get(asked.name)
        if tool is None:
            return unknown_tool(asked, [spec.name for spec in self.specs])
        if call.arguments is None:
            return not_parsed(asked)
        doubtful = bool(state.doubts) and state.doubtful(call.identity)
        who, arguments, past = self.session, call.arguments, state.past
        attempt = Attempt(
            asked, tool, who, self.run_id, arguments, call.identity, past, now, doubtful, self._follow, self._grants
        )
        if (answer := call.answer) is not None and answer.approved:
            bound = digest(self.run_id, asked.id, tool.name, call.arguments, self.session)
            attempt.approve(answer.by if hmac.compare_digest(answer.digest, bound) else None)
        if self.held is not None:
            attempt.reveal = functools.partial(self.held.reveal, asked.id, tool)
        if tool.limits.sums:
            attempt.earlier = functools.partial(state.allowed, tool.name)
        if self.handles is not None and (gone := self.handles.hand(attempt, self.held)) is not None:
            return gone
        return attempt

    # -- running

    async def invoke(self, calls: list[Call]) -> None:
        """Start these calls together, irreversible ones one at a time after the others."""
        pairs: list[tuple[Call, Tool]] = []
        stop = self.harness.gate.stopped
        for call in calls:
            tool = self.tools.get(call.call.name)
            if stop is not None:  # halted since the call was judged
                await self.commit(await barred(call, tool, stop, "all calls are stopped", self.performer))
            elif tool is None:  # the catalogue changed since the call was judged
                gone = unknown_tool(call.call, [spec.name for spec in self.specs])
                await self.commit(await barred(call, None, gone, "there is no such tool any more", self.performer))
            elif self.held is not None and (lost := self.held.refusal(call.call.id, tool, call.arguments)) is not None:
                await self.commit(await barred(call, tool, lost, "its secret arguments are lost", self.performer))
            else:
                pairs.append((call, tool))
        batch = [(call, tool) for call, tool in pairs if tool.effect != "irreversible"] or pairs[:1]
        fresh: list[Entry] = []
        durable = False
        now = time.time()
        for call, tool in batch:
            if call.started is None:
                fresh.append(start(call, tool, self.run_id, now))
                durable = durable or tool.effect != "read"
        if fresh:
            await self.commit(*fresh) if durable else self.write(*fresh)
        if len(batch) == 1:
            await self._perform(*batch[0])
        elif batch:
            await self.loop.together([functools.partial(self._perform, call, tool) for call, tool in batch])

    async def _perform(self, call: Call, tool: Tool, on_wait: OnWait | None = None) -> None:
        report = None if self.watch is None else reporter(self.watch, call.call.id)
        entry = await self.performer.perform(call, tool, report, on_wait)
        if tool.lookup is not None and isinstance(entry, Doubted):
            found = await recover(call, tool, self.performer, patient=False)
            entry = found if isinstance(found, Finished) else entry
        if tool.effect != "read" and isinstance(entry, Finished):
            self.effects.append(entry)
        # Not waited for: if it is lost, the call is in doubt, and the next thing that must be durable comes after it.
        self.write(entry)

    # -- what comes from outside

    async def take_up_inbox(self) -> bool:
        """Turn what people sent into entries. Says whether anything changed."""
        changed = False
        for item in await self.log.inbox(self.seen):
            self.seen = item.n
            for entry in take_up(item, self.state, self.run_id):
                await self.commit(entry if self.held is None else self.held.taken_up(entry, self.state))
                changed = True
        return self._expire() or changed

    def _expire(self) -> bool:
        """Write what nobody confirmed in time. Says whether there was any."""
        late = list(expired(self.state, time.time())) if self.state.open else []
        if late:
            self.write(*late)
        return bool(late)
