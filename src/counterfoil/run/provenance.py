"""What a run reads, followed as it is journalled: the fold behind the gate's provenance check."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec

from counterfoil.gate.provenance.known import Known
from counterfoil.run.secrets import Held
from counterfoil.run.state import Call, State
from counterfoil.run.step import NUDGER
from counterfoil.tools.result import project, to_builtins
from counterfoil.tools.tool import Tool
from counterfoil.types.entry import (
    Answered,
    Declassified,
    Entry,
    Finished,
    Judged,
    Loaded,
    Opened,
    Planned,
    Said,
    Settled,
)
from counterfoil.types.label import Integrity, Label, Leaves, join_all
from counterfoil.types.message import Media, Message, Text, ToolResult
from counterfoil.types.session import Session
from counterfoil.types.verdict import Allowed

Fold = Callable[[Any, Any], None]
log = logging.getLogger("counterfoil.run")


def known_under(state: State, opened: Opened) -> Known:
    """What a run knows that is opened like that.

    One that was begun under other terms is followed again from its beginning: nothing that it has read is overlooked.
    """
    known = state.known
    if known is not None and known.given == (opened.vouched, opened.me):
        return known
    earlier = [
        msgspec.structs.replace(each, provenance=opened.provenance, vouched=opened.vouched, me=opened.me)
        if isinstance(each, Opened)
        else each
        for each in state.entries[:-1]
    ]
    return State(earlier).known or Known(opened.vouched, opened.me)


def _following(fold: Fold) -> Fold:
    """The same fold, which takes up as well what the entry says of the texts that are read."""

    def fold_and_learn(state: State, entry: Entry) -> None:
        fold(state, entry)
        if state.known is not None:
            _learn(state, state.known, entry)

    return fold_and_learn


def _learn(state: State, known: Known, entry: Entry) -> None:
    match entry:
        case Said(message):
            _heard(known, message, outside=state.outside)
        case Loaded(messages):
            for message in messages:
                _heard(known, message, outside=False)
        case Judged(call_id, intent=int(number)):
            state.calls[call_id].intent = number
            known.plan.spend(number)
        case Answered(call_id, True):
            call = state.calls[call_id]
            known.endorse(call.call.name, call.arguments or {})
        case Finished(result, leaves=leaves):
            _read(known, state.calls[result.call_id], result, leaves)
        case Settled(call_id, result=ToolResult() as result) if state.calls[call_id].result is result:
            _read(known, state.calls[call_id], result, None)
        case Planned(intents):
            known.intend(intents, by_model=entry.by_model)
        case Declassified(call_id):
            call = state.calls[call_id]
            if call.result is not None:
                known.declassify(_text(call, call.result))
        case _:
            pass


def _heard(known: Known, message: Message, *, outside: bool) -> None:
    if message.name == NUDGER:
        return
    if message.role == "assistant":
        for call in message.calls if outside else ():
            # Nobody here knows what its author had read, unless the call says so.
            known.say("", call.label or Label("untrusted", "what the caller had read"))
        known.turn()
        return
    own = Label("user" if message.role == "user" else "config")
    for block in message.blocks:
        match block:
            case Text(text, label):
                known.say(text, label or own)
            case Media(label=Label() as label):
                known.say("", label)
            case ToolResult():
                known.say(block.text, block.label or Label("untrusted", block.name or "an earlier result"))
            case _:
                pass


def _read(known: Known, call: Call, result: ToolResult, leaves: Leaves | None) -> None:
    name = call.call.name
    label = result.label or Label("untrusted", name)
    if result.is_error:  # it taints, and is none of the results that a plan's rules look into
        known.say(result.text, label)
    else:
        known.read(name, call.arguments or {}, _text(call, result), label, leaves)


def _text(call: Call, result: ToolResult) -> str:
    """What the tool itself returned, without the gate's notes before it."""
    noted = isinstance(call.verdict, Allowed) and call.verdict.notes and not result.is_error
    return msgspec.structs.replace(result, content=result.content[1:]).text if noted else result.text


FOLDS = {kind: _following(fold) for kind, fold in State.FOLDS.items()}
"""How the entries of a run add up that is judged by what it has read."""


class Labels:
    """Labels what goes into the tools of a run and what comes out of them."""

    def __init__(self, known: Known, session: Session, held: Held | None) -> None:
        self.known = known
        self.session = session
        self.held = held
        self._inputs: dict[str, dict[str, Integrity]] = {}
        """Of the calls that are running."""

    def handed_on(self, call: Call, tool: Tool) -> Label | None:
        """The label of what a call hands on; none where nobody asks, or it only looks something up."""
        try:
            if tool.how.harmless or not tool.contextual:
                return None
            inputs = self._inputs[call.call.id] = self.known.inputs(tool.name, tool.how, call.arguments or {})
            return self.known.handed_on(tool.name, inputs)
        except Exception:  # a call must not fail for want of a label
            log.exception("%s (call %s): what it hands on could not be labelled", tool.name, call.call.id)
            return tool.how.outside

    def labelled(self, finished: Finished, call: Call, tool: Tool, value: Any) -> Finished:
        """What came of a call, with the labels of what the tool returned."""
        label, leaves = self.result(finished.result, call, tool, value)
        result = finished.result if label is None else msgspec.structs.replace(finished.result, label=label)
        return msgspec.structs.replace(finished, result=result, leaves=leaves)

    def result(self, result: ToolResult, call: Call, tool: Tool, value: Any) -> tuple[Label | None, Leaves | None]:
        """The label of a result, where it is another than that of which nothing is declared; and those inside it."""
        try:
            labels = [each.label for each in result.content if each.label is not None]
            given = join_all(labels) if labels else None
            plain = _text(call, result) if _blocks(value) else self._plain(tool, value)
            label, leaves = self.known.label_result(
                tool.name,
                tool.how,
                call.arguments or {},
                plain,
                requester=self.session.requester,
                given=given,
                inputs=self._inputs.pop(call.call.id, None),
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
