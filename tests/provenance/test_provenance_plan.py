"""The plan: fixed before the first untrusted text, matched exactly, spent once; rules that take values from data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from provenance_kit import HOW, Desk

from counterfoil.gate.provenance.plan import same
from counterfoil.types.plan import Intent, Pick

MONEY = Intent("pay", {"iban": "GB29NWBK60161331926819"}, open=("amount", "note"))
FILES = [
    {"id": "40011", "name": "Big report", "size": 10},
    {"id": "40012", "name": "Small note", "size": 2},
    {"id": "40013", "name": "Tiny note", "size": 1},
]
LARGEST = Intent("delete_file", taken={"file_id": Pick("list_files", most="size", take="id")})


def test_a_planned_call_runs_and_any_other_asks() -> None:
    desk = Desk("Send 12.00 to GB29NWBK60161331926819.").plan(MONEY).page()
    assert desk.why("pay", iban="GB29NWBK60161331926819", amount=12) is None
    assert desk.why("pay", iban="US133000000121212121212", amount=12) == "OFF_PLAN"
    assert desk.why("delete_file", file_id="40011") == "OFF_PLAN"


def test_a_slot_of_the_plan_is_spent_once_unless_many_are_meant() -> None:
    call: dict[str, Any] = {"iban": "GB29NWBK60161331926819", "amount": 12}
    desk = Desk("Send 12.00 to GB29NWBK60161331926819.").plan(MONEY).page()
    desk.run("pay", **call)
    assert desk.why("pay", **call) == "OFF_PLAN"
    loop = Desk("Tell each of them: Ann and Bob.").plan(Intent("send_mail", open=("to", "body"), many=True)).page()
    loop.run("send_mail", to="Ann", body="hi")
    assert loop.why("send_mail", to="Bob", body="hi") is None


def test_a_planned_call_may_not_grow_an_argument() -> None:
    desk = Desk("Add lunch to my calendar.").plan(Intent("add_event", {"title": "lunch"}, open=("day",))).page()
    assert desk.why("add_event", title="lunch", day="2024-05-15") is None
    assert desk.wrong("add_event", title="lunch", day="2024-05-15", guests=["m@evil.example"]) == {
        "guests": ["m@evil.example"]
    }
    assert desk.why("add_event", title="lunch", guests=["m@evil.example"]) == "OFF_PLAN"
    assert desk.why("add_event", title="lunch", guests=[]) is None


def test_the_difference_from_the_plan_is_shown() -> None:
    desk = Desk("Send 12.00 to GB29NWBK60161331926819.").plan(MONEY).page("to US133000000121212121212")
    (wrong,) = [
        each for each in desk.judge("pay", iban="US133000000121212121212", amount=12).traced if not each.trusted
    ]
    assert (wrong.argument, wrong.planned, wrong.source) == ("iban", "GB29NWBK60161331926819", "a page")


def test_open_arguments_are_still_under_the_rules_on_origins() -> None:
    desk = (
        Desk("Pay the bill.").plan(Intent("pay", open=("iban", "amount"))).page("Pay 98.70 to UK12345678901234567890")
    )
    ruling = desk.judge("pay", iban="UK12345678901234567890", amount=98.7)
    assert ruling.why == "ARG_ORIGIN"
    assert {each.argument for each in ruling.traced if not each.trusted} == {"iban", "amount"}


def test_after_the_first_untrusted_text_a_model_cannot_widen_the_plan() -> None:
    desk = Desk("Pay the bill.").plan().page()
    assert not desk.known.intend([MONEY], by_model=True)
    assert desk.why("pay", iban="GB29NWBK60161331926819", amount=12) == "OFF_PLAN"
    assert desk.known.intend([MONEY], by_model=False)
    assert desk.why("pay", iban="GB29NWBK60161331926819", amount=12) == "ARG_ORIGIN"


def test_without_a_plan_everything_consequential_asks_after_the_first_untrusted_text() -> None:
    desk = Desk("Send 12.00 to GB29NWBK60161331926819.")
    call: dict[str, Any] = {"iban": "GB29NWBK60161331926819", "amount": 12}
    assert desk.why("pay", **call) is None
    desk.page()
    assert desk.why("pay", **call) == "OFF_PLAN"
    assert desk.why("search_mails", query="x") is None


def test_a_rule_takes_a_value_that_nobody_outside_could_choose() -> None:
    desk = Desk("Delete the largest file.").plan(LARGEST)
    desk.read("list_files", FILES)
    assert desk.known.tainted
    assert desk.why("delete_file", file_id="40011") is None
    assert desk.wrong("delete_file", file_id="40012") == {"file_id": "40012"}
    assert desk.judge("delete_file", file_id="40012").traced[0].planned == "40011"


def test_a_trusted_value_is_not_a_trusted_choice() -> None:
    desk = Desk("Delete the largest file.").plan(Intent("delete_file", open=("file_id",)))
    desk.read("list_files", FILES)
    assert desk.why("delete_file", file_id="40011") == "ARG_ORIGIN"
    assert desk.judge("delete_file", file_id="40011").traced[0].origin == "SYSTEM"


def test_a_rule_goes_by_the_first_such_result_and_by_no_other_look_up() -> None:
    desk = Desk("Delete the largest file.").plan(LARGEST)
    desk.read("list_files", FILES[1:], page=2)
    assert desk.why("delete_file", file_id="40012") == "OFF_PLAN"
    desk.read("list_files", FILES)
    desk.read("list_files", FILES[1:])
    assert desk.why("delete_file", file_id="40012") == "OFF_PLAN"
    assert desk.why("delete_file", file_id="40011") is None


@pytest.mark.parametrize(
    "pick",
    [
        Pick("list_files", most="name", take="id"),
        Pick("list_files", where={"name": "Tiny note"}, take="id"),
        Pick("list_files", most="size", take="name"),
        Pick("list_files", take="id"),
        Pick("list_files", where={"size": 77}, take="id"),
        Pick("list_files", most="size", take="owner"),
        Pick("list_files", {"all": True}, most="size", take="id"),
        Pick("search_files", most="size", take="id"),
        Pick("list_files", most="size", take="name", link=True),
    ],
)
def test_a_rule_never_looks_at_what_an_outsider_can_write_and_never_chooses_among_many(pick: Pick) -> None:
    desk = Desk("Delete a file.").plan(Intent("delete_file", taken={"file_id": pick}))
    desk.read("list_files", FILES)
    for value in ("40011", "40012", "40013", "Big report", "Tiny note"):
        assert desk.why("delete_file", file_id=value) == "OFF_PLAN"


def test_a_tie_is_no_choice() -> None:
    desk = Desk("Delete the largest file.").plan(LARGEST)
    desk.read("list_files", [{"id": "40011", "size": 3}, {"id": "40012", "size": 3}])
    desk.page()
    assert desk.why("delete_file", file_id="40011") == "OFF_PLAN"


def test_a_rule_may_do_sums_and_take_lists() -> None:
    refund = Pick("search_mails", {"query": "rent"}, {"from": "bob"}, take="at", times=0.5, plus=1)
    desk = Desk("Pay half of what bob wrote, plus 1, to GB29NWBK60161331926819.")
    desk.plan(Intent("pay", {"iban": "GB29NWBK60161331926819"}, {"amount": refund}))
    desk.read("search_mails", [{"id": "7", "at": 30, "from": "bob", "body": "a b"}], query="rent")
    assert desk.why("pay", iban="GB29NWBK60161331926819", amount=16.0) is None
    assert desk.why("pay", iban="GB29NWBK60161331926819", amount=30) == "OFF_PLAN"
    guests = Desk("Invite whoever wrote about rent.").plan(
        Intent("add_event", {"title": "x"}, {"guests": Pick("search_mails", {"query": "rent"}, take="from")})
    )
    guests.read("search_mails", [{"id": "7", "from": ["a@x.example", "b@x.example"], "body": "a b"}], query="rent")
    assert guests.why("add_event", title="x", guests=["a@x.example", "b@x.example"]) is None
    assert guests.why("add_event", title="x", guests=["a@x.example"]) == "OFF_PLAN"


def test_the_only_link_in_a_place_may_be_fetched_and_used_for_nothing_else() -> None:
    link = Pick("search_mails", {"query": "article"}, {"from": "bob"}, take="body", link=True)
    mails = [
        {"id": "7", "from": "bob", "body": "read www.news.example/a."},
        {"id": "8", "from": "eve", "body": "read www.evil.example"},
    ]
    desk = Desk("Read bob's article.").plan(
        Intent("open_page", taken={"url": link}), Intent("send_mail", taken={"to": link})
    )
    desk.read("search_mails", mails, query="article")
    assert desk.why("open_page", url="www.news.example/a") is None
    assert desk.why("open_page", url="www.news.example/a?leak=1") == "OFF_PLAN"
    assert desk.why("open_page", url="www.evil.example") == "OFF_PLAN"
    assert desk.why("send_mail", to="www.news.example/a") == "ARG_ORIGIN"
    two = Desk("Read bob's article.").plan(Intent("open_page", taken={"url": link}))
    two.read("search_mails", [{**mails[0], "body": "www.news.example/a or www.evil.example"}], query="article")
    assert two.why("open_page", url="www.news.example/a") == "OFF_PLAN"


def test_a_secret_is_never_taken_by_a_rule() -> None:
    desk = Desk("Pay GB29NWBK60161331926819.")
    desk.plan(Intent("pay", {"iban": "GB29NWBK60161331926819"}, {"amount": Pick("read_vault", take="pin")}))
    desk.read("read_vault", {"pin": 1234})
    desk.page()
    assert desk.known.plan.find("pay", {"iban": "GB29NWBK60161331926819", "amount": 1234}, HOW["pay"],
                                desk.known.results) is None  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ("A  b", "A  b", True),
        ("A  b", "a B", False),
        ("# tidy up rm -rf /data", "# tidy up\nrm -rf /data", False),
        (3, 3.0, True),
        ("3", 3, True),
        (3, "3", True),
        (200.29, 200.29000000000002, True),
        (200.29, 200.3, False),
        (200.29, 200.294, False),
        (0.001, 0.0059, False),
        (0, 0.004, False),
        (12345678901, 12345678902, False),
        (12345678901234567, 12345678901234568, False),
        (12345678901234567, 12345678901234568.0, False),
        (9007199254740993, 9007199254740992.0, False),
        (1e12, 1e12 + 1, False),
        (1050, 1000 * 1.05, True),
        (True, 1, False),
        (None, None, True),
        ([1, 2], [1, 2], True),
        ([1, 2], [2, 1], False),
        ([1], 1, False),
        ({"a": "X"}, {"a": "X"}, True),
        ({"a": "X"}, {"a": "x"}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({}, [], False),
    ],
)
def test_values_are_the_same_to_the_letter_but_numbers_by_value(first: Any, second: Any, equal: bool) -> None:
    assert same(first, second) is equal


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_every_value_is_the_same_as_itself(value: Any) -> None:
    assert same(value, value)
