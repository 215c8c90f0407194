"""A completion endpoint as a model: with tools, streaming, tool choice and structured output."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

import msgspec

from counterfoil.models import continuous
from counterfoil.models.completions import Asked, Completion, Ended, Said
from counterfoil.models.dialogue import Dialogue
from counterfoil.models.model import BaseModel
from counterfoil.models.template import ChatTemplate
from counterfoil.text import Reader, Unwritable
from counterfoil.text import family as family_of
from counterfoil.text.constrain import Constrainer, Constraint, Engine, Turn, chosen_of
from counterfoil.text.constrain.nodes import opening
from counterfoil.text.family import Family
from counterfoil.text.grammars.pythonic import PythonicCalls
from counterfoil.text.reader import family_marks
from counterfoil.types.error import ModelError
from counterfoil.types.message import ToolCall
from counterfoil.types.request import Request, Sampling
from counterfoil.types.stream import BlockStart, BlockStop, ReplyStart, ReplyStop, StreamEvent


class TextModel(BaseModel):
    """Any completion endpoint as a `Model`: `TextModel(HttpCompletion("vllm", "NAME"), "hermes", template)`.

    `family` is how its calls are written (a name, or a `Family`); `template` how its conversations are, without which
    each turn is a plain line, as base models like it. Where the endpoint decodes under constraints, calls conform to
    their schemas and a tool choice is enforced; where not, a call that is asked for is begun for the model, and one
    that is not wanted ends the reply. `engine` compiles each grammar before it is sent. `turn` are the settings of the
    grammar that no request says. The reply's `ext["text"]` names the tools of which a call may not conform.
    """

    def __init__(
        self,
        completion: Completion,
        family: Family | str,
        template: ChatTemplate | None = None,
        *,
        engine: Engine | None = None,
        constrain: bool = True,
        turn: Turn | None = None,
        name: str | None = None,
    ) -> None:
        self.completion = completion
        self.family = family_of(family) if isinstance(family, str) else family
        self.name = name or completion.name
        self.dialogue = Dialogue(self.family, template)
        self._constrainer = Constrainer(self.family, engine)
        self.constrains = constrain and completion.constrains
        """Whether replies are held to a grammar."""
        self._turn = turn or Turn()

    def constraint(self, request: Request, *, thinking: bool = False) -> Constraint | None:
        """The grammar of a request's reply; `None` where there is nothing to hold it to."""
        if not (request.tools or request.output):
            return None
        answer = request.output.schema if request.output is not None else None
        turn = msgspec.structs.replace(self._turn, thinking=thinking, answer=answer)
        if continuous.is_continuous(self.family):
            turn = msgspec.structs.replace(turn, calls=min(1, turn.calls))
        return self._constrainer.constraint(request.tools, request.tool_choice, turn)

    def head(self, request: Request) -> str:
        """How every reply to a request begins that calls one of the tools asked for."""
        turn = msgspec.structs.replace(self._turn, reasoning=False, lead=False, answer=None)
        return opening(self._constrainer.constraint(request.tools, request.tool_choice, turn).rules.start)

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Answer a request as it is written. Raises `ModelError`, `ContextOverflow`."""
        try:
            reply = _Reply(self, request)
        except (Unwritable, ValueError) as error:
            raise ModelError(f"{self.name}: {error}") from error
        yield ReplyStart(self.name)
        ended: Ended | None = None
        async with aclosing(self.completion.complete(reply.asked)) as pieces:
            for event in reply.begin():
                yield event
            async for piece in pieces:
                if isinstance(piece, Said):
                    for event in reply.take(piece.text):
                        yield event
                    if reply.over:
                        ended = Ended("end", "call")
                        break
                else:
                    ended = piece
        if ended is None:
            raise ModelError(f"{self.name}: the text ended without saying why")
        for event in reply.end(ended):
            yield event


class _Reply:
    """One reply, from text to events."""

    def __init__(self, model: TextModel, request: Request) -> None:
        if any(tool.kind == "custom" for tool in request.tools):
            raise ValueError("text formats know function tools only: give each tool a JSON Schema")
        family = model.family
        prompt = model.dialogue.prompt(request.messages, request.tools)
        template = model.dialogue.template
        if template is not None and template.bos and model.completion.adds_bos:
            prompt = prompt.removeprefix(template.bos)
        opener = family.reasoning.open.strip()
        thinking = bool(opener) and not family.calls.reads_all and prompt.rstrip().endswith(opener)
        self._constraint = model.constraint(request, thinking=thinking) if model.constrains else None
        self._begun, stops = "", list[str]()
        chosen = chosen_of(request.tools, request.tool_choice)
        if not model.constrains and request.tool_choice.mode == "any" and not thinking:
            self._begun = model.head(request)
        elif not chosen and request.tools:
            stops = [each for each in family.calls.openers() if len(each) > 1 and not family.calls.reads_all]
        self._halts = family.calls.halts() if chosen and self._constraint is None else ()
        stops += self._halts
        sampling = _with_stops(request.sampling, (*family.stop, *model.dialogue.stops, *stops))
        keep = tuple(dict.fromkeys(each for each in family_marks(family) if len(each) > 2))
        self.asked = Asked(prompt + self._begun, sampling, self._constraint, keep, template is not None)
        self._quiet = not chosen
        self._reader = Reader(_quiet(family) if self._quiet else family, request.tools, thinking)
        goes_on = model.dialogue.goes_on(request.messages)
        self._bare = template is None and not self._begun and not goes_on
        self._calls, self._most = 0, 1 if request.tool_choice.parallel is False else None
        self._family, self._text = family, list[str]()
        self._one = continuous.is_continuous(family) and not self._quiet
        self._full = False
        self.over = False
        """Whether more was written than the call whose result has to come first."""

    def begin(self) -> Iterator[StreamEvent]:
        """What has been written for the model."""
        return self.take(self._begun) if self._begun else iter(())

    def take(self, text: str) -> Iterator[StreamEvent]:
        """Read some more text."""
        if self._bare:
            # Behind the plain name of a speaker, models write a space.
            text = text.lstrip()
            self._bare = not text
        self._text.append(text)
        return self._kept(self._reader.feed(text))

    def end(self, ended: Ended) -> Iterator[StreamEvent]:
        """Complete the reply."""
        if self._halts and ended.stop == "end" and (rest := self._family.calls.halted("".join(self._text))):
            yield from self.take(rest)
        yield from self._kept(self._reader.close())
        stop = "tool_calls" if self._calls and ended.stop == "end" else ended.stop
        notes: dict[str, Any] = {}
        if self._constraint is not None and (loose := self._constraint.loosened):
            notes["loosened"] = list(loose)
        yield ReplyStop(stop, ended.stop_raw, ended.usage, {"text": notes} if notes else {})

    def _kept(self, events: list[StreamEvent]) -> Iterator[StreamEvent]:
        dropped = False
        for event in events:
            if isinstance(event, ReplyStart | ReplyStop):
                continue
            if self._full:
                self.over = True
                continue
            if isinstance(event, BlockStart) and isinstance(event.block, ToolCall):
                self._calls += 1
                self._dropping = self._quiet or (self._most is not None and self._calls > self._most)
                if self._dropping:
                    self._calls -= 1
            elif isinstance(event, BlockStart):
                self._dropping = False
            dropped = self._dropping
            if not dropped:
                yield event
            if isinstance(event, BlockStop):
                self._dropping = False
                self._full = self._one and isinstance(event.block, ToolCall)

    _dropping = False


def _with_stops(sampling: Sampling, stops: tuple[str, ...]) -> Sampling:
    return msgspec.structs.replace(sampling, stop=tuple(dict.fromkeys((*sampling.stop, *stops))))


def _quiet(family: Family) -> Family:
    """The family, for a reply in which nothing is a call."""
    if family.calls.reads_all:
        return family
    return msgspec.structs.replace(family, calls=PythonicCalls(open="\0call", close="\0end", form="lines"))
