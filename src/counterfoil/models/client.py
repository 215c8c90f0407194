"""The HTTP client itself: one per model and event loop, so that connections are kept and never cross loops."""

from __future__ import annotations

import functools
import ssl
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import anyio.to_thread
import httpx2
import msgspec
from anyio.lowlevel import RunVar

if TYPE_CHECKING:
    from counterfoil.models.http import HttpModel


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds. `read` is the longest silence between two pieces of an answer, `total` all of a request, its retries
    included.
    """

    connect: float = 10.0
    read: float = 300.0
    write: float = 60.0
    total: float = 900.0


Clients = WeakKeyDictionary["HttpModel", httpx2.AsyncClient]
_CLIENTS: RunVar[Clients] = RunVar("counterfoil_http_clients")


@functools.cache
def _trust() -> ssl.SSLContext:
    """The certificates that the system trusts. Reading them takes a while, so it is done once."""
    return httpx2.create_ssl_context(trust_env=False)


async def client_of(
    model: HttpModel, base: str, timeouts: Timeouts, proxy: str | None, tls: ssl.SSLContext | None
) -> httpx2.AsyncClient:
    """The client of a model in this event loop, made when it is first needed."""
    clients = _CLIENTS.get(None)
    if clients is None:
        clients = Clients()
        _CLIENTS.set(clients)
    client = clients.get(model)
    if client is None or client.is_closed:
        if tls is None:
            secure = base.startswith("https:") or proxy is not None
            # Without TLS no certificate is read; this context trusts nobody.
            tls = await anyio.to_thread.run_sync(_trust) if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client = clients[model] = httpx2.AsyncClient(
            verify=tls,
            proxy=proxy,
            timeout=httpx2.Timeout(connect=timeouts.connect, read=timeouts.read, write=timeouts.write, pool=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=30.0),
            follow_redirects=False,
            # Proxies, keys of .netrc and certificates of the environment would come as a surprise.
            trust_env=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )
    return client


async def close_client(model: HttpModel) -> None:
    """Close the connections of a model in this event loop."""
    clients = _CLIENTS.get(None)
    client = clients.pop(model, None) if clients is not None else None
    if client is not None:
        await client.aclose()
