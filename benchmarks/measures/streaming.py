"""CPU of 35 KB of streamed arguments in pieces of four characters: to fold them, and through the whole harness."""

from __future__ import annotations

import asyncio
import json
import time

from benchmarks.adapters.counterfoil import CATALOGUES, CLERK
from benchmarks.measures.child import adapters
from benchmarks.scenario import NAME, PROMPT
from counterfoil import BaseModel, Harness, Text, ToolCall
from counterfoil.types.json import read_object
from counterfoil.types.stream import BlockDelta, BlockStart, BlockStop, ReplyFold, ReplyStart, ReplyStop

SIZES = (8_750, 35_000)


def events(size: int) -> list:
    """A reply with one call, as its pieces come."""
    text = json.dumps({"path": "/srv", "note": "x" * (size - 40), "count": 3})
    call = ToolCall("c", NAME)
    pieces = [BlockDelta(0, text[at : at + 4]) for at in range(0, len(text), 4)]
    whole = BlockStop(0, ToolCall("c", NAME, raw=text))
    return [ReplyStart(), BlockStart(0, call), *pieces, whole, ReplyStop("tool_calls")]


class Streams(BaseModel):
    def __init__(self, pieces: list) -> None:
        self.replies = [pieces, [ReplyStart(), BlockStop(0, Text("done")), ReplyStop()]]

    async def stream(self, request):
        for event in self.replies.pop(0):
            yield event


async def through(pieces: list) -> float:
    began = time.process_time()
    async for _ in Harness(Streams(pieces), CATALOGUES["read"]).stream(PROMPT, CLERK):
        pass
    return time.process_time() - began


def folded(pieces: list) -> float:
    began = time.process_time()
    adding = ReplyFold()
    for event in pieces:
        adding.add(event)
    arguments, error = read_object(adding.reply.message.calls[0].raw or "")
    assert arguments is not None, error
    return time.process_time() - began


async def main() -> None:
    adapters()
    result = {}
    for size in SIZES:
        pieces = events(size)
        result[f"fold_{size}"] = min(folded(pieces) for _ in range(20))
        result[f"harness_{size}"] = min([await through(pieces) for _ in range(20)])
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main())
