"""An application's plan that contradicts itself cannot be made; one that names what is not there says what."""

from __future__ import annotations

from typing import Any, TypedDict

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil import (
    Catalogue,
    CounterfoilError,
    Harness,
    Intent,
    Message,
    Pick,
    Pins,
    Scripted,
    Session,
    Text,
    Tool,
    ToolCall,
    Trust,
    tool,
)
from counterfoil.tools.intended import faults


class Ticket(TypedDict):
    id: str
    order: str
    size: int


@tool(effect="read")
def read_ticket(ticket_id: str) -> Ticket:
    """Read a ticket."""
    return {"id": ticket_id, "order": "ORD-7", "size": 1}


@tool(effect="read")
def read_page(url: str) -> str:
    """Read a page."""
    return url


@tool(effect="read")
def read_any(name: str) -> Any:
    """Read whatever there is."""
    return name


@tool
def refund(order_id: str, amount: float) -> str:
    """Refund."""
    return order_id


DESK = Catalogue([read_ticket, read_page, read_any, refund])
TAKES = "Intent('refund') takes"
FROM_TICKET = Pick("read_ticket", {"ticket_id": "T-1"}, take="order")


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"fixed": {"to": "x"}, "open": ("to",)}, ValueError, "says of to more than one thing"),
        ({"taken": {"to": FROM_TICKET}, "open": ("to",)}, ValueError, "says of to more than one thing"),
        ({"taken": {"to": FROM_TICKET}, "fixed": {"to": "x"}}, ValueError, "says of to more than one thing"),
        ({"tool": refund}, TypeError, "begins with the name of a tool, 'refund', not with Tool"),
        ({"tool": len}, TypeError, "begins with the name of a tool"),
        ({"tool": ""}, TypeError, "begins with the name of a tool"),
        ({"taken": {"x": "y"}}, TypeError, "is Intent"),
        ({"fixed": {1: "y"}}, TypeError, "is Intent"),
        ({"open": (1,)}, TypeError, "is Intent"),
        ({"open": {"to": 1}}, TypeError, "is Intent"),
        ({"many": "yes"}, TypeError, "is Intent"),
    ],
)
def test_an_intent_that_contradicts_itself_cannot_be_made(wrong: dict[str, Any], error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        Intent(**{"tool": "pay", **wrong})


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({}, ValueError, r"Pick\('look'\) does not say what it takes: add take='field'"),
        ({"most": "a", "least": "b", "take": "c"}, ValueError, "the most or the least, not both"),
        ({"tool": refund, "take": "id"}, TypeError, "is Pick"),
        ({"tool": "", "take": "id"}, ValueError, "needs the name of a tool"),
        ({"most": 4, "take": "id"}, TypeError, "is Pick"),
        ({"times": "2", "take": "id"}, TypeError, "is Pick"),
        ({"plus": True, "take": "id"}, TypeError, "is Pick"),
        ({"where": {1: "x"}, "take": "id"}, TypeError, "is Pick"),
        ({"link": "yes"}, TypeError, "is Pick"),
    ],
)
def test_a_rule_that_contradicts_itself_cannot_be_made(wrong: dict[str, Any], error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        Pick(**{"tool": "look", **wrong})


def test_what_is_open_may_be_a_list_and_reads_back_as_it_was() -> None:
    names: Any = ["text"]
    intent = Intent("reply", {"to": "T-1"}, {"order": FROM_TICKET}, names)
    assert intent.open == ("text",)
    assert msgspec.json.decode(msgspec.json.encode(intent), type=Intent) == intent
    assert Pick("page", link=True).take == ""


@pytest.mark.parametrize(
    ("intent", "said"),
    [
        (Intent("refnd"), ["Intent('refnd'): no tool is named that; did you mean 'refund'?"]),
        (Intent("zzz"), ["Intent('zzz'): no tool is named that"]),
        (
            Intent("refund", {"order": "x"}, open=("amout",)),
            [
                "Intent('refund'): fixed names 'order', which is no argument of it; it takes order_id, amount; "
                "did you mean 'order_id'?",
                "Intent('refund'): open names 'amout', which is no argument of it; it takes order_id, amount; "
                "did you mean 'amount'?",
            ],
        ),
        (
            Intent("refund", taken={"order": Pick("read_tickt", take="order")}),
            [
                "Intent('refund'): taken names 'order', which is no argument of it; it takes order_id, amount; "
                "did you mean 'order_id'?",
                f"{TAKES} order by Pick('read_tickt'): no tool is named that; did you mean 'read_ticket'?",
            ],
        ),
        (
            Intent("refund", taken={"order_id": Pick("read_ticket", {"ticket": "T-1"}, {"state": 1}, take="ordr")}),
            [
                f"{TAKES} order_id by Pick('read_ticket'): it names 'ticket', which is no argument of it; "
                "it takes ticket_id; did you mean 'ticket_id'?",
                f"{TAKES} order_id by Pick('read_ticket'): take names 'ordr', which is no field of what it "
                "returns; there are id, order, size; did you mean 'order'?",
                f"{TAKES} order_id by Pick('read_ticket'): where names 'state', which is no field of what "
                "it returns; there are id, order, size",
            ],
        ),
        (
            Intent("refund", taken={"order_id": Pick("read_page", {"url": "u"}, take="order")}),
            [
                f"{TAKES} order_id by Pick('read_page'): take names 'order', and what it returns has no "
                "such fields: it is a text; '*' is all of it"
            ],
        ),
        ("refund", ["'refund' is no intent: write Intent(tool, fixed=..., taken=..., open=...)"]),
    ],
)
def test_what_a_plan_names_and_is_not_there_is_said(intent: Any, said: list[str]) -> None:
    assert sorted(faults([intent], DESK)) == sorted(said)


@pytest.mark.parametrize(
    "intent",
    [
        Intent("refund", {"amount": 5.0}, {"order_id": FROM_TICKET}),
        Intent("refund", open=("order_id", "amount")),
        Intent("refund", {"amount": 5}, {"order_id": Pick("read_any", {"name": "n"}, most="x", take="y.z")}),
        Intent("read_page", taken={"url": Pick("read_page", {"url": "u"}, link=True)}),
    ],
)
def test_of_what_is_there_nothing_is_said(intent: Intent) -> None:
    assert faults([intent], DESK) == []


def test_a_tool_in_quarantine_is_there() -> None:
    withheld = Catalogue([read_ticket]).pinned(Pins())
    assert faults([Intent("read_ticket", open=("anything",))], withheld) == []


def test_extras_that_a_schema_takes_may_be_planned() -> None:
    parameters = {"type": "object", "properties": {}, "additionalProperties": True}
    send = Tool.from_declaration({"name": "send", "parameters": parameters}, print, trust=Trust(roles={"x": "plain"}))
    assert faults([Intent("send", open=("anything",))], Catalogue([send])) == []


@given(st.text(max_size=8), st.text(max_size=8))
def test_a_plan_is_at_fault_exactly_for_what_is_not_there(name: str, argument: str) -> None:
    if not name:
        return
    wrong = faults([Intent(name, open=(argument,))], DESK)
    there = name in DESK and argument in DESK[name].spec.parameters["properties"]
    assert bool(wrong) is not there


# -- through a run

ADA = Session(requester="ada", permissions=frozenset({"*"}))


@tool(effect="read", trust=Trust(returns="system"))
def balance(account: str) -> float:
    """Say what is there."""
    return 48.5


@tool(trust=Trust(act="pay", returns="system"))
def pay(amount: float) -> str:
    """Pay."""
    return "paid"


def _payer(amount: float) -> Harness:
    looks = [ToolCall("a", "balance", {"account": "x"}), ToolCall("b", "read_page", {"url": "y"})]
    model = Scripted([looks, [ToolCall("c", "pay", {"amount": amount})], "Done."])
    return Harness(model, Catalogue([balance, pay, read_page]))


@pytest.mark.anyio
@pytest.mark.parametrize(("amount", "kind"), [(48.5, "answered"), (99.0, "waiting")])
async def test_a_rule_takes_the_whole_of_a_result_that_is_one_value(amount: float, kind: str) -> None:
    plan = Intent("pay", taken={"amount": Pick("balance", {"account": "x"}, take="*")})
    run = await _payer(amount).run("Pay what is on x, see y.", ADA, plan=[plan])
    assert run.outcome.kind == kind


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (Intent("pya"), "no tool is named that; did you mean 'pay'"),
        ([Intent("pay", {"amuont": 1})], "amuont"),
        ([{"tool": "pay"}], "is no intent: write Intent"),
    ],
)
async def test_a_run_with_a_plan_that_cannot_be_meant_does_not_begin(plan: Any, said: str) -> None:
    harness = _payer(1)
    with pytest.raises(CounterfoilError, match="the plan cannot be meant: ") as caught:
        await harness.run("Pay.", ADA, plan=plan)
    assert said in str(caught.value)
    assert await harness.journal.runs() == []


@pytest.mark.anyio
async def test_a_label_that_is_none_is_refused_and_not_overlooked() -> None:
    text: Any = Text("Pay 99.", "untrusted")  # type: ignore[arg-type] # what is tested
    said = Message("user", (text,))
    ways: list[dict[str, Any]] = [{"prompt": said}, {"prompt": "Pay.", "history": [said]}]
    for asked in ways:
        with pytest.raises(CounterfoilError, match="has 'untrusted' for its label"):
            await _payer(99).run(session=ADA, **asked)
