"""ReAct and Toolformer end to end on real weights: gate, journal, resumption and replay."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import msgspec
import pytest

from counterfoil import Catalogue, Harness, Run, Session, SqliteJournal, tool
from counterfoil.models.completions import Asked, Ended, EngineCompletion, Said
from counterfoil.models.continuous import one_text
from counterfoil.models.local import WEIGHTS, fetch
from counterfoil.models.template import ChatTemplate
from counterfoil.models.text_model import TextModel
from counterfoil.run.concurrency import closing
from counterfoil.run.replay import replay
from counterfoil.text import family
from counterfoil.text.constrain import Turn
from counterfoil.types.message import Message, Reasoning, Text, ToolCall, ToolResult, user
from counterfoil.types.request import Sampling

pytestmark = pytest.mark.anyio

ADA = Session(requester="ada", permissions=frozenset({"Calculator", "Search"}))
SAMPLING = Sampling(max_tokens=40, temperature=0.0, stop=("\n\n",))
SACKS = "Complete: The ship carried 35 sacks of 60 pounds."
CAPTAIN = "Question: Who was the captain of the Beagle?"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@tool(effect="read", name="Calculator")
def calculator(expression: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,4} \* [0-9]{1,4}$")]) -> str:
    """Multiply two numbers."""
    one, other = expression.split(" * ")
    return str(int(one) * int(other))


@tool(effect="read", name="Search")
def search(entity: str) -> str:
    """Find a paragraph about something."""
    return f"{entity} is a ship. Its captain was Robert FitzRoy."


def _shown(
    asked: str, *said: Text | Reasoning | ToolCall, result: str, then: tuple[Text | Reasoning, ...]
) -> list[Message]:
    (call,) = (each for each in said if isinstance(each, ToolCall))
    told = Message("tool", (ToolResult(call.id, (Text(result),)),))
    return [user(asked), Message("assistant", said), told, Message("assistant", then)]


BEDS, PENS, TREES = (
    _shown(
        f"Complete: {text}.",
        Text(f"{text}, that is "),
        ToolCall(product, "Calculator", {"expression": product}),
        result=result,
        then=(Text(f" {text.split()[-1]}."),),
    )
    for text, product, result in [
        ("He has 5 rooms of 31 beds", "5 * 31", "155"),
        ("She bought 12 boxes of 24 pens", "12 * 24", "288"),
        ("The park has 9 rows of 30 trees", "9 * 30", "270"),
    ]
)
PLACES, SHIPS = (
    _shown(
        question,
        Reasoning(f"I need to search {entity}."),
        ToolCall(entity, "Search", {"entity": entity}),
        result=result,
        then=(Reasoning(thought), Text(answer)),
    )
    for question, entity, result, thought, answer in [
        (
            "Question: Which country is Devonport in?",
            "Devonport",
            "Devonport is a harbour in Plymouth, England.",
            "It is in England.",
            "England",
        ),
        (
            "Question: Who was the captain of the Victory?",
            "Victory",
            "Victory is a ship. Its captain was Thomas Hardy.",
            "It was Thomas Hardy.",
            "Thomas Hardy",
        ),
    ]
)


class Heard:
    """The completion, with what it was asked and what it said."""

    def __init__(self, completion: EngineCompletion) -> None:
        self.name, self.constrains, self.adds_bos = completion.name, completion.constrains, completion.adds_bos
        self.prompts: list[str] = []
        self.texts: list[str] = []
        self._completion = completion

    async def complete(self, asked: Asked) -> AsyncGenerator[Said | Ended]:
        self.prompts.append(asked.prompt)
        self.texts.append("")
        async with aclosing(self._completion.complete(asked)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Said):
                    self.texts[-1] += piece.text
                yield piece


@pytest.fixture(scope="module")
def smollm2() -> Iterator[EngineCompletion]:
    with EngineCompletion.load(fetch(WEIGHTS["smollm2"]), context=1024) as completion:
        yield completion


async def _replayed(journal: SqliteJournal, run: Run, catalogue: Catalogue) -> bool:
    return (await replay(await journal.read(run.id), catalogue)).same


async def test_toolformer_stops_at_the_arrow_and_goes_on_behind_the_result(
    smollm2: EngineCompletion, tmp_path: Path
) -> None:
    heard, catalogue, journal = Heard(smollm2), Catalogue([calculator]), SqliteJournal(tmp_path / "runs.db")
    model = TextModel(heard, "toolformer", constrain=False)
    harness = Harness(model, catalogue, journal=journal, sampling=SAMPLING)
    run = await harness.run(SACKS, ADA, history=[*BEDS, *PENS, *TREES])
    call, result = run.messages[-3].calls[0], run.messages[-2].results[0]
    assert call.name == "Calculator"
    assert heard.texts[0].rstrip().endswith(")"), "the arrow is the server's, and what would have come behind it is not"
    assert heard.prompts[1].startswith(heard.prompts[0])
    assert heard.prompts[1].endswith(f"[Calculator({(call.arguments or {})['expression']}) -> {result.text}]")
    assert run.outcome.kind == "answered"
    assert await _replayed(journal, run, catalogue)
    await journal.aclose()


async def test_toolformer_under_constraint_is_stopped_and_goes_on(smollm2: EngineCompletion, tmp_path: Path) -> None:
    heard, catalogue, journal = Heard(smollm2), Catalogue([calculator]), SqliteJournal(tmp_path / "runs.db")
    harness = Harness(TextModel(heard, "toolformer"), catalogue, journal=journal, sampling=SAMPLING)
    async with closing(harness.stream(SACKS, ADA, run_id="sacks", history=[*BEDS, *PENS])) as events:
        async for _ in events:
            if heard.texts and heard.texts[0].endswith(")]"):
                break
    run = await harness.resume("sacks")
    assert run.outcome.kind == "answered"
    assert "2100]" in heard.prompts[-1][-30:]
    text = one_text(family("toolformer"), run.messages[-3:], [calculator.spec])
    assert text.startswith("The ship carried 35 sacks of 60 pounds, that is [Calculator(")
    assert text.endswith(run.text)
    assert await _replayed(journal, run, catalogue)
    await journal.aclose()


@pytest.mark.parametrize("form", ["react", "react-paper"])
async def test_react_acts_reads_and_answers(form: str, smollm2: EngineCompletion, tmp_path: Path) -> None:
    heard, catalogue, journal = Heard(smollm2), Catalogue([search]), SqliteJournal(tmp_path / "runs.db")
    template = ChatTemplate.load(fetch(WEIGHTS["smollm2"]))
    model = TextModel(heard, form, template, turn=Turn(calls=1))
    run = await Harness(model, catalogue, journal=journal, sampling=SAMPLING).run(CAPTAIN, ADA, history=PLACES)
    assert run.messages[-3].calls[0].arguments in ({"entity": "The Beagle"}, {"entity": "Beagle"})
    assert "Observation: " in heard.prompts[1][len(heard.prompts[0]) :]
    assert run.outcome.kind == "answered"
    assert run.text
    assert await _replayed(journal, run, catalogue)
    await journal.aclose()


async def test_react_of_the_paper_stops_before_the_observation(smollm2: EngineCompletion) -> None:
    heard = Heard(smollm2)
    model = TextModel(heard, "react-paper", constrain=False)
    run = await Harness(model, Catalogue([search]), sampling=SAMPLING).run(CAPTAIN, ADA, history=[*PLACES, *SHIPS])
    calls = [call for message in run.messages[len(PLACES + SHIPS) :] for call in message.calls]
    assert "Beagle" in (calls[0].arguments or {})["entity"]
    assert "Observation" not in heard.texts[0]
    assert heard.prompts[1].startswith(heard.prompts[0] + heard.texts[0])
