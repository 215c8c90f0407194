"""The last resort of readers: a body that is shaped like nothing we know ends as a `WireError`, whatever it trips."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import msgspec

from counterfoil.types.error import WireError
from counterfoil.wires.wire import Body

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
_TRIPPED = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError, msgspec.MsgspecError)


def guarded(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a reader of `what` raise `WireError` where a body's types are not those of the format."""

    def wrap(read: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(read)
        def guard(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return read(*args, **kwargs)
            except _TRIPPED as error:
                raise _wrong(what, error) from error

        return guard

    return wrap


def guarded_feed(what: str) -> Callable[[Callable[[S, Body], R]], Callable[[S, Body], R]]:
    """The same for a `feed`, which runs once for each token: no arguments are packed, and nothing is left to be run."""

    def wrap(feed: Callable[[S, Body], R]) -> Callable[[S, Body], R]:
        @functools.wraps(feed)
        def guard(reader: S, event: Body, /) -> R:
            try:
                return feed(reader, event)
            except _TRIPPED as error:
                raise _wrong(what, error) from error

        return guard

    return wrap


def _wrong(what: str, error: BaseException) -> WireError:
    return WireError(f"{what}: a field is not of the type that the format gives it ({error})")
