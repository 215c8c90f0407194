"""6. Must a person say yes to these very arguments?"""

from __future__ import annotations

import hashlib
from typing import Any

from counterfoil.gate.attempt import Attempt
from counterfoil.types.json import canonical
from counterfoil.types.session import Session
from counterfoil.types.verdict import ALLOWED, Confirm, Verdict


def confirmation(attempt: Attempt) -> Verdict:
    """Ask before what cannot be taken back, and before what may have been done already."""
    if attempt.tool.effect == "irreversible":
        return Confirm(f"{attempt.tool.name} cannot be taken back")
    if attempt.doubtful and attempt.tool.effect != "read":
        return Confirm("an identical call is in doubt: this may do the same thing twice")
    return ALLOWED


def digest(run_id: str, call_id: str, tool: str, arguments: dict[str, Any], session: Session) -> str:
    """What an approval is bound to: SHA-256 of the run, the call, the tool, its arguments and the requester."""
    return hashlib.sha256(canonical([run_id, call_id, tool, arguments, session.requester])).hexdigest()
