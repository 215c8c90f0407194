import asyncio

from counterfoil import Catalogue, Harness, Session, tool
from counterfoil.models import local


@tool(effect="read", permission="orders:read")
async def lookup_order(order_id: str) -> str:
    """Find one order by its number. Says its status and where it is."""
    return f"{order_id} ships on Thursday"


async def main() -> None:
    ada = Session(requester="ada", permissions={"orders:read"})
    with local.load() as model:  # or "needle", or the path of a GGUF file
        run = await Harness(model, Catalogue([lookup_order])).run("Where is order ORD-1001?", ada)
    print(run.messages[1].calls[0].arguments, "|", run.text)


asyncio.run(main())
