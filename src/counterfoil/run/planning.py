"""The built-in first step: what does the model mean to do, asked before it has read anything that it did not choose?

It is asked in the form that it knows best, by calls of the tools themselves. They reach no gate and nothing runs: they
are read as what is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from counterfoil.gate.provenance.known import Known
from counterfoil.gate.provenance.leaves import fields_of, scalars
from counterfoil.gate.provenance.plan import says
from counterfoil.run.reply import admit
from counterfoil.run.scrub import has_placeholder
from counterfoil.run.step import NUDGER
from counterfoil.tools.guess import Handling
from counterfoil.tools.tool import Tool
from counterfoil.types.entry import Planned
from counterfoil.types.label import Origin
from counterfoil.types.message import Message, Text, ToolCall
from counterfoil.types.plan import Intent
from counterfoil.types.request import AUTO, Request, ToolSpec

if TYPE_CHECKING:
    from counterfoil.run.activation import Activation

MOST = 64
"""Intents of one plan: nobody means more, and a model that repeats itself is not believed without end."""

QUESTION = Message(
    "user",
    (
        Text(
            "Before you begin, say what this will take. Call each tool that you expect to need, once for every time "
            "that you expect to need it. Nothing is carried out now: these calls are only your plan. Give the "
            "arguments that you know from what was said so far, and leave out those that you will only learn later. "
            "Answer 'none' if none of these tools is needed."
        ),
    ),
    NUDGER,
)
"""What the model is asked. It is no part of the conversation that it goes on with."""


async def planned(activation: Activation) -> Planned:
    """Ask the run's model what it means to do. Raises `ModelError`."""
    known, model = activation.state.known, activation.model
    assert known is not None, "only a run that follows what it reads has a plan"
    shown = {spec.name for spec in activation.specs}
    tools = {each.name: each for each in plannable(activation.tools.values()) if each.name in shown}
    if not tools:
        return Planned((), model.name, by_model=True)
    history = [*activation.state.messages, QUESTION]
    specs = tuple(declaration(each) for each in tools.values())
    reply = await model.reply(Request(history, specs, AUTO, model.name, activation.harness.sampling))
    message, _ = admit(reply, 0, model.name)
    if activation.held is not None:
        message = activation.held.admit(message)
        for call in message.calls:
            activation.held.done(call.id)
    return Planned(intents(message.calls, tools, known), model.name, by_model=True, usage=reply.usage)


def plannable(tools: Iterable[Tool]) -> Iterator[Tool]:
    """The tools that a plan is about: those with consequences, and look-ups that single out a record."""
    for each in tools:
        if not each.answers and (not each.how.harmless or each.how.keys):
            yield each


def declaration(tool: Tool) -> ToolSpec:
    """How a tool is declared for the question: as it is, but that no argument has to be there."""
    parameters = {name: each for name, each in tool.spec.parameters.items() if name != "required"}
    return msgspec.structs.replace(tool.spec, parameters=parameters, strict=False)


def intents(calls: Iterable[ToolCall], tools: Mapping[str, Tool], known: Known) -> tuple[Intent, ...]:
    """What the calls of a plan mean: arguments that the requester's words or the application settle are fixed.

    Others that it named, or that must be there, are open, whatever it wrote: it could not know them yet. Calls that
    cannot be read, or of tools that are not there, mean nothing. The same thing, settled in every part, is not meant
    twice.
    """
    found: list[Intent] = []
    for call in calls:
        tool = tools.get(call.name)
        if tool is None or call.arguments is None or len(found) == MOST:
            continue
        properties: dict[str, Any] = tool.spec.parameters.get("properties") or {}
        fixed = {
            name: value
            for name, value in call.arguments.items()
            if name in properties and _settled(known, tool, name, value)
        }
        # An argument that need not be there and was not thought of is off the plan: a copy recipient, an attachment.
        meant = {name for name, value in call.arguments.items() if says(name, value, tool.how)}
        meant.update(tool.spec.parameters.get("required") or ())
        intent = Intent(
            tool.name, fixed, open=tuple(name for name in properties if name in meant and name not in fixed)
        )
        if intent.open and tool.how.harmless and not fixed.keys() & set(tool.how.keys):
            continue  # a look-up of nothing in particular singles out nothing
        if intent.open or intent not in found:
            found.append(intent)
    return tuple(found)


def _settled(known: Known, tool: Tool, name: str, value: Any) -> bool:
    if has_placeholder(value) or (tool.secrets is not None and tool.secrets.names_at_top(name)):
        return False  # a plan is journalled as it is
    # To fix a value is to allow no other: so it may stand anywhere in the words, but for what is short.
    anywhere = Handling(tool.how.act, {name: "content"}, words=tool.how.words)
    leaves = list(scalars(value, fields_of(tool.how)))
    return bool(leaves) and all(
        known.origin(each, tool.name, name, tool.how if str(each).isdigit() else anywhere)
        in (Origin.USER, Origin.CONFIG)
        for each in leaves
    )
