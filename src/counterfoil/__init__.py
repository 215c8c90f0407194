"""The tool-calling harness between a language model's requests and your systems."""

import importlib
from typing import TYPE_CHECKING, Any

from counterfoil.gate.attempt import Attempt, Check
from counterfoil.gate.gate import Gate
from counterfoil.journal.journal import Journal
from counterfoil.journal.memory import MemoryJournal
from counterfoil.models.function import Function
from counterfoil.models.model import BaseModel, Model
from counterfoil.models.replay import Replay
from counterfoil.models.scripted import Scripted
from counterfoil.run.event import Event, Progress
from counterfoil.run.harness import Harness
from counterfoil.run.run import Confirmation, Doubt, Run
from counterfoil.tools.catalogue import Catalogue
from counterfoil.tools.context import Context
from counterfoil.tools.limits import Limits, Rate
from counterfoil.tools.secret import Secret
from counterfoil.tools.tool import Tool, tool
from counterfoil.tools.trust import Content, Critical, Plain, Resource, Target, Trust
from counterfoil.types.error import (
    CatalogueError,
    ConfirmationError,
    ContextOverflow,
    CounterfoilError,
    Fenced,
    JournalCorrupt,
    JournalError,
    MissingExtra,
    ModelError,
    NotApplied,
    RunBusy,
    RunErased,
    RunNotFound,
    SettlementError,
    ToolError,
    WireError,
)
from counterfoil.types.grant import Always, Grant
from counterfoil.types.label import Config, Label, System, Typed, Untrusted, User
from counterfoil.types.message import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from counterfoil.types.outcome import Outcome
from counterfoil.types.plan import Intent, Pick
from counterfoil.types.request import Reply, Request, Sampling, ToolChoice, ToolSpec, Usage
from counterfoil.types.session import Budget, Session
from counterfoil.types.verdict import Allowed, Confirm, Refusal, Verdict

if TYPE_CHECKING:
    from counterfoil import sync
    from counterfoil.journal.opening import open_journal
    from counterfoil.journal.postgres import PostgresJournal
    from counterfoil.journal.sqlite import SqliteJournal
    from counterfoil.run.extractor import extractor
    from counterfoil.tools.pins import Pins

__version__ = "0.1.0"

_LATER = {
    "Pins": "counterfoil.tools.pins",
    "PostgresJournal": "counterfoil.journal.postgres",
    "SqliteJournal": "counterfoil.journal.sqlite",
    "extractor": "counterfoil.run.extractor",
    "open_journal": "counterfoil.journal.opening",
    "sync": "counterfoil",
}
"""What is imported when it is first asked for: not every process has a file, a server, or no event loop."""


def __getattr__(name: str) -> Any:
    if (module := _LATER.get(name)) is None:
        raise AttributeError(f"module 'counterfoil' has no attribute {name!r}")
    if module == "counterfoil":
        return importlib.import_module(f"counterfoil.{name}")
    found = globals()[name] = getattr(importlib.import_module(module), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__all__ = [
    "Allowed",
    "Always",
    "Attempt",
    "BaseModel",
    "Budget",
    "Catalogue",
    "CatalogueError",
    "Check",
    "Config",
    "Confirm",
    "Confirmation",
    "ConfirmationError",
    "Content",
    "Context",
    "ContextOverflow",
    "CounterfoilError",
    "Critical",
    "Doubt",
    "Event",
    "Fenced",
    "Function",
    "Gate",
    "Grant",
    "Harness",
    "Intent",
    "Journal",
    "JournalCorrupt",
    "JournalError",
    "Label",
    "Limits",
    "Media",
    "MemoryJournal",
    "Message",
    "MissingExtra",
    "Model",
    "ModelError",
    "NotApplied",
    "Opaque",
    "Outcome",
    "Pick",
    "Pins",
    "Plain",
    "PostgresJournal",
    "Progress",
    "Rate",
    "Reasoning",
    "Refusal",
    "Replay",
    "Reply",
    "Request",
    "Resource",
    "Run",
    "RunBusy",
    "RunErased",
    "RunNotFound",
    "Sampling",
    "Scripted",
    "Secret",
    "Session",
    "SettlementError",
    "SqliteJournal",
    "System",
    "Target",
    "Text",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "ToolError",
    "ToolResult",
    "ToolSpec",
    "Trust",
    "Typed",
    "Untrusted",
    "Usage",
    "User",
    "Verdict",
    "WireError",
    "extractor",
    "open_journal",
    "sync",
    "tool",
]
