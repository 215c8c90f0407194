"""Arguments that the model hands on unseen: every check sees what they are, and the model reads nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from counterfoil.tools.arguments import json_path
from counterfoil.tools.tool import Tool
from counterfoil.types.handle import Handle, names_in, revealed
from counterfoil.types.json import is_array, is_object, own
from counterfoil.types.label import Origin, Traced
from counterfoil.types.message import Code
from counterfoil.types.verdict import Allowed, Refusal, Verdict

if TYPE_CHECKING:
    from counterfoil.gate.attempt import Attempt

_SAID: dict[Code, str] = {
    "not_permitted": "It is not permitted.",
    "over_limit": "A limit of the tool or of this run is reached.",
    "repeated_call": "This same call was made too often in this run already.",
    "declined": "Nothing may be called now. Do not try again.",
    "expired": "Something that it needs is gone.",
}
_NOTE = "a check remarked on this call; what it said may quote a value that is not shown, so it is not shown either"


class Handed:
    """The arguments of one call: by the names that the model wrote and the journal has, and as they are."""

    def __init__(self, named: dict[str, Any], handles: Mapping[str, Handle]) -> None:
        self._named = named
        self._handles = handles
        self._given = {name: found for name, value in named.items() if (found := sorted({*names_in(value)}))}
        """Which arguments have something unseen in them, and what."""
        self.real: dict[str, Any] = revealed(named, handles)
        self._compared: dict[str, Any] = own({name: self.real[name] for name in self._given})

    def written(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments as they may be journalled: by name, where they are what the names stand for."""
        return {
            name: self._named[name] if name in self._given and self._kept(name, value) else value
            for name, value in arguments.items()
        }

    def real_of(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments of an earlier call as they are."""
        real: dict[str, Any] = revealed(arguments, self._handles)
        return real

    def verdict(self, attempt: Attempt, verdict: Verdict) -> Verdict:
        """The same verdict with no word for the model that could quote what it was not shown."""
        if isinstance(verdict, Refusal):
            return Refusal(verdict.code, self._refused(attempt, verdict))
        if changed := [name for name in self._given if not self._kept(name, attempt.arguments.get(name))]:
            # Journalled as it is now, it would pass for something that the model wrote.
            lines = "\n".join(f"- $.{name}: {self._misfit(name)}" for name in changed)
            return Refusal("bad_arguments", f"{attempt.tool.name} was not run:\n{lines}")
        if isinstance(verdict, Allowed):
            return Allowed((_NOTE,)) if verdict.notes else verdict
        traced = verdict.arguments or tuple(self._traced(attempt.tool))
        # A standing approval would be for other values by the same names.
        return msgspec.structs.replace(verdict, grantable=False, arguments=traced)

    def _kept(self, name: str, value: Any) -> bool:
        real = self._compared[name]
        return type(value) is type(real) and bool(value == real)

    def _misfit(self, name: str) -> str:
        return f"what {' and '.join(self._given[name])} stands for does not fit there (it is not shown)"

    def _refused(self, attempt: Attempt, refusal: Refusal) -> str:
        tool = attempt.tool
        if refusal.code == "untrusted_origin" and refusal.message in _held_back(attempt):
            return refusal.message
        if refusal.code != "bad_arguments":
            said = _SAID.get(refusal.code, "A check refused it.")
            return f"{tool.name} was not run. {said} More is not said, because {self._all} is not shown."
        lines = "\n".join(f"- {line}" for line in self._problems(tool))
        return f"{tool.name} was not run, because its arguments do not fit:\n{lines}"

    def _problems(self, tool: Tool) -> list[str]:
        """What is wrong, said of the names: of what they stand for, only whether that is."""
        places = {json_path(list(path)): name for path, name in _places(self._named) if name in self._handles}
        found: list[str] = []
        if tool.secrets is None:
            found = [line for line in tool.problems(self._named) if line.partition(": ")[0] not in places]
            wrong = {json_path(list(error.instance_path)) for error in tool.validator.iter_errors(self.real)}
            found += [
                f"{place}: what {name} stands for does not fit there (it is not shown)"
                for place, name in places.items()
                if any(each == place or each.startswith((f"{place}.", f"{place}[")) for each in wrong)
            ]
        return found or [f"$: what {self._all} stands for does not fit (it is not shown)"]

    @property
    def _all(self) -> str:
        return " and ".join(sorted({name for names in self._given.values() for name in names}))

    def _traced(self, tool: Tool) -> list[Traced]:
        return [
            Traced(
                argument,
                self._handles[name].beginning,
                Origin.OUTSIDE.name,
                tool.how.role(argument),
                f"{self._handles[name].source}, as {name}",
            )
            for argument, names in self._given.items()
            for name in names
        ]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], str]]:
    if is_object(value):
        return [found for name, each in value.items() for found in _places(each, (*path, name))]
    if is_array(value):
        return [found for at, each in enumerate(value) for found in _places(each, (*path, at))]
    return [(path, name) for name in names_in(value)]


def _held_back(attempt: Attempt) -> set[str]:
    """Everything that the provenance check says to the model of this call."""
    from counterfoil.gate.provenance.policy import Why  # noqa: PLC0415 - most of it is never needed where it is off
    from counterfoil.gate.provenance.wording import for_model, ticket  # noqa: PLC0415 - the same

    held = ticket(attempt.run_id, attempt.call.id)
    return {for_model(why, held) for why in get_args(Why)}
