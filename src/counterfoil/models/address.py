"""Where a host is reached: checked before anything is sent there."""

from __future__ import annotations

import ipaddress
import os
import re
from urllib.parse import quote, urlsplit

from counterfoil.models.hosts import Host
from counterfoil.types.error import ModelError

_PART = re.compile(r"[A-Za-z0-9-]{1,63}")


def base_of(host: Host, given: str | None) -> str:
    """The address that paths are added to: the one given, else the host's with its variables filled in.

    Raises `ModelError` for a variable that is not set, or an address that is none.
    """
    base = given or host.base
    if given is None and host.base_variables:
        value = variable_of(host)
        wanted = " or ".join(host.base_variables)
        if value is None:
            if "{}" in base:
                raise ModelError(f"where {host.title} is reached is not known: set {wanted}")
        elif base.startswith("{}"):
            base = base.replace("{}", value.rstrip("/"))
        elif "{}" in base:
            if not _PART.fullmatch(value):
                raise ModelError(f"{wanted} must be one word of letters, digits and hyphens, like us-east-1")
            base = base.replace("{}", value)
        else:
            base = value
    return checked(base)


def variable_of(host: Host) -> str | None:
    """What the first of the host's variables that is set holds: an address, a region."""
    return next((found for name in host.base_variables if (found := os.environ.get(name, "").strip())), None)


def checked(base: str) -> str:
    """An address in its plain form, without a slash at its end. Raises `ModelError`."""
    base = base if "://" in base else f"http://{base}"
    try:
        parts = urlsplit(base)
        port = parts.port
    except ValueError:
        raise ModelError("the address of the host is not a URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelError(f"the address of a host begins with https:// or http://, not {parts.scheme}://")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ModelError("the address of a host holds no user, no key and no query: keys go into their variable")
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{name}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def url_of(host: Host, base: str, model: str, *, stream: bool) -> str:
    """The whole address of a request."""
    path = host.stream_path if stream and host.stream_path else host.path
    return base + path.replace("{model}", quote(model, safe=""))


def is_secure(base: str) -> bool:
    """Whether nobody between us and the host can read along: TLS, or the same machine."""
    parts = urlsplit(base)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
