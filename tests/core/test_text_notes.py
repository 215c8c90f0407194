"""What was put right in a call that was written as text is in the journal."""

from __future__ import annotations

import pytest
from core_kit import ADA

from counterfoil import Catalogue, Harness, Scripted, text, tool
from counterfoil.types.entry import Said

pytestmark = pytest.mark.anyio


async def test_a_mended_call_runs_and_its_reply_says_what_was_mended() -> None:
    @tool(effect="read", permission="*")
    def look(order: str) -> str:
        """Look."""
        return f"{order} is there"

    catalogue = Catalogue([look])
    reply = text.get("hermes").parse('<tool_call>{"name": "look", "arguments": {"order": "7"}}', [look.spec])
    harness = Harness(Scripted([reply, "Done."]), catalogue)
    run = await harness.run("Where is 7?", ADA)
    assert run.results["1.1"].text == "7 is there"
    (said, _) = [each for each in run.entries if isinstance(each, Said) and each.message.role == "assistant"]
    assert any(note.startswith("call 1.1: ") for note in said.notes), said.notes
