"""The tool-calling harness between a language model's requests and your systems."""

from counterfoil import sync
from counterfoil.gate.attempt import Attempt, Check
from counterfoil.gate.gate import Gate
from counterfoil.journal.journal import Journal
from counterfoil.journal.memory import MemoryJournal
from counterfoil.journal.sqlite import SqliteJournal
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
from counterfoil.tools.tool import Tool, tool
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
    RunNotFound,
    SettlementError,
    ToolError,
    WireError,
)
from counterfoil.types.grant import Always, Grant
from counterfoil.types.label import Label
from counterfoil.types.message import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from counterfoil.types.outcome import Outcome
from counterfoil.types.request import Reply, Request, Sampling, ToolChoice, ToolSpec, Usage
from counterfoil.types.session import Budget, Session
from counterfoil.types.verdict import Allowed, Confirm, Refusal, Verdict

__version__ = "0.1.0"

__all__ = [
    "Allowed",
    "Always",
    "Attempt",
    "BaseModel",
    "Budget",
    "Catalogue",
    "CatalogueError",
    "Check",
    "Confirm",
    "Confirmation",
    "ConfirmationError",
    "Context",
    "ContextOverflow",
    "CounterfoilError",
    "Doubt",
    "Event",
    "Fenced",
    "Function",
    "Gate",
    "Grant",
    "Harness",
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
    "Progress",
    "Rate",
    "Reasoning",
    "Refusal",
    "Replay",
    "Reply",
    "Request",
    "Run",
    "RunBusy",
    "RunNotFound",
    "Sampling",
    "Scripted",
    "Session",
    "SettlementError",
    "SqliteJournal",
    "Text",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "ToolError",
    "ToolResult",
    "ToolSpec",
    "Usage",
    "Verdict",
    "WireError",
    "sync",
    "tool",
]
