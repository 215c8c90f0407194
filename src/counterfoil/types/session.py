"""On whose behalf a run acts, with which permissions, and how far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import msgspec

from counterfoil.types.json import canonical


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ceilings of one run, from one user message to the answer. `None`: no ceiling.

    On the last turn no call runs, because nobody would read its result: the calls get refusals and the run ends as
    `limit`; with `last_answer` the model is asked once more, with tools forbidden. A ceiling on `cost` needs a model
    that says what it costs: a reply with tokens and no price reaches it at once.
    """

    turns: int = 16
    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    last_answer: bool = False


class Session(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The signed-in person that the model acts for.

    `permissions` are scopes (`"orders:read"`); one may end in `*` to cover a family (`"orders:*"`). Nothing is
    permitted by default. `attributes` are facts for `authorize` (tenant, region): JSON values, journalled, so no
    secrets. The journal keeps the session, and a run never resumes with more than it was opened with.
    """

    requester: str
    permissions: frozenset[str] = frozenset()
    attributes: dict[str, Any] = {}
    budget: Budget = Budget()

    def __init_subclass__(cls, **options: Any) -> None:
        raise TypeError("a Session is a value that is journalled: put what is yours into its attributes")

    def __post_init__(self) -> None:
        given: Any = self.permissions
        if not isinstance(given, frozenset):
            if isinstance(given, str) or not isinstance(given, Iterable):
                raise TypeError(f'permissions must be a set of scopes, like {{"orders:read"}}, not {given!r}')
            msgspec.structs.force_setattr(self, "permissions", frozenset(cast("Iterable[str]", given)))
        if not self.requester:
            raise ValueError("a session needs a requester: the name or id of the signed-in person")
        if self.attributes:
            try:
                canonical(self.attributes)
            except (TypeError, ValueError) as error:
                raise TypeError(f"attributes are journalled, so they must be JSON values: {error}") from error

    def permits(self, scope: str) -> bool:
        """Whether this session holds a scope, by name or through a family."""
        held = self.permissions
        if scope in held:
            return True
        return any(each.endswith("*") and scope.startswith(each[:-1]) for each in held)
