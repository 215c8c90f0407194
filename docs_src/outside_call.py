"""One call from elsewhere (an MCP gateway, a web hook), through the same gate and journal, with no model."""

import asyncio

from counterfoil import Catalogue, Confirmation, Harness, Session, ToolCall, tool


@tool(effect="read", permission="time:read")
async def opening_hours(day: str) -> str:
    """Say when the shop is open."""
    return f"{day}: 9 to 17"


async def main() -> None:
    harness = Harness(None, Catalogue([opening_hours]))
    ada = Session(requester="ada", permissions={"time:read"})
    result = await harness.call(ToolCall("their-id", "opening_hours", {"day": "Monday"}), ada)
    assert not isinstance(result, Confirmation)
    print(result.call_id, result.text)


asyncio.run(main())
