"""What a run has read, and from whom: an index that is part of the fold.

Adding a text is cheap, however long it is. What results contain is looked into when a consequential call is judged,
each result once, so that neither the texts nor the number of them makes a later look-up slower.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from counterfoil.gate.provenance.akin import akin
from counterfoil.gate.provenance.leaves import (
    Leaf,
    fields_of,
    label_value,
    labelled,
    no_field,
    records,
    scalars,
    walk,
)
from counterfoil.gate.provenance.plan import Plan, Result
from counterfoil.gate.provenance.read import Read
from counterfoil.gate.provenance.typed import Typed, bared
from counterfoil.gate.provenance.words import Words, key, whole
from counterfoil.tools.guess import Handling, words_of
from counterfoil.types.handle import Handle
from counterfoil.types.json import is_object
from counterfoil.types.label import NEUTRAL, Integrity, Label, Leaves, Origin, join, join_all, lowest
from counterfoil.types.plan import Intent

_SHORT = 4
"""Identifiers of fewer digits are everywhere in prose: they are not matched against it."""
_AMOUNT = re.compile(r"-?\d{1,15}(\.\d+)?")
_SEARCHED = 1_000_000
"""How many characters, the newest first, are searched to tell a person where a value was found."""
_AS_INPUT: dict[Origin, Integrity] = {Origin.USER: "user", Origin.CONFIG: "config", Origin.CLEAN: "config",
                                      Origin.TYPED: "typed", Origin.MODEL: "untrusted",
                                      Origin.OUTSIDE: "untrusted"}  # fmt: skip


_Given = tuple[str, Mapping[str, Any], str | Callable[[], str], Label, Leaves | None, bool, str]


class Known:
    """Every text that entered a run's context, with its label; the plan; what people endorsed.

    `config` are values that the application vouches for, `me` the requester's own names with its services (addresses,
    account numbers): those are vouched for too.
    """

    def __init__(self, config: Collection[str] = (), me: Collection[str] = ()) -> None:
        self.given = (tuple(config), tuple(me))
        self.me = frozenset(key(each) for each in me)
        self.label = NEUTRAL
        """The join of everything read, but for the sources."""
        self.tainted = False
        """Whether something that an outsider may have written is in the context."""
        self.plan = Plan()
        self.handles: dict[str, Handle] = {}
        """What was returned and not shown to the model, by name, each with its label."""
        self._user = Words()
        self._config = Words()
        self._vouched = {key(each) for each in config} | self.me
        self._endorsed: set[tuple[str, str, str, str]] = set()
        self._passed: set[tuple[str, str, str, str]] = set()
        """The same, of values that go by a name."""
        self._typed = Typed()
        self._values: dict[str, dict[str, Origin]] = {}
        self._secrets: set[str] = set()
        self._unsorted: list[_Given] = []
        self._pending: list[Read] = []
        self._reads: dict[str, list[Read]] = {}
        self._texts: list[Read] = []
        self._spoke = False
        self._marked = NEUTRAL
        """The label that the two below are of."""
        self.steered = False
        """Whether something untrusted was in the context when the model wrote what is judged now.

        Of the results of calls that it asks for together it had read none, whenever they are judged.
        """
        self.chosen = False
        """Whether typed values were, and nothing worse: outsiders chose them, although they carry no orders."""

    # -- what enters

    def say(self, text: str, label: Label, call_id: str = "") -> None:
        """Take up a text that no rule of a plan looks into: of the requester, the application, pasted in, an error."""
        self._look()  # what was read before must be seen with the words that there were then
        if label.integrity == "user":
            self._user.add(text)
        elif label.integrity == "config":
            self._config.add(text)
        read = Read("", {}, text, label, call_id=call_id)
        if label.integrity == "typed":
            self._typed.add_text(text, read)
        self._join(label)
        if label.integrity == "untrusted":
            self._texts.append(read)

    def read(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        text: str | Callable[[], str],
        label: Label,
        leaves: Leaves | None = None,
        call_id: str = "",
    ) -> None:
        """Take up the result of a call, as `label` labelled it. `text` may be what gives it, if somebody asks."""
        self._unsorted.append((tool, arguments, text, label, leaves, not self.steered, call_id))
        integrity = label.integrity
        if integrity != self.label.integrity or label.readers is not None or label.secret:
            self._join(label)

    def _sort(self) -> None:
        """Put what was read where it is looked for. Most of it never is."""
        unsorted, self._unsorted = self._unsorted, []
        for given in unsorted:
            read = Read(*given)
            self._reads.setdefault(read.tool, []).append(read)
            if read.leaves is not None:
                self._pending.append(read)
            if read.label.integrity == "untrusted":
                self._texts.append(read)

    def hold(self, tool: str, handle: Handle) -> None:
        """Take up a result that the model was not shown: it taints nothing until it is handed on."""
        label = handle.label or Label("untrusted", tool)
        self.handles[handle.name] = msgspec.structs.replace(handle, label=label)

    def turn(self) -> None:
        """The model spoke: what it asks for from now on, it asks having read all that there is so far."""
        self._spoke = True
        if self.label is not self._marked:
            self._mark()

    def _mark(self) -> None:
        self._marked = self.label
        worst = self.label.integrity
        self.steered, self.chosen = worst == "untrusted", worst == "typed"

    def _join(self, label: Label) -> None:
        self.label = join(self.label, Label(label.integrity, "", label.readers, label.secret))
        self.tainted = self.label.integrity == "untrusted"
        if not self._spoke:
            self._mark()

    # -- what people and the application decide; each of these is a journalled act

    def intend(self, intents: Collection[Intent], *, by_model: bool) -> bool:
        """Add to the plan. A model may not, once something untrusted was read. Says whether it was added."""
        if by_model and self.tainted:
            return False
        self.plan.declare(tuple(intents), by_model=by_model)
        return True

    def endorse(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """A person approved a call: these values are theirs, in these places of this tool and nowhere else.

        What goes by a name is approved by its name, which stands for the one value that the person saw.
        """
        for argument, value in arguments.items():
            for _, path, each in list(walk([value], no_field)) or [Leaf(0, "", value)]:
                if self.handle(each) is None:
                    self._endorsed.add((tool, argument, path, _exact(each)))
                else:
                    self._passed.add((tool, argument, path, each))

    def endorsed(self, value: Any, tool: str, argument: str, inside: str = "") -> bool:
        """Whether a person approved a value in that place."""
        return (tool, argument, inside, _exact(value)) in self._endorsed

    def declassify(self, call_id: str, text: str) -> None:
        """A person vouches for what one call returned: its words are theirs. The others taint the context still."""
        self._look()
        self._user.add(text)
        self._texts = [each for each in self._texts if each.call_id != call_id]
        if self.tainted and not self._texts:
            self.label = msgspec.structs.replace(self.label, integrity="typed")
            self.tainted = False
            self._mark()

    # -- looking up

    def origin(self, value: Any, tool: str, argument: str, how: Handling, inside: str = "") -> Origin:
        """Where one leaf of an argument came from; `inside` is its path in the argument."""
        if self.handle(value) is not None:
            return Origin.USER if (tool, argument, inside, value) in self._passed else Origin.OUTSIDE
        if self.endorsed(value, tool, argument, inside):
            return Origin.USER
        return self._found(value, tool, argument, how, inside)

    def _found(self, value: Any, tool: str, argument: str, how: Handling, inside: str = "") -> Origin:
        name, role = key(value), how.role(argument)
        acted_on = role in ("target", "critical", "resource")
        naming = frozenset(words_of(argument)) - {"id", "ids"} if acted_on else None
        if role == "critical" and isinstance(value, str) and _AMOUNT.fullmatch(value):
            value = float(value)  # an amount, and no part of a date or of a number of hours
        elsewhere = role in ("target", "resource") and name.isdigit() and len(name) < _SHORT
        # What they wrote in one line is another text in several, or with a control character: a script, a header.
        elsewhere = elsewhere or (acted_on and isinstance(value, str) and not value.isprintable())
        if not elsewhere and self._user.contain(value, naming):
            return Origin.USER
        if any(self._user.contain(each) for each in how.words.get(argument, {}).get(name, ())):
            return Origin.USER
        if name in self._vouched or (not elsewhere and self._config.contain(value, naming)):
            return Origin.CONFIG
        self._look()
        found, exists = self._values.get(name), False
        if found and name not in self._secrets:
            here = [
                origin
                for place, origin in found.items()
                if not name.isdigit() or akin(place, tool, f"{argument} {inside}")
            ]
            if Origin.KEYED in here or (here and self.steered):
                return min(here)
            exists = bool(here)
        if self.steered:
            return Origin.MODEL
        if self.chosen and self._typed.chose(value, role, exists=exists):
            return Origin.TYPED
        return Origin.SYSTEM if exists else Origin.CLEAN

    @property
    def unmarked(self) -> bool:
        """Whether everything that could bear on a call is the requester's, the application's or the service's own."""
        label = self.label
        return not (self.steered or self.chosen or self.handles or label.secret or label.readers is not None)

    @property
    def confined(self) -> bool:
        """Whether something was read that not everybody may see, or can be handed on unread."""
        return self.label.secret or self.label.readers is not None or bool(self.handles)

    def has_chosen_links(self, text: str) -> bool:
        """Whether a text has a link, an address or an account number in it that is a typed value."""
        self._look()
        return self.chosen and self._typed.links(text)

    def handle(self, value: Any) -> Handle | None:
        """What a leaf of an argument stands for, if it is the name of something that was not shown."""
        return self.handles.get(value) if self.handles and isinstance(value, str) else None

    def carried(self, arguments: Mapping[str, Any]) -> Label:
        """Who may read what a call is given by name, and whether there are secrets in it."""
        if not self.handles:
            return NEUTRAL
        found = [handle.label for each in scalars(arguments) if (handle := self.handle(each)) is not None]
        return join_all(Label("user", "", each.readers, each.secret) for each in found if each is not None)

    def carries_secret(self, value: Any) -> bool:
        """Whether a leaf has a secret that was read in it."""
        self._look()
        text = key(value)
        spelt = bared(text)
        return any(
            each in text or (bared(each) or each) in spelt if len(each) > 1 else whole(text, each)
            for each in self._secrets
        )

    def label_result(
        self,
        tool: str,
        how: Handling,
        arguments: Mapping[str, Any],
        value: Any,
        *,
        requester: str = "",
        given: Label | None = None,
    ) -> tuple[Label, Leaves | None]:
        """Label what a call returned: its value as JSON, before it is cut. `given` is the label the tool put on it."""
        if given is None and how.bare and isinstance(value, str):
            return how.outside, None
        counts = how.declared and (how.finer or not self.unmarked)
        return label_value(
            value,
            how,
            tool,
            me=self.me,
            requester=requester,
            inputs=self.inputs(tool, how, arguments) if counts else None,
            given=given,
            made=how.act_of(arguments) not in ("read", "fetch"),
        )

    def inputs(self, tool: str, how: Handling, arguments: Mapping[str, Any]) -> dict[str, Integrity]:
        """The integrity of a call's text arguments, for `label_value`.

        What a person has approved was approved in its place. What the tool makes of it is somewhere else.
        """
        found: dict[str, Integrity] = {}
        for argument, value in arguments.items():
            for each in scalars(value, fields_of(how)):
                if (handle := self.handle(each)) is not None:
                    found.update((key(text), "untrusted") for text in scalars(handle.value) if isinstance(text, str))
                elif isinstance(each, str):
                    integrity = _AS_INPUT.get(self._found(each, tool, argument, how), "system")
                    if integrity == "config" and self.has_chosen_links(each):
                        integrity = "typed"
                    found[key(each)] = lowest(integrity, found.get(key(each), integrity))
        return found

    def handed_on(self, tool: str, how: Handling, arguments: Mapping[str, Any]) -> Label:
        """The label of what a call hands on: the worst of its text arguments, and of what is in private in any."""
        worst: Integrity = "user"
        for integrity in self.inputs(tool, how, arguments).values():
            worst = lowest(worst, integrity)
        carried = self.carried(arguments)
        label = Label(worst, tool if worst == "untrusted" else "", self.label.readers, self.label.secret)
        return label if carried is NEUTRAL else join(label, carried)

    def source(self, value: Any) -> str:
        """In what text of an outsider's a value is, for a person to read; empty if it is in none of the newest."""
        if (handle := self.handle(value)) is not None:
            return f"{handle.source}, as {handle.name}"
        if self.chosen:
            typed = self._typed.near(value)
            return "" if typed is None else typed.source
        self._sort()
        wanted, searched = key(value), 0
        for each in reversed(self._texts):
            searched += len(each.text)
            if whole(each.folded, wanted) or (len(wanted) >= _SHORT and wanted in each.folded):
                return each.source
            if searched > _SEARCHED:
                break
        return ""

    @property
    def first_read(self) -> str:
        """The first text of an outsider's that was read, for a person to read."""
        self._sort()
        return (self._texts[0].source if self._texts else "") or "text"

    def results(self, tool: str) -> Sequence[Result]:
        """The results of a tool in order, for the plan's rules."""
        self._sort()
        return self._reads.get(tool, ())

    # -- looking into results

    def _look(self) -> None:
        if self._unsorted:
            self._sort()
        pending, self._pending = self._pending, []
        for read in pending:
            self._look_into(read)

    def _look_into(self, read: Read) -> None:
        assert read.leaves is not None, "a result without labels inside is not looked into"
        value = read.decoded()
        if value is None and read.label.integrity == "typed":
            self._typed.lost()
        picked = None if read.leaves.text else self._singled_out(read, records(value))
        for leaf, integrity, secret in labelled(value, read.leaves):
            name = key(leaf.value)
            if integrity == "typed":
                self._typed.add(leaf.value, read)
            if secret:
                self._secrets.add(name)
            elif integrity in ("system", "user", "config") and not isinstance(leaf.value, bool):
                origin = Origin.KEYED if leaf.record == picked and integrity == "system" else Origin.SYSTEM
                places = self._values.setdefault(name, {})
                place = f"{read.tool} {leaf.path}"
                places[place] = min(origin, places.get(place, origin))

    def _singled_out(self, read: Read, found: Sequence[Any]) -> int | None:
        """Which record the requester's own words singled out, or this run made."""
        assert read.leaves is not None, "a result without labels inside is not looked into"
        if read.leaves.made:
            return 0 if len(found) == 1 else None
        # Reading is free, so whoever has read orders could look for a record until one looks singled out.
        if not read.clean and not self.plan.has_look_up(read.tool, read.arguments, read.leaves.keys):
            return None
        given = [(name, each) for name in read.leaves.keys for each in scalars(read.arguments.get(name)) if each != ""]
        if not given or not all(self._theirs(each, name, read) for name, each in given):
            return None
        if len(found) == 1:
            return 0
        named = {key(each) for _, each in given}
        exact = [n for n, record in enumerate(found) if is_object(record) and named & set(_texts(record))]
        return exact[0] if len(exact) == 1 else None

    def _theirs(self, value: Any, argument: str, read: Read) -> bool:
        """Whether a look-up is by a phrase or a name of the requester's: their single words would find anything."""
        phrase = isinstance(value, str) and " " in value.strip()
        if self._user.contain(value, None if phrase else frozenset(words_of(argument))):
            return True
        places = self._values.get(key(value), {})
        return any(origin == Origin.KEYED and akin(place, read.tool, "") for place, origin in places.items())


def _exact(value: Any) -> str:
    """A leaf as a person approved it: the same spelling, since a service may tell two spellings apart."""
    return value if isinstance(value, str) else key(value)


def _texts(record: Mapping[str, Any]) -> Iterator[str]:
    for value in record.values():
        if isinstance(value, str):
            yield key(value)
