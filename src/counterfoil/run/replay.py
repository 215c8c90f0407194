"""Run a journal again and compare: the recorded replies, results and answers, through the gate as it is today.

The path is the harness's own. The model is a `Replay`; every tool is a stand-in that gives the recorded result, so no
effect happens; what people and crashes did is put where it stood. Time is not replayed: a rate limit is not applied.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import anyio.lowlevel
import msgspec

from counterfoil.gate.gate import Gate
from counterfoil.journal.memory import MemoryJournal
from counterfoil.models.replay import Replay, recorded_turn
from counterfoil.run.differences import verdicts, where
from counterfoil.run.harness import Harness
from counterfoil.run.perform import OwnWords
from counterfoil.run.provenance import Labels
from counterfoil.run.recorded import Awaited, came_late, inputs, outcomes
from counterfoil.run.secrets import Held, Recorded
from counterfoil.run.state import Call, State
from counterfoil.run.step import Done, next_step
from counterfoil.tools.catalogue import Catalogue
from counterfoil.tools.context import Context
from counterfoil.tools.guess import Handling
from counterfoil.tools.secret import opened
from counterfoil.tools.tool import Tool
from counterfoil.tools.trust import is_opaque
from counterfoil.types.entry import (
    Answered,
    Declassified,
    Doubted,
    Ended,
    Entry,
    Finished,
    Judged,
    Loaded,
    Opened,
    Record,
    Said,
    Settled,
    Started,
)
from counterfoil.types.error import CounterfoilError, ToolError
from counterfoil.types.label import Label, Leaves
from counterfoil.types.message import Media, Text, ToolResult
from counterfoil.types.request import Reply, Request
from counterfoil.types.session import Session

UNCUT = 1 << 40
"""Recorded results were cut to size when they were recorded."""


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a replay. `differences` has one sentence per difference; none: the run went the same way."""

    run_id: str
    replies: int
    verdicts: int
    recorded_hash: str
    replayed_hash: str
    differences: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether every verdict and the whole state came out as recorded."""
        return not self.differences and self.recorded_hash == self.replayed_hash


async def replay(records: Sequence[Record], catalogue: Catalogue, gate: Gate | None = None) -> Replayed:
    """Run a recorded run again with today's gate and catalogue. Nothing is written, and no tool runs.

    Raises `CounterfoilError` when there is nothing to replay.
    """
    entries = [record.entry for record in records]
    if not entries or not isinstance(entries[0], Opened):
        raise CounterfoilError("this run has no beginning, so it cannot be replayed")
    recorded = State(entries)
    replaying = _Replaying(records, catalogue, gate)
    await replaying.go()
    today = State(replaying.entries)
    differences = [*verdicts(entries, replaying.entries), *replaying.notes]
    if not differences and recorded.hash != today.hash:
        differences.append(where(recorded, today))
    return Replayed(
        run_id=records[0].run,
        replies=len(replaying.model.requests),
        verdicts=sum(isinstance(each, Judged) for each in replaying.entries),
        recorded_hash=recorded.hash,
        replayed_hash=today.hash,
        differences=tuple(differences),
    )


# -- replaying


class _Pause(Exception):
    """The model was not asked at this point when the run was recorded: something came from outside first."""


class _Cut(BaseException):
    """The recorded process did not get past this point of a call. Like a crash, it passes every handler of ours."""


class _Replaying:
    """Drives one replay. `inputs` are the recorded entries that the harness does not make by itself, in order."""

    def __init__(self, records: Sequence[Record], catalogue: Catalogue, gate: Gate | None) -> None:
        self.run_id = run_id = records[0].run
        entries, late = [record.entry for record in records], came_late(records)
        self.journal = MemoryJournal()
        self.inputs = list(inputs(entries, late))
        outside = {id(each) for each in self.inputs if recorded_turn(each) is None}
        self._joined = {id(entry) for before, entry in pairwise(entries) if {id(before), id(entry)} <= outside}
        self._awaited = Awaited(entries, outside)
        self.outcomes = outcomes(entries, late)
        self._starts: Counter[str] = Counter()
        own = {each.grant.id for each in entries if isinstance(each, Answered) and each.grant is not None}
        # Those that were given in this run come when they came then.
        self._granted = {
            each.grant.id: each.grant
            for each in entries
            if isinstance(each, Judged) and each.grant is not None and each.grant.id not in own
        }.values()
        self.model = _Paced(entries, self)
        stand_ins = Catalogue(self._stand_in(tool) for tool in catalogue)
        self.harness = Harness(self.model, stand_ins, gate=gate, journal=self.journal)
        self.harness.secrets.keep(run_id, Recorded(entries))
        self.labels: dict[str, tuple[Label | None, Leaves | None]] = {}
        self.harness.labels = self._recorded_labels
        self.entries: list[Entry] = []
        self.notes: list[str] = []

    async def go(self) -> None:
        """Alternate between what came from outside and what the harness makes of it."""
        first = self.inputs[0]
        assert isinstance(first, Opened), "a run begins with Opened"
        for grant in self._granted:
            await self.journal.grant(grant)
        log = await self.journal.create(self.run_id, first.session.requester, self._outside())
        await log.release("ready")
        going = True
        while going:
            asked = len(self.model.requests)
            if not self._at_pause:
                await self._resume()
            self.entries = [record.entry for record in await self.journal.read(self.run_id)]
            if batch := self._outside():
                await self._inject(batch)
            else:
                going = bool(self.inputs) and len(self.model.requests) > asked
        if self.model.left:
            self.notes.append(f"{self.model.left} recorded replies were not asked for: the run stops earlier today")

    def _outside(self) -> list[Entry]:
        """Take the inputs that came before the harness or the model did anything more."""
        batch: list[Entry] = []
        while (
            self.inputs and recorded_turn(self.inputs[0]) is None and (not batch or id(self.inputs[0]) in self._joined)
        ):
            batch.append(self._as_today(self.inputs.pop(0)))
            self._awaited.passed()
        return batch

    @property
    def _at_pause(self) -> bool:
        """Whether all is written that was written before something came from outside, or the record ends.

        A call that comes to be in doubt stops by itself, and no other one does for that.
        """
        head = self.inputs[0] if self.inputs else None
        return self._awaited.nothing and (
            head is None or not (isinstance(head, Doubted) or recorded_turn(head) is not None)
        )

    def _as_today(self, entry: Entry) -> Entry:
        """A session under today's gate, without a limit of time: when it ran out is in the record."""
        if not isinstance(entry, Opened):
            return entry
        budget = msgspec.structs.replace(entry.session.budget, seconds=None)
        session = msgspec.structs.replace(entry.session, budget=budget)
        self.harness.planning = entry.planning  # its plans are in the record
        return self.harness.gate.opened(msgspec.structs.replace(entry, session=session))

    def _recorded_labels(self, state: State, session: Session, held: Held | None) -> Labels:
        return _RecordedLabels(state, session, held, self.labels)

    async def _resume(self) -> None:
        try:
            await self.harness.resume(self.run_id, watch=self._watch)
        except (_Pause, _Cut):
            pass
        except BaseExceptionGroup as group:
            # Calls of one turn run in a task group, which wraps what they raise.
            _, rest = group.split((_Pause, _Cut))
            if rest is not None:
                raise

    def _watch(self, event: object) -> None:
        """Stop where the recorded process was stopped or died: its record may end in the middle of a turn."""
        if isinstance(event, Entry):
            self._awaited.came(event)
            if isinstance(event, Started):
                self._starts[event.call_id] += 1
            if self._at_pause:
                raise _Pause

    async def _inject(self, batch: list[Entry]) -> None:
        state = State(self.entries)
        log, _ = await self.journal.claim(self.run_id)
        for entry in batch:
            if (misfit := _misfit(state, entry)) is not None:
                self.notes.append(misfit)
                continue
            if isinstance(entry, Answered) and entry.grant is not None:
                await self.journal.grant(entry.grant)
            await log.commit([entry])
            state.apply(entry)
            self.entries.append(entry)
        await log.release("ready")

    def _stand_in(self, tool: Tool) -> Tool:
        """A tool that is judged like the real one, and gives the recorded results."""

        async def invoke(arguments: dict[str, Any], context: Context) -> Any:
            return await self._recorded(context.call_id, tool)

        limits = msgspec.structs.replace(tool.limits, result_chars=UNCUT, rate=None, timeout=60.0)
        parameters = opened(tool.spec.parameters) if tool.secrets is not None else tool.spec.parameters
        spec = msgspec.structs.replace(tool.spec, output_schema=None, parameters=parameters)
        stand_in = Tool(
            spec,
            invoke,
            effect=tool.effect,
            permission=tool.permission,
            authorize=tool.authorize,
            limits=limits,
            coerce=tool.coerce,
            extras=tool.extras,
            trust=tool.trust,
        )
        stand_in.how = tool.how
        return stand_in

    async def _recorded(self, call_id: str, tool: Tool) -> Any:
        came_to = self.outcomes.get(call_id)
        if came_to is None:
            raise ToolError("There is no recorded result: this call was not run when the journal was written.")
        at = max(0, self._starts[call_id] - 1)
        finished = came_to[at] if at < len(came_to) else None
        if finished is None:
            # Siblings that did finish must have done so before the process is seen to stop.
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
            raise _Cut
        handle = finished.handle
        self.labels[call_id] = (finished.result.label if handle is None else handle.label, finished.leaves)
        if finished.result.is_error:
            if handle is None and is_opaque(tool.trust):
                raise OwnWords(finished.result.text)  # or it would not have been shown
            raise ToolError(finished.result.text if handle is None else handle.value)
        if handle is not None:  # what is kept as null was no JSON number; `None` itself is kept as a word
            return math.nan if handle.value is None else handle.value
        return [block for block in finished.result.content if isinstance(block, Text | Media)]


class _RecordedLabels(Labels):
    """The labels as they were recorded: what they were taken from is not in the record."""

    def __init__(
        self,
        state: State,
        session: Session,
        held: Held | None,
        recorded: Mapping[str, tuple[Label | None, Leaves | None]],
    ) -> None:
        super().__init__(state, session, held)
        self._recorded = recorded

    def result(self, result: ToolResult, call: Call, tool: Tool, value: Any) -> tuple[Label | None, Leaves | None]:
        """The label of a result and those inside it, as they were; of what runs again, as they are."""
        recorded = self._recorded.get(call.call.id)
        return super().result(result, call, tool, value) if recorded is None else recorded

    def erred(self, finished: Finished, call: Call, how: Handling | None = None) -> Finished:
        """What came of a call that failed, with the label that it had."""
        label, _ = self._recorded.get(call.call.id, (None, None))
        return msgspec.structs.replace(finished, result=msgspec.structs.replace(finished.result, label=label))


class _Paced(Replay):
    """Replies only where the record has a reply next."""

    def __init__(self, entries: Sequence[Entry], replaying: _Replaying) -> None:
        super().__init__(entries)
        self._replaying = replaying

    async def reply(self, request: Request) -> Reply:
        left = self._replaying.inputs
        if not left or recorded_turn(left[0]) is None:
            raise _Pause
        left.pop(0)
        return await super().reply(request)


def _misfit(state: State, entry: Entry) -> str | None:
    """Why something from outside has no place in today's run; `None` if it has."""
    match entry:
        case Answered(call_id):
            call = state.calls.get(call_id)
            if call is None or not call.waiting:
                return f"call {call_id} was answered by {entry.by or 'nobody'} then, and does not wait today"
        case Doubted(call_id):
            call = state.calls.get(call_id)
            if call is None or call.started is None or call.result is not None:
                return f"call {call_id} was in doubt then, and is not today"
        case Finished(result):
            call = state.calls.get(result.call_id)
            if call is None or call.started is None or call.result is not None:
                return f"call {result.call_id} had its result late then, and does not wait for one today"
        case Settled(call_id):
            call = state.calls.get(call_id)
            # One that was cut off need not have been in doubt: its service was asked, or its late result came.
            cut_off = call is not None and call.started is not None and call.result is None
            if call is None or (call.doubt is None and not cut_off):
                return f"call {call_id} was settled then, and is not in doubt today"
        case Declassified(call_id) if (call := state.calls.get(call_id)) is None or call.result is None:
            return f"somebody vouched for the result of call {call_id} then, and it has none today"
        case Ended() if isinstance(next_step(state), Done):
            return "the run was stopped then, and is done before that today"
        case Said() | Loaded() if state.open:
            return "the next message came when the calls were done, and today one of them is open"
        case _:
            pass
    return None
