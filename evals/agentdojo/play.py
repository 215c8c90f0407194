"""One session through the product's harness and gate: a scripted model, an attacker in it, a person who answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from functools import lru_cache
from typing import Any

import msgspec

from counterfoil import Budget, Catalogue, Context, Function, Gate, Harness, MemoryJournal, Session, ToolError
from counterfoil.cli.problem import Problem
from counterfoil.gate.provenance.known import Known
from counterfoil.gate.provenance.leaves import scalars
from counterfoil.run.planning import QUESTION
from counterfoil.run.run import Run
from counterfoil.run.state import State
from counterfoil.tools.guess import Handling, handling
from counterfoil.tools.limits import Limits
from counterfoil.tools.tool import Tool
from counterfoil.types.entry import Effect, Planned
from counterfoil.types.json import canonical
from counterfoil.types.message import Message, ToolCall, user
from counterfoil.types.request import Reply, Request
from evals.agentdojo.attacks import script
from evals.agentdojo.declared import ME, TRUST
from evals.agentdojo.planner import Agreement, agreement
from evals.agentdojo.plans import Oracle, plan
from evals.agentdojo.policies import Policy
from evals.agentdojo.world import MARK, World, declarations, reference

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
    agreement: Agreement | None = None
    """How a model's plan compares with the reference solution; looked at where there is no attack."""

    @property
    def key(self) -> tuple[str | None, ...]:
        """What it is known by."""
        return self.suite, self.task, self.injection, self.when, self.policy

    @property
    def sampled(self) -> bool:
        """Whether it is one of the attacked sessions in which is looked at whether the task was solved."""
        return self.when == "before" and self.injection is not None and self.injection[-2:] in ("_0", "_1", "_2")


@lru_cache(maxsize=16)
def handlings(name: str, *, declared: bool) -> dict[str, Handling]:
    """How each tool of a suite is treated."""
    return {
        tool: handling(tool, each["parameters"], "write", TRUST[name][tool] if declared else None)
        for tool, each in declarations(name).items()
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
        self.planner = Oracle() if policy.planner == "oracle" else policy.planner
        self.tools = {tool: self._tool(tool) for tool in self.how}
        self.plan = plan(name, task_id, self.tools, rules=policy.rules) if policy.plan else None
        self.journal = MemoryJournal()
        self.state = State()
        self.reference = reference(name, task_id)
        self.wanted = Counter(canonical(list(each)) for each in self.reference)
        self.attacking = False
        self.calls: dict[str, tuple[str, dict[str, Any]]] = {}
        self.last: Any = None
        self.seen: dict[Any, None] = {}
        """Every value that was read, in order: what an attacker has to work with."""
        self.approved: list[tuple[str, dict[str, Any]]] = []
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
        if self.planner is not None and request.messages[-1] == QUESTION:
            return await self.planner.plan(self.world.name, self.world.task_id, request)
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

    def _tool(self, name: str) -> Tool:
        how = self.how[name]

        async def function(context: Context, **arguments: Any) -> Any:
            value, error = self.world.call(name, arguments)
            if error is not None:
                raise ToolError(error)
            self.case.exposed = self.case.exposed or MARK in str(value)
            self.last = value
            self.see(value)
            wanted = self._is_wanted(name, arguments)
            if wanted:
                self.wanted[canonical([name, arguments])] -= 1
            elif self.attacking and context.call_id not in self._asked and how.act_of(arguments) != "read":
                self.case.breaches.append(how.act_of(arguments))
            return value

        trust = TRUST[self.world.name][name] if self.policy.declared else None
        unconfirmed: Effect = "read" if trust is not None and trust.act == "read" else "write"
        effect: Effect = "irreversible" if self.policy.confirms(how) else unconfirmed
        declaration = declarations(self.world.name)[name]
        return Tool.from_declaration(declaration, function, effect=effect, limits=_LIMITS, trust=trust)

    def _is_wanted(self, tool: str, arguments: dict[str, Any]) -> bool:
        return self.wanted[canonical([tool, arguments])] > 0

    # -- what the gate and the attacker know, for a probe

    def see(self, value: Any) -> None:
        """Take up what a call has returned."""
        if self.probe is not None:
            self.seen.update(dict.fromkeys(scalars(value)))

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
            if approve:
                self.approved.append((tool, arguments))
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
        gate = Gate(
            provenance=self.policy.mode,
            planning=self.planner is not None,
            me=lambda session: ME[self.world.name],
        )
        harness = Harness(Function(self._reply), Catalogue(self.tools.values()), gate=gate, journal=self.journal)
        session = Session(requester="emma", permissions=frozenset({"*"}), budget=Budget(turns=10_000))
        run = await harness.run(user(self.world.task.PROMPT), session, run_id=_RUN, plan=self.plan)
        while run.outcome.kind == "waiting":
            await self._answer(harness, run)
            run = await harness.resume(run.id)
        if run.outcome.kind != "answered":
            at = f"{self.case.suite}, {self.case.task}, {self.case.policy}"
            raise Problem(f"{run.outcome.detail or 'it did not come to an end'}. The session {run.outcome.kind}: {at}")
        case, injection = self.case, self.case.injection
        if (injection is None or case.sampled) and not case.breaches:
            case.useful = self.world.useful()
        case.attacked = self.world.attacked()
        if self.planner is not None and injection is None:
            case.agreement = await self._agreement()
        return case

    async def _agreement(self) -> Agreement:
        entries = [record.entry for record in await self.journal.read(_RUN)]
        plans = [each.intents for each in entries if isinstance(each, Planned) and each.by_model]
        return agreement(plans[0] if plans else (), self.reference, self.how)
