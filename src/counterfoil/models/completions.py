"""The port to an endpoint that continues text, and the engine in this process behind it."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from counterfoil.models.local import extra, gguf
from counterfoil.models.local.decoding import Decoding
from counterfoil.models.local.engine import Engine
from counterfoil.models.local.llama import LlamaEngine
from counterfoil.models.local.weights import Progress
from counterfoil.text.constrain import Constraint
from counterfoil.text.source import markers
from counterfoil.types.error import ModelError
from counterfoil.types.request import Sampling, Stop, Usage


class Asked(msgspec.Struct, frozen=True):
    """What is to be continued, and how.

    `sampling.stop` ends the text and is not part of it. `keep` are markers that must be written out even where they are
    control tokens. Without a `constraint` anything may be written. `whole`: the prompt has been rendered by a template,
    control tokens and all.
    """

    prompt: str
    sampling: Sampling = Sampling()
    constraint: Constraint | None = None
    keep: tuple[str, ...] = ()
    whole: bool = False


class Said(msgspec.Struct, frozen=True):
    """Some more text."""

    text: str


class Ended(msgspec.Struct, frozen=True):
    """The text is complete: why, in our words and in the endpoint's, and what it cost."""

    stop: Stop = "end"
    stop_raw: str | None = None
    usage: Usage | None = None


class Completion(Protocol):
    """Anything that continues text."""

    @property
    def name(self) -> str:
        """What the journal and the logs call it."""
        ...

    @property
    def constrains(self) -> bool:
        """Whether it decodes under a constraint when it is given one."""
        ...

    @property
    def adds_bos(self) -> bool:
        """Whether it puts the token that begins a text before every prompt, so that none may be there."""
        ...

    def complete(self, asked: Asked) -> AsyncGenerator[Said | Ended]:
        """Continue a prompt; an `Ended` comes last. Raises `ModelError`, `ContextOverflow`."""
        ...


class EngineCompletion:
    """A GGUF model in this process. `special` are its control tokens with their numbers, for the grammars."""

    constrains = True
    adds_bos = True

    def __init__(self, engine: Engine, name: str, special: Mapping[str, int] | None = None) -> None:
        self.name = name
        self._engine, self._special = engine, dict(special or {})
        self._lock = threading.Lock()

    @classmethod
    def load(
        cls, path: str | Path, *, context: int = 4096, threads: int = 1, progress: Progress | None = None
    ) -> EngineCompletion:
        """Load a GGUF file. Blocking. Raises `MissingExtra`, `ModelError`."""
        extra.check(extra.LLAMA)
        where = Path(path).expanduser()
        if progress is not None:
            progress("loading the weights", 0.0)
        found = gguf.special(where)
        engine = LlamaEngine(where, context, threads, tuple(found))
        return cls(engine, f"local:{where.name}", found)

    def close(self) -> None:
        """Free the memory, once whatever is being decoded has ended."""
        with self._lock:
            self._engine.close()

    def __enter__(self) -> EngineCompletion:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def complete(self, asked: Asked) -> AsyncGenerator[Said | Ended]:
        """Continue a prompt. One at a time; cancelling ends decoding within a token."""
        grammar = None if asked.constraint is None else asked.constraint.lark(self._special)
        decoding = Decoding(self._engine, self._lock, asked.prompt, grammar, asked.sampling)
        # Of the control tokens those are text that the family writes: not, say, the one that ends every turn.
        silent = markers(*(self._special.keys() - set(asked.keep)))
        async with aclosing(decoding.pieces()) as pieces:
            async for piece in pieces:
                if text := silent.pattern.sub("", piece.text):
                    yield Said(text)
        result = decoding.result
        if result.stop == "cancelled":
            raise ModelError(f"{self.name}: decoding was cancelled")
        stop: Literal["length", "end"] = "length" if result.stop == "length" else "end"
        usage = Usage(input_tokens=result.prompt, output_tokens=result.output, cached_tokens=result.cached)
        yield Ended(stop, result.stop, usage)
