"""The policies that are compared: all of them are settings of the product's own gate."""

from __future__ import annotations

from typing import Literal, NamedTuple

from counterfoil.tools.guess import Handling
from counterfoil.types.plan import Mode
from evals.agentdojo.planner import Planner


class Policy(NamedTuple):
    """How calls are held back: by provenance in a mode, or by effect alone."""

    name: str
    about: str
    mode: Mode = "off"
    plan: bool = False
    """Whether the application declares a plan (see `plans.py`)."""
    rules: bool = True
    """Whether that plan may have rules that take values from what is read."""
    declared: bool = True
    """Whether the tools' declarations are used; otherwise everything is guessed from names and types."""
    confirm: tuple[str, ...] = ()
    """Acts that a person confirms each time, whatever the arguments: of a tool that does several, the worst counts."""
    planner: Planner | Literal["oracle"] | None = None
    """Who answers the harness's own planning request; without one it makes none."""

    def confirms(self, how: Handling) -> bool:
        """Whether a person confirms each call of a tool."""
        return bool({how.act, *how.widens.values()} & set(self.confirm))


def planned(name: str) -> str:
    """What the policy is called whose plans somebody of that name makes."""
    return f"default, planned by {name}"


_IRREVERSIBLE = ("send", "pay", "destroy", "admin")

POLICIES = (
    Policy("none", "nothing is held back"),
    Policy("confirm irreversible", "a person confirms what sends, pays, destroys, administers", confirm=_IRREVERSIBLE),
    Policy(
        "confirm consequential",
        "and what fetches, or keeps something for the user",
        confirm=(*_IRREVERSIBLE, "fetch", "self"),
    ),
    Policy("strict", "provenance: after the first untrusted text, every consequential call", "strict"),
    Policy(
        "default, no rules in the plan",
        "provenance with a plan; what the user's words do not settle is open",
        "default",
        plan=True,
        rules=False,
    ),
    Policy(
        "default",
        "and the plan has rules, written by hand, that take values from what is read",
        "default",
        plan=True,
    ),
    Policy(
        "default, nothing declared",
        "the same, what the tools do and return being guessed",
        "default",
        plan=True,
        declared=False,
    ),
    Policy(
        planned("an oracle"),
        "the plan goes through the harness's own planning request",
        "default",
        planner="oracle",
    ),
)

PUBLISHED = (
    ("undefended", 47.7),
    ("spotlighting", 41.7),
    ("repeat prompt", 27.8),
    ("detector", 8.0),
    ("tool filter", 6.8),
    ("Progent", 1.0),
    ("MELON", 0.24),
)
"""Attacks through in percent; none of these asks a person. For orientation: ordinary attacks on models that mostly
resist, so not comparable with one that is compromised."""

REFUSING = (("CaMeL", "77 %"), ("FIDES", "41 to 59 %"), ("PACT", "38 to 46 %"))
"""Defences that let through nothing that they hold to be an attack, and the tasks they solve: they refuse, and do not
ask."""


def planned_by(planner: Planner) -> Policy:
    """The default, with the plan that a model makes when the harness asks it for one."""
    return Policy(planned(planner.name), planner.name, "default", planner=planner)


def named(name: str) -> Policy:
    """The policy of that name. Raises `ValueError`."""
    found = next((each for each in POLICIES if each.name == name), None)
    if found is None:
        raise ValueError(f"no policy {name!r}. There are: {'; '.join(each.name for each in POLICIES)}")
    return found
