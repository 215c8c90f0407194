"""May this call run without a person? Decided from origins alone: the model has no say in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from counterfoil.gate.provenance.known import Known
from counterfoil.gate.provenance.leaves import Leaf, fields_of, no_field, scalars, walk
from counterfoil.gate.provenance.plan import says
from counterfoil.gate.provenance.spelt import links
from counterfoil.tools.guess import Handling
from counterfoil.tools.trust import Act, RoleName
from counterfoil.types.json import is_array, is_object
from counterfoil.types.label import Label, Origin, Traced, join
from counterfoil.types.plan import Intent, Mode

Why = Literal["ARG_ORIGIN", "OFF_PLAN", "ACTIVE_CONTENT", "SECRET_IN_SESSION"]

_TARGET = frozenset({Origin.USER, Origin.CONFIG, Origin.KEYED, Origin.PLANNED, Origin.CLEAN})
_CRITICAL = frozenset({Origin.USER, Origin.CONFIG, Origin.PLANNED, Origin.CLEAN})
_WORDS = frozenset({Origin.USER, Origin.CONFIG})
_NOT_WRITTEN = frozenset({Origin.USER, Origin.CONFIG, Origin.KEYED, Origin.PLANNED})
"""Of a whole text that is one value: no part of it is the model's, so no link in it is."""
_ANOTHERS = frozenset({Origin.TYPED, Origin.MODEL, Origin.OUTSIDE})
"""What an outsider has chosen, or may have."""
_OWN = frozenset(Origin) - _ANOTHERS
_ASSIGNED = frozenset({Origin.KEYED, Origin.PLANNED, Origin.SYSTEM})
"""Of which the model has written no part."""
_LINKED = frozenset({Origin.USER, Origin.CONFIG, Origin.KEYED})
"""Of links in a text that the model was not shown: it has written none of them."""
_LEAVING = frozenset({"fetch", "send", "pay", "admin"})


class Ruling(msgspec.Struct, frozen=True):
    """What the check says of a call: nothing against it (`why` is `None`), or why a person must see it.

    `traced` are the arguments as a person is shown them. `intent` is the one of the plan that the call carries out.
    `plan` says what there is of a plan where the call is off it, `after` what was read that others can write.
    """

    why: Why | None = None
    traced: tuple[Traced, ...] = ()
    intent: int | None = None
    plan: Literal["", "none", "other", "spent"] = ""
    after: str = ""


FINE = Ruling()


def rule(
    known: Known, tool: str, how: Handling, arguments: Mapping[str, Any], mode: Mode, *, trace: bool = True
) -> Ruling:
    """Judge one call; with `trace`, find out what a person is to be shown of it."""
    if how.harmless or mode == "off" or (known.unmarked and not known.plan.declared):
        return FINE
    act = how.act_of(arguments) if how.widens else how.act
    if act == "read":
        return FINE
    case = _Case(known, tool, how, arguments, act, trace=trace)
    if known.confined and act in _LEAVING:
        number = case.planned()
        case.intent = None if number is None else known.plan.intents[number]
        if (leak := case.secret()) is not None:
            return msgspec.structs.replace(leak, intent=number)
    if not known.steered:
        number = case.planned() if known.plan.declared else None
        if (known.chosen or known.handles) and (why := case.untainted(number)) is not None:
            return case.ask(why, number)
        return FINE if number is None else Ruling(intent=number)
    number = case.planned()
    if mode == "strict" or not known.plan.declared:
        return case.held(number)
    if number is None:
        return case.off_plan()
    case.intent, case.guessed = known.plan.intents[number], number in known.plan.guessed
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
        roles = how.roles
        self.roles: dict[str, RoleName] = {name: roles.get(name, "target") for name in arguments}
        self.arguments = {
            name: each for name, each in arguments.items() if (each and name not in how.preset) or says(name, each, how)
        }
        self.intent: Intent | None = None
        self.guessed = False
        """Whether it was a model that declared the intent."""
        self.wrong: dict[str, Any] = {}
        """The arguments that are the matter, and which part of each."""
        self.meant: dict[str, Any] = {}
        """What the plan has for some of them."""

    def planned(self) -> int | None:
        """Which intent the call carries out."""
        return self.known.plan.find(self.tool, self.arguments, self.how, self.known.results)

    def leaves(self, argument: str) -> list[Leaf]:
        """The leaves of an argument that say something."""
        value = self.arguments[argument]
        if not isinstance(value, dict | list):
            return [Leaf(0, "", value)]
        # What is empty at every end says something all the same, and nobody knows who meant it.
        return list(walk([value], fields_of(self.how))) or [Leaf(0, "", value)]

    def unseen(self, argument: str) -> bool:
        """Whether something that was not shown to the model is handed on there."""
        return bool(self.known.handles) and any(self.known.handle(leaf.value) for leaf in self.leaves(argument))

    def origin(self, argument: str, leaf: Leaf) -> Origin:
        """Where a leaf came from, the plan's word for it included. Nobody plans what has not been read."""
        if self.intent is not None and self.known.handle(leaf.value) is None:
            pick = self.intent.taken.get(argument)
            if argument in self.intent.fixed or (pick is not None and (not pick.link or self.act == "fetch")):
                return Origin.PLANNED
        return self.known.origin(leaf.value, self.tool, argument, self.how, leaf.path)

    # -- the rules, each of which says why not

    def untainted(self, number: int | None) -> Why | None:
        """Outsiders' orders were not read, but values that they chose, or what they wrote can be handed on unread."""
        self.intent = None if number is None else self.known.plan.intents[number]
        return self.sources() or self.active() or (self.unanchored() if self.act in _LEAVING else None)

    def secret(self) -> Ruling | None:
        """After a secret was read, nothing but the requester's words leaves; what is private goes to its readers."""
        known = self.known
        label = join(Label("user", "", known.label.readers, known.label.secret), known.carried(self.arguments))
        if label.secret:
            for argument in self.arguments:
                acted_on = self.roles[argument] == "target"
                for leaf in self.leaves(argument):
                    if isinstance(self.arguments[argument], bool) or self.origin(argument, leaf) in _WORDS:
                        continue
                    handle = known.handle(leaf.value)
                    hidden = handle is not None and handle.label is not None and handle.label.secret
                    if hidden or (known.label.secret and (not acted_on or known.carries_secret(leaf.value))):
                        self.wrong[argument] = leaf.value
        if label.readers is not None:
            self._unread(label.readers)
        return self.ask("SECRET_IN_SESSION") if self.wrong else None

    def _unread(self, readers: frozenset[str]) -> None:
        """Text that is not the requester's own goes to nobody whom neither they named nor the data allows."""
        roles = {name: self.roles[name] for name in self.arguments}
        content = [name for name, role in roles.items() if role != "target"]
        theirs = all(
            isinstance(self.arguments[name], bool) or self.origin(name, leaf) in _WORDS
            for name in content
            for leaf in self.leaves(name)
        )
        targets = [name for name, role in roles.items() if role == "target"]
        for name in targets:
            for leaf in self.leaves(name):
                origin = self.origin(name, leaf)
                # What the model wrote for a target may have in it what it read: a link does.
                fine = leaf.value in readers or origin in _WORDS or (theirs and origin in _ASSIGNED)
                if not fine:
                    self.wrong[name] = leaf.value
        if not targets and not theirs:
            self.wrong.update((name, self.arguments[name]) for name in content)

    def sources(self) -> Why | None:
        """Targets, resources and critical values must come from where their roles demand."""
        for argument in self.arguments:
            role = self.roles[argument]
            if role not in ("target", "resource", "critical") and not (self.act == "fetch" and self.unseen(argument)):
                continue
            if self.intent is not None and argument in self.intent.fixed and not self.known.handles:
                continue
            allowed = _OWN if not self.known.steered else _CRITICAL if role == "critical" else _TARGET
            for leaf in self.leaves(argument):
                origin = self.origin(argument, leaf)
                if origin not in allowed:
                    self.wrong[argument] = leaf.value
                    break
            else:
                self._misplaced(argument)
        return "ARG_ORIGIN" if self.wrong else None

    def _misplaced(self, argument: str) -> None:
        """A model that planned had the requester's words, and would have fixed what they give for an argument.

        What it left open is for what is read. The words that fill it now are somebody's choice among them.
        """
        if not self.guessed or self.intent is None or argument in self.intent.fixed:
            return
        for leaf in self.leaves(argument):
            approved = self.known.endorsed(leaf.value, self.tool, argument, leaf.path)
            if not approved and self.origin(argument, leaf) in _WORDS:
                self.wrong[argument] = leaf.value
                return

    def active(self) -> Why | None:
        """Links, addresses and account numbers in what is written must be trusted."""
        for argument, role in self.roles.items():
            if argument in self.arguments and (role == "content" or self.known.handles):
                for leaf in self.leaves(argument):
                    handle = self.known.handle(leaf.value)
                    if handle is not None:
                        for each in scalars(handle.value, no_field):
                            self._look_for_links(argument, leaf, str(each), unseen=True)
                    elif role == "content":
                        self._look_for_links(argument, leaf, str(leaf.value), unseen=False)
        return "ACTIVE_CONTENT" if self.wrong else None

    def _look_for_links(self, argument: str, leaf: Leaf, text: str, *, unseen: bool) -> None:
        for part in links(text):
            trimmed = part.rstrip(".,;:!?")
            if (
                not self._may_stand(trimmed, argument, unseen=unseen)
                and self.origin(argument, leaf) not in _NOT_WRITTEN
            ):
                self.wrong[argument] = trimmed

    def _may_stand(self, link: str, argument: str, *, unseen: bool) -> bool:
        origin = self.known.origin(link, self.tool, argument, self.how)
        if unseen:
            return origin in _LINKED
        if self.known.steered:
            return origin in _TARGET
        return origin in _OWN and not (origin is Origin.CLEAN and self.known.has_chosen_links(link))

    def unanchored(self) -> Why | None:
        """What the model wrote after reading, or never saw, goes only into a place, or to somebody, that is settled."""
        intent = self.intent
        for argument in self.arguments:
            role = self.roles[argument]
            settled = intent is not None and (argument in intent.fixed or argument in intent.taken)
            if role == "target" or (role != "plain" and settled):
                return None
        self.wrong = {
            name: leaf.value
            for name in self.arguments
            if self.roles[name] == "content"
            for leaf in self.leaves(name)
            if self.origin(name, leaf) in (Origin.MODEL, Origin.OUTSIDE)
        }
        return "ARG_ORIGIN" if self.wrong else None

    # -- what a person sees

    def held(self, number: int | None) -> Ruling:
        """Ask, where no plan counts: whatever the call does, what was read may be behind it."""
        self.intent = None if number is None else self.known.plan.intents[number]
        return self._unplanned("none", number)

    def off_plan(self) -> Ruling:
        """Ask, showing the difference from the nearest intent."""
        plan, how, results = self.known.plan, self.how, self.known.results
        if not self.trace:
            return Ruling("OFF_PLAN")
        if plan.has_spent(self.tool, self.arguments, how, results):
            return self._unplanned("spent")
        if (nearest := plan.nearest(self.tool, self.arguments, how, results)) is None:
            return self._unplanned("other")
        self.meant = nearest[1]
        self.wrong = {name: self.arguments.get(name) for name in nearest[1]}
        return self.ask("OFF_PLAN")

    def _unplanned(self, plan: Literal["none", "other", "spent"], number: int | None = None) -> Ruling:
        """Ask, marking what others may have chosen."""
        if not self.trace:
            return Ruling("OFF_PLAN", intent=number)
        self.sources()
        self.active()
        asked = self.ask("OFF_PLAN", number)
        return msgspec.structs.replace(asked, plan=plan, after=self.known.first_read)

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
        missing = argument not in self.arguments
        origin = Origin.USER if worst is None else self.origin(argument, worst)
        return Traced(
            argument,
            self._shown(value),
            "" if missing else origin.name,
            self.how.role(argument),
            self.known.source(worst.value) if worst is not None and origin in _ANOTHERS else "",
            argument not in self.wrong,
            self.meant.get(argument),
            argument in self.meant and self.meant[argument] is None,
        )

    def _shown(self, value: Any) -> Any:
        """A value as a person is shown it: what goes by a name is what they must see."""
        if not self.known.handles:
            return value
        if is_object(value):
            return {name: self._shown(each) for name, each in value.items()}
        if is_array(value):
            return [self._shown(each) for each in value]
        handle = self.known.handle(value)
        return value if handle is None else handle.beginning
