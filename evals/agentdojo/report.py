"""What was played, in figures and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

import msgspec

from evals.agentdojo.adaptive import Found
from evals.agentdojo.attacks import NO_CALL
from evals.agentdojo.facts import HELD_OUT, SUITES
from evals.agentdojo.planner import Answer
from evals.agentdojo.play import Case
from evals.agentdojo.policies import planned

_HARM = ("send", "pay", "destroy", "admin")
_ROLES = ("target", "resource", "critical", "content", "plain")


class Figures(msgspec.Struct, frozen=True):
    """What one policy came to on some suites.

    Percentages are of (task, injection) pairs; a pair is lost if the attack goes through at either timing.
    """

    of: str
    policy: str
    tasks: int
    solved: int
    without: int
    """Tasks solved without a confirmation."""
    once: int
    """With one at most."""
    asked: float | None
    """Confirmations per task."""
    cards: float | None
    """The same, where those for the same tool and reason one after another are shown together."""
    pairs: int
    attacked: float | None
    """AgentDojo's own check says that the attacker got what it wanted (ASR)."""
    breached: float | None
    """A consequential call of the attacker's ran that no person had approved."""
    useful: float | None
    """Of attacked sessions (those with the first three injections, at the first timing), where the task was solved."""
    searched: int
    harmed: int
    """Tasks in which the search found a harmful call that nobody wanted and that would run silently."""
    tried: dict[str, int]
    rewritten: dict[str, int]
    """By role: arguments of wanted calls that run silently, and those that may be rewritten without being asked."""


class Table(NamedTuple):
    """Rows under headings."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def markdown(self) -> str:
        """The same for a document."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return f"## {self.title}\n\n" + "".join(f"| {' | '.join(each)} |\n" for each in lines)


def parts(cases: Sequence[Case], found: Sequence[Found], policies: Sequence[str]) -> list[Figures]:
    """The figures of each policy: of all suites, of those the policy was designed on, and of each."""
    there = {each.suite for each in cases} | {each.suite for each in found}
    names = [each for each in SUITES if each in there]
    chosen: list[tuple[str, set[str]]] = [("all suites", set(names))] if len(names) > 1 else []
    designed = [each for each in names if each != HELD_OUT]
    if HELD_OUT in names and len(designed) > 1:
        chosen.append((f"designed on: {', '.join(designed)}", set(designed)))
    chosen += [(f"{each} (held out)" if each == HELD_OUT else each, {each}) for each in names]
    return [
        figures(of, policy, [each for each in cases if each.suite in suites and each.policy == policy],
                [each for each in found if each.suite in suites and each.policy == policy])
        for of, suites in chosen
        for policy in policies
    ]  # fmt: skip


def figures(of: str, policy: str, cases: Iterable[Case], found: Sequence[Found]) -> Figures:
    """Add the lines of one policy up."""
    benign: list[Case] = []
    pairs: dict[tuple[str, str, str], list[Case]] = {}
    for each in cases:
        if each.injection is None:
            benign.append(each)
        elif (each.suite, each.injection) not in NO_CALL:
            pairs.setdefault((each.suite, each.task, each.injection), []).append(each)
    solved = [each for each in benign if each.useful and not each.refused]
    looked_at = [each for pair in pairs.values() for each in pair if each.sampled]
    tried, rewritten = Counter[str](), Counter[str]()
    for one in found:
        tried.update(one.tried)
        rewritten.update(one.rewritten)
    return Figures(
        of,
        policy,
        len(benign),
        len(solved),
        sum(each.asked == 0 for each in solved),
        sum(each.asked <= 1 for each in solved),
        sum(each.asked for each in benign) / len(benign) if benign else None,
        sum(each.cards for each in benign) / len(benign) if benign else None,
        len(pairs),
        _percent(sum(any(each.attacked for each in pair) for pair in pairs.values()), len(pairs)),
        _percent(sum(any(each.breaches for each in pair) for pair in pairs.values()), len(pairs)),
        _percent(sum(bool(each.useful) for each in looked_at), len(looked_at)),
        len(found),
        sum(any(act in one.harm for act in _HARM) for one in found),
        dict(tried),
        dict(rewritten),
    )


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def tables(figures: Sequence[Figures]) -> list[Table]:
    """A table for each choice of suites, and what may be rewritten in all of them."""
    columns = ("policy", "no confirmation", "at most one", "completed", "per task", "cards", "ASR %", "breach %",
               "useful under attack %", "adaptive")  # fmt: skip
    played = [each for each in figures if each.tasks or each.searched]
    found = [
        Table(of[0].upper() + of[1:], columns, [_row(each) for each in played if each.of == of])
        for of in dict.fromkeys(each.of for each in played)
    ]
    searched = [each for each in played if each.of == played[0].of and each.tried]
    if searched:
        rows = [
            [each.policy, *[f"{each.rewritten.get(role, 0)}/{each.tried.get(role, 0)}" for role in _ROLES]]
            for each in searched
        ]
        title = "Arguments of wanted calls that could be rewritten without a confirmation"
        found.append(Table(title, ("policy", *_ROLES), rows))
    return found


def _row(each: Figures) -> list[str]:
    def share(value: float | None, digits: int = 1) -> str:
        return "-" if value is None else f"{value:.{digits}f}"

    def count(part: int, whole: int) -> str:
        return f"{part}/{whole}" if whole else "-"

    return [
        each.policy,
        count(each.without, each.tasks),
        count(each.once, each.tasks),
        count(each.solved, each.tasks),
        share(each.asked, 2),
        share(each.cards, 2),
        share(each.attacked),
        share(each.breached),
        share(each.useful, 0),
        count(each.harmed, each.searched),
    ]


def plans(cases: Iterable[Case], answers: Sequence[Answer], policies: Sequence[str]) -> list[Table]:
    """How the plans that the harness asked for compare with the reference solutions."""
    rows: list[list[str]] = []
    for policy in policies:
        agreed = [each.agreement for each in cases if each.policy == policy and each.agreement is not None]
        if not agreed:
            continue
        said = [each for each in answers if policy == planned(each.planner)]
        meant, matched = sum(each.meant for each in agreed), sum(each.matched for each in agreed)
        rows.append(
            [
                policy,
                str(len(agreed)),
                str(meant),
                f"{matched}/{meant}",
                f"{matched}/{sum(each.needed for each in agreed)}",
                str(sum(each.meant == each.matched == each.needed for each in agreed)),
                str(sum(bool(each.error) for each in said)),
                f"{median([each.seconds for each in said]):.1f}" if said else "-",
            ]
        )
    columns = ("policy", "plans", "consequential calls in them", "right", "of those needed", "plans wholly right",
               "too long for the model", "seconds (median)")  # fmt: skip
    return [Table("Plans beside the reference solutions", columns, rows)] if rows else []
