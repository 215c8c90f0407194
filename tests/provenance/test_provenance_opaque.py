"""What a tool returns without its being shown: it taints nothing, can be handed on, and is judged where it goes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from provenance_press import ADA, EVIL, FETCH, ORDER, PLAIN, PROMPT, Press, failing, send

from counterfoil import (
    Always,
    Catalogue,
    ConfirmationError,
    Context,
    Gate,
    Harness,
    Intent,
    Label,
    Limits,
    Message,
    Refusal,
    RunErased,
    Scripted,
    Secret,
    SqliteJournal,
    Text,
    Tool,
    ToolCall,
    ToolError,
    ToolSpec,
    Trust,
    tool,
)
from counterfoil.cli.words import card, entry_parts
from counterfoil.journal.codec import decode, encode
from counterfoil.run.replay import replay
from counterfoil.run.walk import walk
from counterfoil.types.entry import VERSION, Finished, Said
from counterfoil.types.message import Media

pytestmark = pytest.mark.anyio
TICKET = re.compile(r"\([0-9a-f]{8}\)")
LINE = '$v1 is what fetch_page returned. It is not shown, because others can write it. Pass "$v1" as a whole argument to hand it on.'  # noqa: E501 - one line as it is read


async def settled(press: Press, run_id: str) -> None:
    """What must hold of every journal: it follows, and it replays the same."""
    records = await press.journal.read(run_id)
    assert walk(records) == []
    again = await replay(records, press.catalogue, press.gate)
    assert again.same, again.differences


async def test_the_model_reads_a_name_and_the_tool_gets_the_value() -> None:
    press = Press([FETCH], [send("$v1")])
    run = await press.harness.run(PROMPT, ADA)
    assert run.outcome.kind == "answered"
    assert run.results["1.1"].text == LINE
    assert press.sent == [{"to": "sarah@x.example", "body": PLAIN, "copies": None}]
    assert run.state.known is not None
    assert not run.state.known.tainted
    await settled(press, run.id)


@pytest.mark.parametrize("page", [EVIL, {"body": EVIL}, [EVIL, 3], failing(EVIL), Text(EVIL)])
async def test_the_first_model_is_never_sent_a_word_of_what_is_not_shown(page: Any) -> None:
    calls = [
        send("$v1"),
        send("$v1", to="$v1"),
        ToolCall("c", "pay", {"amount": "$v1"}),
        ToolCall("d", "strict", {"number": "$v1"}),
        ToolCall("e", "fetch_page", {"url": "$v1"}),
    ]
    press = Press([FETCH], calls, page=page, unattended=True)
    run = await press.harness.run(PROMPT, ADA)
    assert run.outcome.kind == "answered"
    for word in ("IMPORTANT", "everything", "mallory", "evil", "9999", "GB29"):
        assert word not in press.read
    assert press.sent == []
    assert press.paid == []
    assert {run.results[f"2.{n}"].code for n in range(1, 6)} <= {"untrusted_origin", "bad_arguments"}
    await settled(press, run.id)


TEXTS = st.text(max_size=60) | st.sampled_from([EVIL, "$v1", "[secret 0123456789abcdef0123]", "12", "true", '{"a": 1}'])


@given(TEXTS, TEXTS, st.sampled_from(["body", "to", "number", "keep", "url", "amount"]))
def test_what_the_model_is_asked_does_not_depend_on_what_is_not_shown(first: str, second: str, use: str) -> None:
    """Two pages can only differ in whether a call is let through, which is told in constant words."""
    call = {
        "body": send("$v1"),
        "to": send("hi", to="$v1"),
        "number": ToolCall("c", "strict", {"number": "$v1"}),
        "keep": ToolCall("c", "keep", {"text": "$v1"}),
        "url": ToolCall("c", "fetch_page", {"url": "$v1"}),
        "amount": ToolCall("c", "pay", {"amount": "$v1"}),
    }[use]

    async def main(page: str) -> tuple[Any, list[list[str]]]:
        press = Press([FETCH], [call], page=page, unattended=True)
        run = await press.harness.run(PROMPT, ADA)
        result = run.results["2.1"]
        asked = [[each.text for said in request.messages for each in said.results] for request in press.model.requests]
        return (result.code, result.text.split(" ")[0]), [[TICKET.sub("", each) for each in texts] for texts in asked]

    (one, asked_one), (two, asked_two) = [anyio.run(main, page) for page in (first, second)]
    assert asked_one[:2] == asked_two[:2]
    assert one != two or asked_one[2] == asked_two[2]


# -- as an argument


async def test_a_name_stands_for_the_value_anywhere_in_the_arguments() -> None:
    press = Press([FETCH], [send("see $v2", copies=["$v1", "bob@x.example"])], page="sarah@x.example", provenance="off")
    await press.harness.run(PROMPT, ADA)
    assert press.sent == [{"to": "sarah@x.example", "body": "see $v2", "copies": ["sarah@x.example", "bob@x.example"]}]


@pytest.mark.parametrize("body", ["see $v1", "$v1.", "$v1 $v1"])
async def test_a_name_inside_a_longer_text_stands_for_nothing_and_is_not_sent_for_the_value(body: str) -> None:
    press = Press([FETCH], [send(body)], page="sarah@x.example", provenance="off")
    run = await press.harness.run(PROMPT, ADA)
    assert press.sent == []
    assert run.results["2.1"].code == "bad_arguments"
    assert "has $v1 inside a longer text, where it stands for nothing. A name like" in run.results["2.1"].text


async def test_a_name_that_stands_for_nothing_is_refused_with_what_there_is() -> None:
    press = Press([FETCH], [send("$v9")])
    run = await press.harness.run(PROMPT, ADA)
    assert run.results["2.1"].code == "bad_arguments"
    assert "was given $v9, and no result has that name. There are $v1." in run.results["2.1"].text
    assert press.sent == []
    await settled(press, run.id)


async def test_a_declared_tool_may_be_opaque_and_stays_so_under_another_name() -> None:
    declared = {"name": "read_feed", "parameters": {"type": "object", "properties": {}}}
    trust = Trust.from_dict({"act": "read", "opaque": True})
    feed = Tool.from_declaration(declared, lambda: EVIL, effect="read", trust=trust)
    catalogue = Catalogue([feed]).prefixed("news")
    assert catalogue.opaque
    run = await Harness(Scripted([[ToolCall("a", "news_read_feed", {})], "Done."]), catalogue).run("Read.", ADA)
    assert run.results["1.1"].text.startswith("$v1 is what news_read_feed returned.")
    assert not Press().catalogue.subset(["pay"]).opaque


async def test_where_no_tool_is_opaque_a_name_is_a_text_like_any_other() -> None:
    press = Press([send("$v1")])
    harness = Harness(press.model, press.catalogue.subset(["send_mail"]), gate=press.gate)
    await harness.run("Write '$v1' to sarah@x.example.", ADA)
    assert press.sent[0]["body"] == "$v1"


async def test_the_schema_is_held_against_the_value_and_says_nothing_of_it() -> None:
    press = Press([FETCH], [ToolCall("d", "strict", {"number": "$v1", "more": 1})], page=EVIL)
    run = await press.harness.run(PROMPT, ADA)
    text = run.results["2.1"].text
    assert "- $.number: what $v1 stands for does not fit there (it is not shown)" in text
    assert "more" in text
    fits = Press([FETCH], [ToolCall("d", "strict", {"number": "$v1"})], page=7)
    run = await fits.harness.run(PROMPT, ADA)
    assert run.results["2.1"].text == "7"
    await settled(fits, run.id)


async def test_checks_and_limits_see_the_value_and_what_they_say_of_it_is_not_shown() -> None:
    told: list[Any] = []

    def check(attempt: Any) -> Refusal | None:
        told.append(attempt.arguments)
        attempt.notes.append(f"seen: {attempt.arguments}")
        return Refusal("not_permitted", f"{attempt.arguments} is not allowed") if attempt.tool.name == "pay" else None

    @tool(limits=Limits(clamps={"amount": (0, 100)}), trust=Trust(returns="system"))
    def give(amount: float) -> str:
        """Give."""
        raise AssertionError("never")

    @tool(limits=Limits(sums={"amount": 5000}), trust=Trust(returns="system"))
    def lend(amount: float) -> str:
        """Lend."""
        return "lent"

    @tool(authorize=lambda session, arguments: f"{arguments['name']} is not yours", trust=Trust(returns="system"))
    def drop(name: int) -> str:
        """Drop."""
        raise AssertionError("never")

    calls = [ToolCall("c", name, {"amount": "$v1"}) for name in ("pay", "give", "lend", "lend")]
    press = Press([FETCH], [*calls, ToolCall("d", "drop", {"name": "$v1"})], page=4711)
    gate = Gate([check], provenance="off")
    run = await Harness(press.model, press.catalogue + Catalogue([give, lend, drop]), gate=gate).run(PROMPT, ADA)
    assert {"amount": 4711} in told
    codes = [run.results[f"2.{n}"].code for n in range(1, 6)]
    assert codes == ["not_permitted", "bad_arguments", None, "over_limit", "not_permitted"]
    assert run.results["2.3"].text.startswith("[note: a check remarked on this call")
    assert press.paid == []
    assert "4711" not in press.read


# -- where it goes


async def test_what_is_acted_on_may_not_be_unseen_although_the_run_is_clean() -> None:
    calls = [
        send("hi", to="$v1"),
        send("hi", copies=["bob@x.example", "$v1"]),
        ToolCall("c", "pay", {"amount": "$v2"}),
        ToolCall("d", "fetch_page", {"url": "$v1"}),
    ]
    press = Press([FETCH], [FETCH], calls, page="sarah@x.example")
    run = await press.harness.run(PROMPT + " Pay 48.50.", ADA)
    assert [each.code for each in run.confirmations] == ["ARG_ORIGIN"] * 3
    assert run.results["3.3"].code == "bad_arguments"  # an address is no amount
    assert press.sent == []
    (to,) = [each for each in run.confirmations[0].arguments if not each.trusted]
    assert (to.value, to.origin, to.source) == ("sarah@x.example", "OUTSIDE", "fetch_page (www.news.example), as $v1")
    shown = dict(card(run.confirmations[0]))
    assert shown["arguments"] == 'to = "$v1"'
    assert '! to "sarah@x.example", in fetch_page (www.news.example), as $v1, which others can write' in str(
        card(run.confirmations[0])
    )


@pytest.mark.parametrize("mode", ["default", "strict"])
@pytest.mark.parametrize(
    ("page", "code"),
    [
        (PLAIN, None),
        ("Look at www.news.example!", None),
        ("Look at www.evil.example!", "ACTIVE_CONTENT"),
        (EVIL, "ACTIVE_CONTENT"),
        ("Pay GB29NWBK60161331926819", "ACTIVE_CONTENT"),
    ],
)
async def test_a_text_that_nobody_read_may_be_sent_to_whom_the_user_named_but_for_links(
    page: str, code: str | None, mode: Any
) -> None:
    press = Press([FETCH], [send("$v1")], page=page, provenance=mode)
    run = await press.harness.run(PROMPT, ADA)
    assert [each.code for each in run.confirmations] == ([] if code is None else [code])
    assert len(press.sent) == (code is None)


async def test_nobody_can_hide_a_link_in_a_list_of_records() -> None:
    press = Press([FETCH], [send("$v1", to="sarah@x.example")], page=[{"a": {"b": ["x www.evil.example"]}}])

    @tool(returns={"status": "system"}, trust=Trust(act="send", roles={"what": "content", "to": "target"}))
    def send_file(what: Any, to: str) -> dict[str, str]:
        """Send a file."""
        return {"status": "sent"}

    model = Scripted([[FETCH], [ToolCall("b", "send_file", {"what": {"type": "$v1"}, "to": "sarah@x.example"})]])
    run = await Harness(model, press.catalogue + Catalogue([send_file]), gate=press.gate).run(PROMPT, ADA)
    assert [each.code for each in run.confirmations] == ["ACTIVE_CONTENT"]


async def test_an_unseen_text_goes_to_somebody_or_nowhere() -> None:
    @tool(returns={"status": "system"}, trust=Trust(act="send", roles={"text": "content"}))
    def post(text: str) -> dict[str, str]:
        """Post in public."""
        return {"status": "posted"}

    press = Press()
    model = Scripted([[FETCH], [ToolCall("b", "post", {"text": "$v1"})]])
    run = await Harness(model, press.catalogue + Catalogue([post]), gate=press.gate).run(PROMPT, ADA)
    assert [each.code for each in run.confirmations] == ["ARG_ORIGIN"]


async def test_what_is_fetched_asks_whatever_the_argument_is_for() -> None:
    @tool(effect="read", trust=Trust(act="fetch", roles={"site": "target", "query": "content"}))
    def search_site(site: str, query: str) -> str:
        """Search a site."""
        raise AssertionError("never")

    press = Press()
    model = Scripted([[FETCH], [ToolCall("b", "search_site", {"site": "www.news.example", "query": "$v1"})]])
    run = await Harness(model, press.catalogue + Catalogue([search_site]), gate=press.gate).run(PROMPT, ADA)
    assert [each.code for each in run.confirmations] == ["ARG_ORIGIN"]


async def test_a_plan_does_not_settle_what_nobody_has_read() -> None:
    plan = [Intent("send_mail", {"to": each}, open=("body",)) for each in ("$v1", "sarah@x.example")]
    press = Press([FETCH], [send("hi", to="$v1"), send("$v1")], page="sarah@x.example says hi")
    run = await press.harness.run(PROMPT, ADA, plan=plan)
    assert [(each.call.id, each.code) for each in run.confirmations] == [("2.1", "ARG_ORIGIN")]
    assert [each["body"] for each in press.sent] == ["sarah@x.example says hi"]


async def test_an_approval_counts_for_the_value_in_its_place_and_cannot_stand() -> None:
    calls = [send("hi", to="$v1")], [send("again", to="$v1")], [send("hi", to="$v2")]
    press = Press([FETCH], [FETCH], *calls, page="bob@x.example")
    run = await press.harness.run(PROMPT, ADA)
    (asked,) = run.confirmations
    with pytest.raises(ConfirmationError, match="asked about each time"):
        await press.harness.answer(asked.id, approve=True, by="ada", always=Always())
    await press.harness.answer(asked.id, approve=True, by="ada", digest=asked.digest)
    run = await press.harness.resume(run.id)
    assert [each["to"] for each in press.sent] == ["bob@x.example", "bob@x.example"]
    assert [each.call.id for each in run.confirmations] == ["5.1"]  # the same text, from another call
    await settled(press, run.id)


async def test_a_standing_approval_for_a_name_cannot_be_given_even_where_provenance_is_silent() -> None:
    @tool(effect="irreversible", returns={"status": "system"}, trust=Trust(act="send"))
    def send_letter(to: str, body: str) -> dict[str, str]:
        """Send a letter."""
        return {"status": "sent"}

    press = Press()
    model = Scripted([[FETCH], [ToolCall("b", "send_letter", {"to": "sarah@x.example", "body": "$v1"})], "Done."])
    harness = Harness(model, press.catalogue + Catalogue([send_letter]), gate=press.gate)
    run = await harness.run(PROMPT, ADA)
    (asked,) = run.confirmations
    assert (asked.code, asked.grantable) == ("", False)
    (body,) = asked.arguments
    assert (body.argument, body.value, body.source) == ("body", PLAIN, "fetch_page (www.news.example), as $v1")


async def test_what_is_private_or_secret_stays_so_when_it_was_never_shown() -> None:
    read = [ToolCall("v", "read_vault", {"name": name}) for name in ("diary", "pin")]
    calls = [send("$v1"), send("$v2"), send("$v1", to="eve@x.example")]
    press = Press(read, [send("in my words", to="eve@x.example")], calls, [ToolCall("k", "keep", {"text": "$v2"})])
    run = await press.harness.run(PROMPT, ADA)
    assert [(each.call.id, each.code) for each in run.confirmations] == [
        ("3.2", "SECRET_IN_SESSION"),
        ("3.3", "SECRET_IN_SESSION"),
    ]
    assert [each["to"] for each in press.sent] == ["eve@x.example", "sarah@x.example"]
    for each in run.confirmations:
        await press.harness.answer(each.id, approve=False, by="ada")
    run = await press.harness.resume(run.id)
    ((_, label),) = press.kept
    assert label is not None
    assert (label.integrity, label.readers, label.secret) == ("untrusted", frozenset({"ada"}), True)
    assert run.results["4.1"].label == Label("system", "keep", frozenset({"ada"}), True)
    await settled(press, run.id)


async def test_nobody_reads_in_an_odd_place_or_in_an_error_what_is_private() -> None:
    @tool(trust=Trust(act="send", roles={"to": "target", "form": "plain"}))
    def fill_in(to: str, form: Any) -> str:
        """Fill in a form of somebody's."""
        raise ToolError(f"not {form}")

    press = Press()
    fill = [ToolCall("f", "fill_in", {"to": each, "form": "$v1"}) for each in ("eve@x.example", "sarah@x.example")]
    model = Scripted([[ToolCall("v", "read_vault", {"name": "diary"})], fill, "Done."])
    catalogue = press.catalogue + Catalogue([fill_in])
    harness = Harness(model, catalogue, gate=press.gate, journal=press.journal)
    run = await harness.run(PROMPT, ADA)
    assert [(each.call.id, each.code) for each in run.confirmations] == [("2.1", "SECRET_IN_SESSION")]
    assert run.results["2.2"].label == Label("untrusted", "fill_in", frozenset({"ada"}))
    again = await replay(await press.journal.read(run.id), catalogue, press.gate)
    assert again.same, again.differences


async def test_a_tool_that_repeats_what_it_was_given_unseen_taints_the_run() -> None:
    look = ToolCall("l", "look", {"text": "$v1", "words": True})
    press = Press([FETCH], [look], [send("hi", to="new@x.example")])
    run = await press.harness.run(PROMPT, ADA)
    assert run.results["2.1"].label is None  # untrusted, as whatever has no label
    assert [each.code for each in run.confirmations] == ["OFF_PLAN"]
    date = ToolCall("l", "look", {"text": "$v1"})
    press = Press([FETCH], [date], [send("hi", to="new@x.example")], page="2024-05-01 and more")
    run = await press.harness.run(PROMPT, ADA)
    assert run.outcome.kind == "answered"
    assert (run.results["2.1"].text, run.results["2.1"].label) == ('{"day":"2024-05-01"}', Label("typed", "look"))


# -- what is returned


async def test_an_error_is_not_shown_either_and_one_of_ours_is() -> None:
    press = Press([FETCH], [ToolCall("k", "keep", {"text": "$v1"})], page=failing(ORDER))
    run = await press.harness.run(PROMPT, ADA)
    assert run.results["1.1"].is_error
    assert run.results["1.1"].text.startswith("fetch_page could not do this: $v1 is what it said. It is not shown")
    assert press.kept[0][0] == ORDER
    await settled(press, run.id)
    press = Press([FETCH], [send("hi", to="new@x.example")], page=RuntimeError(EVIL))
    run = await press.harness.run(PROMPT, ADA)
    assert run.results["1.1"].text == "fetch_page failed for a reason that is not yours to repair."
    assert (run.outcome.kind, run.state.handles) == ("answered", {})
    await settled(press, run.id)


async def test_what_is_no_text_and_no_json_is_withheld() -> None:
    press = Press([FETCH], page=Media("image/png", b"IMPORTANT"))
    run = await press.harness.run(PROMPT, ADA)
    assert run.results["1.1"].is_error
    assert "neither text nor JSON" in run.results["1.1"].text
    assert [type(block) for block in run.results["1.1"].content] == [Text]
    await settled(press, run.id)


async def test_what_is_too_long_to_be_shown_is_kept_as_far_as_it_would_be() -> None:
    press = Press([FETCH], [ToolCall("k", "keep", {"text": "$v1"})], page="x" * 50_000)
    run = await press.harness.run(PROMPT, ADA)
    assert press.kept[0][0].startswith("x" * 40_000 + "\n[cut: the first 40,000 of 50,000 characters")
    await settled(press, run.id)


async def test_a_tool_cannot_change_what_a_name_stands_for() -> None:
    async def take(arguments: dict[str, Any], context: Context) -> dict[str, int]:
        return {"n": arguments["items"].pop()}

    items = {"type": "object", "properties": {"items": {"type": "array"}}}
    trust = Trust(act="self", roles={"items": "content"})
    pop = Tool(ToolSpec("pop", "Take the last item away.", items), take, returns={"n": "system"}, trust=trust)
    press = Press(page=[1, 2, 3])
    one = ToolCall("p", "pop", {"items": "$v1"})
    model = Scripted([[FETCH], [one], [one], "Done."])
    run = await Harness(model, press.catalogue + Catalogue([pop]), gate=press.gate).run(PROMPT, ADA)
    assert [run.results[id].text for id in ("2.1", "3.1")] == ['{"n":3}', '{"n":3}']


async def test_the_notes_of_the_gate_stand_before_the_line() -> None:
    @tool(effect="read", limits=Limits(clamps={"n": (0, 5)}), trust=Trust(act="read", opaque=True))
    def texts(n: int) -> str:
        """Read texts."""
        return ORDER * n

    press = Press()
    model = Scripted([[ToolCall("t", "texts", {"n": 9})], [ToolCall("k", "keep", {"text": "$v1"})], "Done."])
    catalogue = press.catalogue + Catalogue([texts])
    harness = Harness(model, catalogue, gate=press.gate, journal=press.journal)
    run = await harness.run("Read.", ADA)
    assert run.results["1.1"].text.startswith("[note: n was 9")
    assert press.kept[0][0] == ORDER * 5
    again = await replay(await press.journal.read(run.id), catalogue, press.gate)
    assert again.same, again.differences


async def test_a_structured_answer_has_the_value() -> None:
    press = Press([FETCH], [ToolCall("z", "answer", {"value": "$v1"})])
    run = await press.harness.run(PROMPT, ADA, output=str)
    assert run.output == PLAIN
    assert PLAIN not in press.read


async def test_a_secret_cannot_be_given_unseen() -> None:
    @tool(returns={"status": "system"}, trust=Trust(act="admin", roles={"password": "critical"}))
    def set_password(password: Annotated[str, Secret]) -> dict[str, str]:
        """Set a password."""
        raise AssertionError("never")

    press = Press(page="hunter22")
    model = Scripted([[FETCH], [ToolCall("s", "set_password", {"password": "$v1"})], "Done."])
    catalogue = press.catalogue + Catalogue([set_password])
    run = await Harness(model, catalogue, gate=press.gate, journal=press.journal).run(PROMPT, ADA)
    assert run.results["2.1"].code == "bad_arguments"
    assert "takes a secret where a result stands" in run.results["2.1"].text
    again = await replay(await press.journal.read(run.id), catalogue, press.gate)
    assert again.same, again.differences


async def test_secrets_are_scrubbed_from_what_is_kept_and_placeholders_in_it_mean_nothing() -> None:
    @tool(effect="read", trust=Trust(act="read"))
    def login(password: Annotated[str, Secret]) -> str:
        """Log in."""
        return "in"

    @tool(effect="read", trust=Trust(act="read", opaque=True))
    def dump(password: Annotated[str, Secret]) -> dict[str, str]:
        """Dump everything."""
        return {"all": f"the password is {password}, not [secret 0123456789abcdef0123]"}

    press = Press()
    words = {"password": "open sesame"}
    model = Scripted([[ToolCall("d", "dump", words)], [ToolCall("k", "look", {"text": "$v1"})], "Done."])
    catalogue = Catalogue([login, dump]) + Catalogue([press.catalogue["look"]])

    @tool(effect="read", trust=Trust(act="read"))
    def look_at(what: dict[str, str], password: Annotated[str, Secret]) -> str:
        """Look at what is there."""
        seen.append((what, password))
        return "looked"

    seen: list[Any] = []
    model = Scripted([[ToolCall("d", "dump", words)], [ToolCall("k", "look_at", {"what": "$v1", **words})], "Done."])
    catalogue = Catalogue([login, dump, look_at])
    run = await Harness(model, catalogue, journal=press.journal).run("Look.", ADA)
    ((what, password),) = seen
    assert password == "open sesame"
    assert "open sesame" not in str(what)
    assert "open sesame" not in str([each.entry for each in await press.journal.read(run.id)])


async def test_a_placeholder_in_what_is_kept_is_no_lost_secret() -> None:
    @tool(effect="read", trust=Trust(act="read"))
    def login(password: Annotated[str, Secret]) -> str:
        """Log in."""
        return "in"

    press = Press(page="[secret 0123456789abcdef0123]")
    model = Scripted([[FETCH], [ToolCall("k", "keep", {"text": "$v1"})], "Done."])
    await Harness(model, press.catalogue + Catalogue([login]), gate=press.gate).run(PROMPT, ADA)
    assert press.kept[0][0] == "[secret 0123456789abcdef0123]"


# -- the journal


def on_disk(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.iterdir() if each.is_file())


async def test_another_process_has_the_value_and_an_erased_run_has_it_no_more(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    press = Press([FETCH], [send("$v1", to="bob@x.example")], page=EVIL, journal=SqliteJournal(path))
    run = await press.harness.run(PROMPT, ADA)
    assert run.outcome.kind == "waiting"
    await press.journal.aclose()
    assert b"mallory" in on_disk(tmp_path)
    journal = SqliteJournal(path)
    other = Press(page="another page by now", journal=journal)
    await other.harness.answer((await other.harness.confirmations())[0].id, approve=True, by="ada")
    run = await other.harness.resume(run.id)
    assert (run.outcome.kind, [each["body"] for each in other.sent]) == ("answered", [EVIL])
    await settled(other, run.id)
    await journal.erase("ada", by="ops")
    with pytest.raises(RunErased):
        await journal.read(run.id)
    await journal.aclose()
    assert b"mallory" not in on_disk(tmp_path)


async def test_a_run_that_is_cut_after_any_entry_ends_the_same() -> None:
    turns = [FETCH], [send("$v1")], [ToolCall("k", "keep", {"text": "$v1"})]
    press = Press(*turns)
    run = await press.harness.run(PROMPT, ADA)
    records = await press.journal.read(run.id)
    for cut in range(3, len(records)):
        entries = [each.entry for each in records[:cut]]
        said = sum(each.message.role == "assistant" for each in entries if isinstance(each, Said))
        again = Press(*turns[said:])
        log = await again.journal.create("r", "ada", entries)
        await log.release("ready")
        went_on = await again.harness.resume("r")
        for doubt in went_on.doubts:
            await again.harness.settle("r", doubt.call.id, "happened", by="ada")
            went_on = await again.harness.resume("r")
        assert went_on.outcome.kind == "answered"
        assert went_on.state.handles == run.state.handles


async def test_what_the_service_knows_of_a_call_whose_process_died_is_not_shown_either() -> None:
    async def known(key: str) -> str:
        return ORDER

    @tool(trust=Trust(act="self", opaque=True), lookup=known, limits=Limits(timeout=5))
    def order(what: str) -> str:
        """Order."""
        raise ConnectionError

    press = Press()
    model = Scripted([[ToolCall("o", "order", {"what": "tea"})], [ToolCall("k", "keep", {"text": "$v1"})], "Done."])
    run = await Harness(model, press.catalogue + Catalogue([order]), gate=press.gate).run("Order tea.", ADA)
    assert run.results["1.1"].text.startswith("$v1 is what order returned. It is not shown")
    assert press.kept[0][0] == ORDER


async def test_calls_of_one_turn_have_the_names_of_their_order_however_they_end() -> None:
    @tool(effect="read", trust=Trust(act="read", opaque=True))
    async def wait(turns: int) -> str:
        """Wait."""
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        return f"waited {turns}"

    press = Press()
    calls = [ToolCall(str(n), "wait", {"turns": n}) for n in (9, 0, 4)]
    model = Scripted([calls, [ToolCall("k", "keep", {"text": "$v1"})], "Done."])
    run = await Harness(model, press.catalogue + Catalogue([wait]), gate=press.gate).run("Wait.", ADA)
    assert {name: each.value for name, each in run.state.handles.items()} == {
        "$v1": "waited 9", "$v2": "waited 0", "$v3": "waited 4",
    }  # fmt: skip
    assert press.kept[0][0] == "waited 9"


async def test_show_shows_it_inertly_and_old_entries_still_read() -> None:
    press = Press([FETCH], page="\x1b[31mred\u202e")
    run = await press.harness.run(PROMPT, ADA)
    (finished,) = [each for each in run.entries if isinstance(each, Finished)]
    parts = "".join(part if isinstance(part, str) else part[0] for part in entry_parts(finished))
    assert "$v1 = \\x1b[31mred\\u202e" in parts
    assert decode(encode(finished), VERSION) == finished
    assert b"handle" not in encode(msgspec.structs.replace(finished, handle=None))


async def test_earlier_messages_with_names_in_them_taint_nothing_and_mean_nothing() -> None:
    press = Press([FETCH])
    first = await press.harness.run(PROMPT, ADA)
    model = Scripted([[send("$v1")], [send("hi", to="new@x.example")], "Done."])
    # What the model said then is vouched for, so that only what stands for the page could taint.
    said = [
        Message(each.role, tuple(Text(b.text, Label("config")) if isinstance(b, Text) else b for b in each.blocks))
        for each in first.messages
        if each.role == "assistant"
    ]
    earlier = [said.pop(0) if each.role == "assistant" else each for each in first.messages]
    run = await press.another(model).run("Go on.", ADA, history=earlier)
    assert run.results["1.1"].code == "bad_arguments"
    assert [each["to"] for each in press.sent] == ["new@x.example"]
