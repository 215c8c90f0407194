"""A password goes to the tool that asks for it, and a token from one tool to another: nobody else sees either."""

import asyncio
from typing import Annotated

from counterfoil import Catalogue, Harness, Scripted, Secret, Session, ToolCall, tool


@tool(effect="write", permission="vault:open")
async def open_vault(name: str, password: Annotated[str, Secret]) -> Annotated[str, Secret]:
    """Open a vault. Returns a token for the other tools."""
    return f"token-for-{name}" if password == "open sesame" else "nothing"  # noqa: S105 - the example's


@tool(effect="read", permission="vault:read")
async def count_coins(token: Annotated[str, Secret]) -> str:
    """Count the coins in a vault."""
    return "40 coins" if token == "token-for-cave" else "a wrong token"  # noqa: S105 - the example's


async def main() -> None:
    model = Scripted(
        [
            [ToolCall("a", "open_vault", {"name": "cave", "password": "open sesame"})],
            # What a model was shown of the token is all that it needs in order to hand it on.
            lambda request: [ToolCall("b", "count_coins", {"token": request.messages[-1].results[0].text})],
            "There are 40 coins.",
        ]
    )
    harness = Harness(model, Catalogue([open_vault, count_coins]), secrets_key=b"from your own key store")
    run = await harness.run("How many coins are in the cave?", Session(requester="ali", permissions={"vault:*"}))
    for message in run.messages:
        for call in message.calls:
            print(call.name, call.arguments)
        for result in message.results:
            print("   ->", result.text)


asyncio.run(main())
