"""With which session a run goes on: never with more than it was opened with."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from counterfoil.types.error import CounterfoilError, RunNotFound
from counterfoil.types.session import Session

Resolve = Callable[[Session], Session | Awaitable[Session]]
"""Gives the requester's session as it is by now, for the one that a run was opened with."""


async def narrowed(opened: Session | None, resolve: Resolve | None) -> Session:
    """What the requester may do by now, of what the journal says; raises `CounterfoilError` for another requester."""
    if opened is None:
        raise RunNotFound("nothing is known of this run but its id: its process died as it began. Run it anew")
    if resolve is None:
        return opened
    now = resolve(opened)
    if inspect.isawaitable(now):
        now = await now
    if now.requester != opened.requester:
        raise CounterfoilError("resolve returned the session of another requester")
    kept = frozenset(
        [each for each in opened.permissions if now.permits(each)]
        + [each for each in now.permissions if opened.permits(each)]
    )
    return Session(requester=opened.requester, permissions=kept, attributes=now.attributes, budget=opened.budget)
