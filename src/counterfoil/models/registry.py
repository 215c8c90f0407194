"""Models by name: what `--model` takes. One row per kind of model; a new kind is a new row."""

from __future__ import annotations

import difflib
from collections.abc import Callable

import msgspec

from counterfoil.models.hosts import COMPATIBLE, HOSTS, Host, nearest
from counterfoil.models.hosts import host as host_of
from counterfoil.models.model import Model
from counterfoil.types.error import ModelError

Progress = Callable[[str, float], None]
"""Told what is being done and how far it is, 0 to 1."""


class Kind(msgspec.Struct, frozen=True):
    """A kind of model: `load` gets what follows the colon (empty if nothing does), and whom to tell of progress."""

    load: Callable[[str, Progress | None], Model]
    examples: tuple[str, ...]
    """What a user may write."""
    remote: bool = False
    """Whether it is a provider's, over the network."""


def _local(name: str, progress: Progress | None) -> Model:
    from counterfoil.models.local import load  # noqa: PLC0415 - an optional extra

    return load(name, progress=progress) if name else load(progress=progress)


def _remote(host: Host) -> Kind:
    def load(name: str, progress: Progress | None) -> Model:
        del progress
        return _http(host, name, None)

    return Kind(load, (f"{host.name}:{host.example}",), remote=True)


def _http(host: Host, name: str, base: str | None) -> Model:
    from counterfoil.models.http import HttpModel  # noqa: PLC0415 - an optional extra

    return HttpModel(host, name, base=base)


KINDS: dict[str, Kind] = {
    "local": Kind(_local, ("local", "local:needle", "local:path/to/model.gguf")),
    **{host.name: _remote(host) for host in HOSTS.values()},
}
ADDRESS = "http://127.0.0.1:8000/v1#NAME"
"""What a user writes for a server that is no row."""


def model(spec: str, *, progress: Progress | None = None) -> Model:
    """Make a model of its spec: `local`, `local:path/to/model.gguf`, `anthropic:NAME`, `http://127.0.0.1:8000/v1#NAME`.

    An address alone is that of a server which speaks OpenAI Chat Completions; `ollama+http://10.0.0.5:11434#NAME` is a
    known host at another address. Blocks while a local model loads. Raises `ModelError` for a spec that nobody knows,
    `MissingExtra` with the line to install when the kind of model needs an extra.
    """
    if "://" in spec:
        return _at_address(spec)
    kind, _, name = spec.partition(":")
    found = KINDS.get(kind)
    if found is None:
        near = nearest(kind) or difflib.get_close_matches(kind, KINDS, 1)
        hint = f"Did you mean {' or '.join(near)}? " if near else ""
        raise ModelError(
            f"no model is known as {spec!r}. {hint}Write one of: {', '.join(KINDS['local'].examples)}, HOST:NAME, or "
            f"{ADDRESS}. The hosts are {', '.join(HOSTS)}"
        )
    return found.load(name, progress)


def _at_address(spec: str) -> Model:
    base, _, name = spec.partition("#")
    before, plus, rest = base.partition("+")
    if not name:
        raise ModelError(f"{spec} names no model: write its name after a #, like {ADDRESS}")
    if plus and "://" not in before:
        return _http(host_of(before), name, rest)
    return _http(COMPATIBLE, name, base)


def remote_example() -> str | None:
    """A spec of a provider's model, if there is a row for one."""
    return next((each.examples[0] for each in KINDS.values() if each.remote), None)
