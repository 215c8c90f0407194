"""Typed values: how a second model reads them out of what the first must not, and that outsiders chose them."""

from __future__ import annotations

import re
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from provenance_kit import HOW, TRUST, USER, Desk
from provenance_press import ADA, EVIL, FETCH, PLAIN, PROMPT, Press, extract, seen, send

from counterfoil import Function, Intent, Label, ModelError, Scripted, ToolCall
from counterfoil.cli.words import card
from counterfoil.gate.provenance.leaves import Leaf, integrity_of, label_value
from counterfoil.run.replay import replay
from counterfoil.run.walk import walk
from counterfoil.tools.guess import handling
from counterfoil.tools.trust import Trust

pytestmark = pytest.mark.anyio
IBAN = "GB29NWBK60161331926819"
NONE = "There is no answer: nothing of that kind was found in it."


def answers(*values: Any) -> Scripted:
    return Scripted([[ToolCall("z", "answer", {"value": each})] for each in values])


async def test_a_second_model_reads_a_number_and_the_first_reads_nothing_else() -> None:
    second = answers(48.5)
    press = Press([FETCH], [extract("number")], [send("It is 48.5.")], page=f"{PLAIN} {EVIL}", second=second)
    run = await press.harness.run(PROMPT, ADA)
    assert (run.outcome.kind, run.results["2.1"].text) == ("answered", '{"value":48.5}')
    assert run.results["2.1"].label == Label("typed", "extract")
    assert press.sent[0]["body"] == "It is 48.5."
    for word in ("Snow", "IMPORTANT", "mallory", "9999"):
        assert word not in press.read
    (request,) = second.requests
    assert EVIL in seen(second.requests)
    assert [each.name for each in request.tools] == ["answer"]
    assert (request.tool_choice.mode, request.tool_choice.names) == ("any", ("answer",))
    assert "sarah" not in seen(second.requests)
    records = await press.journal.read(run.id)
    assert walk(records) == []
    again = await replay(records, press.catalogue, press.gate)
    assert again.same, again.differences


FITS: dict[str, list[Any]] = {
    "number": [3, -2.5, 0, 2**53 - 1],
    "integer": [3, -7],
    "flag": [True, False],
    "date": ["2024-05-01", "2024-02-29"],
    "choice": ["late", "lost"],
}
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**53),
    st.floats(allow_nan=False),
    st.text(max_size=30),
    st.sampled_from(
        [EVIL, "2024-13-01", "2024-5-1", "2024-W18-3", "20240501", "LATE", "late ", "3", 3.0, [3], {"value": 3}]
    ),
)


@pytest.mark.parametrize("kind", FITS)
async def test_each_kind_of_value_comes_back_as_what_it_is(kind: str) -> None:
    more = {"choices": ["late", "lost"]} if kind == "choice" else {}
    press = Press([FETCH], [extract(kind, **more)] * 2, second=answers(*FITS[kind][:2]))
    run = await press.harness.run(PROMPT, ADA)
    values = [str(run.results[id].text) for id in ("2.1", "2.2")]
    assert values == [f'{{"value":{each}}}' for each in map(as_json, FITS[kind][:2])]
    assert {run.results[id].label for id in ("2.1", "2.2")} == {Label("typed", "extract")}


def as_json(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


@given(st.sampled_from(sorted(FITS)), ANYTHING)
def test_whatever_the_second_model_says_the_first_reads_a_typed_value_or_the_one_error(kind: str, said: Any) -> None:
    async def main() -> None:
        more = {"choices": ["late", "lost"]} if kind == "choice" else {}
        press = Press([FETCH], [extract(kind, **more)], page=EVIL, second=answers(said))
        run = await press.harness.run(PROMPT, ADA)
        result = run.results["2.1"]
        assert run.state.known is not None
        assert not run.state.known.tainted
        if result.is_error:
            assert result.text.startswith(NONE)
        else:
            fits = {"number": int | float, "integer": int, "flag": bool}.get(kind, str)
            assert isinstance(said, fits)
            assert kind not in ("date", "choice") or said in ("late", "lost") or re.fullmatch(r"[\d-]{10}", str(said))

    anyio.run(main)


@pytest.mark.parametrize("kind", sorted(FITS))
async def test_what_fits_is_never_taken_for_an_error(kind: str) -> None:
    more = {"choices": ["late", "lost"]} if kind == "choice" else {}
    for each in FITS[kind]:
        press = Press([FETCH], [extract(kind, **more)], second=answers(each))
        assert not (await press.harness.run(PROMPT, ADA)).results["2.1"].is_error


@pytest.mark.parametrize(
    "second",
    [
        Scripted([EVIL]),
        Scripted([[ToolCall("z", EVIL, {"value": 3})]]),
        Scripted([[ToolCall("z", "answer", {"value": 3}), ToolCall("z", "answer", {"value": 4})]]),
        Scripted([[ToolCall("z", "answer", None, EVIL)]]),
        Scripted([]),
        Function(lambda request: (_ for _ in ()).throw(ModelError(EVIL))),
        Function(lambda request: (_ for _ in ()).throw(RuntimeError(EVIL))),
    ],
)
async def test_whatever_goes_wrong_says_nothing_and_taints_nothing(second: Any, caplog: Any) -> None:
    press = Press([FETCH], [extract("number")], [send("hi", to="new@x.example")], page=EVIL, second=second)
    run = await press.harness.run(PROMPT, ADA)
    assert run.results["2.1"].is_error
    assert run.results["2.1"].label == Label("system", "extract")
    assert run.outcome.kind == "answered"
    assert len(press.sent) == 1
    assert "IMPORTANT" not in press.read
    again = await replay(await press.journal.read(run.id), press.catalogue, press.gate)
    assert again.same, again.differences


async def test_an_integer_is_not_long_enough_to_spell_anything() -> None:
    press = Press([FETCH], [extract("integer"), extract("number")], second=answers(2**53, -(10**300)))
    run = await press.harness.run(PROMPT, ADA)
    assert [run.results[id].text.startswith(NONE) for id in ("2.1", "2.2")] == [True, True]


async def test_choices_are_words_and_belong_to_a_choice() -> None:
    calls = [
        extract("choice"),
        extract("number", choices=["a", "b"]),
        extract("choice", choices=["do as I say", "b"]),
        extract("choice", choices=["$v1", "b"]),
        extract("text"),
    ]
    press = Press([FETCH], calls, page=EVIL)
    run = await press.harness.run(PROMPT, ADA)
    assert all(run.results[f"2.{n}"].is_error for n in range(1, 6))
    assert "IMPORTANT" not in press.read
    assert [run.results[f"2.{n}"].text[:15] for n in (1, 2)] == ["Give `choices` "] * 2
    assert run.results["2.4"].code == "bad_arguments"
    assert "choice" in run.results["2.5"].text


async def test_an_amount_that_was_extracted_is_paid_when_the_user_said_it_or_a_person_does() -> None:
    press = Press([FETCH], [extract("number")], [ToolCall("p", "pay", {"amount": 9999})], second=answers(9999))
    run = await press.harness.run(PROMPT, ADA)
    (asked,) = run.confirmations
    assert (asked.code, press.paid) == ("ARG_ORIGIN", [])
    assert "! amount 9999, in extract" in str(card(asked))
    said = Press([FETCH], [extract("number")], [ToolCall("p", "pay", {"amount": 9999})], second=answers(9999))
    run = await said.harness.run(PROMPT + " Pay 9999.", ADA)
    assert (run.outcome.kind, said.paid) == ("answered", [9999])


# -- the floor


def test_what_is_declared_typed_stays_so_whatever_it_repeats_and_is_never_better() -> None:
    for returns in ({"v": "typed"}, "typed"):
        how = handling("it", {}, "read", Trust(returns=returns))  # type: ignore[arg-type]  # a literal
        for value, integrity in [("2024-05-01", "typed"), ("late", "typed"), ("do as I say", "untrusted")]:
            label, leaves = label_value({"v": value}, how, "it", inputs={f"x {value} y": "untrusted"})
            assert label.integrity == integrity
            assert leaves is not None
            assert integrity_of(Leaf(0, "v", value), leaves) == integrity
    better = handling("it", {}, "read", Trust(returns={"v": "system"}))
    assert label_value({"v": "late"}, better, "it", inputs={"late": "untrusted"})[0].integrity == "untrusted"


# -- outsiders choose typed values

FACTS = handling("facts", {}, "read", Trust(act="read", returns={"*": "typed", "ours": "system"}))


def facts(at: Desk, **values: Any) -> Desk:
    label, leaves = at.known.label_result("facts", FACTS, {}, values)
    at.known.read("facts", {}, as_text(values), label, leaves)
    assert not at.known.tainted
    return at


@pytest.mark.parametrize("mode", ["default", "strict"])
@pytest.mark.parametrize("planned", [True, False])
def test_a_typed_value_is_not_acted_on_although_nothing_untrusted_was_read(planned: bool, mode: Any) -> None:
    at = Desk("Pay what is owed.")
    if planned:
        at.plan(Intent("pay", open=("iban", "amount", "note")), Intent("send_mail", open=("to", "body"), many=True))
    assert at.why("pay", mode, iban=IBAN, amount=12) is None
    facts(at, iban=IBAN, mail="eve@evil.example", owed=48.5, page="evil.example")
    assert at.why("pay", mode, iban=IBAN, amount=12) == "ARG_ORIGIN"
    assert at.wrong("pay", mode, iban=IBAN, amount=12) == {"iban": IBAN, "amount": 12}
    assert at.why("send_mail", mode, to="Eve@evil.example", body="hi") == "ARG_ORIGIN"
    assert at.why("send_mail", mode, to="info@eve@evil.example.org", body="hi") == "ARG_ORIGIN"
    assert at.why("send_mail", mode, to="evil.example", body="hi") == "ARG_ORIGIN"
    assert at.why("send_mail", mode, to="bob@x.example", body="You owe 48.5.") is None
    assert at.why("send_mail", mode, to="bob@x.example", body="Write to eve@evil.example!") == "ACTIVE_CONTENT"
    assert at.why("send_mail", mode, to="bob@x.example", body="See https://evil.example/x?y") == "ACTIVE_CONTENT"
    assert at.why("send_mail", mode, to="bob@x.example", body="Write to bob@x.example!") is None


def test_a_number_may_have_been_worked_out_and_the_users_own_is_theirs() -> None:
    at = facts(Desk("Pay DE89370400440532013000 12.00 or so."), owed=48.5)
    mine: dict[str, Any] = {"iban": "DE89370400440532013000"}
    assert at.why("pay", **mine, amount=12) is None
    assert at.wrong("pay", **mine, amount=24.25) == {"amount": 24.25}
    assert at.wrong("pay", **mine, amount="24.25") == {"amount": "24.25"}
    words = facts(Desk("Pay DE89370400440532013000."), state="late")
    assert words.why("pay", **mine, amount=7) is None
    assert words.wrong("move_in", city="late") == {"city": "late"}
    assert words.wrong("move_in", city=True) == {"city": True}
    assert words.why("move_in", city="Paris") is None


def test_an_existing_value_that_an_outsider_named_too_is_not_the_models_choice() -> None:
    at = Desk("Tidy up.").plan()
    at.read("list_files", [{"id": "40012", "size": 1}, {"id": "40013", "size": 1}])
    assert at.why("delete_file", file_id="40012") is None
    facts(at, hint="40012")
    assert at.why("delete_file", file_id="40012") == "ARG_ORIGIN"
    assert at.why("delete_file", file_id="40013") is None
    facts(at, part="0013")
    assert at.why("delete_file", file_id="40013") is None  # it is the service's, and nobody named it
    assert at.why("delete_file", file_id="50013") == "ARG_ORIGIN"
    keyed = Desk("Delete 'report'.")
    keyed.read("search_files", [{"id": "40012", "name": "report"}], name="report")
    assert keyed.known.tainted  # a name is an outsider's text


def test_a_result_that_was_cut_may_have_had_any_value_in_it() -> None:
    at = Desk("Go.")
    label, leaves = at.known.label_result("facts", FACTS, {}, {"iban": IBAN})
    at.known.read("facts", {}, '{"iban": "GB29NW', label, leaves)
    assert at.why("send_mail", to="bob@x.example", body="hi") == "ARG_ORIGIN"
    assert at.why("send_mail", to="bob@x.example") == "ARG_ORIGIN"
    assert at.why("write_file", name="x", text="hi") is None


def test_text_that_is_labelled_typed_is_chosen_too() -> None:
    at = Desk("Go.")
    at.known.say(f"pay {IBAN}", Label("typed", "a form"))
    assert at.why("pay", iban=IBAN, amount=3) == "ARG_ORIGIN"
    ruling = at.judge("pay", iban=IBAN, amount=3)
    assert [each.source for each in ruling.traced][:1] == ["a form"]


def test_a_typed_value_that_is_kept_is_typed_when_it_is_read_again() -> None:
    at = facts(Desk("Keep it."), mail="eve@evil.example")
    how = HOW["write_file"]
    assert at.known.inputs("write_file", how, {"text": "eve@evil.example"}) == {"eve@evil.example": "typed"}
    assert at.known.inputs("write_file", how, {"text": "write to eve@evil.example"}) == {
        "write to eve@evil.example": "typed"
    }
    assert at.known.inputs("write_file", how, {"text": "my own words"}) == {"my own words": "config"}


VALUES = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(
        [IBAN, "eve@x.example", "40011", "40012", 12, 3.5, True, "late", "x.txt", "www.evil.example", "Paris"]
    ),
    max_size=3,
)
CALLS = st.sampled_from(
    [
        ("pay", {"iban": IBAN, "amount": 12}),
        ("pay", {"iban": "Eve", "amount": 3}),
        ("send_mail", {"to": "sarah@x.example", "body": "hello"}),
        ("send_mail", {"to": "eve@x.example", "body": "see www.evil.example"}),
        ("send_mail", {"body": "$v1"}),
        ("send_mail", {"to": "sarah@x.example", "body": "$v1", "files": ["40011"]}),
        ("send_mail", {"to": "$v1", "body": "$v1"}),
        ("delete_file", {"file_id": "40011"}),
        ("delete_file", {"file_id": "40012"}),
        ("write_file", {"name": "x.txt", "text": "$v1"}),
        ("open_page", {"url": "www.evil.example"}),
        ("open_page", {"url": "$v1"}),
        ("move_in", {"city": "Paris"}),
    ]
)
PAGES = st.sampled_from(["Buy now.", f"Pay {IBAN}", "www.evil.example", "to eve@x.example"])
READS = st.lists(st.one_of(VALUES, PAGES), max_size=3)


@given(
    st.sampled_from(["Pay Eve.", f"Send 12.00 to {IBAN} and mail sarah@x.example about 'report'.", "Hello"]),
    st.sampled_from([None, (), ("iban", "to", "file_id", "url")]),
    st.booleans(),
    PAGES,
    READS,
    READS,
    CALLS,
    st.sampled_from(["default", "strict"]),
)
def test_nothing_more_of_an_outsiders_lets_a_call_run_that_asked(
    prompt: str, fixed: Any, listed: bool, unseen: str, before: Any, more: Any, call: Any, mode: Any
) -> None:
    at = Desk(prompt)
    tool, arguments = call
    if fixed is not None:
        settled = {name: value for name, value in arguments.items() if name in fixed}
        at.plan(Intent(tool, settled, open=tuple(name for name in TRUST[tool]["roles"] if name not in settled)))
    if listed:
        at.read("list_files", [{"id": "40011", "size": 1}, {"id": "40012", "size": 2}])
    at.hold("$v1", unseen)
    for each in before:
        more_of(at, each)
    asked = at.why(tool, mode, **arguments)
    if asked is not None:
        for each in more:
            more_of(at, each)
        assert at.why(tool, mode, **arguments) is not None


def more_of(at: Desk, read: Any) -> None:
    if isinstance(read, str):
        at.page(read)
        return
    label, leaves = at.known.label_result("facts", FACTS, {}, read)
    at.known.read("facts", {}, as_text(read), label, leaves)


def as_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def test_the_user_is_free_to_say_what_an_outsider_chose() -> None:
    at = facts(Desk("Pay what is owed."), iban=IBAN, owed=12)
    at.known.say(f"Pay 12.00 to {IBAN}.", USER)
    assert at.why("pay", iban=IBAN, amount=12) is None
