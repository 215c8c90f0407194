"""A view of a growing list, and the repair of a history that came from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast, overload

import msgspec

from counterfoil.types.label import Label
from counterfoil.types.message import Block, Media, Message, Text, ToolCall, ToolResult

T = TypeVar("T")


class Growing(list[T]):
    """A list to which items are only ever appended, with room to remember what was computed from its beginning.

    Wires keep here the messages that they have already encoded, so that a long run never encodes one twice. What is
    remembered lives exactly as long as the list.
    """

    __slots__ = ("memo",)

    def __init__(self, items: Iterable[T] = ()) -> None:
        super().__init__(items)
        self.memo: dict[str, Any] = {}


class History(Sequence[T]):
    """The first `length` items of an append-only list: immutable, and made in constant time.

    A run's messages only ever grow, so each request can share them. Over a `Growing` list encoders remember what they
    have already encoded.
    """

    __slots__ = ("items", "length")

    def __init__(self, items: list[T]) -> None:
        self.items = items
        self.length = len(items)

    def __len__(self) -> int:
        return self.length

    @property
    def memo(self) -> dict[str, Any] | None:
        """What was remembered of the list, to look up and to add to; `None` if it is a plain list."""
        return self.items.memo if isinstance(self.items, Growing) else None

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self.items[i] for i in range(*index.indices(self.length))]
        if index < 0:
            index += self.length
        if not 0 <= index < self.length:
            raise IndexError("history index out of range")
        return self.items[index]

    def __iter__(self) -> Iterator[T]:
        for index in range(self.length):
            yield self.items[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        others = cast("Sequence[object]", other)
        return self.length == len(others) and all(a == b for a, b in zip(self, others, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"History({list(self)!r})"


INTERRUPTED = "This call was interrupted: there is no result."


def repair(messages: Iterable[Message]) -> tuple[list[Message], list[str]]:
    """Pair calls and results: after a message that calls comes one `tool` message, one result per call, in order.

    A call without a result gets one that says so; a result without a call, a second one for the same call, and a call
    in a message that is not the model's are dropped; calls with a blank or repeated id get ids of ours (`h1`, `h2`,
    ...; the model's is kept as `provider_id`). Returns the messages and one sentence per change; a well-formed history
    comes back equal, with no sentence.
    """
    repairing = Repair()
    repairing.add(list(messages))
    return repairing.out, repairing.notes


class Repair:
    """`repair`, in steps: `add` whole turns; `out` and `notes` grow."""

    def __init__(self) -> None:
        self.out: list[Message] = []
        self.notes: list[str] = []
        self.seen: set[str] = set()

    def add(self, messages: Sequence[Message]) -> None:
        """Take more messages: a call and its results in the same step."""
        index = 0
        while index < len(messages):
            message = messages[index]
            index += 1
            if message.role == "assistant" and message.calls:
                following: list[Message] = []
                while index < len(messages) and messages[index].role in ("tool", "user") and messages[index].results:
                    following.append(messages[index])
                    index += 1
                self._turn(message, following)
            elif message.results or message.calls:
                if message.results:
                    self.notes.append(f"dropped {len(message.results)} result(s) that answer no call")
                self._rest(message)
            else:
                self.out.append(message)

    def _turn(self, message: Message, following: list[Message]) -> None:
        calls = [block for block in message.blocks if isinstance(block, ToolCall)]
        results = [result for each in (message, *following) for result in each.results]
        renamed = self._ids(calls)
        self.out.append(self._with_calls(message, renamed))
        # Results pair by id; among equal ids, by order.
        waiting: dict[str, list[ToolCall]] = {}
        for before, after in zip(calls, renamed, strict=True):
            waiting.setdefault(before.id, []).append(after)
        found: dict[str, ToolResult] = {}
        for result in results:
            if queue := waiting.get(result.call_id):
                after = queue.pop(0)
                same = result.call_id == after.id
                found[after.id] = result if same else msgspec.structs.replace(result, call_id=after.id)
            else:
                self.notes.append(f"dropped a result for {result.call_id!r}: no open call has that id")
        for call in renamed:
            if call.id not in found:
                self.notes.append(
                    f"call {call.id!r} of {call.name} had no result: added one that says it was interrupted"
                )
        ordered = tuple(
            found.get(call.id) or ToolResult(call.id, (Text(INTERRUPTED),), is_error=True, name=call.name)
            for call in renamed
        )
        self._results(ordered, following)

    def _results(self, ordered: tuple[ToolResult, ...], following: list[Message]) -> None:
        if len(following) == 1 and following[0].role == "tool" and following[0].blocks == ordered:
            self.out.append(following[0])
            return
        if [result.call_id for each in following for result in each.results] != [result.call_id for result in ordered]:
            self.notes.append("put results into the order of their calls, in one message")
        self.out.append(Message("tool", ordered))
        for each in following:
            self._rest(each)

    def _ids(self, calls: list[ToolCall]) -> list[ToolCall]:
        renamed: list[ToolCall] = []
        for call in calls:
            if not call.id or call.id in self.seen:
                number = len(self.seen) + 1
                while f"h{number}" in self.seen:
                    number += 1
                self.notes.append(
                    f"a call of {call.name} had the {'blank' if not call.id else 'repeated'} id {call.id!r}"
                )
                call = msgspec.structs.replace(call, id=f"h{number}", provider_id=call.id)
            self.seen.add(call.id)
            renamed.append(call)
        return renamed

    @staticmethod
    def _with_calls(message: Message, renamed: list[ToolCall]) -> Message:
        if all(a is b for a, b in zip(message.calls, renamed, strict=True)) and not message.results:
            return message
        replacements = iter(renamed)
        blocks: tuple[Block, ...] = tuple(
            next(replacements) if isinstance(block, ToolCall) else block
            for block in message.blocks
            if not isinstance(block, ToolResult)
        )
        return msgspec.structs.replace(message, blocks=blocks)

    def _rest(self, message: Message) -> None:
        """Keep what a message says beside results, and beside calls that no model made."""
        if message.calls:
            self.notes.append(f"dropped {len(message.calls)} call(s) in a message of the {message.role}")
        rest: tuple[Block, ...] = tuple(
            block for block in message.blocks if not isinstance(block, ToolResult | ToolCall)
        )
        if rest:
            role = message.role
            if role == "tool":  # in a place of the requester's, it must not pass for their words
                role, rest = "user", tuple(_outsiders(block) for block in rest)
            self.out.append(Message(role, rest, message.name, message.ext))


def _outsiders(block: Block) -> Block:
    if isinstance(block, Text | Media) and block.label is None:
        return msgspec.structs.replace(block, label=Label("untrusted", "a tool message"))
    return block
