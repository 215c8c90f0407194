"""What waits for a person, several calls at a time: found, shown, answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from counterfoil.cli.output import Output
from counterfoil.cli.problem import Problem
from counterfoil.cli.words import WAITS, batch_cards, card
from counterfoil.run.decisions import Decisions
from counterfoil.run.run import Confirmation, batch_digest, batched
from counterfoil.types.error import ConfirmationError

PAGE = 20
"""How many calls of a batch are shown in one go, where somebody is asked about them."""


def show_batch(batch: Sequence[Confirmation], out: Output, *, indent: int = 2, page: int | None = None) -> None:
    """Write the card of a batch, or the first page of it."""
    if len(batch) == 1:
        out.box(card(batch[0]), indent=indent, style=WAITS)
        return
    head, calls = batch_cards(batch)
    out.box([*head, *chain(*calls[:page])], indent=indent, style=WAITS)


def show_more(batch: Sequence[Confirmation], shown: int, out: Output, *, indent: int) -> int:
    """Write the next page of a batch of which so many calls were shown; returns how many were by now."""
    _, calls = batch_cards(batch)
    out.box([*chain(*calls[shown : shown + PAGE])], indent=indent, style=WAITS)
    return min(shown + PAGE, len(batch))


def how_to_answer(batch: Sequence[Confirmation], out: Output, *, shown: bool = True) -> None:
    """Say which commands answer a batch."""
    first = batch[0]
    if len(batch) == 1:
        out.say(f"counterfoil approve {first.id} --by NAME      (or: counterfoil deny {first.id} --by NAME)", indent=2)
        return
    proof = f" --digest {batch_digest(batch)}" if shown else ""
    out.say(f"all {len(batch)}: counterfoil approve {first.id} --similar{proof} --by NAME", indent=2)
    out.say(f"or: counterfoil deny {first.id} --similar --by NAME", indent=2)
    out.say(f"one: counterfoil approve {first.run_id}/{first.call.id}/ --by NAME", indent=2)


async def find_batch(harness: Decisions, given: str) -> list[Confirmation]:
    """The batch with a confirmation in it of which the id begins so. Raises `Problem` where it is none, or several."""
    waiting = await harness.confirmations()
    found = [batch for batch in batched(waiting) if any(each.id.startswith(given) for each in batch)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise Problem(f"nothing waits under {given!r}: see `counterfoil confirmations`")
    told = ", ".join(f"{batch[0].id} ({len(batch)} of {batch[0].call.name})" for batch in found[:5])
    raise Problem(f"{len(found)} batches begin with {given!r}: {told}. Write more of one of them")


async def answer_all(
    harness: Decisions, wanted: Iterable[tuple[str, str | None]], **answer: Any
) -> tuple[list[Confirmation], list[ConfirmationError]]:
    """Answer confirmations by id and digest, each on its own. Returns those that took the answer, and the errors."""
    taken: list[Confirmation] = []
    errors: list[ConfirmationError] = []
    for id, digest in wanted:
        try:
            taken.append(await harness.answer(id, digest=digest, **answer))
        except ConfirmationError as error:
            errors.append(error)
    return taken, errors


def tell_errors(errors: Iterable[ConfirmationError], out: Output) -> None:
    """Say what went wrong, the same once."""
    for text in dict.fromkeys(str(error) for error in errors):
        out.error(text)
