"""Completion endpoints over HTTP: llama.cpp's own, and `/v1/completions` as vLLM, SGLang and others serve it."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Literal, cast

import msgspec

from counterfoil.models import faults
from counterfoil.models.address import base_of, checked, is_secure
from counterfoil.models.completions import Asked, Ended, Said
from counterfoil.models.faults import Fault
from counterfoil.models.framing import SseFrames, decode
from counterfoil.models.hosts import COMPATIBLE, HOSTS
from counterfoil.models.keys import Key, Keys
from counterfoil.models.reading import STRANGE
from counterfoil.models.retry import CLOCK, Clock, Retry
from counterfoil.text.constrain import llama_cpp, sglang, vllm
from counterfoil.types.error import MissingExtra, ModelError
from counterfoil.types.json import is_array, is_object
from counterfoil.types.request import Sampling, Stop, Usage

try:
    from counterfoil.models.client import Timeouts, client_of, close_client
    from counterfoil.models.exchange import Exchange, Limits, close
except ImportError as error:
    raise MissingExtra("A completion endpoint over HTTP", "http") from error

Server = Literal["llama-cpp", "vllm", "sglang", "openai"]
MOST = 64 * 1024 * 1024
"""Bytes of one answer."""
_CUT = Fault("the stream was cut before its end", passing=True)
_BEGUN = ". The answer had begun, so it was not asked for again: resume the run to ask anew"
_DEFAULT_TOKENS = 2048
"""Servers of the older format stop after 16 tokens unless they are told otherwise."""
_SAMPLING = ("temperature", "top_p", "top_k", "seed")


class Dialect(msgspec.Struct, frozen=True):
    """How a server wants to be asked, and what it answers."""

    path: str
    write: Callable[[Asked, str, str], dict[str, Any]]
    """The body, for a model's name and a grammar backend."""
    read: Callable[[Mapping[str, Any]], Iterator[Said | Ended]]
    constrains: bool
    host: str | None = None
    adds_bos: bool = True


class HttpCompletion:
    """A server that continues text: `HttpCompletion("vllm", "NAME")`.

    `base` is its address (default: the host's), `key` its key or a function that returns one. `backend` is the engine
    with which it decodes under constraints, if it is not the usual one: `guidance` for llguidance. `fields` go with
    every request. Usable from several tasks and event loops; `aclose` closes the connections of this loop.
    """

    def __init__(
        self,
        server: Server,
        model: str = "",
        *,
        base: str | None = None,
        key: Key | None = None,
        backend: str = "",
        timeouts: Timeouts | None = None,
        retry: Retry | None = None,
        headers: Mapping[str, str] | None = None,
        fields: Mapping[str, Any] | None = None,
        tls: ssl.SSLContext | None = None,
        clock: Clock = CLOCK,
    ) -> None:
        if server not in DIALECTS:
            raise ModelError(f"no completion server is called {server!r}: there are {', '.join(DIALECTS)}")
        self._dialect = DIALECTS[server]
        host = HOSTS[self._dialect.host] if self._dialect.host else COMPATIBLE
        if base is None and not host.base:
            raise ModelError(f"where is the {server} server? Give its address: base='http://127.0.0.1:8000/v1'")
        self._base = checked(base) if base is not None else base_of(host, None)
        if server == "llama-cpp":
            self._base = self._base.removesuffix("/v1")
        self.name = f"{server}+{self._base}#{model}" if base else f"{server}:{model}"
        self.constrains, self.adds_bos = self._dialect.constrains, self._dialect.adds_bos
        self._model, self._backend, self._tls = model, backend, tls
        self._keys = Keys(key, host.key_variables, needed=False)
        self._limits = Limits(timeouts or Timeouts(), retry or Retry(), clock, MOST)
        self._headers, self._fields = dict(headers or {}), dict(fields or {})

    async def __aenter__(self) -> HttpCompletion:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await close_client(cast("Any", self))

    async def complete(self, asked: Asked) -> AsyncGenerator[Said | Ended]:
        """Continue a prompt. Until the first piece of text an attempt that fails is made again."""
        client: Any = await client_of(cast("Any", self), self._base, self._limits.timeouts, None, self._tls)
        body = {**self._dialect.write(asked, self._model, self._backend), **self._fields}
        url = self._base + self._dialect.path
        exchange = Exchange(self.name, url, msgspec.json.encode(body), self._limits, self._keys)
        while True:
            begun, fault = False, None
            async with aclosing(self._attempt(client, exchange)) as events:
                async for event in events:
                    if isinstance(event, Fault):
                        fault = event
                    else:
                        begun = True
                        yield event
            if fault is None:
                return
            if begun:
                raise fault.error(self.name, _BEGUN)
            advice = faults.advice(fault, self._model, self._keys.where, self._base)
            await exchange.pause(msgspec.structs.replace(fault, advice=fault.advice or advice))

    async def _attempt(self, client: Any, exchange: Exchange) -> AsyncGenerator[Said | Ended | Fault]:
        response = await exchange.open(client, self._sent)
        if isinstance(response, Fault):
            yield response
            return
        chunks, frames = response.aiter_bytes(), SseFrames()
        whole = not response.headers.get("content-type", "").startswith("text/event-stream")
        ended: Ended | None = None
        fault: Fault | None = None
        try:
            while fault is None:
                chunk = await exchange.next(chunks) if not whole else await exchange.read(response)
                if not isinstance(chunk, bytes):
                    fault = chunk
                    break
                try:
                    found = [decode(chunk, "the server's answer")] if whole else list(frames.feed(chunk))
                    events = [event for each in found if each is not None for event in self._read(each)]
                except (ModelError, *STRANGE) as error:
                    fault = self._strange(error)
                    break
                for event in events:
                    if isinstance(event, Ended):
                        ended = _merged(ended, event)
                    elif event.text:
                        yield event
                exchange.ending = ended is not None
                if whole:
                    break
        finally:
            await close(response, chunks)
        if ended is not None:
            yield ended
        else:
            yield fault or _CUT

    def _read(self, event: Mapping[str, Any]) -> Iterator[Said | Ended]:
        if event.get("error") is not None:
            said, code = faults.words_of(msgspec.json.encode(event))
            raise ModelError(f"{said} ({code})" if code else said)
        return self._dialect.read(event)

    def _strange(self, error: Exception) -> Fault:
        said = faults.shorten(self._keys.hide(str(error)))
        if isinstance(error, ModelError):
            return Fault(said, overflow=faults.is_overflow(said))
        return Fault(f"the server's answer could not be understood: {type(error).__name__}: {said}")

    async def _sent(self, url: str, body: bytes) -> dict[str, str]:
        del body
        headers = {
            "accept": "text/event-stream, application/json",
            "accept-encoding": "gzip",
            "content-type": "application/json",
            "user-agent": "counterfoil",
            **self._headers,
        }
        key = self._keys.get(self.name, secure=is_secure(url))
        return headers if key is None else {**headers, "authorization": f"Bearer {key}"}


def _merged(first: Ended | None, second: Ended) -> Ended:
    if first is None:
        return second
    return Ended(
        second.stop if second.stop_raw else first.stop, second.stop_raw or first.stop_raw, second.usage or first.usage
    )


def _sampling(sampling: Sampling) -> dict[str, Any]:
    found = {name: value for name in _SAMPLING if (value := getattr(sampling, name)) is not None}
    return {**found, **({"stop": list(sampling.stop)} if sampling.stop else {})}


def _write_llama(asked: Asked, model: str, backend: str) -> dict[str, Any]:
    body: dict[str, Any] = {"prompt": asked.prompt, "stream": True, "cache_prompt": True, **_sampling(asked.sampling)}
    body["n_predict"] = asked.sampling.max_tokens or -1
    if asked.keep:
        body["preserved_tokens"] = list(asked.keep)
    if asked.constraint is not None:
        body |= llama_cpp(asked.constraint, "guidance" if backend == "guidance" else "gbnf")
    return {**body, "model": model} if model else body


def _write_openai(asked: Asked, model: str, backend: str) -> dict[str, Any]:
    del backend
    return {
        "model": model,
        "prompt": asked.prompt,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": asked.sampling.max_tokens or _DEFAULT_TOKENS,
        **_sampling(asked.sampling),
    }


def _write_vllm(asked: Asked, model: str, backend: str) -> dict[str, Any]:
    body = {**_write_openai(asked, model, backend), "skip_special_tokens": False}
    # A template has written what begins a prompt, where there is something to write.
    body |= {"spaces_between_special_tokens": False, "add_special_tokens": not asked.whole}
    if asked.constraint is not None:
        body |= vllm(asked.constraint, "guidance" if backend == "guidance" else "xgrammar")
    return body


def _write_sglang(asked: Asked, model: str, backend: str) -> dict[str, Any]:
    body = {**_write_openai(asked, model, backend), "skip_special_tokens": False}
    if asked.constraint is not None:
        body |= sglang(asked.constraint, "guidance" if backend == "guidance" else "xgrammar")
    return body


def _read_llama(event: Mapping[str, Any]) -> Iterator[Said | Ended]:
    yield Said(event.get("content", ""))
    if event.get("stop"):
        raw = event.get("stop_type")
        # `tokens_cached` is what is in the cache by now; what was found there is among the timings.
        timings: Any = event.get("timings") or {}
        usage = Usage(
            input_tokens=event.get("tokens_evaluated", 0),
            output_tokens=event.get("tokens_predicted", 0),
            cached_tokens=timings.get("cache_n", 0),
        )
        yield Ended(_stop(raw), raw, usage)


def _read_openai(event: Mapping[str, Any]) -> Iterator[Said | Ended]:
    choices = event.get("choices")
    for choice in choices[:1] if is_array(choices) else ():
        yield Said(choice.get("text") or "")
        if raw := choice.get("finish_reason"):
            yield Ended(_stop(raw), raw)
    if is_object(usage := event.get("usage")) and not (is_array(choices) and choices and _running(choices)):
        details: Any = usage.get("prompt_tokens_details") or {}
        yield Ended(
            usage=Usage(
                input_tokens=usage.get("prompt_tokens", 0),
                output_tokens=usage.get("completion_tokens") or 0,
                cached_tokens=details.get("cached_tokens") or 0,
            )
        )


def _running(choices: list[Any]) -> bool:
    # Some servers count in every chunk.
    return not choices[0].get("finish_reason")


def _stop(raw: str | None) -> Stop:
    match raw:
        case "length" | "limit":
            return "length"
        case "content_filter":
            return "refused"
        case "stop" | "eos" | "word" | None:
            return "end"
        case _:
            return "other"


DIALECTS: dict[str, Dialect] = {
    "llama-cpp": Dialect("/completion", _write_llama, _read_llama, True, "llama-cpp"),
    "vllm": Dialect("/completions", _write_vllm, _read_openai, True, "vllm", adds_bos=False),
    "sglang": Dialect("/completions", _write_sglang, _read_openai, True, "sglang"),
    "openai": Dialect("/completions", _write_openai, _read_openai, False),
}
"""The servers. A new one is a new row."""
