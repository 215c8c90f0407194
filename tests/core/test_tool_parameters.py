"""Every kind of parameter: what the model is told of it, what the function gets, what is refused."""

from __future__ import annotations

import datetime
import enum
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import annotated_types
import msgspec
import pydantic
import pytest
from core_kit import ask, only, play
from typing_extensions import Doc

from counterfoil import CatalogueError, Context, Tool, tool

pytestmark = pytest.mark.anyio

got: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_got() -> None:
    got.clear()


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


class Line(msgspec.Struct):
    start: Point
    end: Point | None = None


class Box(TypedDict):
    width: int
    label: NotRequired[str]


class Street(pydantic.BaseModel):
    name: str


class Address(pydantic.BaseModel):
    street: Street
    zip: int = pydantic.Field(ge=1000, le=9999)


class Cat(msgspec.Struct, tag="cat"):
    lives: int


class Dog(msgspec.Struct, tag="dog"):
    name: str


def taking(hint: Any, **more: Any) -> Tool:
    """A tool with one parameter `value` of this type."""

    def take(value: Any) -> str:
        """Take a value."""
        got.append(value)
        return "taken"

    take.__annotations__ = {"value": hint, "return": str}
    return tool(effect="read", **more)(take)


GOOD: list[tuple[Any, Any, Any]] = [
    (str, "a", "a"),
    (int, 3, 3),
    (int, 3.0, 3),
    (float, 3, 3.0),
    (bool, True, True),
    (bytes, "aGk=", b"hi"),
    (datetime.date, "2026-11-30", datetime.date(2026, 11, 30)),
    (
        datetime.datetime,
        "2026-11-30T12:00:00Z",
        datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC),
    ),
    (uuid.UUID, "00000000-0000-0000-0000-000000000001", uuid.UUID(int=1)),
    (Colour, "red", Colour.RED),
    (Level, 2, Level.HIGH),
    (Literal["a", 1], 1, 1),
    (Optional[int], None, None),  # noqa: UP045 both spellings must work
    (int | None, 4, 4),
    (int | str, "x", "x"),
    (list[int], [1, 2.0], [1, 2]),
    (list, [1, "a"], [1, "a"]),
    (set[str], ["a"], {"a"}),
    (tuple[int, str], [1, "a"], (1, "a")),
    (dict[str, float], {"a": 1}, {"a": 1.0}),
    (dict, {"a": [1]}, {"a": [1]}),
    (Any, {"x": 1}, {"x": 1}),
    (Point, {"x": 1}, Point(1)),
    (list[Point], [{"x": 1, "y": 2}], [Point(1, 2)]),
    (Line, {"start": {"x": 1}}, Line(Point(1))),
    (Box, {"width": 1}, {"width": 1}),
    (Address, {"street": {"name": "A"}, "zip": 3000}, Address(street=Street(name="A"), zip=3000)),
    (list[Address], [{"street": {"name": "A"}, "zip": 3000}], [Address(street=Street(name="A"), zip=3000)]),
    (Cat | Dog, {"type": "dog", "name": "Rex"}, Dog("Rex")),
    (Annotated[int, annotated_types.Ge(1), annotated_types.Le(5)], 5, 5),
    (Annotated[str, msgspec.Meta(examples=["a"])], "b", "b"),
    (Annotated[int | None, annotated_types.Ge(1)], None, None),
]


@pytest.mark.parametrize(("hint", "value", "expected"), GOOD, ids=[str(each[0])[:40] for each in GOOD])
async def test_the_function_gets_its_own_type(hint: Any, value: Any, expected: Any) -> None:
    run, _ = await play([[ask("take", value=value)], "ok"], [taking(hint)])
    assert only(run).text == "taken"
    assert got == [expected]
    assert type(got[0]) is type(expected)


BAD: list[tuple[Any, Any, str]] = [
    (str, 1, "$.value: expected string, found integer 1"),
    (int, 1.5, "$.value: expected integer, found number 1.5"),
    (int, True, "$.value: expected integer, found boolean true"),
    (datetime.date, "2026-13-45", "$.value: must be a date"),
    (Colour, "rde", "did you mean 'red'?"),
    (Literal["north", "south"], "noth", "did you mean 'north'?"),
    (list[int], [1, "x"], '$.value[1]: expected integer, found string "x"'),
    (Point, {"x": 1, "z": 2}, "$.value: there is no property 'z'; allowed: tags, x, y"),
    (Line, {"start": {}}, "$.value.start: missing required property 'x'"),
    (Box, {"width": 1, "lable": "x"}, "did you mean 'label'?"),
    (Address, {"street": {"name": "A", "nr": 1}, "zip": 3000}, "$.value.street: there is no property 'nr'"),
    (Address, {"street": {"name": "A"}, "zip": 1}, "$.value.zip: must be at least 1000, found 1"),
    (Cat | Dog, {"type": "cow"}, "$.value: "),
    (Annotated[int, annotated_types.Ge(1)], 0, "$.value: must be at least 1, found 0"),
    (Annotated[int, annotated_types.Interval(gt=0, lt=10)], 10, "$.value: must be less than 10, found 10"),
    (Annotated[float, annotated_types.MultipleOf(0.5)], 0.7, "$.value: must be a multiple of 0.5"),
    (Annotated[str, annotated_types.Len(2, 3)], "a", "$.value: must have at least 2 characters"),
    (Annotated[str, msgspec.Meta(pattern="^ORD-")], "X", "$.value: must match the pattern ^ORD-"),
    (Annotated[str, pydantic.Field(pattern="^ORD-", description="x")], "X", "must match the pattern ^ORD-"),
    (Annotated[int, pydantic.Field(ge=2)], 1, "$.value: must be at least 2"),
    (Annotated[list[str], annotated_types.MaxLen(1)], ["a", "b"], "$.value: must have at most 1 items"),
]


@pytest.mark.parametrize(("hint", "value", "told"), BAD, ids=[str(each[0])[:40] for each in BAD])
async def test_what_does_not_fit_is_told(hint: Any, value: Any, told: str) -> None:
    run, _ = await play([[ask("take", value=value)], "ok"], [taking(hint)])
    assert only(run).code == "bad_arguments"
    assert told in only(run).text
    assert got == []


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[str, "the number"],
        Annotated[str, Doc("the number")],
        Annotated[str, msgspec.Meta(description="the number")],
        Annotated[str, pydantic.Field(description="the number")],
    ],
)
def test_descriptions_come_from_annotations(annotation: Any) -> None:
    assert taking(annotation).spec.parameters["properties"]["value"]["description"] == "the number"


def google(number: str, count: int = 1) -> str:
    """Find an order.

    Says when it comes.

    Args:
        number: the number,
            as on the bill
        count (int): how many

    Returns:
        nothing of interest
    """
    return ""


def numpy(number: str, count: int = 1) -> str:
    """Find an order.

    Says when it comes.

    Parameters
    ----------
    number : str
        the number,
        as on the bill
    count : int
        how many

    Returns
    -------
    str
        nothing of interest
    """
    return ""


def sphinx(number: str, count: int = 1) -> str:
    """Find an order.

    Says when it comes.

    :param number: the number,
        as on the bill
    :param int count: how many
    :returns: nothing of interest
    """
    return ""


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_docstrings_of_three_styles(function: Callable[..., Any]) -> None:
    spec = tool(function).spec
    assert spec.description == "Find an order.\n\nSays when it comes."
    properties = spec.parameters["properties"]
    assert properties["number"]["description"] == "the number, as on the bill"
    assert properties["count"]["description"] == "how many"
    assert spec.parameters["required"] == ["number"]
    assert spec.parameters["additionalProperties"] is False


async def test_defaults_are_the_functions_own() -> None:
    @tool(effect="read")
    def take(a: int, b: str = "x", c: list[int] = [1], d: Point | None = None) -> str:  # noqa: B006
        """Take."""
        got.append((a, b, c, d))
        return "taken"

    await play([[ask("take", a=1), ask("take", "c2", a=2, c=[3], d={"x": 4})], "ok"], [take])
    assert sorted(got, key=lambda each: each[0]) == [(1, "x", [1], None), (2, "x", [3], Point(4))]


async def test_context_is_injected_and_never_shown() -> None:
    @tool(effect="read", permission="p")
    async def take(here: Context, value: int = 0) -> str:
        """Take."""
        got.append((here.session.requester, here.call_id, here.run_id, here.idempotency_key))
        return "taken"

    assert list(take.spec.parameters["properties"]) == ["value"]
    run, _ = await play([[ask("take", value=1), ask("take", "c2", value=2)], "ok"], [take])
    assert [each[:3] for each in got] == [("ada", "1.1", run.id), ("ada", "1.2", run.id)]
    assert got[0][3] != got[1][3]
    refused, _ = await play([[ask("take", here={})], "ok"], [take])
    assert only(refused).code == "bad_arguments"


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: tool(lambda value: value), "give parameter 'value' a type"),
        (lambda: taking(object), "has no JSON form"),
        (lambda: taking(Callable[[], int]), "has no JSON form"),
        (lambda: taking(complex), "has no JSON form"),
        (lambda: taking("Nowhere"), "cannot resolve a type hint"),
        (lambda: taking(str, name="1st"), "cannot be a tool's name"),
        (lambda: taking(str, name="a b"), "cannot be a tool's name"),
    ],
)
def test_a_parameter_that_cannot_be_described_says_what_to_change(make: Callable[[], Any], told: str) -> None:
    with pytest.raises(CatalogueError, match=told):
        make()


def test_star_arguments_and_positional_only_are_refused() -> None:
    def many(*values: int) -> None: ...
    def named(**values: int) -> None: ...
    def first(value: int, /) -> None: ...

    for function in (many, named, first):
        with pytest.raises(CatalogueError, match="passes arguments by name"):
            tool(function)


def test_a_pydantic_field_as_default_says_what_to_change() -> None:
    def take(value: int = pydantic.Field(5, ge=1, description="how many")) -> str:
        return ""

    with pytest.raises(CatalogueError, match=r"`value: Annotated\[type, Field\(\.\.\.\)\] = value`"):
        tool(take)

    def better(value: Annotated[int, pydantic.Field(ge=1, description="how many")] = 5) -> str:
        return ""

    assert tool(better).spec.parameters["properties"]["value"] == {
        "type": "integer",
        "minimum": 1,
        "description": "how many",
        "default": 5,
    }


def test_an_optional_parameter_keeps_description_and_bounds() -> None:
    described = taking(Annotated[int | None, annotated_types.Ge(1), "how many"]).spec.parameters["properties"]["value"]
    assert described == {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "description": "how many"}
