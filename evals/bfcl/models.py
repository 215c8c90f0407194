"""Who is asked: the embedded model with its constraint and without, or any model by its name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

from counterfoil.cli.problem import Problem
from counterfoil.models import registry
from counterfoil.models.local import PLAIN, SMALL, WEIGHTS, LlamaModel, Policy, extra, find, gguf, load
from counterfoil.models.local.chat import Chat
from counterfoil.models.local.engine import Decoded, Engine, Listener, Piece
from counterfoil.models.local.llama import LlamaEngine
from counterfoil.models.local.loading import DEFAULT
from counterfoil.models.model import Model
from counterfoil.text.embedded.family import detect
from counterfoil.types.request import Request, Sampling
from evals.bfcl.data import Calls

Progress = Callable[[str, float], None]
POLICIES = {"small": SMALL, "unsplit": msgspec.structs.replace(SMALL, split=False), "plain": PLAIN}


class Answer(msgspec.Struct, frozen=True):
    """What a model said: its calls, the prose, and what was no call although it set out to be one."""

    calls: Calls
    text: str = ""
    broken: str = ""


class Asked(Protocol):
    """A model that answers one way."""

    @property
    def way(self) -> str:
        """What its rows are called."""
        ...

    async def ask(self, request: Request) -> Answer:
        """Answer one request. Raises `ModelError`."""
        ...


class Plain:
    """A model as it is."""

    def __init__(self, way: str, model: Model) -> None:
        self.way = way
        self._model = model

    async def ask(self, request: Request) -> Answer:
        """Ask, and take the calls that parsed."""
        said = (await self._model.reply(request)).message
        calls = [(call.name, call.arguments) for call in said.calls if call.arguments is not None]
        broken = next((f"{call.name}: {call.parse_error}" for call in said.calls if call.arguments is None), "")
        return Answer(calls, said.text, broken)


class Unconstrained:
    """The embedded model without its constraint: same prompts, same help, greedy too, but it may write anything.

    What it writes is then read as kindly as can be: any JSON object with a name and arguments is a call.
    """

    way = "unconstrained"

    def __init__(self, name: str, engine: Engine, chat: Chat, policy: Policy) -> None:
        # With help every call is asked for alone, and one is taken; what a small model adds to it is noise.
        self._most = 1 if policy.narrow is not None else None
        self._free = _Free(engine, self._most)
        self._model = LlamaModel(name, self._free, chat, policy)

    async def ask(self, request: Request) -> Answer:
        """Ask, and look for calls in what was written."""
        self._free.texts.clear()
        await self._model.reply(request)
        calls: Calls = []
        for text in self._free.texts:
            calls += [call for call in list(loose(text))[: self._most] if call not in calls]
        return Answer(calls, "\n".join(self._free.texts))


_ANYTHING = "%llguidance {}\nstart: /(?s:.)*/\n"
"""Not the absence of a grammar: the engine treats prose otherwise then (a penalty for repeating)."""


class _Free:
    """An engine that lets every grammar go. The text is kept here: a reader that relies on the grammar never sees it.

    With the last call that is wanted (of `most`), decoding ends, as it does under the grammar.
    """

    def __init__(self, engine: Engine, most: int | None) -> None:
        self._engine = engine
        self._most = most
        self.texts: list[str] = []

    @property
    def context(self) -> int:
        return self._engine.context

    def check(self, grammar: str) -> str | None:
        return self._engine.check(grammar)

    def decode(self, prompt: str, grammar: str | None, sampling: Sampling, listener: Listener) -> Decoded:
        written: list[str] = []

        def hear(piece: Piece | None) -> bool:
            if piece is not None:
                written.append(piece.text)
                if self._most is not None and "}" in piece.text and len(list(loose("".join(written)))) >= self._most:
                    return True
            return listener(None)

        done = self._engine.decode(prompt, _ANYTHING if grammar is not None else None, sampling, hear)
        self.texts.append("".join(written))
        return done

    def close(self) -> None:
        self._engine.close()


_DECODER = json.JSONDecoder()


def loose(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every JSON object in a text that has a name and arguments, whatever stands around it."""
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            value, end = None, at + 1
        if isinstance(value, dict):
            within = value.get("function")
            held: dict[str, Any] = within if isinstance(within, dict) else value
            arguments = held.get("arguments", held.get("parameters"))
            if isinstance(held.get("name"), str) and isinstance(arguments, dict):
                yield held["name"], arguments
        at = text.find("{", end)


def open_model(
    spec: str, *, constrained: bool, unconstrained: bool, policy: str | None, threads: int, progress: Progress
) -> list[Asked]:
    """The ways in which a model is asked. Raises `Problem`, `ModelError`, `MissingExtra`."""
    kind, _, name = spec.partition(":")
    name = name or DEFAULT
    if kind != "local":
        if policy or unconstrained:
            raise Problem(
                f"--policy, --constrained and --unconstrained are for the embedded model, which {spec} is not"
            )
        return [Plain("model", registry.model(spec, progress=progress))]
    if name == "needle":
        if policy or unconstrained:
            raise Problem("needle writes a format of its own, without a grammar, and is always helped: ask it plainly")
        return [Plain("model", load("needle", progress=progress))]
    extra.check(extra.LLAMA)
    path = find(WEIGHTS[name], progress) if name in WEIGHTS else Path(name).expanduser()
    if not path.is_file():
        raise Problem(f"there is no file {path}, and no local model of that name: {', '.join(WEIGHTS)}")
    metadata = gguf.read(path)
    chat, engine = Chat(metadata, detect(metadata.template)), LlamaEngine(path, min(4096, metadata.context), threads)
    helped = POLICIES[policy] if policy else SMALL if name in WEIGHTS else PLAIN
    both = not (constrained or unconstrained)
    ways: list[Asked] = []
    if constrained or both:
        ways.append(Plain("constrained", LlamaModel(spec, engine, chat, helped)))
    if unconstrained or both:
        ways.append(Unconstrained(spec, engine, chat, helped))
    return ways
