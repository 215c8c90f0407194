"""Who answers the harness's own planning request: a real model, once for each task."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from counterfoil.gate.provenance.plan import differences
from counterfoil.models.model import Model
from counterfoil.tools.guess import Handling
from counterfoil.types.error import ContextOverflow
from counterfoil.types.json import canonical
from counterfoil.types.message import Message, Text, ToolCall
from counterfoil.types.plan import Intent
from counterfoil.types.request import Reply, Request
from evals.agentdojo.record import Lines

Call = tuple[str, dict[str, Any]]
_TOLD = 400


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model said that it means to do."""

    suite: str
    task: str
    planner: str
    asked: str
    """SHA-256 of the messages and the tools, the first 16 digits: another catalogue is another question."""
    calls: list[Call] = []
    broken: int = 0
    """Calls that could not be read."""
    text: str = ""
    error: str = ""
    """What was too long for it. It has no plan then."""
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, ...]:
        """What it is known by."""
        return self.planner, self.suite, self.task, self.asked

    @property
    def reply(self) -> Reply:
        """The same as the reply of a model."""
        calls = tuple(ToolCall(f"plan{number}", name, given) for number, (name, given) in enumerate(self.calls, 1))
        return Reply(Message("assistant", calls or (Text(self.text or "none"),)), "tool_calls" if calls else "end")


class Planner(Protocol):
    """Answers planning requests."""

    @property
    def name(self) -> str:
        """Who it is."""
        ...

    async def plan(self, suite: str, task: str, request: Request) -> Reply:
        """Say what a task will take. Raises `ModelError`."""
        ...


class Asked:
    """A real model. What it has said once it is not asked again."""

    def __init__(self, name: str, model: Model, lines: Lines[Answer]) -> None:
        self.name = name
        self._model = model
        self._lines = lines

    async def plan(self, suite: str, task: str, request: Request) -> Reply:
        """Say what a task will take. Raises `ModelError`."""
        asked = digest(request)
        found = self._lines.known.get((self.name, suite, task, asked))
        if found is None:
            found = await self._ask(suite, task, asked, request)
            self._lines.add(found)
        return found.reply

    async def _ask(self, suite: str, task: str, asked: str, request: Request) -> Answer:
        began = time.perf_counter()
        try:
            said = (await self._model.reply(msgspec.structs.replace(request, model=self._model.name))).message
        except ContextOverflow as error:
            return Answer(suite, task, self.name, asked, error=str(error), seconds=time.perf_counter() - began)
        calls = [(call.name, call.arguments) for call in said.calls if call.arguments is not None]
        seconds = round(time.perf_counter() - began, 2)
        return Answer(
            suite, task, self.name, asked, calls, len(said.calls) - len(calls), said.text[:_TOLD], seconds=seconds
        )


def digest(request: Request) -> str:
    """What a request is known by."""
    parts = [msgspec.to_builtins(list(each)) for each in (request.messages, request.tools)]
    return hashlib.sha256(canonical(parts)).hexdigest()[:16]


class Agreement(msgspec.Struct, frozen=True):
    """How a plan compares with the reference solution, consequential calls alone."""

    meant: int = 0
    """Calls of the plan."""
    matched: int = 0
    """Those of them that a call of the reference solution carries out."""
    needed: int = 0
    """Calls of the reference solution."""


def agreement(plan: Iterable[Intent], reference: Iterable[Call], tools: dict[str, Handling]) -> Agreement:
    """Compare a plan with the reference solution, each intent counting once."""
    left = [each for each in plan if not tools[each.tool].harmless]
    meant, needed = len(left), 0
    for name, given in reference:
        how = tools[name]
        if how.act_of(given) == "read":
            continue
        needed += 1
        found = next((each for each in left if not differences(each, name, given, how, lambda tool: ())), None)
        if found is not None:
            left.remove(found)
    return Agreement(meant, meant - len(left), needed)
