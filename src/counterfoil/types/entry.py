"""Journal entries. A run is nothing but the entries written for it.

Each kind's name is its tag. A change of a kind's meaning raises `VERSION`, and the old form gets an upcaster in the
journal, so that new code reads every journal ever written.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from counterfoil.types.grant import Grant
from counterfoil.types.handle import Handle
from counterfoil.types.label import Leaves
from counterfoil.types.message import Message, ToolResult
from counterfoil.types.outcome import Outcome
from counterfoil.types.plan import Intent, Mode
from counterfoil.types.request import Output, Usage
from counterfoil.types.session import Session
from counterfoil.types.verdict import Verdict

VERSION = 1

Effect = Literal["read", "idempotent", "write", "irreversible"]
"""What happens if a call runs twice: nothing; nothing with the same key; harm; harm, so a person confirms each."""


class _Entry(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="entry", gc=False):
    """gc=False: entries are trees of values."""


class Opened(_Entry, frozen=True, tag="opened"):
    """A run begins: for whom, with which catalogue (its digest) and model, and the answer's schema if it has one."""

    session: Session
    catalogue: str = ""
    model: str = ""
    output: Output | None = None
    outside: bool = False
    """Whether the run serves one call from elsewhere, with no model of ours."""
    provenance: Mode | None = None
    """How calls that text from outside may have steered are judged; `None`: written before that was journalled."""
    vouched: tuple[str, ...] = ()
    """Values that the application vouches for."""
    me: tuple[str, ...] = ()
    """The requester's own names with the services: addresses, account numbers."""
    planning: bool = False
    """Whether the model is asked for a plan each time the requester has spoken, until something untrusted is read."""


class Loaded(_Entry, frozen=True, tag="loaded"):
    """Messages from before this run. `repairs` says what had to be put right in them."""

    messages: tuple[Message, ...]
    repairs: tuple[str, ...] = ()


class Said(_Entry, frozen=True, tag="said"):
    """Somebody said something: instructions, the requester, or the model (then with `stop_raw`, `usage`)."""

    message: Message
    stop: str | None = None
    stop_raw: str | None = None
    usage: Usage | None = None
    notes: tuple[str, ...] = ()
    """What was put right in a reply before it was believed. On a user message: why counterfoil itself said it."""


class Judged(_Entry, frozen=True, tag="judged"):
    """The gate's verdict on one call. `arguments` are set when they differ from what the model wrote."""

    call_id: str
    verdict: Verdict
    digest: str = ""
    """Of (run, call, tool, arguments, requester): what an approval is bound to. Set with `Confirm`."""
    arguments: dict[str, Any] | None = None
    expires_at: float | None = None
    """Unix seconds after which a confirmation is void."""
    grant: Grant | None = None
    """The standing approval that stood for a person's answer, whole: so that the run says why it was allowed."""
    intent: int | None = None
    """Which intent of the plan the call carries out, and uses up."""


class Answered(_Entry, frozen=True, tag="answered"):
    """A person answered a confirmation, or nobody did in time (`expired`)."""

    call_id: str
    approved: bool
    by: str = ""
    digest: str = ""
    reason: str = ""
    arguments: dict[str, Any] | None = None
    """Edited arguments; `digest` is then theirs."""
    expired: bool = False
    at: float = 0.0
    grant: Grant | None = None
    """What was approved for calls to come."""


class Started(_Entry, frozen=True, tag="started"):
    """A tool is about to run. Durable before any effect; `key` is the idempotency key given to the tool."""

    call_id: str
    effect: Effect
    key: str = ""
    at: float = 0.0


class Finished(_Entry, frozen=True, tag="finished"):
    """A call has its result."""

    result: ToolResult
    seconds: float | None = None
    leaves: Leaves | None = None
    """The labels inside the result. That of the whole is the result's own; where it has none, it is untrusted."""
    handle: Handle | None = None
    """What the tool returned, where it is opaque: the result says only that it is there, and `leaves` are of this."""


class Doubted(_Entry, frozen=True, tag="doubted"):
    """Nobody knows whether the call took effect: it was cut off by a crash, a timeout or an unforeseen exception."""

    call_id: str
    reason: str


class Settled(_Entry, frozen=True, tag="settled"):
    """A person, or the service asked by `lookup`, said what became of a call in doubt."""

    call_id: str
    how: Literal["happened", "retry", "abandon"]
    by: str
    result: ToolResult | None = None
    at: float = 0.0


class Ended(_Entry, frozen=True, tag="ended"):
    """The run stops short of an answer: a ceiling, a cancel, a failed model. Open calls get refusals."""

    outcome: Outcome


class Planned(_Entry, frozen=True, tag="planned"):
    """Which consequential calls are meant. A model may say so only before it has read anything untrusted."""

    intents: tuple[Intent, ...]
    by: str = ""
    by_model: bool = False
    usage: Usage | None = None
    """What asking the model for it took."""


class Declassified(_Entry, frozen=True, tag="declassified"):
    """A person vouches for the text of one result: its words are theirs from now on."""

    call_id: str
    by: str
    at: float = 0.0


Entry = (
    Opened | Loaded | Said | Judged | Answered | Started | Finished | Doubted | Settled | Ended | Planned | Declassified
)


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry as the journal keeps it: its place in the run, its writer's epoch, when, and its chain hash."""

    run: str
    seq: int
    epoch: int
    at: float
    entry: Entry
    v: int = VERSION
    hash: str = ""
