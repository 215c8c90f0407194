"""One call from elsewhere (another agent, a script, a protocol) through the same gate and journal: no model of ours.

Run it: python examples/outside_call.py
"""

# ruff: noqa: T201 - an example says what it does

from __future__ import annotations

from counterfoil import Catalogue, Limits, MemoryJournal, Session, ToolCall, ToolResult, sync, tool


@tool(effect="read", permission="units", limits=Limits(clamps={"digits": (0, 6)}))
def convert_miles(miles: float, digits: int = 2) -> str:
    """Convert miles to kilometres."""
    return f"{miles * 1.609344:.{digits}f} km"


def main() -> None:
    """Make four calls for eve."""
    eve = Session(requester="eve", permissions=frozenset({"units"}))
    nobody = Session(requester="nobody")
    with sync.Harness(None, Catalogue([convert_miles]), journal=MemoryJournal()) as harness:
        for call, session in [
            (ToolCall("1", "convert_miles", {"miles": 26.2}), eve),
            (ToolCall("2", "convert_miles", {"miles": 26.2, "digits": 99}), eve),
            (ToolCall("3", "convert_miles", {"miles": "far"}), eve),
            (ToolCall("4", "convert_miles", {"miles": 26.2}), nobody),
        ]:
            result = harness.call(call, session)
            assert isinstance(result, ToolResult), "nothing here waits for a person"
            print(f"{result.call_id} {result.code or 'done'}: {result.text}")


if __name__ == "__main__":
    main()
