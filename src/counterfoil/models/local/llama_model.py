"""A GGUF model behind the `Model` port: prompts, constraints and help around an engine."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import count
from typing import Any

import msgspec

from counterfoil.models.local import answer, situation
from counterfoil.models.local.blocks import BlockWriter
from counterfoil.models.local.chat import Chat, Turn
from counterfoil.models.local.constrain import Constrainer
from counterfoil.models.local.decoding import Decoding
from counterfoil.models.local.engine import Decoded, Engine
from counterfoil.models.local.policy import Plan, Policy, Step, choose, plan, repair
from counterfoil.models.model import BaseModel
from counterfoil.text.embedded.family import HERMES, Family
from counterfoil.text.embedded.grammar import answer_grammar, catalogue_grammar
from counterfoil.text.embedded.reader import CallReader
from counterfoil.types.error import ModelError
from counterfoil.types.request import Request, Sampling, Stop, Usage
from counterfoil.types.stream import ReplyStart, ReplyStop, StreamEvent

MAX_CALLS = 8
"""Calls of one turn."""
MAX_CHAT = 160
"""Tokens of prose from a model that is not trusted to report results."""


class LlamaModel(BaseModel):
    """A local model. Its calls always parse and conform to their tool's schema, whatever the model would have liked.

    Made by `counterfoil.models.local.load`. Decoding is greedy unless the request asks for a temperature. One
    request is decoded at a time; cancelling one frees the engine within a token (while a prompt is read: within a
    batch of 64). The reply's `ext["local"]` has `mean_logprob` of what was decoded (before the constraint), and
    `loosened`: the tools whose schemas the constraint engine cannot express in full.
    """

    def __init__(self, name: str, engine: Engine, chat: Chat, policy: Policy, seed: int | None = None) -> None:
        self.name = name
        self.policy = policy
        self._kit = _Kit(engine, chat, policy, seed)
        self._numbers = count(1)

    def close(self) -> None:
        """Free the memory, once whatever is being decoded has ended."""
        with self._kit.lock:
            self._kit.engine.close()

    def __enter__(self) -> LlamaModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Answer a request as it is decoded. Raises `ContextOverflow`, `ModelError`."""
        if any(tool.kind == "custom" for tool in request.tools):
            raise ModelError("local models call function tools only: give each tool a JSON Schema")
        turn = _Turn(self._kit, request, f"local{next(self._numbers)}.")
        yield ReplyStart(self.name)
        async with aclosing(turn.helped() if self.policy.narrow is not None else turn.alone()) as events:
            async for event in events:
                yield event
        yield turn.end()


class _Kit:
    """What all replies of one model share."""

    def __init__(self, engine: Engine, chat: Chat, policy: Policy, seed: int | None) -> None:
        self.engine, self.chat, self.policy, self.seed = engine, chat, policy, seed
        self.constrainer = Constrainer(engine)
        self.lock = threading.Lock()


class _Turn:
    """The work of one reply."""

    def __init__(self, kit: _Kit, request: Request, prefix: str) -> None:
        self._kit, self._request = kit, request
        self._tools = choose(request.tools, request.tool_choice)
        self._writer = BlockWriter(prefix)
        self._done: list[Decoded] = []
        self._logprobs: list[float] = []
        self._loosened: list[str] = []

    async def alone(self) -> AsyncGenerator[StreamEvent]:
        """Let the model decide: one decoding, calls or prose."""
        request, family = self._request, self._kit.chat.family
        tools, self._loosened = self._kit.constrainer.fit(self._tools)
        prompt = self._kit.chat.conversation(request.messages, request.tools)
        most = 1 if request.tool_choice.parallel is False else MAX_CALLS
        if request.output is not None:
            answered, _ = self._kit.constrainer.schema(request.output.schema)
            # The answer is JSON as well, so only a marked call counts as one.
            family = msgspec.structs.replace(family if family.open else HERMES, habits=())
            answer_rule = answered
        else:
            answer_rule = None
        prose = request.tool_choice.mode != "any" or not tools
        grammar = catalogue_grammar(tools, family, prose=prose, calls=most, answer=answer_rule)
        async with aclosing(self._decode(prompt, grammar, family, request.sampling)) as events:
            async for event in events:
                yield event

    async def helped(self) -> AsyncGenerator[StreamEvent]:
        """Plan first, by words; then let the model write each call, or prose when no tool fits."""
        where = situation.read(self._request.messages)
        planned, quoting = self._plan(where), self._kit.policy.answer == "quote"
        for step in planned.steps:
            async with aclosing(self._step(step)) as events:
                async for event in events:
                    yield event
        if self._writer.calls:
            return
        if self._request.output is not None:
            schema, _ = self._kit.constrainer.schema(self._request.output.schema)
            prompt = self._kit.chat.conversation(self._request.messages, ())
            async with aclosing(self._decode(prompt, answer_grammar(schema), HERMES, self._request.sampling)) as events:
                async for event in events:
                    yield event
        elif quoting and (where.tried or self._tools):
            # A model this small would make facts up, and say that it has done what it was asked.
            said = answer.lacking(*planned.missing) if planned.missing else answer.unfit(self._tools)
            for event in self._writer.say(answer.quote(where.tried) if where.tried else said):
                yield event
        else:
            async with aclosing(self._prose()) as events:
                async for event in events:
                    yield event

    def end(self) -> ReplyStop:
        """Say how the reply ended."""
        cut = any(each.stop == "length" for each in self._done)
        stop: Stop = "length" if cut else "tool_calls" if self._writer.calls else "end"
        usage = Usage(
            input_tokens=sum(each.prompt for each in self._done),
            output_tokens=sum(each.output for each in self._done),
            cached_tokens=sum(each.cached for each in self._done),
        )
        notes: dict[str, Any] = {}
        if self._logprobs:
            notes["mean_logprob"] = sum(self._logprobs) / len(self._logprobs)
        if self._loosened:
            notes["loosened"] = self._loosened
        return ReplyStop(stop, stop, usage, {"local": notes} if notes else {})

    def _plan(self, where: situation.Situation) -> Plan:
        policy, choice = self._kit.policy, self._request.tool_choice
        if where.tried:
            return repair(where, self._tools, policy)
        return plan(where.asked, where.earlier, self._tools, choice, policy) if self._tools else Plan()

    async def _step(self, step: Step) -> AsyncGenerator[StreamEvent]:
        family = self._kit.chat.family
        tools, loosened = self._kit.constrainer.fit(step.tools)
        self._loosened.extend(loosened)
        # The prompt declares the whole catalogue, so that it is the same from step to step and stays in the cache.
        turns = [Turn("system", family.system(self._request.tools))]
        for asked, written in family.examples:
            turns += [Turn("user", asked), Turn("assistant", written)]
        turns.append(Turn("user", step.words))
        own = msgspec.structs.replace(family, habits=())
        grammar = catalogue_grammar(tools, own, prose=False, calls=1)
        async with aclosing(self._decode(self._kit.chat.render(turns), grammar, own, self._request.sampling)) as events:
            async for event in events:
                yield event

    async def _prose(self) -> AsyncGenerator[StreamEvent]:
        tried = bool(self._request.messages and self._request.messages[-1].results)
        said = [each for each in self._request.messages if tried or not (each.calls or each.results)]
        sampling = self._request.sampling
        most = min(sampling.max_tokens or MAX_CHAT, MAX_CHAT)
        prompt = self._kit.chat.conversation(said, ())
        limited = msgspec.structs.replace(sampling, max_tokens=most)
        async with aclosing(self._decode(prompt, None, HERMES, limited)) as events:
            async for event in events:
                yield event

    async def _decode(
        self, prompt: str, grammar: str | None, family: Family, sampling: Sampling
    ) -> AsyncGenerator[StreamEvent]:
        kit = self._kit
        if sampling.seed is None and kit.seed is not None:
            sampling = msgspec.structs.replace(sampling, seed=kit.seed)
        decoding = Decoding(kit.engine, kit.lock, prompt, grammar, sampling)
        reader, writer = CallReader(family), self._writer
        async with aclosing(decoding.pieces()) as pieces:
            async for piece in pieces:
                if piece.logprob is not None:
                    self._logprobs.append(piece.logprob)
                for read in reader.feed(piece.text):
                    for event in writer.take(read):
                        yield event
                if writer.repeated:
                    decoding.stop()
        for read in reader.finish():
            for event in writer.take(read):
                yield event
        for event in writer.cut() if reader.open else writer.end_prose():
            yield event
        self._done.append(decoding.result)
