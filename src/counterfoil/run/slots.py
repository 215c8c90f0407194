"""At most so many calls of one tool at once: the others wait their turn, in order, before they are started.

A call that waits has not begun: its time does not run, and should its process die it is not in doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import anyio
from anyio.lowlevel import RunVar

from counterfoil.run.state import Call
from counterfoil.tools.tool import Tool

if TYPE_CHECKING:
    from counterfoil.run.activation import Activation

_SLOTS: RunVar[WeakKeyDictionary[Tool, anyio.Semaphore]] = RunVar("counterfoil slots")
"""Of one event loop: its primitives may not be shared with another."""


async def in_turn(activation: Activation, calls: list[Call]) -> None:
    """Invoke those of some calls whose turn it is; where there is none, wait for one. The rest come with the next step.

    Nobody waits who holds a slot, so no two wait for each other.
    """
    held: list[anyio.Semaphore] = []
    ready: list[Call] = []
    try:
        for call in calls:
            slots = _slots(activation.tools.get(call.call.name))
            if slots is not None:
                try:
                    slots.acquire_nowait()
                except anyio.WouldBlock:
                    continue
                held.append(slots)
            ready.append(call)
        if not ready:
            first = _slots(activation.tools.get(calls[0].call.name))
            assert first is not None, "a call without a limit is ready"
            await first.acquire()
            held.append(first)
            ready = calls[:1]
            if activation.harness.draining:
                return
        await activation.invoke(ready)
    finally:
        for each in held:
            each.release()


def _slots(tool: Tool | None) -> anyio.Semaphore | None:
    if tool is None or tool.limits.concurrent is None:
        return None
    known: WeakKeyDictionary[Tool, anyio.Semaphore] | None = _SLOTS.get(None)
    if known is None:
        known = WeakKeyDictionary()
        _SLOTS.set(known)
    return known.setdefault(tool, anyio.Semaphore(tool.limits.concurrent))
