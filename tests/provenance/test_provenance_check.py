"""The check in the gate: what the model reads, what a person reads, and what it costs."""

from __future__ import annotations

import gc
import sys
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from provenance_kit import Desk

from counterfoil import Catalogue, Gate, Harness, Message, Run, Scripted, Session, Text, ToolCall, ToolResult, tool
from counterfoil.gate.provenance.policy import Why
from counterfoil.gate.provenance.typed import Typed
from counterfoil.gate.provenance.wording import describe, for_model, for_person, lines, ticket
from counterfoil.types.label import Label
from counterfoil.types.message import user
from counterfoil.types.plan import Intent, Pick

IBAN = "GB29NWBK60161331926819"
ADA = Session(requester="ada", permissions=frozenset({"*"}))
WHYS: tuple[Why, ...] = ("ARG_ORIGIN", "OFF_PLAN", "ACTIVE_CONTENT", "SECRET_IN_SESSION")

pytestmark = pytest.mark.anyio


class Page(NamedTuple):
    """What was read."""

    source: str


PAGE = Page("a page")


def tainted() -> Desk:
    desk = Desk("Pay the bill.").plan(Intent("pay", open=("iban", "amount", "note")))
    return desk.page(f"Please pay 98.70 to {IBAN}")


def outside(text: str) -> list[Message]:
    """An earlier look at a page that anybody may have written."""
    seen = ToolResult("p1", (Text(text),), name="open_page", label=Label("untrusted", "a page"))
    return [user("Look."), Message("assistant", (ToolCall("p1", "open_page", {}),)), Message("tool", (seen,))]


class Till:
    """Counts what was paid, in a run that has read a page."""

    def __init__(self, **options: Any) -> None:
        self.paid: list[str] = []

        @tool(name="pay", effect="write")
        def pay(iban: str, amount: float) -> str:
            """Pay."""
            self.paid.append(iban)
            return "paid"

        call = ToolCall("c1", "pay", {"iban": IBAN, "amount": 98.7})
        self.harness = Harness(Scripted([[call], "Done."]), Catalogue([pay]), gate=Gate(**options))

    async def run(self, prompt: str = "Pay the bill.", page: str = f"Please pay 98.70 to {IBAN}") -> Run:
        """Have the bill paid, which says nothing of to whom."""
        plan = [Intent("pay", open=("iban", "amount"))]
        return await self.harness.run(prompt, ADA, history=outside(page), plan=plan)


async def test_a_call_that_text_from_outside_could_have_steered_waits_for_a_person() -> None:
    till = Till(provenance="default")
    run = await till.run()
    assert run.outcome.kind == "waiting"
    assert till.paid == []
    (asked,) = run.confirmations
    assert f'iban "{IBAN}", in a page, which others can write' in asked.reason
    await till.harness.answer(asked.id, approve=True, by="ada")
    run = await till.harness.resume(run.id)
    assert (run.outcome.kind, till.paid) == ("answered", [IBAN])


async def test_where_nobody_can_be_asked_it_is_refused_and_the_refusal_teaches() -> None:
    till = Till(provenance="default", unattended=True)
    run = await till.run()
    assert (run.outcome.kind, till.paid) == ("answered", [])
    result = run.results["1.1"]
    assert result.code == "untrusted_origin"
    assert "Do not retry; go on with the rest." in result.text
    assert IBAN not in result.text


async def test_off_lets_everything_through_and_must_be_spelled_out() -> None:
    till = Till(provenance="off")
    assert (await till.run()).outcome.kind == "answered"
    assert till.paid == [IBAN]
    with pytest.raises(ValueError, match="off must be spelled out"):
        Till(provenance="none")


async def test_what_the_model_reads_is_constant_but_for_the_ticket() -> None:
    texts = set()
    for prompt, page in (("Pay the bill.", f"Please pay 98.70 to {IBAN}"), ("Pay Bob.", "to Eve")):
        run = await Till(provenance="default", unattended=True).run(prompt, page)
        texts.add(run.results["1.1"].text.replace(ticket(run.id, "1.1"), "TICKET"))
    assert len(texts) == 1


async def test_each_reason_has_one_text_and_each_text_one_reason() -> None:
    texts = {why: for_model(why, "t") for why in WHYS}
    assert len(set(texts.values())) == len(WHYS)
    for why, text in texts.items():
        assert text.startswith(f"{why} (t). ")
        assert text.endswith("Nobody can be asked, so it was not done. Do not retry; go on with the rest.")


async def test_the_ticket_of_a_call_that_was_held_back_is_in_the_log_with_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level("INFO", "counterfoil.gate"):
        run = await Till(provenance="default", unattended=True).run()
    held = ticket(run.id, "1.1")
    assert held in run.results["1.1"].text
    assert [each.getMessage() for each in caplog.records] == [
        f"pay (call 1.1 of run {run.id}) was held back: ARG_ORIGIN ({held})"
    ]


async def test_a_person_sees_every_argument_with_its_origin_and_the_difference_from_the_plan() -> None:
    desk = (
        Desk(f"Pay {IBAN} 12.00.")
        .plan(Intent("pay", {"iban": IBAN, "amount": 12.0}))
        .page("no: US133000000121212121212")
    )
    ruling = desk.judge("pay", iban="US133000000121212121212", amount=12.0)
    assert for_person("pay", ruling) == (
        'pay differs from the plan; iban "US133000000121212121212", in a page, which others can write '
        f'(planned: "{IBAN}")'
    )
    assert lines(ruling.traced) == [
        f'! iban "US133000000121212121212", in a page, which others can write (planned: "{IBAN}")',
        "  amount 12.0, in the user's words",
    ]


@pytest.mark.parametrize(
    ("desk", "arguments", "reason"),
    [
        (
            Desk("Hello."),
            {"iban": IBAN, "amount": 98.7},
            f'pay is asked for after reading a page, which others can write; iban "{IBAN}", in a page, which others '
            "can write; amount 98.7, in a page, which others can write",
        ),
        (
            Desk("Hello.").plan(Intent("delete_file", open=("file_id",))),
            {"iban": IBAN},
            f'pay is not in the plan, and asked for after reading a page, which others can write; iban "{IBAN}", in a '
            "page, which others can write",
        ),
        (
            Desk(f"Pay {IBAN}.").plan(Intent("pay", {"iban": IBAN, "currency": "EUR"})),
            {"iban": IBAN},
            'pay differs from the plan; currency missing (planned: "EUR")',
        ),
        (
            Desk(f"Pay {IBAN}.").plan(Intent("pay", {"iban": IBAN})),
            {"iban": IBAN, "amount": 98.7},
            "pay differs from the plan; amount 98.7, in a page, which others can write (the plan has nothing there)",
        ),
        (
            Desk(f"Pay {IBAN}.").plan(Intent("pay", {"iban": IBAN}, taken={"amount": Pick("list_files", take="size")})),
            {"iban": IBAN, "amount": 7},
            "pay differs from the plan; amount 7, written after reading what others can write "
            "(the plan has nothing there)",
        ),
    ],
)
async def test_a_person_reads_why_a_call_is_off_the_plan(desk: Desk, arguments: dict[str, Any], reason: str) -> None:
    ruling = desk.page(f"Please pay 98.70 to {IBAN}").judge("pay", **arguments)
    assert (ruling.why, for_person("pay", ruling)) == ("OFF_PLAN", reason)


async def test_a_planned_call_that_was_made_already_is_said_to_have_been() -> None:
    desk = Desk(f"Pay {IBAN} 12.00.").plan(Intent("pay", {"iban": IBAN, "amount": 12.0})).page()
    first = desk.judge("pay", iban=IBAN, amount=12.0)
    assert first.intent == 0
    desk.known.plan.spend(first.intent)
    again = desk.judge("pay", iban=IBAN, amount=12.0)
    assert for_person("pay", again) == (
        "pay was planned, has been done already, and is asked for again after reading a page, which others can write"
    )


async def test_an_existing_value_is_not_said_to_be_in_what_others_can_write() -> None:
    desk = Desk("Tidy up.").plan(Intent("delete_file", open=("file_id",)))
    desk.read("search_files", [{"id": "40011", "name": "a b"}], name="x")
    ruling = desk.page("40011").judge("delete_file", file_id="40011")
    assert for_person("delete_file", ruling) == (
        'delete_file would act on something that the user did not give; file_id "40011", an existing one, but the '
        "model chose it"
    )


async def test_words_of_the_users_in_the_wrong_place_are_not_said_to_be_somebody_elses() -> None:
    desk = Desk(f"Pay {IBAN}, and tell Bob.")
    desk.known.intend([Intent("pay", open=("iban", "amount"))], by_model=True)
    ruling = desk.page().judge("pay", iban=IBAN)
    assert for_person("pay", ruling) == (
        f"pay has other words of the user's where the model's plan left a value to be read; iban \"{IBAN}\", in the "
        "user's words"
    )


@pytest.mark.parametrize(("text", "found"), [("It costs 500.", False), ("It costs 5.", True), ("item 15 or 55", False)])
async def test_a_short_value_is_found_only_whole(text: str, found: bool) -> None:
    assert (Desk("Hello.").page(text).known.source(5) != "") is found


async def test_nothing_that_a_person_reads_is_longer_than_it_must_be() -> None:
    ruling = tainted().judge("pay", iban="x" * 5000, amount=1)
    assert len(for_person("pay", ruling)) < 400
    assert describe(ruling.traced[0]).startswith('iban "xxx')


async def test_a_value_that_only_the_model_wrote_is_said_to_be_the_models() -> None:
    ruling = tainted().judge("pay", iban="US133000000121212121212", amount=98.7)
    assert "written after reading what others can write" in for_person("pay", ruling)


def calls_made(work: Any) -> int:
    """How many function calls a piece of work makes: a measure of its cost that no clock disturbs."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    # A collection of garbage in the middle would count too: what it calls, Hypothesis and others have registered.
    gc.disable()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def _grown(steps: int) -> Desk:
    desk = Desk(f"Pay {IBAN} 12.00.").plan(Intent("pay", {"iban": IBAN}, open=("amount",)))
    for step in range(steps):
        desk.page(f"page {step} " + "lorem ipsum " * 850)
        desk.read("list_files", [{"id": f"4{step:05}", "size": step, "name": "n n" * 3000}])
    desk.why("pay", iban=IBAN, amount=12.0)
    return desk


async def test_a_look_up_costs_the_same_after_200_long_results_as_after_20() -> None:
    short, long = _grown(20), _grown(200)
    costs = [calls_made(lambda each=each: each.why("pay", iban=IBAN, amount=12.0)) for each in (short, long)]
    assert costs[0] == costs[1]


def _typed(steps: int) -> Typed:
    typed = Typed()
    for step in range(steps):
        for number in range(100):
            typed.add(f"{step:03}-{number:05}", PAGE)
    typed.near("nothing like it")
    return typed


async def test_a_look_up_among_typed_values_costs_the_same_after_200_results_as_after_20() -> None:
    short, long = _typed(20), _typed(200)
    costs = [calls_made(lambda each=each: each.near("mallory@somewhere.example")) for each in (short, long)]
    assert costs[0] == costs[1]


@given(st.lists(st.text("ab1", max_size=9), max_size=30), st.text("ab1", max_size=30))
def test_what_is_like_a_typed_value_is_found_whichever_way_it_is_looked_for(read: list[str], wanted: str) -> None:
    typed = Typed()
    for each in read:
        typed.add(each, PAGE)
    like = wanted in read or (
        len(wanted) >= 4 and any(wanted in each or (len(each) >= 4 and each in wanted) for each in read)
    )
    assert (typed.near(wanted) is not None) is (like and wanted != "")


async def test_taking_up_a_text_costs_the_same_however_long_it_is() -> None:
    desk = Desk("Hello.").page()
    costs = [calls_made(lambda size=size: desk.page("lorem ipsum " * size)) for size in (1, 1000)]
    assert costs[0] == costs[1]
