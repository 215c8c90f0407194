"""Waking runs: in this process by default, across machines by a queue on Postgres."""

from counterfoil.dispatch.port import Dispatcher, Feed, Work
from counterfoil.dispatch.scheduler import Happening, Scheduler

__all__ = ["Dispatcher", "Feed", "Happening", "Scheduler", "Work"]
