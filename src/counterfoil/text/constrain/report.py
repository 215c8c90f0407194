"""What became of each feature of a schema, as data."""

from __future__ import annotations

from typing import Literal

import msgspec

How = Literal["enforced", "narrowed", "approximated", "refused"]
"""What an engine makes of a feature.

`enforced`: nothing else can be written. `narrowed`: less can be written than the schema allows, and all of it conforms.
`approximated`: what is written may not conform in this respect. `refused`: the engine cannot take the schema here, and
any value may be written.
"""


class Feature(msgspec.Struct, frozen=True, order=True):
    """One keyword of one tool's schema: where (a JSON pointer), what became of it, and why."""

    tool: str
    path: str
    feature: str
    how: How
    why: str = ""


def loosened(report: tuple[Feature, ...]) -> tuple[str, ...]:
    """The tools of which a call may not conform: the gate has to look, as it always does."""
    return tuple(dict.fromkeys(each.tool for each in report if each.how in ("approximated", "refused")))
