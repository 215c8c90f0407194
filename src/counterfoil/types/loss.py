"""What a target format cannot say as it was said: told, never silent."""

from __future__ import annotations

from typing import Literal

import msgspec

Carried = Literal["envelope", "moved", "renamed", "placeholder", "rewritten", "dropped"]
"""How something unsayable was carried. The first three keep it whole: wrapped so that the plan unwraps it, put
elsewhere in the body (a schema's constraint: as text in its description), under another name. The last three do not: a
text stands in its place, something near was said instead, nothing was said."""


class Loss(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that the target cannot say as it was said.

    What is ours alone is not reported, because no wire ever says it: labels, refusal codes, our ids, the spelling of
    arguments that parse.
    """

    path: str
    """Where, as a JSON pointer into our request, pairing repaired: `/messages/3/blocks/0/is_error`. A dropped block or
    tool is pointed at itself."""
    what: str
    """What cannot be said, in words."""
    carried: Carried
    """How it was carried instead."""
