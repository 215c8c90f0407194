"""Test what your tools and permissions do, with a model that says what you tell it to."""

import asyncio

from counterfoil import Catalogue, Harness, Request, Scripted, Session, ToolCall, tool


@tool(effect="write", permission="notes:write")
async def add_note(text: str) -> str:
    """Add a note."""
    return f"noted: {text}"


def after_the_refusal(request: Request) -> str:
    assert request.messages[-1].results[0].code == "not_permitted"
    return "I may not."


async def test_a_reader_may_not_write() -> None:
    model = Scripted([[ToolCall("a", "add_note", {"text": "hi"})], after_the_refusal])
    run = await Harness(model, Catalogue([add_note])).run("Note this", Session(requester="ada"))
    assert run.text == "I may not."
    assert [spec.name for spec in model.requests[0].tools] == []  # what may not be called is not shown either
    model.assert_done()


asyncio.run(test_a_reader_may_not_write())
print("passed")
