"""5. May text that came from outside steer this call?

Labels are carried everywhere; the policy over them has its own file when it comes. Until then the check lets every call
pass and says so here, in the one place where the gate asks.
"""

from __future__ import annotations

from counterfoil.gate.attempt import Attempt
from counterfoil.types.verdict import ALLOWED, Verdict


def provenance(attempt: Attempt) -> Verdict:
    """Let the call pass."""
    return ALLOWED
