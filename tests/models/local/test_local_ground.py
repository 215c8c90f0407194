"""What is found in words: values for arguments, the tools that they fit, the sentences that report results."""

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from local_desk import CANCEL, CONVERT, DESK, LOOKUP, MESSAGE, ORDER

from counterfoil.models.local import SMALL, answer
from counterfoil.models.local.ground import grounded, regrounded, said, suggestions, unheard
from counterfoil.models.local.policy import choose, plan
from counterfoil.models.local.situation import read
from counterfoil.types.message import Message, Text, ToolCall, ToolResult, system, user
from counterfoil.types.request import AUTO, ToolChoice


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("where is ORD-1001", ["ORD-1001"]),
        ("ord-1001, and ORD-1002", ["ORD-1001", "ORD-1002"]),
        ("order 1005 please", ["ORD-1005"]),
        ("order 10055 or ORD-1 or xORD-12345", ["ORD-1234"]),
        ("nothing", []),
    ],
)
def test_identifiers_are_found(text: str, found: list[str]) -> None:
    assert said(ORDER, [text]) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2.5 pounds", [2.5]),
        ("-3 or 1,200", [-3, 1200]),
        ("12kg", [12]),
        ("two", [2]),
        ("ORD-1001", []),
        ("20%", [20, 0.2]),
    ],
)
def test_numbers_are_found(text: str, found: list[float]) -> None:
    assert said({"type": "number"}, [text]) == found


def test_integers_are_whole() -> None:
    assert said({"type": "integer", "maximum": 10}, ["2.5 and 3 and 40"]) == [3]


def test_listed_values_are_found_in_singular_and_plural_or_all_are_open() -> None:
    units = {"enum": ["pounds", "inches", "kg"]}
    assert said(units, ["a pound is how many kg"]) == ["pounds", "kg"]
    assert said(units, ["nothing"]) is None


def test_the_nearest_text_with_a_value_counts() -> None:
    assert said(ORDER, ["cancel it", "where is ORD-1003", "and ORD-1001"]) == ["ORD-1003"]


@given(st.text(max_size=120))
def test_whatever_is_offered_conforms_to_the_schema(text: str) -> None:
    for tool in DESK:
        narrowed, missing = grounded(tool, [text])
        for name, schema in narrowed.parameters["properties"].items():
            for value in schema.get("enum", []):
                assert jsonschema_rs.is_valid(tool.parameters["properties"][name], value)
        assert set(missing) <= set(tool.parameters["required"])


def test_what_is_lacking_is_named() -> None:
    assert grounded(CANCEL, ["cancel it"])[1] == ["order_id"]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Tell Grace that her parcel is late", {"to": ["Grace"], "text": ["her parcel is late"]}),
        ("message Linus: your refund is on its way", {"to": ["Linus"], "text": ["your refund is on its way"]}),
    ],
)
def test_likely_words(text: str, arguments: dict[str, list[str]]) -> None:
    narrowed, _ = grounded(MESSAGE, [text])
    assert {name: schema["enum"] for name, schema in narrowed.parameters["properties"].items()} == arguments


def test_a_unit_behind_a_number_is_where_it_comes_from() -> None:
    narrowed, _ = grounded(CONVERT, ["How many inches is 90 cm?"])
    properties = narrowed.parameters["properties"]
    assert (properties["from_unit"]["enum"], properties["to_unit"]["enum"]) == (["cm"], ["inches"])


def test_a_second_try_changes_what_the_error_speaks_of_and_keeps_the_rest() -> None:
    arguments = {"order_id": "ORD-1001", "reason": "too late"}
    error = "order_id ORD-1001 is closed; open are 'ORD-1002' and ORD-1003"
    narrowed = regrounded(CANCEL, arguments, error, ["cancel ORD-1001, too late"])
    assert narrowed is not None
    assert narrowed.parameters["properties"]["reason"] == {"enum": ["too late"]}
    assert narrowed.parameters["properties"]["order_id"] == {"enum": ["ORD-1002", "ORD-1003"]}
    assert regrounded(LOOKUP, {"order_id": "ORD-1001"}, "no order ORD-1001", ["ORD-1001"]) is None


def test_suggestions_are_quoted_or_have_digits() -> None:
    assert suggestions("no 'a b': did you mean ORD-1001 or `x`?") == "a b ORD-1001 x"


def test_what_nobody_said_is_noticed() -> None:
    assert unheard(MESSAGE, {"to": "Alex", "text": "the sea"}, ["a poem about the sea"]) == ["to"]
    assert unheard(CONVERT, {"value": 3, "from_unit": "kg", "to_unit": "kg"}, ["four kg"]) == ["value"]
    assert unheard(LOOKUP, {"order_id": "ORD-1005"}, ["order 1005"]) == []


def test_plans() -> None:
    def names(words: str, choice: ToolChoice = AUTO) -> list[str]:
        return [step.tools[0].name for step in plan(words, [], choose(DESK, choice), choice, SMALL).steps]

    assert names("Where is ORD-1001?") == ["lookup_order"]
    assert names("Cancel ORD-1001, it is late and convert 5 kg to pounds") == ["cancel_order", "convert_units"]
    assert names("Sing a song") == []
    assert names("Sing a song", ToolChoice("any", ("send_message",))) == ["send_message"]
    assert names("Where is ORD-1001?", ToolChoice("none")) == []


def test_a_situation_is_read_from_the_messages() -> None:
    call = ToolCall("1", "lookup_order", {"order_id": "ORD-1001"})
    refused = ToolResult("1", (Text("no"),), is_error=True, code="not_permitted")
    where = read(
        [system("s"), user("first"), user("second"), Message("assistant", (call,)), Message("tool", (refused,))]
    )
    assert (where.asked, where.earlier) == ("second", ("first",))
    assert where.tried[0].call is call
    assert where.to_repair == ()
    assert read([]).asked == ""


def test_results_are_quoted_and_what_was_repaired_is_left_out() -> None:
    def calls(text: str, **more: object) -> tuple[Message, Message]:
        return (
            Message("assistant", (ToolCall("1", "find", {"by": "Ada"}),)),
            Message("tool", (ToolResult("1", (Text(text),), **more),)),  # type: ignore[arg-type]
        )

    wrong, right = calls("by: too short", is_error=True, code="bad_arguments"), calls('[{"id": 1}, {"id": 2}]')
    assert answer.quote(read([user("x"), *wrong]).tried) == "find (by Ada) was not done: by: too short"
    assert answer.quote(read([user("x"), *wrong, *right]).tried) == "find (by Ada): id 1; id 2"
    assert answer.quote(read([user("x"), *calls("")]).tried) == "find (by Ada): done, with nothing to report"
    assert len(answer.quote(read([user("x"), *calls("x" * 5000)]).tried)) < 1300
