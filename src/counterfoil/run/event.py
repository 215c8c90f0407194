"""What happens while a run is worked on, as those who watch it see it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from counterfoil.types.entry import Entry
from counterfoil.types.stream import StreamEvent


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """A tool says how far it is; `fraction` is 0 to 1. Shown to whoever watches, never journalled."""

    call_id: str
    message: str
    fraction: float | None = None


Event = Entry | StreamEvent | Progress
"""What a stream yields: journal entries as they are written, and the model's words as they come."""

Watch = Callable[[Event], None]
"""Called with each event, in the event loop's thread (a sync tool's progress: in that tool's). Must not block."""


def reporter(watch: Watch, call_id: str) -> Callable[[str, float | None], None]:
    """What a tool's `Context.progress` calls, where somebody watches."""
    return partial(_report, watch, call_id)


def _report(watch: Watch, call_id: str, message: str, fraction: float | None) -> None:
    watch(Progress(call_id, message, fraction))
