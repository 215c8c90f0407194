"""One request on its way: attempts, waits, and the bytes that come back. What fails is a `Fault`, a value.

No exception of the HTTP client leaves this module: it would carry the request, and with it the key.
"""

from __future__ import annotations

import contextlib
import logging
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TypeVar

import anyio
import httpx2
import msgspec

from counterfoil.models import faults
from counterfoil.models.client import Timeouts
from counterfoil.models.faults import Fault
from counterfoil.models.keys import Keys
from counterfoil.models.retry import Clock, Retry, retry_after

log = logging.getLogger("counterfoil.models")

MOST_ERROR = 64 * 1024
"""Bytes of an error's body that are read."""
LINGER = 0.25
"""Seconds that a host has to close a stream which has said everything, so that its connection can be kept."""
CLOSING = 2.0
_UNREACHED = "Check the address, and that its server runs"

Answer = TypeVar("Answer")
Headers = Callable[[str, bytes], Awaitable[dict[str, str]]]
"""Makes the headers of a request, the key among them, for its address and body."""


class Limits(msgspec.Struct, frozen=True):
    """What bounds a request."""

    timeouts: Timeouts
    retry: Retry
    clock: Clock
    most: int


class Exchange:
    """The attempts at one request."""

    def __init__(self, name: str, url: str, body: bytes, limits: Limits, keys: Keys) -> None:
        self.name = name
        self.url = url
        self.body = body
        self.limits = limits
        self.keys = keys
        self.ending = False
        """Whether the host has said everything, and only the end of its stream is awaited."""
        self._began = limits.clock.now()
        self._failures = 0
        self._waited = 0.0
        self._size = 0

    async def open(self, client: httpx2.AsyncClient, headers: Headers) -> httpx2.Response | Fault:
        """Send the request; return the answer with its body still to come, or what went wrong."""
        self._size, self.ending = 0, False
        # No variable holds the headers: whoever prints a traceback with its variables would print the key.
        request = client.build_request("POST", self.url, content=self.body, headers=await headers(self.url, self.body))
        response = await self._bounded(lambda: client.send(request, stream=True))
        if isinstance(response, Fault) or response.status_code in range(200, 300):
            return response
        try:
            return await self._refused(response)
        finally:
            await close(response)

    async def read(self, response: httpx2.Response) -> bytes | Fault:
        """The whole body of an answer."""
        pieces: list[bytes] = []
        chunks = response.aiter_bytes()
        try:
            while (chunk := await self.next(chunks)) is not None:
                if isinstance(chunk, Fault):
                    return chunk
                pieces.append(chunk)
            return b"".join(pieces)
        finally:
            await close(response, chunks)

    async def next(self, chunks: AsyncGenerator[bytes]) -> bytes | Fault | None:
        """The next piece of a body; `None` at its end."""

        async def one() -> bytes | None:
            try:
                return await chunks.__anext__()
            except StopAsyncIteration:
                return None

        chunk = await self._bounded(one)
        if isinstance(chunk, bytes):
            self._size += len(chunk)
            if self._size > self.limits.most:
                return Fault(f"the answer is longer than {self.limits.most:,} bytes: it was not read to its end")
        return chunk

    async def pause(self, fault: Fault) -> None:
        """Wait before another attempt, or raise the `ModelError` that ends the request."""
        retry, clock = self.limits.retry, self.limits.clock
        self._failures += 1
        if not fault.passing or self._failures >= retry.attempts:
            raise fault.error(self.name, self._tried())
        delay = retry.delay(self._failures, fault.after, clock.chance())
        left = self.limits.timeouts.total - (clock.now() - self._began)
        if self._waited + delay > retry.patience or delay >= left:
            why = "The host asks" if fault.after is not None else "The next attempt would have"
            raise fault.error(self.name, f"{self._tried()}. {why} to wait {delay:.0f} s, longer than is waited here")
        log.warning(
            "%s: %s: trying again in %.1f s (attempt %d of %d failed)",
            *(self.name, fault.what, delay, self._failures, retry.attempts),
        )
        self._waited += delay
        await clock.sleep(delay)

    def _tried(self) -> str:
        return f", {self._failures} times in a row" if self._failures > 1 else ""

    async def _refused(self, response: httpx2.Response) -> Fault:
        headers: Mapping[str, str] = response.headers
        body = b""
        chunks = response.aiter_bytes()
        try:
            while len(body) < MOST_ERROR and isinstance(chunk := await self.next(chunks), bytes):
                body += chunk
        finally:
            await close(response, chunks)
        said, code = faults.words_of(self.keys.hide(body.decode("utf-8", "replace")).encode())
        code = code or headers.get("x-amzn-errortype", "").partition(":")[0]
        after = retry_after(headers, self.limits.clock.wall)
        return faults.refused(response.status_code, headers, said, code, after)

    async def _bounded(self, work: Callable[[], Awaitable[Answer]]) -> Answer | Fault:
        total = self.limits.timeouts.total
        left = total - (self.limits.clock.now() - self._began)
        try:
            with anyio.fail_after(min(left, LINGER) if self.ending else left):
                return await work()
        except TimeoutError:
            return Fault(f"there was no whole answer within {total:g} s")
        except (httpx2.RequestError, httpx2.InvalidURL, httpx2.StreamError) as error:
            return self._broken(error)

    def _broken(self, error: Exception) -> Fault:
        timeouts = self.limits.timeouts
        chain = _chain(error)
        said = next((text for each in chain if (text := faults.shorten(self.keys.hide(str(each)), 200))), "")
        match error:
            case httpx2.ConnectTimeout():
                what = f"{self._origin} could not be reached within {timeouts.connect:g} s"
                return Fault(what, passing=True, advice=_UNREACHED)
            case httpx2.ConnectError():
                # A certificate that is not trusted now will not be trusted in a second.
                passing = not any(isinstance(each, ssl.SSLError) and _is_final(each) for each in chain)
                return Fault(f"{self._origin} could not be reached ({said})", passing=passing, advice=_UNREACHED)
            case httpx2.ReadTimeout():
                return Fault(f"the host said nothing for {timeouts.read:g} s", passing=True)
            case httpx2.NetworkError() | httpx2.RemoteProtocolError() | httpx2.TimeoutException():
                return Fault(f"the connection broke off ({said or type(error).__name__})", passing=True)
            case _:
                return Fault(f"the request failed: {type(error).__name__}: {said}")

    @property
    def _origin(self) -> str:
        return "/".join(self.url.split("/")[:3])


def _chain(error: BaseException) -> list[BaseException]:
    """An exception and what led to it, the innermost first: it knows best what happened."""
    chain: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in chain:
        chain.append(each)
        each = each.__cause__ or each.__context__
    return chain[::-1]


def _is_final(error: ssl.SSLError) -> bool:
    return not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)


async def close(response: httpx2.Response, chunks: AsyncGenerator[bytes] | None = None) -> None:
    """Let go of an answer: if it has not been read to its end, its connection is closed, and the host sees that."""
    with anyio.move_on_after(CLOSING, shield=True):
        await response.aclose()
        if chunks is not None:
            # httpx2 2.16 leaves a generator of its own behind when a body is not read to its end, and trio minds. So
            # it is run dry: there is nothing left to come from a closed connection but an error.
            with contextlib.suppress(httpx2.HTTPError, httpx2.StreamError):
                async for _ in chunks:
                    pass
