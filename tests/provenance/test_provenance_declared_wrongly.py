"""What is declared wrongly of a tool is an error when the tool is made, and never silently something else."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterfoil
from counterfoil import (
    CatalogueError,
    Content,
    Critical,
    Label,
    Plain,
    Resource,
    System,
    Target,
    Text,
    Tool,
    Trust,
    Typed,
    Untrusted,
    tool,
)
from counterfoil.tools.tool import WithheldOutput
from counterfoil.tools.trust import INTEGRITIES, ROLES, Role
from counterfoil.types.entry import Effect


class Item(TypedDict):
    id: str
    price: float


class Order(TypedDict):
    id: str
    note: str
    items: list[Item]


class Parcel(msgspec.Struct, rename="camel"):
    parcel_id: str
    kind: str


class Model(pydantic.BaseModel):
    order_id: str = pydantic.Field(alias="orderId")

    @pydantic.computed_field  # type: ignore[prop-decorator]  # as pydantic's own documentation has it
    @property
    def total(self) -> float:
        """What it costs."""
        return 1.0


@dataclasses.dataclass
class Mail:
    to: Annotated[str, Target]
    body: str


def marked(hint: Any) -> Tool:
    """A tool whose parameter `to` has that type."""

    def pay(to: str) -> str:
        """Pay."""
        return to

    pay.__annotations__["to"] = hint
    return tool(pay)


def look(returned: Any, **options: Any) -> Tool:
    """A look-up that returns that."""

    def find(order_id: str) -> Any:
        """Look up."""
        return order_id

    find.__annotations__["return"] = returned
    return tool(effect="read", **options)(find)


# -- roles


@pytest.mark.parametrize("name", ["taget", "Target", "", None, Target])
def test_a_role_that_there_is_not_cannot_be_made(name: Any) -> None:
    with pytest.raises(CatalogueError, match="a role must be one of target, critical, resource, content, plain"):
        Role(name)


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (Annotated[str, "Target"], "Its role is Target, without quotes"),
        (Annotated[str, "plain"] | None, "Its role is Plain, without quotes"),
        (Annotated[str, Role], "to: Role is the class of the markers: write one of Annotated.*Target"),
        (Annotated[str, Trust(act="pay")], "to: a Trust says nothing of a parameter"),
        (Annotated[str, Label("untrusted")], "to: a Label says nothing of a parameter"),
        (Annotated[str, Target, Content], "pay: to is declared as content and as target: it has one role"),
        (Annotated[Annotated[str, Plain] | None, Target], "as plain and as target"),
        (Mail, r"here a field has one, Mail\.to"),
        (list[Mail] | None, r"here a field has one, Mail\.to"),
    ],
)
def test_a_marker_that_is_none_says_what_to_write(hint: Any, said: str) -> None:
    with pytest.raises(CatalogueError, match=said):
        marked(hint)


@pytest.mark.parametrize(
    "hint",
    [
        Annotated[str, Plain],
        Annotated[str, Plain, Plain, "in which colour"],
        Annotated[str, Plain] | None,
        list[Annotated[str, Plain]],
        Annotated[list[Annotated[str, Plain]], Plain],
    ],
)
def test_a_role_counts_wherever_in_the_type_it_stands(hint: Any) -> None:
    assert marked(hint).how.roles == {"to": "plain"}


def test_a_role_that_is_said_twice_is_the_same_or_an_error() -> None:
    def pay(to: Annotated[str, Target]) -> str:
        """Pay."""
        return to

    assert tool(trust=Trust(roles={"to": Target}))(pay).how.roles == {"to": "target"}
    with pytest.raises(CatalogueError, match="pay: to is declared as plain and as target"):
        tool(trust=Trust(roles={"to": "plain"}))(pay)


def test_a_tool_under_another_name_is_declared_as_before() -> None:
    assert marked(Annotated[str, Plain]).renamed("crm_pay").how.roles == {"to": "plain"}


# -- what it does


@pytest.mark.parametrize("effect", ["idempotent", "write", "irreversible"])
@pytest.mark.parametrize("trust", [Trust(act="read"), Trust(act="send", widens={"to": "read"})])
def test_what_changes_something_is_no_look_up(effect: Effect, trust: Trust) -> None:
    def hand(to: str) -> str:
        """Hand over."""
        return to

    with pytest.raises(CatalogueError, match=f"hand: .*only looks up, and effect='{effect}'"):
        tool(effect=effect, trust=trust)(hand)
    assert not tool(effect=effect, trust=Trust(act="fetch"))(hand).how.harmless  # still asked about


@pytest.mark.parametrize("trust", [Trust(act="pay"), Trust(act="read", widens={"order_id": "send"})])
def test_what_only_reads_does_nothing_else(trust: Trust) -> None:
    with pytest.raises(CatalogueError, match="changes something, and effect='read' that it does not"):
        look(str, trust=trust)


# -- names


@pytest.mark.parametrize(
    ("trust", "said"),
    [
        (Trust(keys=("order",)), "keys names 'order', which is no argument of it; it takes order_id; did you mean"),
        (Trust(roles={"orderid": "plain"}), "roles names 'orderid'.*did you mean 'order_id'"),
        (Trust(widens={"cc": "fetch"}), "widens names 'cc'"),
        (Trust(words={"right": {"r": ("read",)}}), "words names 'right'"),
    ],
)
def test_an_argument_that_it_does_not_take_is_named_in_vain(trust: Trust, said: str) -> None:
    with pytest.raises(CatalogueError, match=f"find: {said}"):
        look(str, trust=trust)


def foreign(parameters: dict[str, Any], trust: Trust, output: dict[str, Any] | None = None) -> Tool:
    declaration = {"name": "find", "description": "Find.", "parameters": parameters, "output_schema": output}
    return Tool.from_declaration(declaration, lambda **given: given, effect="read", trust=trust)


def test_a_foreign_tool_is_held_to_its_own_schema() -> None:
    named = {"type": "object", "properties": {"id": {"type": "string"}}}
    composed = {"allOf": [{"$ref": "#/$defs/a"}, {"properties": {"to": {}}}], "$defs": {"a": named}}
    for parameters in (named, composed):
        foreign(parameters, Trust(foreign=True, keys=("id",)))
        with pytest.raises(CatalogueError, match=r"keys names 'idd'.*did you mean 'id'"):
            foreign(parameters, Trust(foreign=True, keys=("idd",)))
    extras: dict[str, Any]
    for extras in ({"additionalProperties": True}, {"patternProperties": {"^i": {}}}):
        foreign(named | extras, Trust(foreign=True, keys=("idd",)))
    output = {"type": "object", "properties": {"items": {"type": "array", "items": named}}}
    foreign(named, Trust(foreign=True, returns={"items.id": "system"}), output)
    with pytest.raises(CatalogueError, match=r"returns names 'items\.idd'.*there are id; did you mean 'id'"):
        foreign(named, Trust(foreign=True, returns={"items.idd": "system"}), output)
    foreign(named, Trust(foreign=True, secret="pin"), output | {"additionalProperties": {}})  # type: ignore[arg-type]  # alone


@pytest.mark.parametrize(
    ("returned", "options", "said"),
    [
        (Order, {"trust": Trust(secret=("nte",))}, "secret names 'nte', which is no field.*did you mean 'note'"),
        (Order, {"returns": {"idd": System}}, "returns names 'idd', which is no field.*did you mean 'id'"),
        (Order, {"returns": ("id", "nte")}, "returns names 'nte'"),
        (Order, {"trust": Trust(author="form")}, "author names 'form'"),
        (list[Order], {"trust": Trust(returns={"items.prize": "typed"})}, "'items.prize'.*did you mean 'price'"),
        (Order | None, {"trust": Trust(returns={"id.of": "typed"})}, "no such fields"),
        (Parcel, {"returns": {"parcel_id": System}}, "did you mean 'parcelId'"),
        (Model, {"returns": {"orderId": System}}, "did you mean 'order_id'"),
        (str, {"returns": {"id": System}}, "it is a text"),
        (Text, {"returns": {"text": System}}, "it is a text"),
        (list[str], {"trust": Trust(secret=("pin",))}, "it is a list"),
        (None, {"returns": {"id": System}}, "it is None"),
        (None, {"trust": Trust(secret=("pin",))}, "it is None"),
        (None, {"trust": Trust(opaque=True)}, "it is opaque, and returns None"),
    ],
)
def test_a_field_that_it_does_not_return_is_named_in_vain(returned: Any, options: Any, said: str) -> None:
    with pytest.raises(CatalogueError, match=f"find: .*{said}"):
        look(returned, **options)


@pytest.mark.parametrize(
    ("returned", "field"),
    [
        (Any, "pin"),
        (dict[str, Any], "pin.inner"),
        (dict[str, str], "pin"),
        (dict[str, Item], "*.price"),
        (list[dict[str, Any]], "pin"),
        (Order, "items.price"),
        (Order, "*"),
        (Order | None, "items"),
        (Order | dict[str, Any], "pin"),
        (tuple[Order, Item], "price"),
        (Parcel, "parcelId"),
        (Model, "order_id"),
        (Model, "total"),
        (Mail, "to"),
        (str, "*"),
        (Text | dict[str, Any], "pin"),
        (object, "pin"),
    ],
)
def test_what_may_be_there_may_be_declared(returned: Any, field: str) -> None:
    assert look(returned, trust=Trust(secret=(field,), returns={field: "system"})).how.secret == (field,)


def test_where_nothing_is_said_of_the_result_nothing_is_held_against_it() -> None:
    def find(order_id: str) -> Any:
        """Find."""
        return order_id

    del find.__annotations__["return"]
    assert tool(effect="read", returns={"pin": System}, trust=Trust(secret=("pin",)))(find).how.secret == ("pin",)


class Node(TypedDict):
    name: str
    children: list[Node]


@given(st.lists(st.sampled_from(["children", "*"]), max_size=5), st.sampled_from(["name", "nam", "childre"]))
def test_a_path_through_lists_and_types_of_their_own_is_followed_to_its_end(steps: list[str], last: str) -> None:
    path = ".".join([*steps, last])
    if last == "name":
        assert look(list[Node], returns={path: System}).how.fields == {path: "system"}
    else:
        with pytest.raises(CatalogueError, match=r"there are (name, children|children, name); did you mean"):
            look(list[Node], returns={path: System})


# -- types


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"secret": 4}, "secret must be names"),
        ({"secret": ("pin", 4)}, "secret must be names"),
        ({"keys": {"id": 1}}, "keys must be names"),
        ({"opaque": "yes"}, "opaque must be True or False"),
        ({"private": 1}, "private must be True or False"),
        ({"foreign": None}, "foreign must be True or False"),
        ({"author": ("from",)}, "author must be the name of one field"),
        ({"returns": ["id"]}, "the integrity of the result must be one of user"),
        ({"returns": {"id": "Sytem"}}, "the integrity of id must be one of user.*did you mean 'system'"),
        ({"roles": ["to"]}, "roles must say it by name"),
        ({"roles": {"to": "taget"}}, "the role of to must be one of target, .*, not 'taget'; did you mean 'target'"),
        ({"widens": {"cc": "sent"}}, "the act that cc widens to must be one of read"),
        ({"words": {"right": "read"}}, "the words of right must say it by name"),
        ({"words": {"right": {"r": 4}}}, "the words for 'r' of right must be names"),
        ({"act": "raed"}, "act must be one of read, .*did you mean 'read'"),
    ],
)
def test_a_declaration_of_the_wrong_kind_says_which_and_what_there_is(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(CatalogueError, match=said):
        Trust(**wrong)
    with pytest.raises(CatalogueError, match=said):
        Trust.from_dict(wrong)


def test_one_name_may_stand_alone() -> None:
    alone: dict[str, Any] = {"secret": "pin", "keys": "id", "words": {"right": {"r": "read"}}}
    full: dict[str, Any] = {"secret": ("pin",), "keys": ("id",), "words": {"right": {"r": ("read",)}}}
    assert Trust(**alone) == Trust.from_dict(alone) == Trust(**full)
    assert Trust(**alone).secret == ("pin",)


@pytest.mark.parametrize(
    ("wrong", "said"), [({"act": "pay"}, "pay: trust must be a Trust.*Trust.from_dict"), ("pay", "must be a Trust")]
)
def test_a_tool_takes_a_trust_and_no_dictionary(wrong: Any, said: str) -> None:
    def pay(to: str) -> str:
        """Pay."""
        return to

    with pytest.raises(CatalogueError, match=said):
        tool(trust=wrong)(pay)


def test_what_is_no_plain_form_is_refused() -> None:
    with pytest.raises(CatalogueError, match=r"trust has no rolls: it takes act, .*did you mean 'roles'"):
        Trust.from_dict({"rolls": {}})
    wrong: Any = [("act", "pay")]
    with pytest.raises(CatalogueError, match="trust must be an object"):
        Trust.from_dict(wrong)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Label("usr"), "integrity must be one of user, config, system, typed, untrusted, not 'usr'"),  # type: ignore[arg-type]  # wrong
        (lambda: Label(["user"]), "integrity must be one of"),  # type: ignore[arg-type]  # wrong
        (lambda: Label("user", "", "ada"), "readers must be a frozenset"),  # type: ignore[arg-type]  # wrong
    ],
)
def test_a_label_that_nobody_could_read_again_is_not_made(make: Callable[[], Label], said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        make()


def test_a_label_of_the_wrong_kind_withholds_what_a_tool_returned() -> None:
    given: Any = "user"
    reader = look(Text)
    with pytest.raises(WithheldOutput, match=r"write Label\('user'\)"):
        reader.content(Text("pay me", given))
    assert reader.content(Text("pay me", Label(given))) == (Text("pay me", Label("user")),)


def test_what_is_needed_to_declare_trust_is_at_the_top() -> None:
    roles = {each.role for each in (Target, Critical, Resource, Content, Plain)}
    assert roles == set(ROLES)
    assert {counterfoil.User, counterfoil.Config, System, Typed, Untrusted} == set(INTEGRITIES)
    assert {each.title() for each in (*ROLES, *INTEGRITIES)} <= set(counterfoil.__all__)
