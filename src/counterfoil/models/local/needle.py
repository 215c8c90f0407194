"""Needle behind the `Model` port: a model of 121 million parameters that writes tool calls, and nothing else."""

from __future__ import annotations

import re
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from jsonschema_rs import validator_for

from counterfoil.models.local import answer, situation
from counterfoil.models.local.blocks import BlockWriter
from counterfoil.models.local.decoding import Decoding
from counterfoil.models.local.engine import Decoded
from counterfoil.models.local.ground import unheard
from counterfoil.models.local.needle_engine import NeedleEngine, write_prompt
from counterfoil.models.local.policy import SMALL, choose, plan
from counterfoil.models.local.weights import Progress
from counterfoil.models.model import BaseModel
from counterfoil.text.embedded.reader import Read
from counterfoil.types.error import ModelError
from counterfoil.types.request import Request, Stop, ToolSpec, Usage
from counterfoil.types.stream import ReplyStart, ReplyStop, StreamEvent

NARROWED = SMALL
"""The words pick the tools that it is shown: it reads its prompt anew for every request, so each tool costs time.
On the demonstration's requests it was right in 25 of 31 when shown the three best tools, ungrounded (1.9 s), and in 27
when shown one a part (1.0 s).
"""

_CALLS = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


class _Written(msgspec.Struct, frozen=True):
    name: str
    arguments: dict[str, Any]


class NeedleModel(BaseModel):
    """Needle 3. Made by `counterfoil.models.local.load("needle")`.

    It is shown one question at a time, not the conversation. What it writes is checked before anybody sees it: a call
    that does not conform to its schema, or holds a value that nobody has said, is dropped, so a call comes at the end
    and not as it is written. It writes no prose: answers are plain sentences that quote the results. There is no cache
    across turns. Cancelling kills its process, at once.
    """

    def __init__(self, path: Path, *, progress: Progress | None = None, seed: int | None = None) -> None:
        self.name = "local:needle"
        if progress is not None:
            progress("starting needle", 0.5)
        self._engine = NeedleEngine(path)
        if progress is not None:
            progress("ready", 1.0)
        self._seed = seed
        self._lock = threading.Lock()
        self._numbers = count(1)

    def close(self) -> None:
        """End its process."""
        with self._lock:
            self._engine.close()

    def __enter__(self) -> NeedleModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Answer a request. Raises `ModelError` when a call is demanded and none conforms."""
        if request.output is not None:
            raise ModelError("needle writes tool calls only: ask another model for a structured answer")
        yield ReplyStart(self.name)
        writer = BlockWriter(f"local{next(self._numbers)}.")
        where = situation.read(request.messages)
        tools = choose(request.tools, request.tool_choice)
        wanted, tools = self._question(where, tools, request)
        done = Decoded("end")
        if wanted:
            text, done = await self._ask(wanted, tools, request)
            one = request.tool_choice.parallel is False
            for call in _sound(text, tools, (wanted, *where.earlier))[: 1 if one else None]:
                raw = msgspec.json.encode(call.arguments).decode()
                for read in (Read("call", call.name), Read("arguments", raw), Read("end")):
                    for event in writer.take(read):
                        yield event
        if not writer.calls:
            if request.tool_choice.mode == "any":
                raise ModelError("a tool call was demanded, and needle wrote none that conforms")
            allowed = choose(request.tools, request.tool_choice)
            for event in writer.say(answer.quote(where.tried) if where.tried else answer.unfit(allowed)):
                yield event
        kind: Stop = "tool_calls" if writer.calls else "end"
        yield ReplyStop(kind, kind, Usage(output_tokens=done.output))

    def _question(
        self, where: situation.Situation, tools: tuple[ToolSpec, ...], request: Request
    ) -> tuple[str, tuple[ToolSpec, ...]]:
        if not tools:
            return "", ()
        if where.tried:
            failed = where.to_repair
            names = {each.call.name for each in failed}
            errors = " ".join(each.result.text for each in failed)
            return (f"{where.asked} ({errors})" if failed else ""), tuple(tool for tool in tools if tool.name in names)
        planned = plan(where.asked, where.earlier, tools, request.tool_choice, NARROWED)
        near = {tool.name for step in planned.steps for tool in step.tools}
        return (where.asked if near else ""), tuple(tool for tool in tools if tool.name in near)

    async def _ask(self, query: str, tools: Sequence[ToolSpec], request: Request) -> tuple[str, Decoded]:
        shown = [_declaration(tool) for tool in tools]
        sampling = request.sampling
        if sampling.seed is None:
            sampling = msgspec.structs.replace(sampling, seed=self._seed)
        decoding = Decoding(self._engine, self._lock, write_prompt(query, shown), None, sampling)
        pieces: list[str] = []
        async with aclosing(decoding.pieces()) as found:
            async for piece in found:
                pieces.append(piece.text)
        return "".join(pieces), decoding.result


def _sound(text: str, tools: Sequence[ToolSpec], said: Sequence[str]) -> list[_Written]:
    """Take the calls out of a completion, but only those that conform and of which every value was said."""
    found = _CALLS.search(text)
    try:
        written = msgspec.json.decode(found.group(1), type=list[msgspec.Raw]) if found else []
    except msgspec.DecodeError:
        return []
    known = {tool.name: tool for tool in tools}
    sound: list[_Written] = []
    for each in written:
        try:
            call = msgspec.json.decode(each, type=_Written)
        except msgspec.DecodeError:
            continue
        tool = known.get(call.name)
        if tool is None or not validator_for(tool.parameters).is_valid(call.arguments):
            continue
        if not unheard(tool, call.arguments, said):
            sound.append(call)
    return sound


def _declaration(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
