"""What is guessed of tools that nobody declared anything of, and what may be declared."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from counterfoil import tool
from counterfoil.tools.guess import handling
from counterfoil.tools.trust import Content, Critical, Target, Trust
from counterfoil.types.error import CatalogueError


def parameters(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: each or {"type": "string"} for name, each in properties.items()}}


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("get_order", "read"),
        ("searchMails", "read"),
        ("list-files", "read"),
        ("checkout_selected_cart", "pay"),
        ("checkout", "pay"),
        ("getaway_booking", "send"),
        ("showcase_item", "send"),
        ("get_and_send", "send"),
        ("check_out_cart", "send"),
        ("check_in", "send"),
        ("get_rid_of_file", "send"),
        ("find_replace", "send"),
        ("get_webpage", "fetch"),
        ("browse", "fetch"),
        ("cancel_order", "destroy"),
        ("remove_user", "destroy"),
        ("send_money", "pay"),
        ("reserve_hotel", "pay"),
        ("update_password", "admin"),
        ("invite_user", "admin"),
        ("create_file", "self"),
        ("notify_all", "send"),
        ("frobnicate", "send"),
        ("x", "send"),
    ],
)
def test_an_act_is_guessed_from_whole_words_and_the_unknown_has_consequences(name: str, act: str) -> None:
    assert handling(name, {}, "write").act == act


def test_a_look_up_whose_argument_leaves_is_a_channel_out() -> None:
    assert handling("get_page", parameters(url=None), "read").act == "fetch"
    assert handling("get_page", parameters(title=None), "read").act == "read"


def test_what_the_developer_says_of_the_effect_counts_for_their_own_tools() -> None:
    assert handling("frobnicate", {}, "read").act == "read"
    assert handling("get_status", {}, "irreversible").act == "send"


@pytest.mark.parametrize(
    ("hints", "name", "act"),
    [
        ({"readOnlyHint": True}, "frobnicate", "send"),
        ({"readOnlyHint": True}, "delete_all", "destroy"),
        ({"readOnlyHint": False}, "get_status", "send"),
        ({"destructiveHint": True}, "get_order", "destroy"),
        ({"destructiveHint": True}, "frobnicate", "destroy"),
        ({"destructiveHint": False, "readOnlyHint": True}, "send_mail", "send"),
        ({"readOnlyHint": True}, "list_for_sale", "send"),
        ({"readOnlyHint": "true"}, "get_status", "send"),
        ({"readOnlyHint": True, "destructiveHint": True}, "get_status", "destroy"),
        ({}, "get_status", "send"),
        ({}, "get_webpage", "send"),
        ({"readOnlyHint": True}, "get_webpage", "fetch"),
        ({"readOnlyHint": True}, "get_order", "read"),
    ],
)
def test_a_foreign_tool_is_harmless_only_if_its_name_and_its_claim_both_say_so(
    hints: dict[str, Any], name: str, act: str
) -> None:
    assert handling(name, {}, "read", Trust(foreign=True), hints=hints).act == act


def test_a_foreign_tools_ids_are_not_taken_for_the_services_own() -> None:
    assert handling("get_order", {}, "read").fields
    assert not handling("get_order", {}, "read", Trust(foreign=True)).fields


@pytest.mark.parametrize(
    ("argument", "schema", "role"),
    [
        ("to", None, "target"),
        ("user_email", None, "target"),
        ("where", {"type": "string", "format": "uri"}, "target"),
        ("event_id", None, "target"),
        ("amount", {"type": "number"}, "critical"),
        ("newPassword", None, "critical"),
        ("factor", {"type": "integer"}, "critical"),
        ("level", {"enum": ["a", "b"]}, "critical"),
        ("body", None, "content"),
        ("attachments", {"type": "array"}, "resource"),
        ("urgent", {"type": "boolean"}, "plain"),
        ("start_time", None, "plain"),
        ("zorp", None, "target"),
        ("zorp", {"anyOf": [{"type": "string"}, {"type": "null"}]}, "target"),
    ],
)
def test_a_role_is_guessed_and_the_unknown_is_what_is_acted_on(argument: str, schema: Any, role: str) -> None:
    assert handling("send_it", parameters(**{argument: schema}), "write").role(argument) == role


def test_an_argument_that_no_schema_has_is_taken_for_a_target() -> None:
    assert handling("send_it", parameters(body=None), "write").role("bcc") == "target"


def test_every_guess_is_explained_and_no_declaration_is() -> None:
    told = handling("send_it", parameters(to=None, body=None), "write", Trust(roles={"to": "target"})).explain()
    assert [each.split(":")[0] for each in told] == ["act", "body", "returns"]
    assert "act: send (guessed: nothing says that it stays with the requester)" in told
    full = Trust(act="send", roles={"to": Target, "body": Content}, returns="system")
    assert handling("send_it", parameters(to=None, body=None), "write", full).explain() == ()


def test_markers_on_parameters_are_roles() -> None:
    @tool
    def transfer(
        beneficiary: Annotated[str, Target, "whom"],
        sum_of: Annotated[float, Critical],
        purpose: Annotated[str, Content],
    ) -> None:
        """Move money."""

    how = handling(transfer.name, transfer.spec.parameters, transfer.effect, markers=transfer.extras)
    assert how.roles == {"beneficiary": "target", "sum_of": "critical", "purpose": "content"}
    assert transfer.spec.parameters["properties"]["beneficiary"]["description"] == "whom"


def test_a_plain_dictionary_declares_the_same() -> None:
    plain = {"act": "send", "roles": {"to": "target"}, "returns": {"id": "system"}, "keys": ["q"], "secret": ["pin"]}
    assert Trust.from_dict(plain) == Trust(
        act="send", roles={"to": "target"}, returns={"id": "system"}, keys=("q",), secret=("pin",)
    )


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        ({"act": "sent"}, "sent"),
        ({"roles": {"to": "goal"}}, "goal"),
        ({"returns": {"id": "sys"}}, "sys"),
        ({"returns": "trusted"}, "trusted"),
        ({"widens": {"cc": "sent"}}, "sent"),
        ({"rolls": {}}, "rolls"),
        ({"keys": 4}, "keys"),
    ],
)
def test_a_wrong_declaration_says_what_is_wrong(plain: dict[str, Any], said: str) -> None:
    with pytest.raises(CatalogueError, match=said):
        Trust.from_dict(plain)
