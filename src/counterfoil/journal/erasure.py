"""What is left when a person's payloads are erased: that it was done, when and by whom, and a chain that holds."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable

import msgspec

from counterfoil.types.error import JournalError, RunErased

_ROUNDS = 100_000
"""How often a name is hashed. Names are short: each guess at one is to cost something."""


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """That one run's payloads were erased: `records` bodies and `items` of its inbox, at a Unix time.

    `who` stands for the requester (`is_of` tells whether it was somebody); `hash` follows from the run's last record.
    """

    at: float
    by: str
    who: str
    records: int
    items: int
    hash: str


class Erased(msgspec.Struct, frozen=True, kw_only=True):
    """What an erasure came to, over all runs of one requester."""

    runs: tuple[str, ...]
    records: int
    items: int
    grants: int
    who: str


def stand_in(requester: str, salt: bytes | None = None) -> str:
    """Make what stands for a name: `salt.digest` in hex, PBKDF2 over SHA-256, another each time it is made."""
    salt = secrets.token_bytes(16) if salt is None else salt
    return f"{salt.hex()}.{hashlib.pbkdf2_hmac('sha256', requester.encode(), salt, _ROUNDS).hex()[:32]}"


def is_of(who: str, requester: str) -> bool:
    """Whether that stands for this name."""
    return hmac.compare_digest(who, stand_in(requester, bytes.fromhex(who.partition(".")[0])))


def alias(who: str) -> str:
    """What the index of runs says in place of the requester."""
    return f"erased:{who.partition('.')[2][:12]}"


def seal(head: str, at: float, by: str, who: str, records: int, items: int) -> str:
    """The hash of an erasure: it covers the hash of the run's last record."""
    return hashlib.sha256(f"{head}|erased|{at!r}|{by}|{who}|{records}|{items}".encode()).hexdigest()


def sealed(head: str, at: float, by: str, who: str, records: int, items: int) -> Erasure:
    """Say that a run was erased that ends in `head`."""
    return Erasure(at=at, by=by, who=who, records=records, items=items, hash=seal(head, at, by, who, records, items))


def was_erased(run_id: str, at: float, by: str) -> RunErased:
    """Say that there is nothing to read."""
    day = time.strftime("%Y-%m-%d", time.gmtime(at))
    return RunErased(f"run {run_id}: its payloads were erased on {day} by {by}. What is left of it is its chain")


def refuse_open(requester: str, runs: Iterable[tuple[str, str]]) -> None:
    """Raise `JournalError` if one of these runs (id, status) is not done: nothing is erased under a run's feet."""
    if still := [f"{id} ({status})" for id, status in runs if status != "done"]:
        more = f" and {len(still) - 5} more" if len(still) > 5 else ""
        raise JournalError(
            f"{len(still)} runs of {requester} are not done: {', '.join(still[:5])}{more}. Cancel them first, and "
            "settle what is in doubt; nothing was erased"
        )
