"""A model that says again what a journal recorded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import msgspec

from counterfoil.models.model import BaseModel
from counterfoil.types.entry import Ended, Entry, Opened, Record, Said
from counterfoil.types.error import ModelError
from counterfoil.types.message import Message, ToolCall
from counterfoil.types.request import Reply, Request, Stop


class Replay(BaseModel):
    """Plays back the replies of a recorded run, in order, whatever it is asked: a model's failures too.

    Made of a run's records or entries (`await journal.read(run_id)`, `run.entries`). A request after the last recorded
    reply is a `ModelError`. `requests` holds what it was sent.
    """

    def __init__(self, records: Iterable[Record | Entry]) -> None:
        entries = [each.entry if isinstance(each, Record) else each for each in records]
        self.name = next((each.model for each in entries if isinstance(each, Opened) and each.model), "replay")
        self._turns = [turn for each in entries if (turn := recorded_turn(each)) is not None]
        self.requests: list[Request] = []

    @property
    def left(self) -> int:
        """How many recorded replies have not been asked for."""
        return len(self._turns) - len(self.requests)

    async def reply(self, request: Request) -> Reply:
        """Play the next reply back. Raises the `ModelError` that was recorded, or one when nothing is left."""
        number = len(self.requests)
        if number >= len(self._turns):
            raise ModelError(f"the journal holds {len(self._turns)} replies, and this is request {number + 1}")
        self.requests.append(request)
        turn = self._turns[number]
        if isinstance(turn, ModelError):
            raise turn
        return turn


def recorded_turn(entry: Entry) -> Reply | ModelError | None:
    """What a model did according to an entry: its reply, its failure, or nothing."""
    match entry:
        case Said(message, stop, stop_raw, usage) if message.role == "assistant" and stop is not None:
            return Reply(_as_written(message), cast("Stop", stop), stop_raw, usage)
        case Ended(outcome) if outcome.kind == "failed":
            # The journal keeps the name of the error's class: it is told by a class of that name again.
            kind: type[ModelError] = type(outcome.which or "ModelError", (ModelError,), {})
            return kind(outcome.detail)
        case _:
            return None


def _as_written(message: Message) -> Message:
    """The message with the ids that the model gave its calls, so that it is numbered as it was then."""
    blocks = tuple(
        msgspec.structs.replace(block, id=block.provider_id or "", provider_id=None)
        if isinstance(block, ToolCall)
        else block
        for block in message.blocks
    )
    return msgspec.structs.replace(message, blocks=blocks)
