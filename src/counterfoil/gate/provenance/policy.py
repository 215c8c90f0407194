"""May this call run without a person? Decided from origins alone: the model has no say in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from counterfoil.gate.provenance.known import Known
from counterfoil.gate.provenance.leaves import Leaf, walk
from counterfoil.gate.provenance.plan import says
from counterfoil.gate.provenance.words import LINK
from counterfoil.tools.guess import Handling
from counterfoil.tools.trust import Act
from counterfoil.types.label import Origin, Traced
from counterfoil.types.plan import Intent, Mode

Why = Literal["ARG_ORIGIN", "OFF_PLAN", "ACTIVE_CONTENT", "SECRET_IN_SESSION"]

_TARGET = frozenset({Origin.USER, Origin.CONFIG, Origin.KEYED, Origin.PLANNED, Origin.CLEAN})
_CRITICAL = frozenset({Origin.USER, Origin.CONFIG, Origin.PLANNED, Origin.CLEAN})
_WORDS = frozenset({Origin.USER, Origin.CONFIG})
_LEAVING = frozenset({"fetch", "send", "pay", "admin"})
_KINDS = frozenset({"type", "kind"})


class Ruling(msgspec.Struct, frozen=True):
    """What the check says of a call: nothing against it (`why` is `None`), or why a person must see it.

    `traced` are the arguments as a person is shown them. `intent` is the one of the plan that the call carries out.
    """

    why: Why | None = None
    traced: tuple[Traced, ...] = ()
    intent: int | None = None


FINE = Ruling()


def rule(
    known: Known, tool: str, how: Handling, arguments: Mapping[str, Any], mode: Mode, *, trace: bool = True
) -> Ruling:
    """Judge one call; with `trace`, find out what a person is to be shown of it."""
    if how.harmless or mode == "off" or (act := how.act_of(arguments)) == "read":
        return FINE
    case = _Case(known, tool, how, arguments, act, trace=trace)
    if act in _LEAVING and (leak := case.secret()) is not None:
        return msgspec.structs.replace(leak, intent=case.planned())
    if not known.tainted:
        return Ruling(intent=case.planned()) if known.plan.declared else FINE
    if mode == "strict" or not known.plan.declared:
        return case.ask("OFF_PLAN")
    number = case.planned()
    if number is None:
        return case.off_plan()
    case.intent = known.plan.intents[number]
    why = case.sources() or case.active() or case.unanchored()
    return case.ask(why, number) if why else Ruling(intent=number)


class _Case:
    """One call under judgement."""

    def __init__(
        self, known: Known, tool: str, how: Handling, arguments: Mapping[str, Any], act: Act, *, trace: bool
    ) -> None:
        self.known = known
        self.tool = tool
        self.how = how
        self.act = act
        self.trace = trace
        self.arguments = {name: value for name, value in arguments.items() if says(value, how.role(name))}
        self.intent: Intent | None = None
        self.wrong: dict[str, Any] = {}
        """The arguments that are the matter, and which part of each."""
        self.meant: dict[str, Any] = {}
        """What the plan has for some of them."""

    def planned(self) -> int | None:
        """Which intent the call carries out."""
        return self.known.plan.find(self.tool, self.arguments, self.how, self.known.results)

    def leaves(self, argument: str) -> list[Leaf]:
        """The leaves of an argument that say something."""
        return [leaf for leaf in walk([self.arguments[argument]]) if leaf.path.rpartition(".")[2] not in _KINDS]

    def origin(self, argument: str, leaf: Leaf) -> Origin:
        """Where a leaf came from, the plan's word for it included."""
        if self.intent is not None:
            pick = self.intent.taken.get(argument)
            if argument in self.intent.fixed or (pick is not None and (not pick.link or self.act == "fetch")):
                return Origin.PLANNED
        return self.known.origin(leaf.value, self.tool, argument, self.how, leaf.path)

    # -- the rules, each of which says why not

    def secret(self) -> Ruling | None:
        """After a secret was read, nothing but the requester's words leaves; what is private goes to its readers."""
        known = self.known
        if known.label.secret:
            for argument in self.arguments:
                acted_on = self.how.role(argument) in ("target", "resource")
                for leaf in self.leaves(argument):
                    if not isinstance(leaf.value, str) or self.origin(argument, leaf) in _WORDS:
                        continue
                    if not acted_on or known.carries_secret(leaf.value):
                        self.wrong[argument] = leaf.value
        if known.label.readers is not None:
            self._unread(known.label.readers)
        return self.ask("SECRET_IN_SESSION") if self.wrong else None

    def _unread(self, readers: frozenset[str]) -> None:
        """Text that is not the requester's own goes to nobody whom neither they named nor the data allows."""
        content = [name for name in self.arguments if self.how.role(name) in ("content", "resource")]
        if all(self.origin(name, leaf) in _WORDS for name in content for leaf in self.leaves(name)):
            return
        targets = [name for name in self.arguments if self.how.role(name) == "target"]
        for name in targets:
            for leaf in self.leaves(name):
                if leaf.value not in readers and self.origin(name, leaf) not in _WORDS:
                    self.wrong[name] = leaf.value
        if not targets:
            self.wrong.update((name, self.arguments[name]) for name in content)

    def sources(self) -> Why | None:
        """Targets, resources and critical values must come from where their roles demand."""
        for argument in self.arguments:
            role = self.how.role(argument)
            if role not in ("target", "resource", "critical"):
                continue
            allowed = _CRITICAL if role == "critical" else _TARGET
            for leaf in self.leaves(argument):
                origin = self.origin(argument, leaf)
                if origin not in allowed:
                    self.wrong[argument] = leaf.value
                    break
        return "ARG_ORIGIN" if self.wrong else None

    def active(self) -> Why | None:
        """Links, addresses and account numbers in what is written must be trusted."""
        for argument in self.arguments:
            if self.how.role(argument) != "content":
                continue
            for leaf in self.leaves(argument):
                for part in LINK.findall(str(leaf.value)):
                    trimmed = part.rstrip(".,;:!?")
                    origin = self.known.origin(trimmed, self.tool, argument, self.how)
                    if origin not in _TARGET and self.origin(argument, leaf) not in _WORDS:
                        self.wrong[argument] = trimmed
        return "ACTIVE_CONTENT" if self.wrong else None

    def unanchored(self) -> Why | None:
        """What the model wrote after reading goes only into a place, or to somebody, that is settled."""
        intent = self.intent
        assert intent is not None, "only a planned call can be anchored"
        for argument in self.arguments:
            role = self.how.role(argument)
            if role == "target" or (role != "plain" and (argument in intent.fixed or argument in intent.taken)):
                return None
        self.wrong = {
            name: leaf.value
            for name in self.arguments
            if self.how.role(name) == "content"
            for leaf in self.leaves(name)
            if self.origin(name, leaf) is Origin.MODEL
        }
        return "ARG_ORIGIN" if self.wrong else None

    # -- what a person sees

    def off_plan(self) -> Ruling:
        """Ask, showing the difference from the nearest intent."""
        if not self.trace:
            return Ruling("OFF_PLAN")
        nearest = self.known.plan.nearest(self.tool, self.arguments, self.how, self.known.results)
        if nearest is not None:
            self.meant = nearest[1]
            self.wrong = {name: self.arguments.get(name) for name in nearest[1]}
        return self.ask("OFF_PLAN")

    def ask(self, why: Why, intent: int | None = None) -> Ruling:
        """A person must see the call."""
        traced = tuple(self._trace(name) for name in {**self.arguments, **self.wrong}) if self.trace else ()
        return Ruling(why, traced, intent)

    def _trace(self, argument: str) -> Traced:
        leaves = self.leaves(argument) if argument in self.arguments else []
        if argument in self.wrong:
            value = self.wrong[argument]
            leaves = [leaf for leaf in leaves if leaf.value == value] or leaves
        else:
            value = self.arguments[argument]
        worst = max(leaves, key=lambda leaf: self.origin(argument, leaf), default=None)
        origin = Origin.USER if worst is None else self.origin(argument, worst)
        source = self.known.source(worst.value) if worst is not None and origin >= Origin.SYSTEM else ""
        trusted = argument not in self.wrong
        role = self.how.role(argument)
        return Traced(argument, value, origin.name, role, source, trusted, self.meant.get(argument))
