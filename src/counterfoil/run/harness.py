"""A model, its tools, the gate between them, and the journal of what happened."""

from __future__ import annotations

import functools
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from counterfoil.gate.gate import Gate
from counterfoil.journal.journal import Journal, Log
from counterfoil.journal.memory import MemoryJournal
from counterfoil.models.model import Model
from counterfoil.run.activation import Activation
from counterfoil.run.concurrency import closing
from counterfoil.run.decisions import Decisions, fold
from counterfoil.run.event import Event, Watch
from counterfoil.run.inbox import post, wake
from counterfoil.run.output import answer_tool, output_of
from counterfoil.run.reply import admit
from counterfoil.run.resolve import Resolve, narrowed
from counterfoil.run.run import Confirmation, Run
from counterfoil.run.secrets import Held, Secrets
from counterfoil.run.state import State
from counterfoil.run.step import NUDGER, standing, status
from counterfoil.tools.catalogue import Catalogue
from counterfoil.tools.intended import meant
from counterfoil.tools.tool import Tool
from counterfoil.types.entry import Entry, Loaded, Opened, Planned, Said
from counterfoil.types.error import CounterfoilError, RunBusy, RunNotFound
from counterfoil.types.history import repair
from counterfoil.types.label import Label
from counterfoil.types.message import Block, Message, Text, ToolCall, ToolResult, sound, system, user
from counterfoil.types.plan import Intent
from counterfoil.types.request import Output, Reply, Sampling
from counterfoil.types.session import Session

if TYPE_CHECKING:
    from counterfoil.run.provenance import Labels

Prompt = str | Message | Sequence[Block]
Wake = Callable[[str], Awaitable[None]]
"""Has somebody go on with a run soon, given its id. Safe to call too often."""


class Harness(Decisions):
    """Runs a model's tool calls for signed-in people. Made once, shared by every run; safe for concurrent use.

    `instructions` is the system message of new runs. `resolve` is asked at each resume for the requester's session as
    it is by then: its permissions narrow what the journal holds and never widen it. `wake` is told of each run that
    was submitted, answered, settled or cancelled, so that a worker goes on with it. `secrets_key`, of 16 bytes or more,
    keys the digests that stand for secrets; by default each process has one of its own.
    """

    def __init__(
        self,
        model: Model | None,
        catalogue: Catalogue,
        *,
        gate: Gate | None = None,
        journal: Journal | None = None,
        instructions: str = "",
        sampling: Sampling | None = None,
        resolve: Resolve | None = None,
        wake: Wake | None = None,
        secrets_key: bytes | None = None,
    ) -> None:
        self.model = model
        """`None` in a harness that serves outside calls only."""
        self.catalogue = catalogue
        self.gate = gate or Gate()
        self.journal: Journal = journal or MemoryJournal()
        self.instructions = instructions
        self.sampling = sampling or Sampling()
        self.resolve = resolve
        self.wake = wake
        self.secrets = Secrets(catalogue, secrets_key)
        """What is marked `Secret` in the runs that are worked on here. It is nowhere else."""
        self.planning = self.gate.planning
        self.labels: Callable[[State, Session, Held | None], Labels] = labels
        """Makes what labels the results of a run that follows what it reads."""
        self.draining = False
        """Whether runs are to stop after the step they are at, because this process shuts down."""

    # -- running

    async def run(
        self,
        prompt: Prompt,
        session: Session,
        *,
        run_id: str | None = None,
        history: Iterable[Message] = (),
        output: Any = None,
        plan: Iterable[Intent] | None = None,
        watch: Watch | None = None,
    ) -> Run:
        """Put a prompt to the model and go on until it answers, must wait, or reaches a ceiling.

        A `run_id` that the journal knows goes on with that conversation, for the same requester. `history` is what was
        said before, repaired where calls and results do not pair. `output` is a type for the answer, found then in
        `run.output`. `watch` is called with each event as it happens; it must not block. `plan` are the calls that the
        application knows to be meant: where the gate looks at provenance, they run without a person as long as they
        stay within it.
        """
        self._need_model()
        activation, decode = await self._begin(prompt, session, run_id, history, output, watch, plan)
        return await _drain(activation, decode)

    async def stream(
        self,
        prompt: Prompt,
        session: Session,
        *,
        run_id: str | None = None,
        history: Iterable[Message] = (),
        output: Any = None,
        plan: Iterable[Intent] | None = None,
        watch: Watch | None = None,
    ) -> AsyncIterator[Event | Run]:
        """Do what `run` does, yielding the model's words and the journal's entries, and at last the `Run` itself.

        Stopping early leaves a run that `resume` goes on with.
        """
        self._need_model()
        activation, decode = await self._begin(prompt, session, run_id, history, output, watch, plan)
        async with closing(activation.stream()) as events:
            async for event in events:
                yield event
        yield _ended(activation, decode)

    async def submit(
        self,
        prompt: Prompt,
        session: Session,
        *,
        run_id: str | None = None,
        history: Iterable[Message] = (),
        output: Any = None,
        plan: Iterable[Intent] | None = None,
    ) -> str:
        """Journal a prompt and return the run's id: durable, `ready`, and left to a worker (or to `resume`).

        The model is the worker's: this harness needs none. Raises `RunBusy` where the run is being worked on.
        """
        activation, _ = await self._begin(prompt, session, run_id, history, output, None, plan)
        try:
            await activation.log.commit(())
        finally:
            await activation.log.release("ready")
        await wake(self, activation.run_id)
        return activation.run_id

    async def resume(self, run_id: str, *, output: Any = None, watch: Watch | None = None) -> Run:
        """Go on with a run that waited, was answered, failed or was interrupted; an answered one comes back as it is.

        Needs no session: the journal knows it. Raises `RunNotFound`, `RunBusy`.
        """
        activation, decode = await self._again(run_id, output, watch)
        return await _drain(activation, decode)

    async def resume_stream(
        self, run_id: str, *, output: Any = None, watch: Watch | None = None
    ) -> AsyncIterator[Event | Run]:
        """Do what `resume` does, as a stream."""
        activation, decode = await self._again(run_id, output, watch)
        async with closing(activation.stream()) as events:
            async for event in events:
                yield event
        yield _ended(activation, decode)

    async def call(
        self, call: ToolCall, session: Session, *, run_id: str | None = None, watch: Watch | None = None
    ) -> ToolResult | Confirmation:
        """Put one call from elsewhere through the same gate and journal, with no model of ours.

        Returns its result under the caller's own id, or a `Confirmation` when a person must answer first: then
        `answer` it, `resume` its `run_id`, and read the run's `results`.
        """
        message, notes = admit(Reply(Message("assistant", (call,))), 1)
        run_id = run_id or secrets.token_hex(16)
        held = self.secrets.apart(session.requester) if self.catalogue.secretive else None
        if held is not None:
            message = held.admit(message)
        first = (self._opened(session, "", None, outside=True), Said(message, notes=notes))
        journal_log = await self.journal.create(run_id, session.requester, first)
        if held is not None:
            self.secrets.keep(run_id, held)
        run = await _drain(Activation(self, journal_log, State(first), watch=watch, answer_tool=None), None)
        if run.confirmations:
            return run.confirmations[0]
        if run.doubts:
            text = f"It is not known whether this took effect: {run.doubts[0].reason}. Settle run {run.id}."
            return ToolResult(call.id, (Text(text),), is_error=True, code="in_doubt", name=call.name)
        result = next(iter(run.results.values()))
        return ToolResult(call.id, result.content, result.is_error, result.code, result.name, result.label, result.ext)

    # -- what people decide

    async def cancel(self, run_id: str, *, by: str = "the application", reason: str = "") -> Run:
        """Stop a run: at once when it rests, before its next step when a process works on it.

        Open calls get refusals; a run that is done stays what it is.
        """
        # Meant for the prompt that is being worked on, not for those to come.
        prompts = fold(await self.journal.read(run_id)).prompts
        await post(self, run_id, "cancel", str(max(1, prompts)), by, {"reason": reason})
        try:
            return await self.resume(run_id)
        except RunBusy:
            return await self.read(run_id)

    # -- beginnings

    async def _begin(
        self,
        prompt: Prompt,
        session: Session,
        run_id: str | None,
        history: Iterable[Message],
        output: Any,
        watch: Watch | None,
        plan: Iterable[Intent] | None,
    ) -> tuple[Activation, Callable[[dict[str, Any]], Any] | None]:
        described, decode = output_of(output, self.catalogue) if output is not None else (None, None)
        message = prompt if isinstance(prompt, Message) else user(sound(prompt) if isinstance(prompt, str) else prompt)
        earlier = list(history)
        _labelled(message, *earlier)
        if any(each.name == NUDGER for each in (message, *earlier)):
            raise CounterfoilError(f"{NUDGER!r} is the name under which the harness itself speaks: choose another")
        opened = self._opened(session, self._model_name, described)
        said: list[Entry] = [Said(message)]
        if plan is not None:  # after the prompt, because it is the plan for it: no model is asked for another
            said.append(Planned(meant(plan, self.catalogue), by="the application"))
        if earlier:
            messages, repairs = repair(earlier)
            if self.catalogue.secretive:
                held = self.secrets.apart(session.requester)
                messages = [held.admit(each) for each in messages]
            said.insert(0, Loaded(tuple(messages), tuple(repairs)))
        claimed = None if run_id is None else await self._find(run_id, session)
        if claimed is None:
            entries = [opened, *self._instructions, *said]
            journal_log = await self.journal.create(run_id or secrets.token_hex(16), session.requester, entries)
            state = State(entries)
        else:
            journal_log, state = claimed
            try:
                if state.open:
                    raise CounterfoilError(
                        f"run {run_id} waits for a person: answer, settle or cancel it before going on"
                    )
                if not state.entries:
                    said = [*self._instructions, *said]
                _write(journal_log, state, *([opened] if _reopens(state, opened) else []), *said)
            except BaseException:
                await journal_log.release(status(state, standing(state)))
                raise
        tool = answer_tool(described, decode) if described else None
        return Activation(self, journal_log, state, watch=watch, answer_tool=tool), decode

    def _opened(self, session: Session, model: str, output: Output | None, *, outside: bool = False) -> Opened:
        opened = Opened(session, self.catalogue.digest, model, output, outside)
        if self.planning and not outside:
            opened = msgspec.structs.replace(opened, planning=True)
        return self.gate.opened(opened)

    def _need_model(self) -> None:
        if self.model is None:
            raise CounterfoilError(
                "this harness has no model: it serves outside calls only. Give it one to run prompts, or `submit` them"
            )

    @property
    def _model_name(self) -> str:
        return self.model.name if self.model is not None else ""

    @property
    def _instructions(self) -> list[Entry]:
        return [Said(system(self.instructions))] if self.instructions else []

    async def _find(self, run_id: str, session: Session) -> tuple[Log, State] | None:
        """Become the owner of a run of that person's; nothing: there is none."""
        try:
            journal_log, records = await self.journal.claim(run_id)
        except RunNotFound:
            return None
        state = fold(records)
        if state.session is not None and state.session.requester != session.requester:
            await journal_log.release(status(state, standing(state)))
            raise CounterfoilError(f"run {run_id} belongs to another requester")
        return journal_log, state

    async def _again(
        self, run_id: str, output: Any, watch: Watch | None
    ) -> tuple[Activation, Callable[[dict[str, Any]], Any] | None]:
        described, decode = output_of(output, self.catalogue) if output is not None else (None, None)
        journal_log, records = await self.journal.claim(run_id)
        state = fold(records)
        try:
            session = await narrowed(state.session, self.resolve)
            opened = self._opened(session, self._model_name, state.output, outside=state.outside)
            if _reopens(state, opened):
                _write(journal_log, state, opened)
        except BaseException:
            await journal_log.release(status(state, standing(state)))
            raise
        described = state.output or described
        tool: Tool | None = answer_tool(described, decode) if described else None
        return Activation(self, journal_log, state, watch=watch, answer_tool=tool), decode


def labels(state: State, session: Session, held: Held | None) -> Labels:
    """Label results by what the tools declare of them."""
    return _labels()(state, session, held)


@functools.cache
def _labels() -> type[Labels]:
    from counterfoil.run.provenance import Labels  # noqa: PLC0415 - it is long, and the import is measured

    return Labels


def _labelled(*messages: Message) -> None:
    """Refuse a label that is none: what it was meant to say of a text would not be known."""
    for block in [block for message in messages for block in message.blocks]:
        label: Any = getattr(block, "label", None)
        if label is not None and not isinstance(label, Label):
            raise CounterfoilError(
                f"a block of the prompt or the history has {label!r} for its label: write Label(...)"
            )


def _write(log: Log, state: State, *entries: Entry) -> None:
    log.append(entries)
    for entry in entries:
        state.apply(entry)


async def _drain(activation: Activation, decode: Callable[[dict[str, Any]], Any] | None) -> Run:
    await activation.run()
    return _ended(activation, decode)


def _ended(activation: Activation, decode: Callable[[dict[str, Any]], Any] | None) -> Run:
    answer: Any = activation.state.answer
    if answer is not None and decode is not None:
        answer = decode(answer)
    return Run(activation.run_id, activation.state, activation.outcome, answer)


def _reopens(state: State, opened: Entry) -> bool:
    """Whether the session, the catalogue or the answer's schema differs from when the run was opened."""
    earlier = next((each for each in reversed(state.entries) if isinstance(each, Opened)), None)
    return earlier != opened
