import asyncio
from typing import Annotated

import msgspec

from counterfoil import Catalogue, Harness, Message, Session, Text, ToolCall, ToolResult, tool
from counterfoil.models.completions import EngineCompletion
from counterfoil.models.continuous import one_text
from counterfoil.models.local import WEIGHTS, find
from counterfoil.models.text_model import TextModel
from counterfoil.types.message import user
from counterfoil.types.request import Sampling

Product = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,6} \* [0-9]{1,6}$")]


@tool(effect="read", name="Calculator")
def calculator(expression: Product) -> str:
    """Multiply two numbers."""
    one, other = expression.split(" * ")
    return str(int(one) * int(other))


def example(asked: str, before: str, product: str, result: str, behind: str) -> list[Message]:
    """One text with a call in it, as a model would have written it."""
    call = ToolCall(product, "Calculator", {"expression": product})
    return [
        user(f"Complete: {asked}"),
        Message("assistant", (Text(before), call)),
        Message("tool", (ToolResult(product, (Text(result),)),)),
        Message("assistant", (Text(behind),)),
    ]


shown = [
    *example("He has 5 rooms of 31 beds.", "He has 5 rooms of 31 beds, that is ", "5 * 31", "155", " beds."),
    *example("She bought 12 boxes of 24 pens.", "She bought 12 boxes of 24 pens, that is ", "12 * 24", "288", " pens."),
]


async def main() -> None:
    with EngineCompletion.load(find(WEIGHTS["smollm2"])) as completion:
        model = TextModel(completion, "toolformer")
        harness = Harness(model, Catalogue([calculator]), sampling=Sampling(max_tokens=60))
        ada = Session(requester="ada", permissions={"Calculator"})
        run = await harness.run("Complete: The ship carried 35 sacks of 60 pounds.", ada, history=shown)
    print(repr(run.text))
    print(one_text(model.family, run.messages[-3:], [calculator.spec]))


asyncio.run(main())
