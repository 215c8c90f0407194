"""Everything a check may look at: one call, about to be judged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from counterfoil.gate.handed import Handed
from counterfoil.gate.past import Past
from counterfoil.tools.tool import Tool
from counterfoil.types.grant import Grant
from counterfoil.types.json import canonical
from counterfoil.types.message import ToolCall
from counterfoil.types.session import Session
from counterfoil.types.verdict import Verdict

if TYPE_CHECKING:
    from counterfoil.gate.provenance.known import Known


class Attempt:
    """One call before the gate. A check may replace `arguments` (a clamp) if it says so in `notes`."""

    __slots__ = (
        "_approved_by",
        "_given",
        "arguments",
        "at",
        "call",
        "doubtful",
        "earlier",
        "follow",
        "grant",
        "grants",
        "handed",
        "identity",
        "intent",
        "notes",
        "past",
        "reveal",
        "run_id",
        "session",
        "tool",
    )

    def __init__(
        self,
        call: ToolCall,
        tool: Tool,
        session: Session,
        run_id: str,
        arguments: dict[str, Any] | None,
        identity: tuple[str, bytes],
        past: Past,
        at: float,
        doubtful: bool = False,
        follow: Callable[[], Known | None] | None = None,
        grants: Callable[[str], Awaitable[Sequence[Grant]]] | None = None,
    ) -> None:
        self.call = call
        self.tool = tool
        self.session = session
        self.run_id = run_id
        self.arguments: dict[str, Any] = arguments if arguments is not None else {}
        self.identity = identity
        self.past = past
        self.at = at
        self._given = self.arguments
        self._approved_by: str | None = None
        self.doubtful = doubtful
        """Whether an identical call is in doubt: it may have taken effect already."""
        self.earlier: Callable[[], Iterable[dict[str, Any]]] = tuple
        """Gives the arguments of the tool's calls that were allowed in this exchange."""
        self.grants = grants or _none
        """Gives what a requester has been granted for calls to come."""
        self.grant: Grant | None = None
        """The standing approval that covers this call, if one was looked for and found."""
        self.notes: list[str] = []
        self.follow = follow
        """Gives what the run has read and from whom, where that is followed."""
        self.intent: int | None = None
        """Which intent of the plan the call carries out, as the provenance check has found."""
        self.reveal: Callable[[dict[str, Any]], dict[str, Any]] | None = None
        """Puts secrets back where `arguments` has placeholders, for the schema to judge. Raises `SecretLost`."""
        self.handed: Handed | None = None
        """Where `arguments` has values that the model was not shown: what it wrote for them."""

    def hand(self, handed: Handed) -> None:
        """Judge what the arguments stand for. Called after all else is set."""
        self.handed = handed
        self.arguments = self._given = handed.real
        reveal, earlier = self.reveal, self.earlier
        if reveal is not None:
            self.reveal = lambda arguments: handed.real_of(reveal(handed.written(arguments)))
        self.earlier = lambda: map(handed.real_of, earlier())

    @property
    def written(self) -> dict[str, Any]:
        """The arguments as they are journalled: values that the model was not shown by their names."""
        return self.arguments if self.handed is None else self.handed.written(self.arguments)

    @property
    def known(self) -> Known | None:
        """What the run has read and from whom, where that is followed."""
        return None if self.follow is None else self.follow()

    def approve(self, by: str | None) -> None:
        """Say who approved exactly the arguments that are there now."""
        self._given, self._approved_by = self.arguments, by

    @property
    def changed(self) -> bool:
        """Whether a check replaced the arguments."""
        return self.arguments is not self._given

    @property
    def approved_by(self) -> str | None:
        """Who approved exactly these arguments, if somebody did: a check that changes them voids the approval."""
        same = self.arguments is self._given or canonical(self.arguments) == canonical(self._given)
        return self._approved_by if same else None


async def _none(requester: str) -> Sequence[Grant]:
    return ()


Check = Callable[[Attempt], "Verdict | Awaitable[Verdict | None] | None"]
"""Judge one attempt: `None` or `Allowed` lets it pass, a `Refusal` ends it, a `Confirm` asks a person first."""
