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
from typing import Any

from counterfoil.models.local.engine import Decoded, Listener, Piece
from counterfoil.types.error import ContextOverflow, MissingExtra, ModelError
from counterfoil.types.request import Sampling

BATCH = 64
"""Tokens of a prompt that are read between two looks at the cancellation."""
_LONGEST_SOCKET = 100
_MAX_TOKENS = 512


class LlamaEngine:
    """One GGUF model in memory, answering one question at a time. Greedy unless a temperature is asked for."""

    def __init__(self, path: Path, context: int, threads: int) -> None:
        try:
            import llguidance  # noqa: PLC0415
            import xllamacpp  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtra("The local model", "local") from error
        self.context = context
        self._server: Any = None
        self._matcher: Any = llguidance.LLMatcher
        self._folder = Path(tempfile.mkdtemp(prefix="counterfoil-"))
        self._sweep = weakref.finalize(self, shutil.rmtree, self._folder, True)
        try:
            self._server = xllamacpp.Server(self._parameters(xllamacpp, path, threads))
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
        self._server.handle_completions(_body(prompt, grammar, sampling), call.take)
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
        "repeat_penalty": 1.0,
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


class _Call:
    """Takes the chunks of one completion. An exception in here would be swallowed by the wheel, so it is kept."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._error: BaseException | None = None
        self._failure: dict[str, Any] | None = None
        self._finish: str | None = None
        self._usage: dict[str, Any] = {}
        self._pieces = 0
        self._cancelled = False

    def take(self, chunk: dict[str, Any]) -> bool:
        """Take one chunk; say whether to stop."""
        try:
            return self._take(chunk)
        except BaseException as error:  # noqa: BLE001 - raised again by `result`, on our side of the wheel
            self._error = error
            return True

    def _take(self, chunk: dict[str, Any]) -> bool:
        if "error" in chunk:
            self._failure = chunk["error"]
            return True
        self._usage = chunk.get("usage") or self._usage
        choice = chunk["choices"][0] if chunk.get("choices") else {}
        self._finish = choice.get("finish_reason") or self._finish
        content = (choice.get("logprobs") or {}).get("content") or []
        if content or choice.get("text"):
            self._pieces += max(1, len(content))
            piece = Piece(choice.get("text", ""), sum(each["logprob"] for each in content) if content else None)
            self._cancelled = self._listener(piece)
        else:
            self._cancelled = self._finish is None and self._listener(None)
        return self._cancelled

    def result(self, context: int) -> Decoded:
        """Say how it ended, or raise what went wrong."""
        if self._error is not None:
            raise self._error
        if self._failure is not None:
            if self._failure.get("type") == "exceed_context_size_error":
                raise ContextOverflow(
                    f"The conversation and the catalogue are {self._failure.get('n_prompt_tokens')} tokens long; the "
                    f"local model was loaded with a context of {context}. Load it with a larger `context`, offer fewer "
                    "tools, or start a new conversation."
                )
            raise ModelError(f"llama.cpp failed: {self._failure.get('message', self._failure)}")
        details = self._usage.get("prompt_tokens_details") or {}
        return Decoded(
            "cancelled" if self._cancelled else "length" if self._finish == "length" else "end",
            prompt=self._usage.get("prompt_tokens", 0),
            cached=details.get("cached_tokens", 0),
            output=self._usage.get("completion_tokens", self._pieces),
        )
