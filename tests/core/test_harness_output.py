"""Structured answers: asked for, validated, repaired."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import pydantic
import pytest
from core_kit import ADA, Checked, ask, only, person, play

from counterfoil import Catalogue, CatalogueError, Harness, tool

pytestmark = pytest.mark.anyio


@dataclass
class Order:
    id: str
    total: float


class Parcel(msgspec.Struct):
    to: str
    on: datetime.date


class Even(pydantic.BaseModel):
    number: int

    @pydantic.field_validator("number")
    @classmethod
    def _is_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value


@tool(effect="read")
async def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize(
    ("kind", "arguments", "expected"),
    [
        (Order, {"id": "a", "total": 3}, Order("a", 3.0)),
        (Parcel, {"to": "b", "on": "2026-11-30"}, Parcel("b", datetime.date(2026, 11, 30))),
        (Even, {"number": 4}, Even(number=4)),
        (list[int], {"value": [1, 2]}, [1, 2]),
        (Literal["yes", "no"], {"value": "no"}, "no"),
        (dict[str, int], {"value": {"a": 1}}, {"a": 1}),
        (list[Order], {"value": [{"id": "a", "total": 1}]}, [Order("a", 1.0)]),
    ],
)
async def test_output_is_the_type_that_was_asked_for(kind: Any, arguments: dict[str, Any], expected: Any) -> None:
    run, model = await play([[ask("look")], [ask("answer", **arguments)]], [look], person("look"), output=kind)
    assert run.output == expected
    assert type(run.output) is type(expected)
    assert run.outcome.kind == "answered"
    assert [spec.name for spec in model.requests[0].tools] == ["look", "answer"]
    assert model.requests[0].tool_choice.mode == "any"


async def test_a_wrong_answer_is_repaired() -> None:
    turns = [[ask("answer", id="a")], [ask("answer", id="a", total="x", extra=1)], [ask("answer", id="a", total=1)]]
    run, _ = await play(turns, [], output=Order)
    assert run.output == Order("a", 1.0)
    assert "missing required property 'total'" in run.results["1.1"].text
    assert "no property 'extra'" in run.results["2.1"].text


async def test_what_only_the_type_can_refuse_is_repaired_too() -> None:
    run, _ = await play([[ask("answer", number=3)], [ask("answer", number=4)]], [], output=Even)
    assert run.results["1.1"].code == "bad_arguments"
    assert "must be even" in run.results["1.1"].text
    assert run.output == Even(number=4)


async def test_prose_instead_of_the_answer_is_nudged() -> None:
    run, model = await play(["It is a.", [ask("answer", id="a", total=1)]], [look], output=Order)
    assert run.output == Order("a", 1.0)
    assert model.requests[1].messages[-1].text == "Give your answer by calling answer."
    assert model.requests[1].tool_choice.names == ("answer",)


async def test_the_last_turn_forces_the_answer() -> None:
    run, model = await play([[ask("look")], [ask("answer", id="a", total=1)]], [look], person(turns=2), output=Order)
    assert model.requests[0].tool_choice.names is None
    assert model.requests[1].tool_choice.names == ("answer",)
    assert run.output == Order("a", 1.0)


async def test_never_answering_is_a_limit() -> None:
    run, _ = await play(["no", "still no"], [look], person(turns=2), output=Order)
    assert (run.outcome.kind, run.outcome.which, run.output) == ("limit", "turns", None)


async def test_a_tool_named_answer_keeps_its_name() -> None:
    @tool(effect="read")
    async def answer(phone: str) -> str:
        """Answer the phone."""
        return f"hello {phone}"

    model = Checked([[ask("answer", phone="1")], lambda request: [ask(request.tools[-1].name, id="a", total=1)]])
    run = await Harness(model, Catalogue([answer])).run("x", ADA, output=Order)
    names = [spec.name for spec in model.requests[0].tools]
    assert len(set(names)) == 2
    assert run.results["1.1"].text == "hello 1"
    assert run.output == Order("a", 1.0)


async def test_output_survives_a_confirmation() -> None:
    @tool(effect="irreversible")
    async def pay() -> str:
        """Pay."""
        return "paid"

    harness = Harness(Checked([[ask("pay")], [ask("answer", id="a", total=1)]]), Catalogue([pay]))
    run = await harness.run("x", ADA, output=Order)
    await harness.answer(run.confirmations[0].id, approve=True, by="bob")
    run = await harness.resume(run.id, output=Order)
    assert run.output == Order("a", 1.0)


async def test_a_type_without_json_form_says_so_early() -> None:
    with pytest.raises(CatalogueError, match="has no JSON form"):
        await Harness(Checked([]), Catalogue()).run("x", ADA, output=object)


async def test_only_the_asked_for_run_is_structured() -> None:
    harness = Harness(Checked([[ask("answer", id="a", total=1)], "prose"]), Catalogue())
    await harness.run("x", ADA, run_id="r", output=Order)
    run = await harness.run("and now in words", ADA, run_id="r")
    assert (run.text, run.output, only(run).is_error) == ("prose", None, False)
