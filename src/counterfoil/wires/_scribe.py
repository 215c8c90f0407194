"""Writes the messages of a request, one turn at a time, so that a growing history is never written twice.

A turn is a message, or calls with all that answers them: pairing is repaired within it. What has been written of a
`Growing` list is remembered there as JSON, per wire, and the next request of the run goes on from its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from counterfoil.types.history import History, Repair
from counterfoil.types.message import Block, Ext, Message, Opaque, Reasoning, ToolCall, ToolResult
from counterfoil.types.request import Request
from counterfoil.wires._envelope import is_wrapped, wrap_arguments
from counterfoil.wires._fields import says_nothing
from counterfoil.wires._ids import Ids, Names
from counterfoil.wires._lookups import unmarked
from counterfoil.wires.wire import Body, Carried, Loss, Plan

WriteMessage = Callable[["Scribe", Message, str], None]
"""How a wire writes one message, given its JSON pointer: appends bodies to `scribe.out`."""


HOSTED = "$hosted"
"""The note in a request's `ext` slot that holds the tools which run at the provider: `[[place, tool], ...]`."""


class Losses:
    """What could not be said so far, for one wire."""

    def __init__(self, wire: str) -> None:
        self.wire = wire
        self.losses: list[Loss] = []

    def lose(self, path: str, what: str, carried: Carried) -> None:
        """Report something that cannot be said."""
        self.losses.append(Loss(path, what, carried))

    def foreign(self, slot: Ext, path: str) -> None:
        """Report what other wires say and this one does not. Notes of a wire to itself (`$...`) are no loss."""
        for wire, held in slot.items():
            said = [
                key
                for key, value in held.items()
                if (not key.startswith("$") or key == HOSTED) and not says_nothing(value)
            ]
            if wire != self.wire and said:
                self.lose(f"{path}/ext/{wire}", f"what only {wire} says: {', '.join(said)}", "dropped")


class Scribe(Losses):
    """What a wire needs while it writes: names, ids, the losses so far, and `out`, the bodies of this turn."""

    def __init__(self, wire: str, names: Names, ids: Ids, custom: frozenset[str] = frozenset()) -> None:
        super().__init__(wire)
        self.name = names
        self.id = ids
        self.custom = custom
        self.out: list[Body] = []
        self.count = 0
        self.reasoning: str | None = None
        """The field in which this host wants all reasoning, where the wire itself has none."""
        self.held = 0
        """How many of the last bodies the next turn may still add to, where roles must alternate."""
        self.model = ""
        """The model that is asked: what another family signed means nothing to it."""
        self._repair = Repair()
        self._tools: dict[str, str] = {}

    def call_id(self, call: ToolCall) -> str:
        """The wire's id of a call that is new in the history."""
        self._tools[call.id] = call.name
        return self.id.add(call.id, call.provider_id)

    def tool_of(self, result: ToolResult) -> str:
        """The wire's name of the tool that a result is of."""
        return self.name(self._tools.get(result.call_id) or result.name or "")

    def arguments(self, call: ToolCall, path: str) -> dict[str, Any]:
        """The arguments of a call, for a wire whose arguments are objects."""
        if is_wrapped(call):
            free = call.kind == "custom"
            what = "arguments that are free text" if free else "arguments that are not a JSON object"
            self.lose(path, what, "rewritten" if free and call.name not in self.custom else "envelope")
        return wrap_arguments(call)

    def turn(self, messages: Sequence[Message], write: WriteMessage) -> None:
        """Write one turn, with its pairing repaired."""
        repaired = self._repair.out
        repaired.clear()
        self._repair.add(messages)
        for message in repaired:
            path = f"/messages/{self.count}"
            message = unmarked(message)
            if message.model and self.model and family(message.model) != family(self.model):
                message = self._unsigned(message, path)
            write(self, message, path)
            self.count += 1

    def _unsigned(self, message: Message, path: str) -> Message:
        """The message as if another wire had brought it: what it signed is reported, and not written."""
        blocks: list[Block] = []
        for number, block in enumerate(message.blocks):
            slot: dict[str, Any] = {} if isinstance(block, Opaque) else block.ext.get(self.wire) or {}
            signed = [key for key in slot if "signature" in key.lower()]
            if isinstance(block, Reasoning):
                others = {wire: held for wire, held in block.ext.items() if wire != self.wire}
                block = msgspec.structs.replace(block, ext={f"{self.wire}, another family": slot, **others})
            elif signed and not isinstance(block, Opaque):
                self.lose(f"{path}/blocks/{number}", "the signature of another model family", "dropped")
                rest = {key: value for key, value in slot.items() if key not in signed}
                block = msgspec.structs.replace(block, ext={**block.ext, self.wire: rest})
            blocks.append(block)
        return msgspec.structs.replace(message, blocks=tuple(blocks))

    @property
    def repairs(self) -> tuple[str, ...]:
        """What had to be put right."""
        return tuple(self._repair.notes)

    @property
    def plan(self) -> Plan:
        """How to reverse the names and ids. It grows with the history."""
        return Plan(self.name.changed, self.id.changed, self.custom)


class _Kept:
    """What is remembered of one list for one wire."""

    __slots__ = ("basis", "length", "position", "scribe", "text")

    def __init__(self, scribe: Scribe, basis: tuple[str, Any], start: int) -> None:
        self.scribe = scribe
        self.basis = basis
        self.position = scribe.count = start
        self.text = bytearray(b"[")
        self.length = 1
        """How much of the text stays: after that comes what was the end."""

    def open(self) -> None:
        """Take the end off the text. As long as somebody holds the text of before, that stays, and a copy goes on."""
        try:
            del self.text[self.length :]
        except BufferError:
            self.text = self.text[: self.length]

    def append(self, bodies: Sequence[Body]) -> None:
        """Add bodies to the array."""
        for body in bodies:
            if len(self.text) > 1:
                self.text += b","
            self.text += msgspec.json.encode(body)


def family(model: str) -> str:
    """The first word of a model's name, without address, host, folder, vendor and tag: `claude`, `gemini`."""
    parts = [part for part in model.lower().rsplit("#", 1)[-1].rsplit("/", 1)[-1].split(":") if part[:1].isalpha()]
    numbered = [part for part in parts if any(letter.isdigit() for letter in part)]
    found = _FAMILY.match((numbered or parts or [""])[-1])
    return found[1] if found else model.lower()


_FAMILY = re.compile(r"^(?:[a-z]+\.)*([a-z]+)")


def write_messages(
    request: Request,
    start: int,
    make: Callable[[], Scribe],
    write: WriteMessage,
    basis: tuple[str, Any],
    *,
    encoded: bool,
) -> tuple[Scribe, list[Body] | msgspec.Raw]:
    """Write the messages of a request from `start` on: as bodies, or `encoded` as one JSON array.

    `basis` is the wire's name, and all that the writing depends on besides the messages: when that is no longer
    equal, what was remembered is written anew.
    """
    messages = request.messages
    basis = (basis[0], (basis[1], family(request.model)))

    def begin() -> Scribe:
        scribe = make()
        scribe.model = request.model
        return scribe

    memo = messages.memo if encoded and isinstance(messages, History) else None
    if memo is not None:
        found = _go_on(messages, start, memo, begin, write, basis)
        if found is not None:
            return found
    scribe = begin()
    scribe.count = position = start
    while position < len(messages):
        end, _ = turn_end(messages, position)
        scribe.turn(messages[position:end], write)
        position = end
    if encoded:
        return scribe, msgspec.Raw(msgspec.json.encode(scribe.out))
    return scribe, scribe.out


def _go_on(
    messages: Sequence[Message],
    start: int,
    memo: dict[str, Any],
    make: Callable[[], Scribe],
    write: WriteMessage,
    basis: tuple[str, Any],
) -> tuple[Scribe, msgspec.Raw] | None:
    # Taken out while it grows: if writing raises, nothing half-written is remembered.
    kept: _Kept | None = memo.pop(basis[0], None)
    if kept is None or kept.basis != basis or kept.position > len(messages):
        kept = _Kept(make(), basis, start)
    scribe, closed = kept.scribe, True
    kept.open()
    while closed and kept.position < len(messages):
        end, closed = turn_end(messages, kept.position)
        if closed:
            scribe.turn(messages[kept.position : end], write)
            done = max(0, len(scribe.out) - scribe.held)
            kept.append(scribe.out[:done])
            del scribe.out[:done]
            kept.position = end
    kept.length = len(kept.text)
    memo[basis[0]] = kept
    if not closed:
        return None
    # The end goes in place: the text is as long as the history, and is not copied.
    kept.append(scribe.out)
    kept.text += b"]"
    return scribe, msgspec.Raw(kept.text)


def turn_end(messages: Sequence[Message], start: int) -> tuple[int, bool]:
    """Where the turn that begins at `start` ends, and whether nothing that may still be appended belongs to it."""
    message, end, closed = messages[start], start + 1, True
    if message.role == "assistant" and message.calls:
        open_calls = {call.id for call in message.calls}
        while end < len(messages) and messages[end].role in ("tool", "user") and (results := messages[end].results):
            open_calls.difference_update([result.call_id for result in results])
            end += 1
        closed = not open_calls or end < len(messages)
    while end < len(messages) and is_joined(messages[end]):
        end += 1
    return end, closed


JOINED = "$joined"
"""The note in an `ext` slot that says: on the wire this message was one with the message before it."""


def is_joined(message: Message) -> bool:
    """Whether the message was read as the rest of the one before it."""
    return bool(message.ext) and any(JOINED in fields for fields in message.ext.values())
