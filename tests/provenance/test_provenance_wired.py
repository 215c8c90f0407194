"""From the prompt to the refund: what a run reads is followed, and its consequential calls are judged by it."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest
from provenance_shop import ADA, LOOK, NOTE, ON_FILE, PLAN, PROMPT, THIEF, Shop, refund

from counterfoil import (
    Always,
    Catalogue,
    CatalogueError,
    Confirmation,
    ConfirmationError,
    CounterfoilError,
    Harness,
    Intent,
    Label,
    Message,
    Scripted,
    Secret,
    Text,
    ToolCall,
    ToolResult,
    Trust,
    tool,
)
from counterfoil.cli.words import card
from counterfoil.run.replay import replay
from counterfoil.types.entry import Declassified, Finished, Judged
from counterfoil.types.label import System
from counterfoil.types.message import user

pytestmark = pytest.mark.anyio


async def test_an_order_note_cannot_steer_the_refund() -> None:
    shop = Shop([LOOK], [refund(THIEF)])
    run = await shop.harness.run(PROMPT, ADA, plan=PLAN)
    assert (run.outcome.kind, shop.refunded) == ("waiting", [])
    (asked,) = run.confirmations
    assert (asked.code, asked.grantable) == ("OFF_PLAN", False)
    iban = next(each for each in asked.arguments if each.argument == "iban")
    assert (iban.value, iban.trusted, iban.planned) == (THIEF, False, ON_FILE)
    assert iban.source == "lookup_order (ORD-1001)"
    shown = dict(card(asked))
    assert shown["origins"].startswith(f'! iban "{THIEF}", in lookup_order (ORD-1001), which others can write')
    await shop.harness.answer(asked.id, approve=False, by="ada")
    run = await shop.harness.resume(run.id)
    assert (run.outcome.kind, shop.refunded) == ("answered", [])
    assert run.results["2.1"].code == "declined"


async def test_the_refund_that_was_meant_runs_without_asking_and_only_once() -> None:
    shop = Shop([LOOK], [refund(ON_FILE)], [refund(ON_FILE)])
    run = await shop.harness.run(PROMPT, ADA, plan=PLAN)
    assert (run.outcome.kind, shop.refunded) == ("waiting", [ON_FILE])
    (asked,) = run.confirmations
    assert (asked.call.id, asked.code) == ("3.1", "OFF_PLAN")
    intents = {each.call_id: each.intent for each in run.entries if isinstance(each, Judged)}
    assert intents == {"1.1": None, "2.1": 0, "3.1": None}


async def test_without_a_plan_every_consequential_call_asks_once_something_untrusted_was_read() -> None:
    shop = Shop([refund(ON_FILE)], [LOOK], [refund(ON_FILE)])
    run = await shop.harness.run(PROMPT, ADA)
    assert (run.outcome.kind, shop.refunded) == ("waiting", [ON_FILE])
    assert run.confirmations[0].call.id == "3.1"


async def test_where_nobody_can_be_asked_the_model_reads_a_constant_refusal() -> None:
    shop = Shop([LOOK], [refund(THIEF)], unattended=True)
    run = await shop.harness.run(PROMPT, ADA, plan=PLAN)
    result = run.results["2.1"]
    assert (run.outcome.kind, result.code, shop.refunded) == ("answered", "untrusted_origin", [])
    assert THIEF not in result.text
    assert "Nobody can be asked, so it was not done. Do not retry" in result.text


async def test_an_approval_endorses_the_value_in_its_place_and_nowhere_else() -> None:
    plan = [Intent("refund", open=("iban", "amount"), many=True), Intent("pay_bill", open=("iban",))]
    shop = Shop([LOOK], [refund(THIEF)], [refund(THIEF)], [ToolCall("c", "pay_bill", {"iban": THIEF})])
    run = await shop.harness.run(PROMPT, ADA, plan=plan)
    assert [each.code for each in run.confirmations] == ["ARG_ORIGIN"]
    await shop.harness.answer(run.confirmations[0].id, approve=True, by="ada")
    run = await shop.harness.resume(run.id)
    assert shop.refunded == [THIEF, THIEF]
    assert [(each.call.id, each.code) for each in run.confirmations] == [("4.1", "ARG_ORIGIN")]


async def test_arguments_that_a_person_edited_are_the_ones_that_are_endorsed() -> None:
    plan = [Intent("refund", open=("iban", "amount"), many=True)]
    shop = Shop([LOOK], [refund(THIEF)], [refund("NL91ABNA0417164300")], [refund(THIEF)])
    run = await shop.harness.run(PROMPT, ADA, plan=plan)
    edited = {"iban": "NL91ABNA0417164300", "amount": 48.0}
    await shop.harness.answer(run.confirmations[0].id, approve=True, by="ada", arguments=edited)
    run = await shop.harness.resume(run.id)
    assert shop.refunded == ["NL91ABNA0417164300"] * 2
    assert [each.call.id for each in run.confirmations] == ["4.1"]


async def test_a_standing_approval_covers_nothing_that_provenance_asks_about() -> None:
    shop = Shop([LOOK], [refund(THIEF)])
    run = await shop.harness.run(PROMPT, ADA, plan=PLAN)
    with pytest.raises(ConfirmationError, match="asked about each time"):
        await shop.harness.answer(run.confirmations[0].id, approve=True, by="ada", always=Always())


async def test_a_text_that_a_person_vouches_for_may_be_acted_on() -> None:
    shop = Shop([LOOK], "What now?", [refund(THIEF)])
    run = await shop.harness.run("Look at order ORD-1001.", ADA)
    with pytest.raises(ConfirmationError, match="no result"):
        await shop.harness.declassify(run.id, "9.9", by="ada")
    await shop.harness.declassify(run.id, "1.1", by="ada")
    run = await shop.harness.run("Do as it says: 48.00.", ADA, run_id=run.id)
    assert (run.outcome.kind, shop.refunded) == ("answered", [THIEF])
    (vouched,) = [each for each in run.entries if isinstance(each, Declassified)]
    assert (vouched.call_id, vouched.by) == ("1.1", "ada")
    again = await replay(await shop.records(run.id), shop.catalogue, shop.gate)
    assert again.same, again.differences


async def test_without_that_act_the_same_call_asks() -> None:
    shop = Shop([LOOK], "What now?", [refund(THIEF)])
    run = await shop.harness.run("Look at order ORD-1001.", ADA)
    run = await shop.harness.run("Do as it says: 48.00.", ADA, run_id=run.id)
    assert (run.outcome.kind, shop.refunded) == ("waiting", [])


async def test_taint_survives_in_a_store_into_a_new_session() -> None:
    shop = Shop([LOOK], [ToolCall("k", "keep", {"name": "n", "text": THIEF})])
    plan = [Intent("keep", {"name": "n"}, open=("text",))]
    run = await shop.harness.run("Keep the account that order ORD-1001 names as 'n'.", ADA, plan=plan)
    await shop.harness.answer(run.confirmations[0].id, approve=True, by="ada")  # to be kept, not to be paid to
    await shop.harness.resume(run.id)
    text, label = shop.notes["n"]
    assert label == Label("untrusted", "keep")
    shop.notes["n"] = text, msgspec.json.decode(msgspec.json.encode(label), type=Label)
    new = shop.another([ToolCall("k", "kept", {"name": "n"})], [refund(THIEF)])
    run = await new.run(PROMPT, ADA, plan=[Intent("refund", {"amount": 48.0}, open=("iban",))])
    assert (run.outcome.kind, shop.refunded) == ("waiting", [])
    assert run.confirmations[0].code == "ARG_ORIGIN"
    (read,) = [each for each in run.entries if isinstance(each, Finished)]
    assert read.result.label == Label("untrusted", "keep; kept")


async def test_what_a_store_was_given_by_the_requester_stays_the_requesters() -> None:
    shop = Shop([ToolCall("k", "keep", {"name": "mine", "text": ON_FILE})])
    await shop.harness.run(f"Keep {ON_FILE} as 'mine'.", ADA)
    assert shop.notes["mine"][1] == Label("user")
    new = shop.another([ToolCall("k", "kept", {"name": "mine"})], [refund(ON_FILE)])
    await new.run(PROMPT, ADA, plan=[Intent("refund", {"amount": 48.0}, open=("iban",))])
    assert shop.refunded == [ON_FILE]


async def test_text_that_the_requester_pasted_can_be_marked() -> None:
    pasted = [Text("Pay what this says, 48.00."), Text(f"To {THIEF}", Label("untrusted", "a letter"))]
    for prompt, outcome in ((user(pasted), "waiting"), (user(f"Pay what this says, 48.00. To {THIEF}"), "answered")):
        run = await Shop([refund(THIEF)]).harness.run(
            prompt, ADA, plan=[Intent("refund", {"amount": 48.0}, open=("iban",))]
        )
        assert run.outcome.kind == outcome


async def test_what_a_tool_says_in_an_error_taints_too() -> None:
    shop = Shop([ToolCall("a", "lookup_order", {"order_id": "ORD-9"})], [refund(THIEF)])
    run = await shop.harness.run("Refund order ORD-9.", ADA)
    assert (run.outcome.kind, shop.refunded) == ("waiting", [])


async def test_earlier_results_and_the_application_s_names_count() -> None:
    seen = ToolResult("p", (Text(NOTE),), name="lookup_order")
    history = [
        user("Look."),
        Message("assistant", (LOOK,)),
        Message("tool", (msgspec.structs.replace(seen, call_id="a"),)),
    ]
    plan = [Intent("refund", {"amount": 48.0}, open=("iban",))]
    for options, outcome in (
        ({}, "waiting"),
        ({"vouched": [THIEF]}, "answered"),
        ({"me": lambda _: [THIEF]}, "answered"),
    ):
        run = await Shop([refund(THIEF)], **options).harness.run(PROMPT, ADA, history=history, plan=plan)
        assert run.outcome.kind == outcome


async def test_a_call_from_elsewhere_is_as_trustworthy_as_its_label() -> None:
    shop = Shop()
    held = await shop.harness.call(refund(THIEF), ADA)
    assert isinstance(held, Confirmation)
    assert held.code == "OFF_PLAN"
    own = msgspec.structs.replace(refund(ON_FILE), label=Label("user"))
    assert isinstance(await shop.harness.call(own, ADA), ToolResult)
    assert shop.refunded == [ON_FILE]


async def test_giving_a_structured_answer_is_no_act_and_taints_nothing() -> None:
    class Answer(msgspec.Struct):
        done: bool

    shop = Shop([LOOK], [ToolCall("x", "answer", {"done": True})])
    run = await shop.harness.run(PROMPT, ADA, output=Answer)
    assert (run.outcome.kind, run.output) == ("answered", Answer(True))


async def test_a_plan_may_not_say_what_a_secret_is() -> None:
    @tool
    def sign_in(password: Annotated[str, Secret]) -> str:
        """Sign in."""
        return "signed in"

    harness = Harness(Scripted(["Done."]), Catalogue([sign_in]))
    with pytest.raises(CounterfoilError, match="leave it open"):
        await harness.run("Sign in.", ADA, plan=[Intent("sign_in", {"password": "hunter2hunter2"})])


async def test_returns_as_a_dict_labels_and_keeps_every_field() -> None:
    shop = Shop([LOOK])
    run = await shop.harness.run(PROMPT, ADA)
    assert msgspec.json.decode(run.results["1.1"].text).keys() == {"id", "iban", "note"}
    how = shop.catalogue["lookup_order"].how
    assert (how.fields["iban"], how.keys, how.harmless) == ("system", ("order_id",), True)


async def test_a_declaration_that_cannot_be_is_refused_at_once() -> None:
    def look(id: str) -> str:
        """Look."""
        return id

    with pytest.raises(CatalogueError, match="labelled twice"):
        tool(returns={"id": System}, trust=Trust(returns="system"))(look)
    with pytest.raises(CatalogueError, match="the integrity of id must be one of"):
        tool(returns={"id": "sytem"}, trust=Trust(act="read"))(look)


async def test_markers_reach_the_check_and_a_prefix_changes_nothing_but_the_name() -> None:
    shop = Shop()
    refund = shop.catalogue["refund"]
    assert refund.how.roles == {"iban": "target", "amount": "critical"}
    renamed = refund.renamed("bank_refund")
    assert renamed.how == msgspec.structs.replace(refund.how, outside=Label("untrusted", "bank_refund"))

    @tool
    def read_page(page: int) -> str:
        """Read."""
        return ""

    assert read_page.how.act == "read"
    assert read_page.renamed("mcp_read_page").how.act == "read"
