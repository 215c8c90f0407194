"""Our exceptions. What a model or the world does wrong is not among them: that is a value somebody reads.

* CounterfoilError
  - CatalogueError        a tool cannot be described, or two share a name
  - MissingExtra          an optional part is not installed; says the line that installs it
  - WireError             a body does not follow its wire format
  - TextError             there is no text family of that name
    + Unwritable          a text family has no way to write something
  - ModelError            the model cannot answer (the run ends as `failed` and says why)
    + ContextOverflow     the conversation is longer than the model's context
  - JournalError          the journal cannot be read or written
    + JournalCorrupt      what it holds does not check out
    + RunNotFound         it has no run of that id
    + RunBusy             another live process owns the run
    + RunErased           its payloads were erased; that it ran is all that is left
    + Fenced              another process has taken the run over; this one may not write any more
  - ConfirmationError     an answer that does not fit: unknown, expired, answered, or by the wrong person
  - SettlementError       a doubt that cannot be settled that way

Two more are raised by tools, to say what happened:

* ToolError               the model should read this and do better
  - NotApplied            the effect certainly did not happen
"""

from __future__ import annotations


class CounterfoilError(Exception):
    """Base of every exception counterfoil raises."""


class CatalogueError(CounterfoilError):
    """A tool cannot be described, or two tools share a name."""


class MissingExtra(CounterfoilError):
    """An optional part is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f'{what} needs an extra that is not installed. Run: pip install "counterfoil[{extra}]"')


class WireError(CounterfoilError):
    """A body does not follow its wire format."""


class TextError(CounterfoilError, ValueError):
    """There is no text family of that name."""


class Unwritable(TextError):
    """Something that a text family has no way to write so that it reads back. Says what, and what to do."""


class ModelError(CounterfoilError):
    """The model cannot answer. The message says what happened and what to do."""


class ContextOverflow(ModelError):
    """The conversation and the catalogue are longer than the model's context."""


class JournalError(CounterfoilError):
    """The journal cannot be read or written."""


class JournalCorrupt(JournalError):
    """What the journal holds does not check out."""


class RunNotFound(JournalError):
    """The journal has no run of that id."""


class RunBusy(JournalError):
    """Another live process owns the run."""


class RunErased(JournalError):
    """A run's payloads were erased: there is nothing to read, and it cannot go on."""


class Fenced(JournalError):
    """Another process has taken the run over: this one may not write any more."""


class ConfirmationError(CounterfoilError):
    """An answer that does not fit its confirmation: unknown, expired, already answered, or by the wrong person."""


class SettlementError(CounterfoilError):
    """A call that is not in doubt, or that cannot be settled that way."""


class ToolError(Exception):
    """Raise it in a tool to teach the model: its message becomes the result, marked as an error."""


class NotApplied(ToolError):
    """Raise it in a tool when the effect certainly did not happen, so that the call is never in doubt."""
