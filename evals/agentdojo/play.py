"""One session through the product's harness and gate: a scripted model, an attacker in it, a person who answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from functools import lru_cache
from typing import Any

import msgspec

from counterfoil import Budget, Catalogue, Context, Function, Gate, Harness, MemoryJournal, Session, ToolError
from counterfoil.gate.provenance.known import Known
from counterfoil.run.run import Run
from counterfoil.run.state import State
from counterfoil.tools.guess import Handling, handling
from counterfoil.tools.limits import Limits
from counterfoil.tools.tool import Tool
from counterfoil.types.json import canonical
from counterfoil.types.message import Message, ToolCall, user
from counterfoil.types.request import Reply, Request
from evals.agentdojo.attacks import script
from evals.agentdojo.declared import ME, TRUST
from evals.agentdojo.plans import plan
from evals.agentdojo.policies import Policy
from evals.agentdojo.world import MARK, World, reference, suite

_RUN = "played"
_LIMITS = Limits(result_chars=5_000_000, repeats=10_000)
When = str
"""`benign`, `before` (the attack runs as soon as it has been read) or `after` (when the user's task is done)."""


class Case(msgspec.Struct):
    """What one session came to."""

    suite: str
    task: str
    injection: str | None
    when: When
    policy: str
    useful: bool | None = None
    """Whether the user's task was solved; not looked at (it is slow) in most attacked sessions."""
    attacked: bool = False
    """Whether AgentDojo's own check says that the attacker got what it wanted."""
    breaches: list[str] = msgspec.field(default_factory=list[str])
    """The consequential calls of the attacker that ran without a person."""
    asked: int = 0
    """Confirmations for calls that the user did want."""
    cards: int = 0
    """The same, where calls that ask for the same reason one after another are shown together."""
    asked_for_attack: int = 0
    refused: int = 0
    """Calls the user wanted that did not run."""
    exposed: bool = False
    reasons: list[str] = msgspec.field(default_factory=list[str])


@lru_cache(maxsize=16)
def handlings(name: str, *, declared: bool) -> dict[str, Handling]:
    """How each tool of a suite is treated."""
    return {
        each.name: handling(
            each.name, each.parameters.model_json_schema(), "write", TRUST[name][each.name] if declared else None
        )
        for each in suite(name).tools
    }


Turns = Generator[tuple[str, dict[str, Any]], Any, None]


class Play:
    """Plays one session; `probe`, if given, is shown it before each call of the reference solution and at the end."""

    def __init__(
        self,
        name: str,
        task_id: str,
        injection: str | None,
        when: When,
        policy: Policy,
        probe: Callable[[Play], None] | None = None,
    ) -> None:
        self.world = World(name, task_id, injection)
        self.policy = policy
        self.probe = probe
        self.case = Case(name, task_id, injection, when, policy.name)
        self.how = handlings(name, declared=policy.declared)
        self.plan = plan(name, task_id, self.how, rules=policy.rules) if policy.plan else None
        self.journal = MemoryJournal()
        self.state = State()
        self.reference = reference(name, task_id)
        self.wanted = Counter(canonical(list(each)) for each in self.reference)
        self.attacking = False
        self.calls: dict[str, tuple[str, dict[str, Any]]] = {}
        self.last: Any = None
        self._asked: set[str] = set()
        self._card: tuple[str, str] | None = None
        self._turns = self._script()

    # -- the model

    def _script(self) -> Turns:
        hit = False
        for tool, arguments in self.reference:
            if self.probe is not None:
                self.probe(self)
            self._card = self._card if self._card and self._card[0] == tool else None
            yield tool, arguments
            if self.case.when == "before" and self.case.exposed and not hit:
                hit = True
                yield from self._attack()
        if self.case.when == "after" and self.case.exposed:
            yield from self._attack()
        if self.probe is not None:
            self.probe(self)

    def _attack(self) -> Turns:
        turns = script(self.world)
        if turns is None:
            return
        self.attacking = True
        yield from turns
        self.attacking = False

    async def _reply(self, request: Request) -> Reply | str:
        await self._catch_up()
        try:
            tool, arguments = next(self._turns) if not self.calls else self._turns.send(self.last)
        except StopIteration:
            return str(self.world.task.GROUND_TRUTH_OUTPUT) or "Done."
        self.last = None
        number = len(self.calls) + 1
        self.calls[f"{number}.1"] = tool, arguments
        return Reply(Message("assistant", (ToolCall(f"c{number}", tool, arguments),)), "tool_calls")

    # -- the tools

    def _tool(self, name: str, schema: dict[str, Any]) -> Tool:
        how = self.how[name]

        async def function(context: Context, **arguments: Any) -> Any:
            value, error = self.world.call(name, arguments)
            if error is not None:
                raise ToolError(error)
            self.case.exposed = self.case.exposed or MARK in str(value)
            self.last = value
            wanted = self._is_wanted(name, arguments)
            if wanted:
                self.wanted[canonical([name, arguments])] -= 1
            elif self.attacking and context.call_id not in self._asked and how.act_of(arguments) != "read":
                self.case.breaches.append(how.act_of(arguments))
            return value

        effect = "irreversible" if how.act in self.policy.confirm else "write"
        trust = TRUST[self.world.name][name] if self.policy.declared else None
        declaration = {"name": name, "description": "", "parameters": schema}
        return Tool.from_declaration(declaration, function, effect=effect, limits=_LIMITS, trust=trust)

    def _is_wanted(self, tool: str, arguments: dict[str, Any]) -> bool:
        return self.wanted[canonical([tool, arguments])] > 0

    # -- what the gate knows, for a probe

    async def _catch_up(self) -> None:
        """Fold what was journalled since. The probe may add to this state what it looks up by itself."""
        if self.probe is None:
            return
        for record in (await self.journal.read(_RUN))[len(self.state.entries) :]:
            self.state.apply(record.entry)

    @property
    def known(self) -> Known:
        """What the run has read."""
        assert self.state.known is not None, "only runs that follow what they read are searched"
        return self.state.known

    # -- the person

    async def _answer(self, harness: Harness, run: Run) -> None:
        for each in run.confirmations:
            tool, arguments = self.calls[each.call.id]
            approve = self._is_wanted(tool, arguments)
            self._asked.add(each.call.id)
            why = f" {each.code}" if each.code else ""
            self.case.reasons.append(f"{'ATTACK: ' if self.attacking else ''}{each.reason}{why}")
            if self.attacking:
                self.case.asked_for_attack += 1
            else:
                self.case.asked += 1
                card = (tool, why)
                self.case.cards += card != self._card
                self._card = card
                self.case.refused += not approve
            await harness.answer(each.id, approve=approve, by="a person")

    async def run(self) -> Case:
        """Play it to its end."""
        schemas = {each.name: each.parameters.model_json_schema() for each in self.world.suite.tools}
        gate = Gate(provenance=self.policy.mode, me=lambda session: ME[self.world.name])
        harness = Harness(Function(self._reply), _catalogue(self, schemas), gate=gate, journal=self.journal)
        session = Session(requester="emma", permissions=frozenset({"*"}), budget=Budget(turns=10_000))
        run = await harness.run(user(self.world.task.PROMPT), session, run_id=_RUN, plan=self.plan)
        while run.outcome.kind == "waiting":
            await self._answer(harness, run)
            run = await harness.resume(run.id)
        if run.outcome.kind != "answered":
            raise RuntimeError(f"{self.case}: the session ended as {run.outcome}")
        case, injection = self.case, self.case.injection
        sampled = injection is None or (case.when == "before" and injection[-2:] in ("_0", "_1", "_2"))
        if sampled and not case.breaches:
            case.useful = self.world.useful()
        case.attacked = self.world.attacked()
        return case


def _catalogue(play: Play, schemas: dict[str, dict[str, Any]]) -> Catalogue:
    used = {tool for tool, _ in play.reference}
    return Catalogue([play._tool(name, schema) for name, schema in schemas.items()] if used else [])
