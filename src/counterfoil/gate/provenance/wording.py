"""What the model reads when a call is held back here, and what a person reads.

The model's texts are constant per reason: whoever probes the check through the model learns nothing from them. The
person's are made of data, and never of the model's reasons.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from counterfoil.gate.provenance.policy import Ruling, Why
from counterfoil.types.json import canonical
from counterfoil.types.label import Traced

_HELD: dict[Why, str] = {
    "ARG_ORIGIN": "An argument of this call was not given by the user.",
    "OFF_PLAN": "This call is not part of what was planned for the user's request.",
    "ACTIVE_CONTENT": "The text of this call has a link, an address or an account number that the user did not give.",
    "SECRET_IN_SESSION": "Secret data was read in this conversation, so nothing but the user's own words may leave it.",
}
_ORIGINS = {
    "USER": "in the user's words",
    "CONFIG": "from the application",
    "KEYED": "of the record that the user asked for",
    "PLANNED": "as planned",
    "SYSTEM": "an existing one, but the model chose it",
    "CLEAN": "written before anything was read",
    "TYPED": "a value that others can choose, or worked out from one",
    "MODEL": "written after reading what others can write",
    "OUTSIDE": "written by others, and not shown to the model",
}
_THEIRS = frozenset({"USER", "CONFIG"})
_UNPLANNED = {
    "": "differs from the plan",
    "none": "is asked for",
    "other": "is not in the plan, and asked for",
    "spent": "was planned, has been done already, and is asked for again",
}
_SHOWN = 120


def ticket(run_id: str, call_id: str) -> str:
    """A name for one held call, for the logs: it says nothing of why."""
    return hashlib.sha256(f"{run_id}/{call_id}".encode()).hexdigest()[:8]


def for_model(why: Why, ticket: str) -> str:
    """What the model reads where nobody can be asked."""
    return f"{why} ({ticket}). {_HELD[why]} Nobody can be asked, so it was not done. Do not retry; go on with the rest."


def for_person(tool: str, ruling: Ruling) -> str:
    """Why a person is asked, in a line or two."""
    wrong = [each for each in ruling.traced if not each.trusted]
    if ruling.why == "SECRET_IN_SESSION":
        opening = f"{tool} would send out text after secret or private data was read"
    elif ruling.why == "OFF_PLAN":
        opening = f"{tool} {_UNPLANNED[ruling.plan]}"
        if ruling.after:
            opening += f" after reading {ruling.after}, which others can write"
    elif ruling.why == "ACTIVE_CONTENT":
        opening = f"{tool} would pass on something that can be acted on"
    elif all(each.origin in _THEIRS for each in wrong):
        opening = f"{tool} has other words of the user's where the model's plan left a value to be read"
    else:
        opening = f"{tool} would act on something that the user did not give"
    return "; ".join([opening, *map(describe, wrong)])


def describe(traced: Traced) -> str:
    """One argument in words: `recipient "UK12", in bill.txt, which others can write`."""
    meant = " (the plan has nothing there)" if traced.unplanned else ""
    if traced.planned is not None:
        meant = f" (planned: {canonical(traced.planned).decode()[:_SHOWN]})"
    if not traced.origin:
        return f"{traced.argument} missing{meant}"
    value = canonical(traced.value).decode()
    shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..."
    found = f"in {traced.source}, which others can write" if traced.source else _ORIGINS[traced.origin]
    return f"{traced.argument} {shown}, {found}{meant}"


def lines(traced: Sequence[Traced]) -> list[str]:
    """Every argument in a line of its own, those that are the matter marked."""
    return [f"{' ' if each.trusted else '!'} {describe(each)}" for each in traced]
