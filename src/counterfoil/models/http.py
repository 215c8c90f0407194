"""The one model over HTTP: any host, any wire, asyncio and trio. Needs the extra `http`."""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import partial
from types import TracebackType
from typing import Any

import anyio.to_thread
import msgspec

from counterfoil import wires
from counterfoil.models import faults
from counterfoil.models.address import base_of, checked, is_secure, url_of, variable_of
from counterfoil.models.faults import Fault
from counterfoil.models.framing import ACCEPT
from counterfoil.models.hosts import COMPATIBLE, Host
from counterfoil.models.hosts import host as host_of
from counterfoil.models.keys import Key, Keys
from counterfoil.models.model import BaseModel
from counterfoil.models.prices import Prices, prices_of, with_cost
from counterfoil.models.reading import Reader
from counterfoil.models.retry import CLOCK, Clock, Retry
from counterfoil.models.schemas import Schemas
from counterfoil.models.sigv4 import Signer
from counterfoil.types.error import MissingExtra, ModelError
from counterfoil.types.loss import Loss
from counterfoil.types.request import Reply, Request, Usage
from counterfoil.types.stream import ReplyStart, StreamEvent, events_of

try:
    import httpx2

    from counterfoil.models.client import Timeouts, client_of, close_client
    from counterfoil.models.exchange import Exchange, Limits, close
except ImportError as error:
    raise MissingExtra("A model over HTTP", "http") from error

log = logging.getLogger("counterfoil.models")

MOST = 64 * 1024 * 1024
"""Bytes of one answer, decompressed."""
_BEGUN = (
    ". The answer had begun, so it was not asked for again, and what came of it is void: resume the run to ask anew"
)


_CUT = Fault("the stream was cut before its end", passing=True)


def _name(host: Host, base: str | None, model: str) -> str:
    """What the registry would be told to make the model again."""
    if base is None:
        return f"{host.name}:{model}"
    return f"{'' if host is COMPATIBLE else host.name + '+'}{base}#{model}"


class _Talk:
    """A request that is being made, attempt after attempt."""

    def __init__(
        self,
        request: Request,
        base: str,
        client: httpx2.AsyncClient,
        stream: bool,
        exchange: Exchange,
        reader: Reader,
    ) -> None:
        self.request = request
        self.base = base
        self.client = client
        self.stream = stream
        self.exchange = exchange
        self.reader = reader
        self.said = False
        """Whether a piece of the answer has been handed on."""


class HttpModel(BaseModel):
    """A model at a host: `HttpModel("anthropic", "NAME")`, or a `Host` of your own.

    `base` is another address of the same host, `key` its key or a function that returns one (default: the host's
    environment variable, looked up at every request). `prices` per million tokens (`input`, `output`, `cached`,
    `cache_write`) make `Usage.cost`. `headers` and `fields` go with every request: `fields` are the wire's own, like
    `{"thinking": {...}}`. `proxy` and `tls` are the only proxy and certificates used besides the system's: the
    environment's are not looked at.

    Usable from several tasks and event loops. `aclose`, or `async with`, closes the connections of this loop.
    `losses` is what the last request could not say in the host's format.
    """

    def __init__(
        self,
        host: Host | str,
        model: str,
        *,
        base: str | None = None,
        key: Key | None = None,
        prices: Prices | Mapping[str, float] | None = None,
        timeouts: Timeouts | None = None,
        retry: Retry | None = None,
        headers: Mapping[str, str] | None = None,
        fields: Mapping[str, Any] | None = None,
        most: int = MOST,
        proxy: str | None = None,
        tls: ssl.SSLContext | None = None,
        clock: Clock = CLOCK,
    ) -> None:
        if not model:
            raise ModelError("which model? Write its name after the host's: anthropic:NAME")
        self.host = host_of(host) if isinstance(host, str) else host
        self.model = model
        self.losses: tuple[Loss, ...] = ()
        self._base = None if base is None else checked(base)
        self.name = _name(self.host, self._base, model)
        self._wire = wires.get(self.host.wire)
        self._keys = Keys(key, self.host.key_variables, needed=self.host.key_needed)
        self._prices = prices_of(prices)
        self._limits = Limits(timeouts or Timeouts(), retry or Retry(), clock, most)
        self._headers = dict(headers or {})
        self._fields = dict(fields or {})
        self._proxy, self._tls = proxy, tls
        self._schemas = Schemas(self.host.dialect)
        self._signer: Signer | None = None
        self._told: set[str] = set()

    def __repr__(self) -> str:
        return f"HttpModel({self.name!r})"

    async def __aenter__(self) -> HttpModel:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections of this event loop. The model can still be used: it opens new ones."""
        await close_client(self)

    async def reply(self, request: Request) -> Reply:
        """Answer a request. Raises `ContextOverflow`, `ModelError`."""
        talk = await self._begin(request, stream=False)
        while True:
            response = await talk.exchange.open(talk.client, partial(self._sent, talk.stream))
            body = response if isinstance(response, Fault) else await talk.exchange.read(response)
            reply = body if isinstance(body, Fault) else talk.reader.whole(body)
            if isinstance(reply, Reply):
                return reply
            await self._again(talk, reply)

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Answer a request as it is being written.

        Until the first piece of the answer an attempt that fails is made again. From then on a failure raises
        `ModelError`: what was said so far is void, and resuming the run asks again.
        """
        talk = await self._begin(request, stream=True)
        while True:
            fault, start = None, list[StreamEvent]()
            async with aclosing(self._events(talk)) as events:
                async for event in events:
                    if isinstance(event, Fault):
                        fault = event
                    elif isinstance(event, ReplyStart) and not talk.said:
                        # Held back, so that an attempt which comes to nothing leaves no trace.
                        start = [event]
                    else:
                        talk.said = True
                        for each in (*start, event):
                            yield each
                        start = []
            if fault is None:
                return
            if talk.said:
                raise fault.error(self.name, _BEGUN)
            await self._again(talk, fault)

    async def _events(self, talk: _Talk) -> AsyncGenerator[StreamEvent | Fault]:
        """One attempt at a stream: its events, and if it failed, last of all the fault."""
        exchange, framing = talk.exchange, self.host.framing
        response = await exchange.open(talk.client, partial(self._sent, talk.stream))
        if isinstance(response, Fault):
            yield response
            return
        if framing == "sse" and response.headers.get("content-type", "").startswith("application/json"):
            # Not every server that is asked for a stream has one to give.
            body = await exchange.read(response)
            reply = body if isinstance(body, Fault) else talk.reader.whole(body)
            for each in (reply,) if isinstance(reply, Fault) else events_of(reply):
                yield each
            return
        reading, fault = talk.reader.stream(framing), None
        chunks = response.aiter_bytes()
        try:
            while fault is None:
                chunk = await exchange.next(chunks)
                if not isinstance(chunk, bytes):
                    fault = chunk or _CUT
                    break
                events, fault = reading.take(chunk)
                exchange.ending = reading.whole or reading.said_done
                for event in events:
                    yield event
        finally:
            await close(response, chunks)
        events, worse = reading.end()
        # An answer that has its end is whole, however its connection ended.
        fault = None if reading.whole else worse or fault
        if fault is None or talk.said:
            for event in events:
                yield event
        if fault is not None:
            yield fault

    async def _begin(self, request: Request, *, stream: bool) -> _Talk:
        base = base_of(self.host, self._base)
        client = await client_of(self, base, self._limits.timeouts, self._proxy, self._tls)
        return _Talk(request, base, client, stream, *self._write(request, base, stream=stream))

    def _write(self, request: Request, base: str, *, stream: bool) -> tuple[Exchange, Reader]:
        host = self.host
        tools, lift, lost = self._schemas.lower(request.tools)
        fields = {**host.fields, **(host.stream_fields if stream else {}), **self._fields}
        wire = self._wire.NAME
        ext = {**request.ext, wire: {**fields, **request.ext.get(wire, {})}} if fields else request.ext
        asked = msgspec.structs.replace(request, model=self.model, tools=tools, stream=stream, ext=ext)
        written = self._wire.write_request(asked, encoded=True)
        for key in host.in_address:
            written.body.pop(key, None)
        self._lost((*lost, *written.losses), written.repairs)
        url = url_of(host, base, self.model, stream=stream)
        exchange = Exchange(self.name, url, msgspec.json.encode(written.body), self._limits, self._keys)
        return exchange, Reader(self._wire, written.plan, lift, self._counted, self._keys)

    async def _again(self, talk: _Talk, fault: Fault) -> None:
        """Get ready for another attempt, or raise the `ModelError` that ends the request."""
        if fault.grammar and self._schemas.relax(talk.request.tools):
            log.warning("%s: %s: trying again without strict tools", self.name, fault.what)
            talk.exchange, talk.reader = self._write(talk.request, talk.base, stream=talk.stream)
            return
        advice = fault.advice or faults.advice(fault, self.model, self._keys.where, talk.base)
        await talk.exchange.pause(msgspec.structs.replace(fault, advice=advice))

    async def _sent(self, stream: bool, url: str, body: bytes) -> dict[str, str]:
        """The headers of a request, its key among them."""
        host = self.host
        headers = {
            "accept": ACCEPT[host.framing] if stream else "application/json",
            "accept-encoding": "gzip",
            "content-type": "application/json",
            "user-agent": "counterfoil",
            **host.headers,
            **self._headers,
        }
        key = self._keys.get(self.name, secure=is_secure(url))
        if key is None:
            return await self._signed(url, headers, body) if host.signed else headers
        headers[host.header] = f"Bearer {key}" if host.header == "authorization" else key
        return headers

    async def _signed(self, url: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
        if self._signer is None:
            self._signer = Signer(variable_of(self.host) or "us-east-1")
        # Looking for credentials may read files and ask the network.
        signed, secrets = await anyio.to_thread.run_sync(self._signer.sign, url, headers, body)
        self._keys.learn(secrets)
        return signed

    def _counted(self, usage: Usage | None) -> Usage | None:
        return with_cost(usage, self._prices, self.host.cost_field, self._wire.NAME)

    def _lost(self, losses: tuple[Loss, ...], repairs: tuple[str, ...]) -> None:
        self.losses = losses
        for repair in repairs:
            log.warning("%s: the history was repaired: %s", self.name, repair)
        for loss in losses:
            if loss.what not in self._told:
                self._told.add(loss.what)
                log.info("%s: not said as it was: %s (%s)", self.name, loss.what, loss.carried)
