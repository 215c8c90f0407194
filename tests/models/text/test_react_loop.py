"""ReAct in both forms as a run: where generation stops, what is read, and how results go back."""

from __future__ import annotations

from pathlib import Path

import pytest
from completion_kit import Scripted

from counterfoil import Catalogue, Harness, Session, SqliteJournal, tool
from counterfoil.models.text_model import TextModel
from counterfoil.run.replay import replay
from counterfoil.run.run import Run
from counterfoil.types.message import Message, Reasoning, Text, ToolCall, ToolResult, user
from counterfoil.types.request import Request

pytestmark = pytest.mark.anyio

ADA = Session(requester="ada", permissions=frozenset({"*"}))
ACT = "Thought: I look her up.\nAction: Search[Beagle]"


@tool(effect="read", name="Search")
def search(entity: str) -> str:
    """Find a ship."""
    return f"{entity}: captain FitzRoy"


@tool(effect="irreversible", name="Scuttle")
def scuttle(ship: str, depth: int) -> str:
    """Sink a ship."""
    return f"{ship} is sunk in {depth} fathoms"


async def _run(completion: Scripted, family: str = "react") -> Run:
    harness = Harness(TextModel(completion, family, constrain=False), Catalogue([search, scuttle]))
    return await harness.run("Who was her captain?", ADA)


async def test_the_common_form() -> None:
    completion = Scripted(
        'Thought: I look her up.\nAction: Search\nAction Input: {"entity": "Beagle"}',
        "Thought: I know.\nFinal Answer: FitzRoy",
        constrains=False,
    )
    run = await _run(completion)
    assert run.text == "FitzRoy"
    assert [each.text for message in run.messages for each in message.results] == ["Beagle: captain FitzRoy"]
    assert all("\nObservation" in asked.sampling.stop for asked in completion.asked)
    assert completion.asked[1].prompt.endswith(
        'Assistant: Thought: I look her up.\nAction: Search\nAction Input: {"entity": "Beagle"}\n'
        "Observation: Beagle: captain FitzRoy\nAssistant:"
    )


async def test_the_form_of_the_paper_is_one_text_that_goes_on() -> None:
    completion = Scripted(ACT, "Thought: I know.\nAction: Finish[FitzRoy]", constrains=False)
    run = await _run(completion, "react-paper")
    assert run.text == "FitzRoy"
    told = f"Assistant: {ACT}\nObservation: Beagle: captain FitzRoy\n"
    assert completion.asked[1].prompt.endswith(told)
    assert completion.asked[1].prompt.startswith(completion.asked[0].prompt)


async def test_an_action_of_several_parameters_waits_for_a_person_and_goes_on_in_another_process(
    tmp_path: Path,
) -> None:
    act = 'Thought: Away with her.\nAction: Scuttle[{"ship": "Beagle", "depth": 9}]'
    catalogue, journal = Catalogue([search, scuttle]), SqliteJournal(tmp_path / "runs.db")
    first = TextModel(Scripted(act, constrains=False), "react-paper", constrain=False)
    run = await Harness(first, catalogue, journal=journal).run("Sink her.", ADA)
    assert [each.call.arguments for each in run.confirmations] == [{"ship": "Beagle", "depth": 9}]
    await journal.aclose()

    journal = SqliteJournal(tmp_path / "runs.db")
    completion = Scripted("Action: Finish[Done.]", constrains=False)
    harness = Harness(TextModel(completion, "react-paper", constrain=False), catalogue, journal=journal)
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    run = await harness.resume(run.id)
    assert run.text == "Done."
    assert completion.asked[0].prompt.endswith(f"{act}\nObservation: Beagle is sunk in 9 fathoms\n")
    assert (await replay(await journal.read(run.id), catalogue)).same
    await journal.aclose()


@pytest.mark.parametrize(
    ("act", "found"),
    [
        ("Action: Search\nAction Input: Beagle", {"entity": "Beagle"}),
        ("Action 1: Search[Beagle [ship]]", {"entity": "Beagle [ship]"}),
        ("Thought: hm\nAction: Search\nAction Input: the\nBeagle", {"entity": "the\nBeagle"}),
    ],
)
async def test_plain_text_that_a_stop_string_ended_is_whole(act: str, found: dict[str, str]) -> None:
    run = await _run(Scripted(act, "Final Answer: so", constrains=False))
    assert [each.arguments for message in run.messages for each in message.calls] == [found]


@pytest.mark.parametrize("act", ["Action: Search\nAction Input: Bea", "Action: Search[Bea"])
async def test_plain_text_that_the_limit_of_tokens_ended_is_not(act: str) -> None:
    model = TextModel(Scripted(act, constrains=False, stop="length"), "react", constrain=False)
    reply = await model.reply(Request((user("Who?"),), (search.spec,)))
    (call,) = reply.message.calls
    assert call.arguments is None
    assert "cut off" in (call.parse_error or "")


async def test_an_observation_that_the_model_invents_is_neither_a_result_nor_a_call() -> None:
    invented = f"{ACT}\nObservation: none\nAction: Scuttle[x]\n"
    completion = Scripted(invented, "Action: Finish[so]", constrains=False)
    run = await _run(completion, "react-paper")
    assert [each.name for message in run.messages for each in message.calls] == ["Search"]
    assert "none" not in completion.asked[1].prompt


async def test_what_was_thought_and_done_is_told_as_it_was_written() -> None:
    model = TextModel(Scripted(constrains=False), "react-paper")
    said = [
        user("Who?"),
        Message("assistant", (Reasoning("Two."), ToolCall("1", "Search", {"entity": "a"}))),
        Message("tool", (ToolResult("1", (Text("A"),)),)),
        Message("assistant", (Reasoning("Done."), Text("It is A."))),
        user("And b?"),
    ]
    assert model.dialogue.prompt(said, [search.spec]).endswith(
        "User: Who?\nAssistant: Thought: Two.\nAction: Search[a]\nObservation: A\n"
        "Thought: Done.\nAction: Finish[It is A.]\nUser: And b?\nAssistant:"
    )
