"""Tools in the schema dialect of a host, and the arguments that come back read against the original."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from counterfoil import dialects
from counterfoil.dialects import Lowered
from counterfoil.types.error import CatalogueError, ModelError
from counterfoil.types.loss import Loss
from counterfoil.types.message import Block, ToolCall
from counterfoil.types.request import Reply, ToolSpec
from counterfoil.types.stream import BlockStop, StreamEvent

Lift = Callable[[Block], Block]
Tools = tuple[ToolSpec, ...]


def as_is(block: Block) -> Block:
    """Reverse nothing."""
    return block


class Schemas:
    """Lowers one catalogue after another; the last one is remembered, so that each is lowered once in a run."""

    def __init__(self, dialect: str | None) -> None:
        self._dialect = None if dialect is None else dialects.get(dialect)
        self._last: tuple[Tools, bool, Tools, Lift, tuple[Loss, ...]] | None = None
        self._too_large: Tools | None = None

    def lower(self, tools: Tools) -> tuple[Tools, Lift, tuple[Loss, ...]]:
        """The tools as the host takes them, how to reverse a block of its reply, and what could not be said.

        Strict modes are for the tools that ask for them (`strict=True`). Raises `ModelError`, naming the tool, for a
        schema that cannot be lowered.
        """
        dialect = self._dialect
        if dialect is None or (dialect.rules.strict and not any(tool.strict for tool in tools)):
            return tools, as_is, ()
        loose = self._too_large is tools
        last = self._last
        if last is None or last[0] is not tools or last[1] != loose:
            try:
                strict = () if loose else {tool.name for tool in tools if tool.strict}
                lowered = dialect.lower(tools, strict=strict)
            except CatalogueError as error:
                raise ModelError(str(error)) from error
            last = self._last = (tools, loose, *_asked(tools, lowered))
        return last[2:]

    def relax(self, tools: Tools) -> bool:
        """Give strict mode up for a catalogue that the host found too large. Says whether that changes anything."""
        if self._too_large is tools or not any(tool.strict for tool in tools):
            return False
        self._too_large = tools
        return True


def _asked(tools: Tools, lowered: Lowered) -> tuple[Tools, Lift, tuple[Loss, ...]]:
    """Keep quiet about tools that never asked to be strict."""
    pairs = zip(tools, lowered.tools, strict=True)
    written = tuple(
        [msgspec.structs.replace(after, strict=None) if before.strict is None else after for before, after in pairs]
    )
    silent = {f"/tools/{index}/strict" for index, tool in enumerate(tools) if tool.strict is None}
    return written, _lift(lowered), tuple([loss for loss in lowered.losses if loss.path not in silent])


def _lift(lowered: Lowered) -> Lift:
    def lift(block: Block) -> Block:
        if not isinstance(block, ToolCall) or block.arguments is None:
            return block
        try:
            arguments = lowered.reverse(block.name, block.arguments)
        except ValueError:
            # It is not what the dialect allows, either: the gate will say what is wrong with it.
            return block
        return block if arguments == block.arguments else msgspec.structs.replace(block, arguments=arguments, raw=None)

    return lift


def lift_reply(reply: Reply, lift: Lift) -> Reply:
    """A reply with its calls reversed."""
    if lift is as_is:
        return reply
    blocks = tuple([lift(block) for block in reply.message.blocks])
    return msgspec.structs.replace(reply, message=msgspec.structs.replace(reply.message, blocks=blocks))


def lift_event(event: StreamEvent, lift: Lift) -> StreamEvent:
    """A stream's event with its call reversed."""
    return BlockStop(event.index, lift(event.block)) if isinstance(event, BlockStop) else event
