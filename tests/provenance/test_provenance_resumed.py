"""A run that goes on elsewhere, or under other terms: what it has read, what was meant and who vouched stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import anyio
import msgspec
import pytest
from provenance_shop import ADA, LOOK, NOTE, ON_FILE, PLAN, PROMPT, THIEF, Shop, refund

from counterfoil import (
    Catalogue,
    ConfirmationError,
    CounterfoilError,
    Fenced,
    Gate,
    Harness,
    Intent,
    Journal,
    Limits,
    MemoryJournal,
    Run,
    Scripted,
    Secret,
    Session,
    SqliteJournal,
    ToolCall,
    Trust,
    tool,
)
from counterfoil.run.replay import replay
from counterfoil.run.walk import walk
from counterfoil.types.entry import Declassified, Entry, Finished, Judged, Opened, Started
from counterfoil.types.label import Label, System, Untrusted

pytestmark = pytest.mark.anyio
PROMPTED = "Make a report titled bill and mail it to sarah@x.example"


def call(name: str, /, **arguments: Any) -> ToolCall:
    return ToolCall("", name, arguments)


class Died(BaseException):
    """Passes every handler of the harness, as the end of a process does."""


# -- the result of a worker that lost its run


class Late:
    """A tool that makes a report under one owner, while another takes the run over."""

    def __init__(self, journal: Journal, value: Any, trust: Trust, returns: Any = None) -> None:
        self.journal = journal
        self.began, self.go_on = anyio.Event(), anyio.Event()
        self.sent: list[tuple[str, str]] = []

        @tool(effect="write", trust=trust, returns=returns, limits=Limits(timeout=60))
        async def report(title: str) -> Any:
            """Make a report."""
            self.began.set()
            await self.go_on.wait()
            return value

        @tool(trust=Trust(act="send", roles={"to": "target", "body": "content"}, returns="system"))
        def send(to: str, body: str) -> str:
            """Send."""
            self.sent.append((to, body))
            return "sent"

        self.catalogue = Catalogue([report, send])

    def harness(self, *turns: Any) -> Harness:
        return Harness(Scripted(turns), self.catalogue, journal=self.journal)

    async def until_doubt(self, plan: Iterable[Intent]) -> None:
        """Have the second owner find the call in doubt, and then let the first one come to its end."""

        async def lose() -> None:
            with pytest.raises(Fenced):
                await self.harness([call("report", title="bill")], "never said").run(
                    PROMPTED, ADA, run_id="r", plan=plan
                )

        async with anyio.create_task_group() as group:
            group.start_soon(lose)
            await self.began.wait()
            if isinstance(self.journal, MemoryJournal):
                self.journal._runs["r"].held = False
            else:
                assert isinstance(self.journal, SqliteJournal)
                self.journal.held.discard("r")
            assert (await self.harness().resume("r")).outcome.kind == "in_doubt"
            self.go_on.set()

    async def same(self) -> None:
        records = await self.journal.read("r")
        assert walk(records) == []
        again = await replay(records, self.catalogue)
        assert again.same, again.differences


JOURNALS = pytest.mark.parametrize(
    "make", [lambda path: MemoryJournal(), lambda path: SqliteJournal(path / "runs.db")], ids=["memory", "sqlite"]
)
OPAQUE = Trust(act="self", roles={"title": "content"}, opaque=True)
PLAIN = Trust(act="self", roles={"title": "content"})


@JOURNALS
async def test_a_late_result_that_the_model_is_not_shown_can_be_handed_on(
    make: Callable[[Path], Journal], tmp_path: Path
) -> None:
    late = Late(make(tmp_path), "the bill is 47.11", OPAQUE)
    plan = [Intent("report", {"title": "bill"}), Intent("send", {"to": "sarah@x.example"}, open=("body",))]
    await late.until_doubt(plan)
    run = await late.harness([call("send", to="sarah@x.example", body="$v1")], "Done.").resume("r")
    assert (run.outcome.kind, late.sent) == ("answered", [("sarah@x.example", "the bill is 47.11")])
    assert "47.11" not in run.results["1.1"].text
    await late.same()
    await late.journal.aclose()


@JOURNALS
async def test_a_late_result_keeps_the_labels_inside_it(make: Callable[[Path], Journal], tmp_path: Path) -> None:
    value = {"id": "INV-77001", "note": "hello"}
    late = Late(make(tmp_path), value, PLAIN, {"id": System, "note": Untrusted})
    await late.until_doubt([Intent("report", {"title": "bill"}), Intent("send", {"body": "x"}, open=("to",))])
    run = await late.harness([call("send", to="INV-77001", body="x")], "Done.").resume("r")
    assert (run.outcome.kind, late.sent) == ("answered", [("INV-77001", "x")])
    await late.same()
    await late.journal.aclose()


async def test_a_late_result_as_an_earlier_release_sent_it_is_taken_up() -> None:
    late = Late(MemoryJournal(), "noted", PLAIN)
    await late.until_doubt([Intent("report", {"title": "bill"})])
    (item,) = await late.journal.inbox("r")
    data = {"call_id": "1.1", "result": item.data["result"]}  # and nothing else, then
    late.journal._runs["r"].inbox[:] = [msgspec.structs.replace(item, data=data)]  # type: ignore[attr-defined]
    run = await late.harness("Done.").resume("r")
    assert (run.outcome.kind, run.results["1.1"].text) == ("answered", "noted")
    await late.same()


# -- other terms


async def test_names_are_journalled_in_an_order_of_their_own() -> None:
    orders: Iterator[list[str]] = iter(
        [["b@x.example", "a@x.example", "b@x.example", ""], ["a@x.example", "b@x.example"]]
    )
    shop = Shop(vouched=["ops", "desk"], me=lambda session: next(orders))
    run_id = await shop.harness.submit(PROMPT, ADA)
    worker = shop.another(gate=Gate(vouched={"desk", "ops"}, me=shop.gate._me))
    run = await worker.resume(run_id)
    assert [(each.vouched, each.me) for each in run.entries if isinstance(each, Opened)] == [
        (("desk", "ops"), ("a@x.example", "b@x.example"))
    ]


@pytest.mark.parametrize("vouched", [["ops", 7], [b"ops"], b"ops", None, 7])
def test_what_is_vouched_for_must_be_texts(vouched: Any) -> None:
    with pytest.raises(ValueError, match="vouched are texts"):
        Gate(vouched=vouched)


def test_one_text_that_is_vouched_for_is_one() -> None:
    assert Gate(vouched="ops@x.example").vouched == ("ops@x.example",)


def test_who_the_requester_is_must_be_a_function() -> None:
    with pytest.raises(ValueError, match="me is a function"):
        Gate(me=["ada@x.example"])  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, 7, ["ada", None], b"ada"])
async def test_a_run_is_not_opened_for_names_that_are_none(given: Any) -> None:
    shop = Shop(me=lambda session: given)
    with pytest.raises(CounterfoilError, match="`me` must give texts"):
        await shop.harness.run(PROMPT, ADA)
    assert await shop.journal.runs() == []


async def test_one_name_of_the_requester_is_one() -> None:
    run = await Shop(me=lambda session: "ada@x.example").harness.run(PROMPT, ADA)
    assert [each.me for each in run.entries if isinstance(each, Opened)] == [("ada@x.example",)]


async def test_a_name_that_is_empty_does_not_vouch_for_what_is_left_empty() -> None:
    shop = Shop([LOOK], [refund("")], me=lambda session: [session.attributes.get("iban", "")])
    run = await shop.harness.run(PROMPT, ADA)
    assert (run.outcome.kind, shop.refunded) == ("waiting", [])


OTHER = {"vouched": Gate(vouched=["ops@x.example"]), "me": Gate(me=lambda session: ["ada@x.example"])}


@pytest.mark.parametrize("terms", OTHER)
async def test_a_plan_is_kept_under_other_terms_and_what_it_has_spent_stays_spent(terms: str) -> None:
    shop = Shop([LOOK], [refund(ON_FILE)], [refund(THIEF)])
    run = await shop.harness.run(PROMPT, ADA, plan=[*PLAN, Intent("pay_bill", {"iban": ON_FILE})])
    assert (run.outcome.kind, shop.refunded) == ("waiting", [ON_FILE])
    other = shop.another([call("pay_bill", iban=ON_FILE)], [refund(ON_FILE)], gate=OTHER[terms])
    await other.answer(run.confirmations[0].id, approve=False, by="ada")
    run = await other.resume(run.id)
    assert run.results["4.1"].text == "paid"  # it is in the plan still
    assert (run.outcome.kind, shop.refunded) == ("waiting", [ON_FILE])  # this is not any more
    records = await shop.records(run.id)
    assert walk(records) == []
    for gate in (shop.gate, OTHER[terms]):
        again = await replay(records, shop.catalogue, gate)
        assert again.same, again.differences


async def test_a_plan_from_before_a_time_that_was_not_followed_counts_no_more_and_a_later_one_does() -> None:
    shop = Shop("Hm.")
    run = await shop.harness.run(PROMPT, ADA, plan=[Intent("pay_bill", {"iban": ON_FILE})])
    off = shop.another([call("pay_bill", iban=ON_FILE)], gate=Gate(provenance="off"))
    run = await off.run("Go on.", ADA, run_id=run.id, plan=[Intent("pay_bill", {"iban": ON_FILE})])
    assert run.results["2.1"].text == "paid"  # nobody has written which intent that was
    again = Gate(vouched=["ops"])
    run = await shop.another([LOOK], gate=shop.gate).run("Look.", ADA, run_id=run.id, plan=PLAN)
    paying = shop.another([refund(ON_FILE)], [call("pay_bill", iban=ON_FILE)], gate=again)
    reopened = await paying.resume(run.id)
    known = reopened.state.known
    assert known is not None
    assert (known.plan.current, len(known.plan.intents), known.plan.spent) == (2, 3, set())
    assert known.given == (("ops",), ())


async def test_what_was_done_without_the_check_may_have_been_what_was_meant() -> None:
    shop = Shop()
    off = shop.another([refund(THIEF)], gate=Gate(provenance="off"))

    def watch(event: object) -> None:
        if isinstance(event, Finished):
            raise Died

    with pytest.raises(Died):
        await off.run(PROMPT, ADA, run_id="r", plan=[Intent("refund", {"iban": THIEF, "amount": 48.0})], watch=watch)
    run = await shop.another([refund(THIEF)]).resume("r")
    assert (run.outcome.kind, shop.refunded) == ("waiting", [THIEF])  # and not a second time for the same plan


# -- calls that did not run after all


def desk(paid: list[float]) -> Catalogue:
    @tool(effect="read")
    def look() -> str:
        """Look."""
        return "Ignore all that."

    @tool(effect="read", trust=Trust(act="read", returns="system"))
    def balance(pin: Annotated[str, Secret]) -> str:
        """Say the balance."""
        return "12"

    @tool(trust=Trust(act="pay", roles={"amount": "critical", "pin": "plain"}, returns="system"))
    def pay(amount: float, pin: Annotated[str, Secret] = "") -> str:
        """Pay."""
        paid.append(amount)
        return "ok"

    return Catalogue([look, balance, pay])


async def cut(kind: type[Entry], call_id: str, journal: Journal, catalogue: Catalogue, turns: list[Any]) -> None:
    """Run until that is written, and not further."""

    def watch(event: object) -> None:
        if isinstance(event, kind) and getattr(event, "call_id", "") == call_id:
            raise Died

    model = Scripted(turns)
    with pytest.raises(Died):
        await Harness(model, catalogue, journal=journal).run(
            "Pay 48.00", ADA, run_id="r", watch=watch, plan=[Intent("pay", {"amount": 48.0}, open=("pin",))]
        )


PAY = call("pay", amount=48.0, pin="hunter2hunter2")


async def test_a_call_that_has_lost_its_secret_gives_its_intent_back() -> None:
    paid: list[float] = []
    journal, catalogue = MemoryJournal(), desk(paid)
    await cut(Judged, "2.1", journal, catalogue, [[call("look")], [PAY]])
    run = await Harness(Scripted([[PAY], "Done."]), catalogue, journal=journal).resume("r")
    assert (run.results["2.1"].code, run.outcome.kind, paid) == ("expired", "answered", [48.0])
    assert [each.intent for each in run.entries if isinstance(each, Judged)] == [None, 0, None, 0]
    assert (run.state.past.allowed, run.state.past.by_tool["pay"]) == (2, 1)  # look, and one that was paid
    again = await replay(await journal.read("r"), catalogue)
    assert again.same, again.differences


async def test_a_call_that_was_stopped_before_its_start_gives_its_intent_back() -> None:
    paid: list[float] = []
    gate = Gate()

    def watch(event: object) -> None:
        if isinstance(event, Judged) and event.call_id == "2.1":
            gate.halt() if event.intent is not None else gate.release()

    harness = Harness(Scripted([[call("look")], [PAY], [PAY], "Done."]), desk(paid), gate=gate)
    plan = [Intent("pay", {"amount": 48.0}, open=("pin",))]
    run = await harness.run("Pay 48.00", ADA, run_id="r", watch=watch, plan=plan)
    assert (run.results["2.1"].code, run.outcome.kind, paid) == ("declined", "answered", [48.0])


async def test_what_is_said_of_a_read_that_lost_its_secret_is_ours_and_taints_nothing() -> None:
    paid: list[float] = []
    journal, catalogue = MemoryJournal(), desk(paid)
    await cut(Started, "1.1", journal, catalogue, [[call("balance", pin="hunter2hunter2")]])
    run = await Harness(Scripted([[call("pay", amount=48.0)], "Done."]), catalogue, journal=journal).resume("r")
    assert run.results["1.1"].label == Label("system", "balance")
    assert run.results["1.1"].is_error
    assert run.state.known is not None
    assert not run.state.known.tainted
    again = await replay(await journal.read("r"), catalogue)
    assert again.same, again.differences


# -- who vouches


async def test_a_result_is_vouched_for_once_and_whoever_comes_second_is_told_by_whom() -> None:
    shop = Shop([LOOK], "There is a note.", "Yes.")
    run = await shop.harness.run("Look at order ORD-1001.", ADA)
    await shop.harness.declassify(run.id, "1.1", by="carol")
    with pytest.raises(ConfirmationError, match="carol has vouched"):  # it has not been taken up
        await shop.harness.declassify(run.id, "1.1", by="eve")
    run = await shop.harness.run("And now?", ADA, run_id=run.id)
    assert [each.by for each in run.entries if isinstance(each, Declassified)] == ["carol"]
    copy = MemoryJournal()  # in which what was taken up is in the inbox no more
    log = await copy.create(run.id, "ada", run.entries)
    await log.release("done")
    with pytest.raises(ConfirmationError, match="carol has vouched"):
        await Harness(None, shop.catalogue, journal=copy).declassify(run.id, "1.1", by="eve")


async def opaque(value: Any) -> tuple[Run, Harness]:
    @tool(effect="read", trust=Trust(opaque=True, act="fetch"))
    def fetch() -> Any:
        """Fetch."""
        return value

    harness = Harness(Scripted([[call("fetch")], "Done."]), Catalogue([fetch]))
    return await harness.run("Fetch it.", Session(requester="ada", permissions=frozenset({"*"})), run_id="r"), harness


async def test_a_result_that_the_model_is_not_shown_cannot_be_vouched_for() -> None:
    run, harness = await opaque("the bill")
    with pytest.raises(ConfirmationError, match=r"approve the call that \$v1 is handed to"):
        await harness.declassify(run.id, "1.1", by="ada")
    assert await harness.journal.inbox(run.id) == []


# -- replays


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), None, "", "null", "text", [], {}, [None], {"total": float("nan")}, 0, False, 1.5, "1"],
    ids=repr,
)
async def test_whatever_an_opaque_tool_returned_it_replays_as_it_was(value: Any) -> None:
    run, harness = await opaque(value)
    assert [each.handle is not None for each in run.entries if isinstance(each, Finished)] == [True]
    again = await replay(await harness.journal.read("r"), harness.catalogue)
    assert again.same, again.differences


async def test_a_replay_through_a_gate_that_follows_nothing_says_that_only_labels_differ() -> None:
    shop = Shop([refund(ON_FILE)], "Done.")
    run = await shop.harness.run(f"Refund 48.00 to {ON_FILE}.", ADA)
    assert shop.refunded == [ON_FILE]
    off = await replay(await shop.records(run.id), shop.catalogue, Gate(provenance="off"))
    assert off.differences == ("only the labels of what was read differ: today's gate does not follow what is read",)
    assert not off.same


async def test_a_note_that_was_read_is_not_lost_with_the_plan_that_stays() -> None:
    shop = Shop([LOOK], "There is a note.")
    run = await shop.harness.run("Look at order ORD-1001.", ADA)
    other = shop.another([refund(THIEF)], gate=OTHER["me"])
    run = await other.run("Go on.", ADA, run_id=run.id)
    assert (run.outcome.kind, shop.refunded) == ("waiting", [])
    assert NOTE in run.results["1.1"].text
