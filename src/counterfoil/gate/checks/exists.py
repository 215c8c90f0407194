"""1. Is there such a tool?"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from counterfoil.types.message import ToolCall
from counterfoil.types.verdict import Refusal


def unknown_tool(call: ToolCall, names: Sequence[str]) -> Refusal:
    """Refuse a call for a tool that does not exist, naming the nearest of those that the requester may call."""
    if not names:
        return Refusal("unknown_tool", f"There is no tool {call.name!r}, and there are no tools for you here.")
    near = difflib.get_close_matches(call.name, names, 3, 0.5)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    shown = ", ".join(names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")
    return Refusal("unknown_tool", f"There is no tool {call.name!r}. {hint}The tools are: {shown}.")
