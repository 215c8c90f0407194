"""Whether what an application's plan names is there: a plan that means something else holds up every call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from counterfoil.tools.arguments import near
from counterfoil.tools.catalogue import Catalogue
from counterfoil.tools.declared import no_argument, no_field
from counterfoil.types.error import CounterfoilError
from counterfoil.types.plan import Intent, Pick


def meant(plan: Iterable[Intent], catalogue: Catalogue) -> tuple[Intent, ...]:
    """An application's plan, which is journalled as it is. Raises `CounterfoilError` if it cannot be meant, or kept."""
    given: Any = plan
    intents: tuple[Intent, ...] = (given,) if isinstance(given, Intent) else tuple(plan)
    if wrong := faults(intents, catalogue):
        raise CounterfoilError(f"the plan cannot be meant: {'; '.join(wrong)}")
    for intent in intents:
        tool = catalogue.get(intent.tool)
        if tool is not None and tool.secrets is not None:
            for name in intent.fixed:
                if tool.secrets.names_at_top(name):
                    raise CounterfoilError(f"the plan cannot fix {name} of {tool.name}, a secret: leave it open")
    return intents


def faults(intents: Iterable[Intent], catalogue: Catalogue) -> list[str]:
    """Say what of a plan no tool has: a tool, an argument, a field of a result that is known. Empty: nothing.

    A tool in quarantine is there: what is said of it cannot be held against it.
    """
    found: list[str] = []
    for each in intents:
        given: Any = each
        if isinstance(given, Intent):
            found += _of_intent(given, catalogue)
        else:
            found.append(f"{given!r} is no intent: write Intent(tool, fixed=..., taken=..., open=...)")
    return found


def _of_intent(intent: Intent, catalogue: Catalogue) -> Iterator[str]:
    where = f"Intent({intent.tool!r})"
    said = {"fixed": intent.fixed, "taken": intent.taken, "open": intent.open}
    yield from _of_call(where, intent.tool, said, catalogue)
    for argument, pick in intent.taken.items():
        yield from _of_pick(f"{where} takes {argument} by Pick({pick.tool!r})", pick, catalogue)


def _of_pick(where: str, pick: Pick, catalogue: Catalogue) -> Iterator[str]:
    yield from _of_call(where, pick.tool, {"it": pick.arguments}, catalogue)
    tool = catalogue.get(pick.tool)
    if tool is None or tool.shape is None:
        return
    fields = {"take": [pick.take], "most": [pick.most], "least": [pick.least], "where": pick.where}
    for what, names in fields.items():
        for name in names:
            if name and (wrong := no_field(tool.shape, name, name.split("."))):
                yield f"{where}: {what} names {wrong}"


def _of_call(where: str, name: str, said: Mapping[str, Iterable[str]], catalogue: Catalogue) -> Iterator[str]:
    tool = catalogue.get(name)
    if tool is None:
        if name not in [each.name for each in catalogue.quarantined]:
            yield f"{where}: no tool is named that{near(name, catalogue.by_name)}"
        return
    for what, arguments in said.items():
        for argument in arguments:
            if wrong := no_argument(tool.spec.parameters, argument):
                yield f"{where}: {what} names {wrong}"
