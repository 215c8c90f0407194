"""What the entries so far add up to. The same entries always give the same state, today or after a crash."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from counterfoil.gate.past import Past
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
    Planned,
    Said,
    Settled,
    Started,
)
from counterfoil.types.handle import Handle, revealed
from counterfoil.types.history import Growing
from counterfoil.types.json import canonical
from counterfoil.types.message import Code, Message, Reasoning, Text, ToolCall, ToolResult
from counterfoil.types.outcome import Outcome
from counterfoil.types.request import Output
from counterfoil.types.session import Session
from counterfoil.types.verdict import Allowed, Confirm, Refusal, Verdict

if TYPE_CHECKING:
    from counterfoil.gate.provenance.known import Known


class Call:
    """One tool call of a run, and how far it has come."""

    __slots__ = (
        "answer",
        "arguments",
        "asked",
        "call",
        "counted",
        "digest",
        "doubt",
        "expires_at",
        "identity",
        "intent",
        "result",
        "started",
        "verdict",
    )

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self.arguments: dict[str, Any] | None = call.arguments
        self.identity = (call.name, canonical(call.arguments) if call.arguments is not None else b"")
        """Equal for calls that ask for the same thing."""
        self.counted = False
        self.verdict: Verdict | None = None
        self.intent: int | None = None
        """Which intent of the plan it has used up."""
        self.digest = ""
        self.expires_at: float | None = None
        self.asked = 0
        """How often a person was asked about it: arguments that change must be confirmed again."""
        self.answer: Answered | None = None
        self.started: Started | None = None
        self.doubt: str | None = None
        self.result: ToolResult | None = None

    @property
    def waiting(self) -> bool:
        """Whether a person must answer before the call can go on."""
        return self.result is None and self.started is None and isinstance(self.verdict, Confirm)


class State:
    """A fold over entries: apply them one by one, in order."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries: list[Entry] = []
        self.session: Session | None = None
        self.outside = False
        """Whether the run serves one call from elsewhere, with no model of ours."""
        self.output: Output | None = None
        self.answer: dict[str, Any] | None = None
        """The structured answer, once given."""
        self.messages: list[Message] = Growing()
        self.turn = 0
        self.past = Past()
        self.calls: dict[str, Call] = {}
        """Every call of the run, by our id, in order."""
        self.open: list[Call] = []
        """The calls of the last turn, while one of them has no result."""
        self.unanswered = 0
        """How many of the open calls have no result."""
        self.prompts = 0
        """How often the requester spoke."""
        self.exchange = 0
        """How many calls there were when the requester last spoke."""
        self.doubts: dict[str, tuple[tuple[str, bytes], ...]] = {}
        """Of which calls nobody knows whether they took effect, and what they ask for: as asked, and as run."""
        self.handles: dict[str, Handle] = {}
        """What was returned and not shown to the model, by name."""
        self.ended: Outcome | None = None
        self.last_words = False
        """Whether the model has been asked once more after a ceiling."""
        self._terms: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        """What is vouched for and who the requester is, in a run that is judged by what it has read."""
        self._known: Known | None = None
        self._unread: list[Entry] = []
        """The entries that `_known` has still to take up."""
        self.marked = False
        """Whether something may have been read that is not the requester's, the application's or the service's own.

        Told from the entries alone: where there is nothing, they need not be taken up.
        """
        self._planning = False
        self._unplanned = False
        for entry in entries:
            self.apply(entry)

    def apply(self, entry: Entry) -> None:
        """Add one entry."""
        self.entries.append(entry)
        self.FOLDS[type(entry)](self, entry)

    def _opened(self, entry: Opened) -> None:
        self.follow()  # what was read before, as it was opened then
        self.session, self.outside, self.output = entry.session, entry.outside, entry.output
        self._planning = entry.planning
        terms = None if entry.provenance in (None, "off") else (entry.vouched, entry.me)
        if terms != self._terms:
            self._terms, self._known, self._unread = terms, None, []
            if terms is not None and len(self.entries) > 1:
                from counterfoil.run.provenance import again  # noqa: PLC0415 - it is for such runs only

                self._known, self.marked = again(self.entries, entry), True
        for call in self.open:  # opened again, with other permissions: what was allowed is judged again
            if call.started is None and isinstance(call.verdict, Allowed):
                self._unjudge(call)

    def _loaded(self, entry: Loaded) -> None:
        self._unread.append(entry)
        self.marked = True
        self.messages.extend(entry.messages)

    def _said(self, entry: Said) -> None:
        message = entry.message
        self.messages.append(message)
        if message.role == "assistant":
            self._replied(entry, message)
        elif message.role == "user" and not entry.notes:
            self.prompts += 1
            self.past.new_exchange()
            self.exchange = len(self.calls)
            self.ended = self.answer = None
            self.last_words = False
            self._unplanned = True
        if self._terms is not None:
            self._unread.append(entry)
            if not self.marked and (self.outside or len(self.open) < len(message.blocks)):  # it is not calls alone
                self.marked = self.outside or not _plain(message)

    def _replied(self, entry: Said, message: Message) -> None:
        self.turn += 1
        if not self.outside:
            self.past.turns += 1
        if entry.usage is not None:
            self.past.use(entry.usage)
        self.open = [Call(block) for block in message.blocks if isinstance(block, ToolCall)]
        self.unanswered = len(self.open)
        for call in self.open:
            self.calls[call.call.id] = call
        if self.ended is not None:
            self.last_words = self.ended.kind == "limit"
            if self.ended.kind == "failed":
                self.ended = None

    def _judged(self, entry: Judged) -> None:
        call = self.calls[entry.call_id]
        past, name = self.past, call.call.name
        if not call.counted:
            call.counted = True
            past.identical[call.identity] = past.identical.get(call.identity, 0) + 1
        elif call.started is None:  # it was let through, and cannot run after all
            self._take_back(call)
        call.verdict = verdict = entry.verdict
        if entry.arguments is not None:
            call.arguments = entry.arguments
        if entry.intent is not None and (known := self.known) is not None:
            call.intent = entry.intent
            known.plan.spend(entry.intent)
        if type(verdict) is Allowed:
            past.allowed += 1
            past.by_tool[name] = past.by_tool.get(name, 0) + 1
        elif isinstance(verdict, Refusal):
            self._result(call, _refusal(call, verdict.code, verdict.message))
        else:
            call.digest, call.expires_at, call.answer = entry.digest, entry.expires_at, None
            call.asked += 1

    def _answered(self, entry: Answered) -> None:
        call = self.calls[entry.call_id]
        call.answer = entry
        if entry.expired:
            self._result(call, _refusal(call, "expired", "Nobody confirmed this in time, so it was not done."))
        elif not entry.approved:
            said = f": {entry.reason}" if entry.reason else ""
            self._result(
                call, _refusal(call, "declined", f"{entry.by or 'A person'} declined this{said}. Do not try again.")
            )
        else:
            # The gate judges again, with what the requester may do by now.
            self._unjudge(call)
            if entry.arguments is not None:
                call.arguments = entry.arguments
            self._unread.append(entry)
            self.follow()  # while these are the arguments: a check may change them when it judges again

    def _unjudge(self, call: Call) -> None:
        """The gate is to judge a call again, so what it counted for it is taken back."""
        call.counted = False
        self.past.identical[call.identity] -= 1
        self._take_back(call)

    def _take_back(self, call: Call) -> None:
        """A verdict does not stand any more, nor what was used up by it; that the call was asked for does."""
        past, name = self.past, call.call.name
        if isinstance(call.verdict, Allowed):
            past.allowed -= 1
            past.by_tool[name] -= 1
        if call.intent is not None:
            if self._known is not None:
                self._known.plan.restore(call.intent)
            call.intent = None
        call.verdict = None

    def _started(self, entry: Started) -> None:
        self.calls[entry.call_id].started = entry

    def _finished(self, entry: Finished) -> None:
        result = entry.result
        if self._terms is not None:
            self._unread.append(entry)
            if not self.marked:
                label = result.label
                own = label is not None and label.integrity in _OWN and label.readers is None and not label.secret
                self.marked = not own or entry.handle is not None
        call = self.calls[result.call_id]
        if call.doubt is not None:
            call.doubt = None
            self.doubts.pop(entry.result.call_id, None)
        if entry.handle is not None:
            self.handles[entry.handle.name] = entry.handle
        if self.output is not None and call.call.name == self.output.name and not result.is_error:
            self.answer = revealed(call.arguments, self.handles) if self.handles else call.arguments
        self._result(call, result)

    def _doubted(self, entry: Doubted) -> None:
        call = self.calls[entry.call_id]
        call.doubt = entry.reason
        self._doubt(call)

    def _doubt(self, call: Call) -> None:
        name, arguments = call.call.name, call.arguments or {}
        self.doubts[call.call.id] = (call.identity, (name, canonical(arguments)))

    def doubtful(self, identity: tuple[str, bytes]) -> bool:
        """Whether a call in doubt asks for the same thing."""
        return any(identity in each for each in self.doubts.values())

    def _settled(self, entry: Settled) -> None:
        self._unread.append(entry)
        self.marked = True
        call = self.calls[entry.call_id]
        call.doubt = None
        # What was given up as unknown stays in `doubts`: the model may not simply ask for the same again.
        if entry.how != "abandon":
            self.doubts.pop(entry.call_id, None)
        if call.result is not None:
            return  # the run was stopped and the model has been told; only the fact is kept
        if entry.how == "retry":
            call.started = None
            self._unjudge(call)
        elif entry.how == "happened":
            happened = Text(f"{entry.by} found that this call did take effect.")
            self._result(call, entry.result or ToolResult(call.call.id, (happened,), name=call.call.name))
        else:
            message = "It is not known whether this took effect. A person has been told. Do not repeat it."
            self._result(call, _refusal(call, "in_doubt", message))

    def _ended(self, entry: Ended) -> None:
        self.ended = entry.outcome
        code: Code
        for call in [call for call in self.open if call.result is None]:
            if call.started is not None and call.started.effect != "read":
                call.doubt = call.doubt or "it was running when the run was stopped"
                self._doubt(call)
                code, message = (
                    "in_doubt",
                    "It was running when the run was stopped: whether it took effect is not known.",
                )
            elif entry.outcome.kind == "limit":
                code, message = "over_limit", f"It was not run: the run reached its limit ({entry.outcome.which})."
            else:
                code, message = "declined", "It was not run: the run was cancelled."
            self._result(call, _refusal(call, code, message))

    def _planned(self, entry: Planned) -> None:
        self._unread.append(entry)
        self._unplanned = False
        if entry.usage is not None:
            self.past.use(entry.usage)

    def _declassified(self, entry: Declassified) -> None:
        self._unread.append(entry)

    def _result(self, call: Call, result: ToolResult) -> None:
        call.result = result
        self.unanswered -= 1
        if self.unanswered == 0:
            self.messages.append(Message("tool", tuple([each.result for each in self.open if each.result is not None])))
            self.open = []

    def allowed(self, name: str) -> Iterator[dict[str, Any]]:
        """The arguments of a tool's allowed calls since the requester last spoke."""
        for call in islice(self.calls.values(), self.exchange, None):
            if call.call.name == name and isinstance(call.verdict, Allowed):
                yield call.arguments or {}

    FOLDS: ClassVar[dict[type[Entry], Callable[[Any, Any], None]]] = {
        Opened: _opened,
        Loaded: _loaded,
        Said: _said,
        Judged: _judged,
        Answered: _answered,
        Started: _started,
        Finished: _finished,
        Doubted: _doubted,
        Settled: _settled,
        Ended: _ended,
        Planned: _planned,
        Declassified: _declassified,
    }

    def follow(self) -> Known | None:
        """What was read and from whom, in a run that is judged by it.

        It is taken up when somebody asks, which is when a call with consequences is judged.
        """
        if self._terms is None:
            self._unread.clear()
            return None
        make, learn = _following()
        if (known := self._known) is None:
            known = self._known = make(*self._terms)
        if unread := self._unread:
            taken_up = 0
            try:
                for entry in unread:
                    learn[type(entry)](self, known, entry)
                    taken_up += 1
            finally:  # what could not be taken up is tried again, and never passed over
                del unread[:taken_up]
        return known

    @property
    def known(self) -> Known | None:
        """The same."""
        return self.follow()

    @property
    def follows(self) -> bool:
        """Whether the run is judged by what it has read."""
        return self._terms is not None

    @property
    def plan_due(self) -> bool:
        """Whether the model is to be asked what it means to do: nobody has said so, and it has read nothing yet."""
        return self._planning and self._unplanned and (known := self.known) is not None and not known.tainted

    @property
    def unsettled(self) -> list[Call]:
        """The calls in doubt that nobody has settled, whether or not the run waits for it."""
        return [call for id in self.doubts if (call := self.calls[id]).doubt is not None]

    @property
    def results(self) -> dict[str, ToolResult]:
        """Our call id to its result, in the order of the calls."""
        return {id: call.result for id, call in self.calls.items() if call.result is not None}

    @property
    def hash(self) -> str:
        """SHA-256 of everything a model, a person or an effect depends on."""
        calls = [
            [id, call.arguments, msgspec.to_builtins(call.verdict), msgspec.to_builtins(call.result), call.doubt]
            for id, call in self.calls.items()
        ]
        whole = [msgspec.to_builtins(self.messages), calls, msgspec.to_builtins(self.ended), self.answer, self.turn]
        if self.handles:
            whole.append(msgspec.to_builtins(self.handles))
        return hashlib.sha256(canonical(whole)).hexdigest()


_OWN = frozenset({"user", "config", "system"})


def _plain(message: Message) -> bool:
    """Whether a message is what its role says: the words of the requester, of the application, or of the model."""
    for each in message.blocks:
        if isinstance(each, Text):
            if each.label is not None or message.role == "tool":
                return False
        elif message.role != "assistant" or not isinstance(each, ToolCall | Reasoning):
            return False
    return True


@functools.cache
def _following() -> tuple[type[Known], Mapping[type[Entry], Callable[[State, Known, Any], None]]]:
    from counterfoil.gate.provenance.known import Known  # noqa: PLC0415 - it is long, and the import is measured
    from counterfoil.run.provenance import LEARN  # noqa: PLC0415 - the same

    return Known, LEARN


def _refusal(call: Call, code: Code, message: str) -> ToolResult:
    return ToolResult(call.call.id, (Text(f"Refused ({code}). {message}"),), True, code, call.call.name)
