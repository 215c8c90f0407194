"""Toolformer at inference: generation stops at the arrow, the call passes the gate, and the text goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from completion_kit import Scripted

from counterfoil import Catalogue, Harness, Session, SqliteJournal, tool
from counterfoil.models.continuous import one_text
from counterfoil.models.template import ChatTemplate
from counterfoil.models.text_model import TextModel
from counterfoil.run.replay import replay
from counterfoil.text import family, get
from counterfoil.types.message import Message, Text, ToolCall, ToolResult, user
from counterfoil.types.request import Request, ToolChoice

pytestmark = pytest.mark.anyio

ADA = Session(requester="ada", permissions=frozenset({"Calculator", "Wire"}))
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@tool(effect="read", name="Calculator")
def calculator(expression: str) -> str:
    """Work out a sum."""
    return {"400 / 1400": "0.29", "2 + 2": "4"}.get(expression, "no sum")


@tool(effect="irreversible", name="Wire")
def wire(to: str) -> str:
    """Wire money."""
    return f"wired to {to}"


CATALOGUE = Catalogue([calculator, wire])


@pytest.mark.parametrize("template", [None, ChatTemplate(CHATML)], ids=["plain", "chatml"])
async def test_text_call_result_and_what_follows_are_one_text(template: ChatTemplate | None) -> None:
    completion = Scripted(
        "Of 1400 people, 400 (or [Calculator(400 / 1400) ",
        ") agreed, which [Calculator(2 + 2) ",
        " did.",
        constrains=False,
    )
    model = TextModel(completion, "toolformer", template, constrain=False)
    run = await Harness(model, CATALOGUE).run("Write it out.", ADA)
    first, second, third = (asked.prompt for asked in completion.asked)
    assert second == f"{first}{'' if template else ' '}Of 1400 people, 400 (or [Calculator(400 / 1400) -> 0.29]"
    assert third == f"{second}) agreed, which [Calculator(2 + 2) -> 4]"
    assert run.text == " did."
    assert one_text(family("toolformer"), run.messages[1:], [each.spec for each in CATALOGUE]) == (
        "Of 1400 people, 400 (or [Calculator(400 / 1400) -> 0.29]) agreed, which [Calculator(2 + 2) -> 4] did."
    )
    assert all({"->", "→"} <= set(asked.sampling.stop) for asked in completion.asked)


async def test_a_call_is_refused_waits_and_is_replayed_like_any_other(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "runs.db")
    text = "Paid: [Rob(bank) "
    completion = Scripted(text, " no, [Wire(Bob) ", constrains=False)
    run = await Harness(TextModel(completion, "toolformer", constrain=False), CATALOGUE, journal=journal).run(
        "Pay.", ADA
    )
    assert [each.code for message in run.messages for each in message.results] == ["unknown_tool"]
    assert [each.call.arguments for each in run.confirmations] == [{"to": "Bob"}]
    await journal.aclose()

    journal = SqliteJournal(tmp_path / "runs.db")
    completion = Scripted(" today.", constrains=False)
    harness = Harness(TextModel(completion, "toolformer", constrain=False), CATALOGUE, journal=journal)
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    run = await harness.resume(run.id)
    assert completion.asked[0].prompt.endswith("] no, [Wire(Bob) -> wired to Bob]")
    assert run.text == " today."
    assert (await replay(await journal.read(run.id), CATALOGUE)).same
    await journal.aclose()


async def test_a_result_that_the_model_would_write_itself_ends_the_reply() -> None:
    completion = Scripted("It is [Calculator(2 + 2)] 5, and [Calculator(1 + 1)] 3, so", " 4.", constrains=False)
    run = await Harness(TextModel(completion, "toolformer", constrain=False), CATALOGUE).run("Go on.", ADA)
    assert [each.arguments for message in run.messages for each in message.calls] == [{"expression": "2 + 2"}]
    assert completion.asked[1].prompt.endswith("It is [Calculator(2 + 2) -> 4]")


@pytest.mark.parametrize(
    ("text", "stop", "arguments"),
    [
        ("It is [Calculator(2 + 2) ", "end", {"expression": "2 + 2"}),
        ("It is [Calculator((2 + 2)", "end", {"expression": "(2 + 2"}),
        ("It is [Calculator(2 + 2)", "length", None),
        ("It is [Calculator(2 + ", "end", None),
    ],
)
async def test_the_arrow_is_put_back_where_it_was_taken_only(
    text: str, stop: str, arguments: dict[str, str] | None
) -> None:
    model = TextModel(Scripted(text, constrains=False, stop=stop), "toolformer", constrain=False)
    (call,) = (await model.reply(Request((user("Go on."),), (calculator.spec,)))).message.calls
    assert call.arguments == arguments


async def test_prose_is_left_alone() -> None:
    for text, choice in [("See (a) ", ToolChoice()), ("An [x](y) ", ToolChoice()), ("a -> b", ToolChoice("none"))]:
        completion = Scripted(text, constrains=False)
        model = TextModel(completion, "toolformer", constrain=False)
        reply = await model.reply(Request((user("Go on."),), (calculator.spec,), choice))
        assert reply.message.text.rstrip() == text.rstrip()
        assert ("->" in completion.asked[0].sampling.stop) == (choice.mode != "none")


async def test_under_constraint_the_call_ends_the_reply() -> None:
    completion = Scripted("It is [Calculator(2 + 2)]", " 4.")
    run = await Harness(TextModel(completion, "toolformer"), CATALOGUE).run("Go on.", ADA)
    constraint = completion.asked[0].constraint
    assert constraint is not None
    assert "->" not in completion.asked[0].sampling.stop
    assert run.text == " 4."


def test_several_calls_of_one_reply_have_each_their_result() -> None:
    calls = ToolCall("1", "Calculator", {"expression": "2 + 2"}), ToolCall("2", "Calculator", {"expression": "3 + 3"})
    said = [
        Message("assistant", (Text("a "), calls[0], Text(" b "), calls[1], Text(" c"))),
        Message("tool", (ToolResult("1", (Text("4"),)), ToolResult("2", (Text("6"),)))),
    ]
    text = one_text(family("toolformer"), said, [calculator.spec])
    assert text == "a [Calculator(2 + 2) -> 4] b [Calculator(3 + 3) -> 6] c"
    assert [each.arguments for each in get("toolformer", [calculator.spec]).parse(text).message.calls] == [
        each.arguments for each in calls
    ]
