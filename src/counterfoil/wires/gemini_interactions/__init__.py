"""Gemini Interactions: requests, replies and streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from counterfoil.types.stream import StreamEvent
from counterfoil.wires.gemini_interactions.reply import read_reply, write_reply
from counterfoil.wires.gemini_interactions.request import read_request, write_request
from counterfoil.wires.gemini_interactions.steps import NAME
from counterfoil.wires.gemini_interactions.stream import Reader, Writer
from counterfoil.wires.wire import NO_PLAN, Body, Plan, drain

__all__ = [
    "NAME",
    "read_reply",
    "read_request",
    "read_stream",
    "reader",
    "write_reply",
    "write_request",
    "write_stream",
    "writer",
]

reader = Reader
writer = Writer


def read_stream(events: Iterable[Body], plan: Plan = NO_PLAN) -> Iterator[StreamEvent]:
    """Understand a whole stream."""
    return drain(Reader(plan), events)


def write_stream(events: Iterable[StreamEvent]) -> Iterator[Body]:
    """Say a stream in this format."""
    return drain(Writer(), events)
