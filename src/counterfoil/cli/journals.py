"""The journal a command works on, and the runs in it by the beginning of their id."""

from __future__ import annotations

import difflib
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from counterfoil.cli.problem import Problem
from counterfoil.journal.journal import Journal, RunInfo
from counterfoil.journal.opening import is_url, open_journal
from counterfoil.journal.portable import Stored
from counterfoil.run.harness import Harness
from counterfoil.run.run import Confirmation
from counterfoil.tools.catalogue import Catalogue

SHORT = 12
"""How much of a run's id is shown to people; any unique beginning is understood."""
_ALL = 100_000


@asynccontextmanager
async def opened(spec: str, wait: float, *, create: bool = False) -> AsyncGenerator[Stored]:
    """Open a journal for a while. Only with `create` may it be new. Raises `Problem`, `JournalError`."""
    if not create and not is_url(spec) and not os.path.isfile(spec):  # noqa: ASYNC240 - one look, before anything runs
        raise Problem(f"there is no journal at {spec}: say where it is with --journal PATH or COUNTERFOIL_JOURNAL=PATH")
    journal = open_journal(spec, wait=wait, create=create)
    try:
        yield journal
    finally:
        await journal.aclose()


def answering(journal: Journal) -> Harness:
    """A harness to answer, settle and cancel with: that takes a journal and nothing else."""
    return Harness(None, Catalogue(), journal=journal)


async def find_run(journal: Journal, given: str) -> RunInfo:
    """The run of that id, or of which the id begins so, or the `last`. Raises `Problem` naming the nearest."""
    runs = await journal.runs(limit=_ALL)
    if not runs:
        raise Problem("the journal has no runs yet")
    if given == "last":
        return runs[0]
    for info in runs:
        if info.id == given:
            return info
    found = [info for info in runs if info.id.startswith(given)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Problem(f"{len(found)} runs begin with {given!r}: {_list([each.id for each in found])}. Write more of it")
    near = difflib.get_close_matches(given, [info.id for info in runs], 3, 0.5)
    near = near or [
        info.id for info in runs if difflib.SequenceMatcher(None, given, info.id[: len(given)]).ratio() > 0.6
    ]
    hint = f"the nearest is {near[0]}" if near else f"the latest are {_list([info.id for info in runs[:3]])}"
    raise Problem(f"there is no run {given!r}: {hint} (`counterfoil runs` lists them)")


async def find_confirmation(harness: Harness, given: str) -> str:
    """The whole id of a waiting confirmation from its beginning; what matches none comes back as it is.

    Raises `Problem` when several match.
    """
    waiting = await harness.confirmations()
    found = [each for each in waiting if each.id == given] or [each for each in waiting if each.id.startswith(given)]
    if len(found) > 1:
        raise Problem(f"{len(found)} confirmations begin with {given!r}: {_list([each.id for each in found])}")
    if found:
        return found[0].id
    if given.count("/") < 2:
        raise Problem(_nothing_waits(given, waiting))
    return given


def _nothing_waits(given: str, waiting: list[Confirmation]) -> str:
    if not waiting:
        return f"nothing waits under {given!r}: no call of this journal waits for a person"
    return f"nothing waits under {given!r}. What waits: {_list([each.id for each in waiting])}"


def _list(ids: list[str]) -> str:
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
