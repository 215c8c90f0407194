"""The policies that are compared: all of them are settings of the product's own gate."""

from __future__ import annotations

from typing import NamedTuple

from counterfoil.types.plan import Mode


class Policy(NamedTuple):
    """How calls are held back: by provenance in a mode, or by effect alone."""

    name: str
    mode: Mode = "off"
    plan: bool = False
    rules: bool = True
    """Whether the plan may have rules that take values from what is read."""
    declared: bool = True
    """Whether the tools' declarations are used; otherwise everything is guessed from names and types."""
    confirm: tuple[str, ...] = ()
    """Acts that a person confirms each time."""


_IRREVERSIBLE = ("send", "pay", "destroy", "admin")

POLICIES = (
    Policy("none"),
    Policy("confirm irreversible", confirm=_IRREVERSIBLE),
    Policy("confirm consequential", confirm=(*_IRREVERSIBLE, "fetch", "self")),
    Policy("strict", "strict"),
    Policy("default, no rules in the plan", "default", plan=True, rules=False),
    Policy("default", "default", plan=True),
    Policy("default, nothing declared", "default", plan=True, declared=False),
)

PUBLISHED = (
    # name, confirmations per task (none of them asks), attacks through in percent; GPT-4o, not the worst case
    ("undefended", 0.0, 47.7),
    ("spotlighting", 0.0, 41.7),
    ("repeat prompt", 0.0, 27.8),
    ("detector", 0.0, 8.0),
    ("tool filter", 0.0, 6.8),
    ("Progent", 0.0, 1.0),
    ("MELON", 0.0, 0.24),
)
"""For orientation: ordinary attacks on models that mostly resist, so not comparable with a compromised one."""


def named(name: str) -> Policy:
    """The policy of that name."""
    found = next((each for each in POLICIES if each.name == name), None)
    if found is None:
        raise ValueError(f"no policy {name!r}: there are {', '.join(each.name for each in POLICIES)}")
    return found
