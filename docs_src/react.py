import asyncio

from counterfoil import Catalogue, Harness, Message, Session, Text, ToolCall, ToolResult, tool
from counterfoil.models.completions import EngineCompletion
from counterfoil.models.local import WEIGHTS, find
from counterfoil.models.template import ChatTemplate
from counterfoil.models.text_model import TextModel
from counterfoil.text.constrain import Turn
from counterfoil.types.message import Reasoning, user
from counterfoil.types.request import Sampling


@tool(effect="read", name="Search")
def search(entity: str) -> str:
    """Find what a reference book says of something."""
    return f"{entity} is a ship. Its captain was Robert FitzRoy."


# How it is done, shown once. Small models need that.
shown = [
    user("Question: Which country is Devonport in?"),
    Message("assistant", (Reasoning("I need to search Devonport."), ToolCall("1", "Search", {"entity": "Devonport"}))),
    Message("tool", (ToolResult("1", (Text("Devonport is a harbour in Plymouth, England."),)),)),
    Message("assistant", (Reasoning("It is in England."), Text("Devonport is in England."))),
]


async def main() -> None:
    weights = find(WEIGHTS["smollm2"])
    with EngineCompletion.load(weights) as completion:
        model = TextModel(completion, "react", ChatTemplate.load(weights), turn=Turn(calls=1))
        harness = Harness(model, Catalogue([search]), sampling=Sampling(max_tokens=60, stop=("\n\n",)))
        ada = Session(requester="ada", permissions={"Search"})
        run = await harness.run("Question: Who was the captain of the Beagle?", ada, history=shown)
    print(run.messages[-3].calls[0].arguments, "->", run.messages[-2].results[0].text)
    print(run.text)


asyncio.run(main())
