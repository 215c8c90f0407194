"""llama.cpp behind the engine port, through the `xllamacpp` wheel.

The wheel offers llama.cpp's server in-process, not its logits: log-probabilities, grammars, streaming and the prefix
cache come as the server gives them. Two of its habits are dealt with here: it silently drops a grammar that it cannot
compile (so every grammar is compiled by `llguidance` first), and it opens a listener (put on a socket in a private
folder, behind a random key, without pages or metrics).
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Literal

import msgspec

from counterfoil.models.local.engine import Decoded, Listener, Piece
from counterfoil.models.local.extra import need
from counterfoil.types.error import ContextOverflow, ModelError
from counterfoil.types.request import Sampling

BATCH = 64
"""Tokens of a prompt that are read between two looks at the cancellation."""
_LONGEST_SOCKET = 100
_MAX_TOKENS = 512


class LlamaEngine:
    """One GGUF model in memory, answering one question at a time. Greedy unless a temperature is asked for.

    `keep` are control tokens that are written out when the model decodes them; others leave no trace in the text.
    """

    def __init__(self, path: Path, context: int, threads: int, keep: tuple[str, ...] = ()) -> None:
        llguidance, xllamacpp = need("llguidance"), need("xllamacpp")
        self.context = context
        self._keep = list(keep)
        self._server: Any = None
        self._matcher: Any = llguidance.LLMatcher
        self._folder = Path(tempfile.mkdtemp(prefix="counterfoil-"))
        self._sweep = weakref.finalize(self, shutil.rmtree, self._folder, True)
        try:
            self._server = xllamacpp.Server(self._parameters(xllamacpp, path, threads))
            # One token, to have its loop running: a server that is stopped before that never stops.
            self._server.handle_completions({"prompt": "a", "max_tokens": 1, "cache_prompt": False})
        except Exception as error:
            self.close()
            raise ModelError(f"{path.name} cannot be loaded by llama.cpp: {error}") from error

    def _parameters(self, xllamacpp: Any, path: Path, threads: int) -> Any:
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(path)
        parameters.n_ctx = self.context
        parameters.n_parallel = 1
        parameters.n_batch = parameters.n_ubatch = BATCH
        parameters.n_gpu_layers = 0
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
        # Shifting would drop the oldest tokens in silence: too long is an error.
        parameters.ctx_shift = False
        parameters.cache_ram_mib = 0
        parameters.warmup = False
        parameters.verbosity = -1
        parameters.offline = True
        parameters.ui = parameters.endpoint_slots = parameters.endpoint_props = parameters.endpoint_metrics = False
        parameters.n_threads_http = 1
        parameters.api_keys = [secrets.token_urlsafe(32)]
        socket = str(self._folder / "s.sock")
        if len(socket) <= _LONGEST_SOCKET and os.name == "posix":
            parameters.hostnames = [socket]
        return parameters

    def check(self, grammar: str) -> str | None:
        """Compile a grammar, to say what is wrong with it."""
        failed, notes = self._matcher.validate_grammar_with_warnings(grammar)
        return "\n".join(notes) if failed else None

    def decode(self, prompt: str, grammar: str | None, sampling: Sampling, listener: Listener) -> Decoded:
        """Continue a prompt; see the port."""
        if grammar is not None and (wrong := self.check(grammar)):
            raise ModelError(f"The grammar cannot be enforced, so nothing was decoded: {wrong}")
        call = _Call(listener)
        body = {**_body(prompt, grammar, sampling), "preserved_tokens": self._keep}
        self._server.handle_completions(body, call.take)
        return call.result(self.context)

    def close(self) -> None:
        """Stop the engine and free the memory."""
        self._server = None
        self._sweep()


def _body(prompt: str, grammar: str | None, sampling: Sampling) -> dict[str, Any]:
    body: dict[str, Any] = {
        "prompt": prompt,
        "stream": True,
        "return_progress": True,
        "cache_prompt": True,
        "logprobs": 1,
        "max_tokens": sampling.max_tokens if sampling.max_tokens is not None else _MAX_TOKENS,
        "temperature": sampling.temperature or 0.0,
        # Greedy prose of a small model goes in circles; a call must be free to repeat what it copies.
        "repeat_penalty": 1.15 if grammar is None else 1.0,
        "stream_options": {"include_usage": True},
    }
    for name in ("top_p", "top_k", "seed"):
        if (value := getattr(sampling, name)) is not None:
            body[name] = value
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if grammar is not None:
        body["grammar"] = grammar
    return body


class _Token(msgspec.Struct, frozen=True):
    logprob: float = 0.0


class _Logprobs(msgspec.Struct, frozen=True):
    content: tuple[_Token, ...] = ()


class _Choice(msgspec.Struct, frozen=True):
    text: str = ""
    logprobs: _Logprobs | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct, frozen=True):
    cached_tokens: int = 0


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Details = _Details()


class _Failure(msgspec.Struct, frozen=True):
    message: str = ""
    type: str = ""
    n_prompt_tokens: int = 0


class _Progress(msgspec.Struct, frozen=True):
    total: int = 0
    cache: int = 0


class _Chunk(msgspec.Struct, frozen=True):
    """What the server says at a time; fields that are of no use here are left out."""

    choices: tuple[_Choice, ...] = ()
    usage: _Usage | None = None
    error: _Failure | None = None
    prompt_progress: _Progress | None = None


class _Call:
    """Takes the chunks of one completion. An exception in here would be swallowed by the wheel, so it is kept."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._error: BaseException | None = None
        self._failure: _Failure | None = None
        self._finish: str | None = None
        self._usage: _Usage | None = None
        self._progress = _Progress()
        self._pieces = 0
        self._cancelled = False

    def take(self, chunk: object) -> bool:
        """Take one chunk; say whether to stop."""
        try:
            return self._take(msgspec.convert(chunk, _Chunk))
        except BaseException as error:  # noqa: BLE001 - raised again by `result`, on our side of the wheel
            self._error = error
            return True

    def _take(self, chunk: _Chunk) -> bool:
        if chunk.error is not None:
            self._failure = chunk.error
            return True
        self._usage = chunk.usage or self._usage
        self._progress = chunk.prompt_progress or self._progress
        choice = chunk.choices[0] if chunk.choices else _Choice()
        self._finish = choice.finish_reason or self._finish
        tokens = choice.logprobs.content if choice.logprobs else ()
        if tokens or choice.text:
            self._pieces += max(1, len(tokens))
            self._cancelled = self._listener(
                Piece(choice.text, sum(each.logprob for each in tokens) if tokens else None)
            )
        else:
            self._cancelled = self._finish is None and self._listener(None)
        return self._cancelled

    def result(self, context: int) -> Decoded:
        """Say how it ended, or raise what went wrong."""
        if self._error is not None:
            raise self._error
        if self._failure is not None:
            if self._failure.type == "exceed_context_size_error":
                raise ContextOverflow(
                    f"The conversation and the catalogue are {self._failure.n_prompt_tokens} tokens long; the local "
                    f"model was loaded with a context of {context}. Load it with a larger `context`, offer fewer "
                    "tools, or start a new conversation."
                )
            raise ModelError(f"llama.cpp failed: {self._failure.message}")
        if self._cancelled:
            return Decoded("cancelled", self._progress.total, self._progress.cache, self._pieces)
        if self._finish is None or self._usage is None:
            raise ModelError("llama.cpp ended without saying why.")
        cached = self._usage.prompt_tokens_details.cached_tokens
        stop: Literal["end", "length"] = "length" if self._finish == "length" else "end"
        return Decoded(stop, self._usage.prompt_tokens, cached, self._usage.completion_tokens)
