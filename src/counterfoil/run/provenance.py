"""What a run reads, followed as it is journalled: the fold behind the gate's provenance check."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, cast

import msgspec

from counterfoil.gate.provenance.known import Known
from counterfoil.run.secrets import Held
from counterfoil.run.state import Call, State
from counterfoil.tools.guess import Handling
from counterfoil.tools.result import project, to_builtins
from counterfoil.tools.tool import Tool
from counterfoil.types.entry import (
    Answered,
    Declassified,
    Entry,
    Finished,
    Loaded,
    Opened,
    Planned,
    Said,
    Settled,
)
from counterfoil.types.label import NEUTRAL, Label, Leaves, join, join_all
from counterfoil.types.message import Block, Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from counterfoil.types.session import Session
from counterfoil.types.verdict import Allowed

log = logging.getLogger("counterfoil.run")


def again(entries: Sequence[Entry], opened: Opened) -> Known | None:
    """What a run knows that was begun under other terms, the last of its entries having opened it like that.

    It is followed anew from its beginning, so that nothing that it has read is overlooked. Each verdict says which
    intent of the plan it uses up; where none was followed, none did, so a plan of that time counts no more.
    """
    state, followed = State(), True
    for each in entries:
        entry = each
        if isinstance(each, Opened):
            if each.provenance in (None, "off"):
                followed = False
            elif not followed and (known := state.known) is not None:
                followed = True
                known.plan.retire()
            entry = msgspec.structs.replace(each, provenance=opened.provenance, vouched=opened.vouched, me=opened.me)
        state.apply(entry)
    return state.known


def _said(state: State, known: Known, entry: Said) -> None:
    message = entry.message
    if message.role == "assistant":
        for block in message.blocks:
            if type(block) is not ToolCall:
                _replied(known, block)
            elif state.outside:  # nobody here knows what its author had read, unless the call says so
                known.say("", block.label or Label("untrusted", "what the caller had read"))
        known.turn()
    elif not entry.notes:  # the harness itself says nothing of its own
        if message.role == "user":
            known.plan.retire()
        _heard(known, message)


def _replied(known: Known, block: Block) -> None:
    """Take up what a model had before it when it wrote the rest of its reply: what its provider ran or looked up."""
    match block:
        case Text(text, Label() as label):
            known.say(text, label)
        case Media(label=Label() as label):
            known.say("", label)
        case Opaque() | ToolResult():
            known.say("", block.label or Label("untrusted", "what the model's provider added"))
        case _:
            pass


def _loaded(state: State, known: Known, entry: Loaded) -> None:
    for message in entry.messages:
        if message.role == "assistant":
            _heard(known, message)
            known.turn()
        else:
            _heard(known, message)


_EARLIER = {"user": Label("user"), "system": Label("config")}
"""Whose words a message has that does not say so. Those of other roles may repeat what anybody wrote."""


def _heard(known: Known, message: Message) -> None:
    own = _EARLIER.get(message.role, Label("untrusted", f"an earlier {message.role} message"))
    for block in message.blocks:
        match block:
            case Text(text, label):
                known.say(text, label or own)
            case Media() | Reasoning() | Opaque():
                known.say("", block.label or own)
            case ToolResult():
                known.say(block.text, block.label or Label("untrusted", block.name or "an earlier result"))
            case _:
                pass


def _finished(state: State, known: Known, entry: Finished) -> None:
    call = state.calls[entry.result.call_id]
    if entry.handle is not None:
        known.hold(call.call.name, entry.handle)
    else:
        _read(known, call, entry.result, entry.leaves)


def _answered(state: State, known: Known, entry: Answered) -> None:
    if entry.approved:
        call = state.calls[entry.call_id]
        known.endorse(call.call.name, call.arguments or {})


def _settled(state: State, known: Known, entry: Settled) -> None:
    call = state.calls[entry.call_id]
    if entry.result is not None and call.result is entry.result:
        _read(known, call, entry.result, None)


def _planned(state: State, known: Known, entry: Planned) -> None:
    known.intend(entry.intents, by_model=entry.by_model)


def _declassified(state: State, known: Known, entry: Declassified) -> None:
    call = state.calls[entry.call_id]
    if call.result is not None:
        known.declassify(entry.call_id, _text(call, call.result))


LEARN: dict[type[Entry], Callable[[State, Known, Any], None]] = {
    Said: _said,
    Loaded: _loaded,
    Finished: _finished,
    Answered: _answered,
    Settled: _settled,
    Planned: _planned,
    Declassified: _declassified,
}
"""How entries are taken up that say something of the texts that are read, when all before them has been."""


def _read(known: Known, call: Call, result: ToolResult, leaves: Leaves | None) -> None:
    name = call.call.name
    label = _outside(name) if result.label is None else result.label
    if result.is_error:  # it taints, and is none of the results that a plan's rules look into
        known.say(result.text, label, result.call_id)
    else:
        known.read(name, call.arguments or {}, partial(_text, call, result), label, leaves, result.call_id)


@lru_cache(maxsize=1024)
def _outside(tool: str) -> Label:
    """What a result has of which nothing is said."""
    return Label("untrusted", tool)


def _text(call: Call, result: ToolResult) -> str:
    """What the tool itself returned, without the gate's notes before it."""
    if type(call.verdict) is Allowed and call.verdict.notes and not result.is_error:
        result = msgspec.structs.replace(result, content=result.content[1:])
    return result.text


class Labels:
    """Labels what goes into the tools of a run and what comes out of them."""

    def __init__(self, state: State, session: Session, held: Held | None) -> None:
        self._state = state
        self.session = session
        self.held = held

    @property
    def known(self) -> Known:
        """What was read before."""
        known = self._state.follow()
        assert known is not None, "only a run that follows what it reads has labels"
        return known

    def handed_on(self, call: Call, tool: Tool) -> Label | None:
        """The label of what a call hands on."""
        try:
            return self.known.handed_on(tool.name, tool.how, call.arguments or {})
        except Exception:  # a call must not fail for want of a label
            log.exception("%s (call %s): what it hands on could not be labelled", tool.name, call.call.id)
            return tool.how.outside

    def erred(self, finished: Finished, call: Call, how: Handling | None = None) -> Finished:
        """What came of a call that failed, with a label where it is not simply an outsider's words.

        `how` is that of the tool whose words it has, which may be as private as a result; without, they are ours.
        """
        carried = self.known.carried(call.arguments or {})
        if how is None:
            said = Label("system", call.call.name)
        elif carried is NEUTRAL and not how.private and not how.secret:
            return finished
        else:
            readers = frozenset({self.session.requester, *self.known.me} - {""}) if how.private else None
            said = Label("untrusted", call.call.name, readers, bool(how.secret))
        label = join(said, carried)
        return msgspec.structs.replace(finished, result=msgspec.structs.replace(finished.result, label=label))

    def result(self, result: ToolResult, call: Call, tool: Tool, value: Any) -> tuple[Label | None, Leaves | None]:
        """The label of a result, where it is another than that of which nothing is declared; and those inside it."""
        settled = tool.how.settled
        if settled is not None and type(value) is str and not self._state.marked:
            return settled
        try:
            labels = [each.label for each in result.content if each.label is not None]
            if (carried := self.known.carried(call.arguments or {})) is not NEUTRAL:
                labels.append(carried)  # what it was given in private it may repeat
            if tool.how.default == "typed" and any(isinstance(each, Media) for each in result.content):
                labels.append(tool.how.outside)  # a picture can carry orders, whatever is said of it
            given = join_all(labels) if labels else None
            plain = _text(call, result) if _blocks(value) else self._plain(tool, value)
            label, leaves = self.known.label_result(
                tool.name,
                tool.how,
                call.arguments or {},
                plain,
                requester=self.session.requester,
                given=given,
            )
        except Exception:  # what took effect did so, whatever is wrong with its labels: nothing of it is trusted then
            log.exception("%s (call %s): its result could not be labelled", tool.name, call.call.id)
            return None, None
        return (None if label == tool.how.outside else label), leaves

    def _plain(self, tool: Tool, value: Any) -> Any:
        """What was returned as plain JSON values, as the model reads it but for the cut."""
        if isinstance(value, str):
            return value if self.held is None else self.held.scrubbed(value)
        plain = to_builtins(value) if self.held is None else self.held.plain(tool, value)
        return plain if tool.returns is None else project(plain, tool.returns)


def _blocks(value: Any) -> bool:
    """Whether a tool returned blocks, and no JSON."""
    if isinstance(value, list | tuple):
        return any(isinstance(each, Text | Media) for each in cast("Iterable[Any]", value))
    return isinstance(value, Text | Media)
