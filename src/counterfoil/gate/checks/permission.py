"""2. May this requester use this tool at all, and on this very object?"""

from __future__ import annotations

import inspect
import logging
from typing import Any

from counterfoil.gate.attempt import Attempt
from counterfoil.types.verdict import ALLOWED, Refusal, Verdict

log = logging.getLogger("counterfoil.gate")


def permission(attempt: Attempt) -> Verdict:
    """Refuse a tool whose scope the session does not hold. The model's text has no say in it."""
    tool = attempt.tool
    if tool.answers or attempt.session.permits(tool.permission):
        return ALLOWED
    return Refusal(
        "not_permitted",
        f"The signed-in person does not hold the permission {tool.permission!r} that {tool.name} needs. "
        "Do not try again; tell them, or go on without it.",
    )


async def authorize(attempt: Attempt) -> Verdict:
    """Refuse an object that is not this requester's, as the tool's own `authorize` says. An error in it refuses too."""
    rule = attempt.tool.authorize
    if rule is None:
        return ALLOWED
    try:
        reason: Any = rule(attempt.session, attempt.arguments)
        if inspect.isawaitable(reason):
            reason = await reason
    except Exception:  # a rule that breaks must close the gate, whatever it raised
        log.exception("authorize of %s raised: the call is refused", attempt.tool.name)
        return Refusal("not_permitted", "Whether this is permitted could not be checked, so it was not done.")
    if reason is None:
        return ALLOWED
    if not isinstance(reason, str):
        log.error("authorize of %s returned %r: return None to allow, a reason to refuse", attempt.tool.name, reason)
        return Refusal("not_permitted", "Whether this is permitted could not be checked, so it was not done.")
    return Refusal("not_permitted", reason or "This is not permitted.")
