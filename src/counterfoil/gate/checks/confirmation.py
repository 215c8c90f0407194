"""6. Must a person say yes to these very arguments?"""

from __future__ import annotations

import hashlib
from typing import Any

from counterfoil.gate.attempt import Attempt
from counterfoil.tools.arguments import compile_schema
from counterfoil.types.json import canonical
from counterfoil.types.session import Session
from counterfoil.types.verdict import ALLOWED, Confirm, Verdict


def confirmation(attempt: Attempt) -> Verdict:
    """Ask before what cannot be taken back, and before what may have been done already."""
    if attempt.tool.effect == "irreversible":
        return Confirm(f"{attempt.tool.name} cannot be taken back", grantable=True)
    if attempt.doubtful and attempt.tool.effect != "read":
        return Confirm("an identical call is in doubt: this may do the same thing twice")
    return ALLOWED


async def granted(attempt: Attempt, *, four_eyes: bool) -> bool:
    """Whether a person has said "always" to such calls; `attempt.grant` is then what was said."""
    for grant in await attempt.grants(attempt.session.requester):
        if (
            grant.holds(attempt.at)
            and grant.tool == attempt.tool.name
            and grant.requester == attempt.session.requester
            and not (four_eyes and grant.by == grant.requester)
            and compile_schema(grant.arguments, f"grant {grant.id}").is_valid(attempt.arguments)
        ):
            attempt.grant = grant
            return True
    return False


def digest(run_id: str, call_id: str, tool: str, arguments: dict[str, Any], session: Session) -> str:
    """What an approval is bound to: SHA-256 of the run, the call, the tool, its arguments and the requester."""
    return hashlib.sha256(canonical([run_id, call_id, tool, arguments, session.requester])).hexdigest()
