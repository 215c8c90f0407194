"""What the journal has of provenance: it survives storage, folds, walks, replays, and is absent where it is off."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from provenance_shop import ADA, LOOK, NOTE, ON_FILE, PLAN, PROMPT, THIEF, Shop, refund

from counterfoil import (
    Gate,
    Intent,
    JournalCorrupt,
    Label,
    Message,
    Session,
    SqliteJournal,
    Text,
    ToolCall,
    ToolResult,
)
from counterfoil.cli.words import entry_parts
from counterfoil.journal.codec import decode, encode
from counterfoil.run.replay import replay
from counterfoil.run.state import State
from counterfoil.run.walk import walk
from counterfoil.types.entry import (
    Declassified,
    Doubted,
    Entry,
    Finished,
    Judged,
    Opened,
    Planned,
    Record,
    Said,
    Settled,
    Started,
)
from counterfoil.types.message import user
from counterfoil.types.verdict import ALLOWED, Allowed, Confirm

pytestmark = pytest.mark.anyio


async def test_labels_survive_storage_and_a_resume_in_another_process_judges_the_same(tmp_path: Path) -> None:
    shop = Shop([LOOK], [refund(THIEF)], journal=SqliteJournal(tmp_path / "runs.db"))
    run = await shop.harness.run(PROMPT, ADA, plan=PLAN)
    await shop.journal.aclose()
    shop.journal = SqliteJournal(tmp_path / "runs.db")
    stored = State(record.entry for record in await shop.records(run.id))
    (read,) = [each for each in stored.entries if isinstance(each, Finished)]
    assert read.result.label is None  # untrusted, as whatever has no label
    assert read.leaves is not None
    assert read.leaves.fields["iban"] == "system"
    assert stored.known is not None
    assert run.state.known is not None
    assert (stored.hash, stored.known.label) == (run.state.hash, run.state.known.label)
    assert stored.known.tainted
    harness = shop.another([refund(ON_FILE)])
    await harness.answer((await harness.confirmations())[0].id, approve=False, by="ada")
    run = await harness.resume(run.id)
    assert (run.outcome.kind, shop.refunded) == ("answered", [ON_FILE])  # the plan was not spent on the other account
    records = await shop.records(run.id)
    assert walk(records) == []
    again = await replay(records, shop.catalogue, shop.gate)
    assert again.same, again.differences
    await shop.journal.aclose()


async def test_a_replay_through_a_gate_without_the_check_says_what_it_would_have_let_through() -> None:
    shop = Shop([LOOK], [refund(THIEF)])
    run = await shop.harness.run(PROMPT, ADA, plan=PLAN)
    again = await replay(await shop.records(run.id), shop.catalogue, Gate(provenance="off"))
    assert again.differences == ("call 2.1 (refund) was put to a person, today allowed",)


async def test_off_leaves_nothing_in_the_journal_but_the_mode() -> None:
    shop = Shop([LOOK], [refund(THIEF)], provenance="off", me=lambda session: ["ada@example.com"], vouched=["ops"])
    run = await shop.harness.run(PROMPT, ADA)
    assert shop.refunded == [THIEF]
    assert run.state.known is None
    written = b"".join(encode(each) for each in run.entries)
    assert b'"provenance":"off"' in written
    for word in (b"label", b"leaves", b"intent", b"vouched", b'"me"', b"planned", b"integrity"):
        assert word not in written


async def test_a_run_that_was_begun_without_the_check_is_followed_from_its_beginning() -> None:
    shop = Shop([LOOK], "There is a note.", provenance="off")
    run = await shop.harness.run("Look at order ORD-1001.", ADA)
    strict = shop.another([refund(THIEF)], gate=Gate(provenance="strict"))
    run = await strict.run("Go on.", ADA, run_id=run.id)
    assert (run.outcome.kind, shop.refunded) == ("waiting", [])
    assert [each.provenance for each in run.entries if isinstance(each, Opened)] == ["off", "strict"]
    off = shop.another(gate=Gate(provenance="off"))
    await off.answer(run.confirmations[0].id, approve=False, by="ada")
    run = await off.resume(run.id)
    assert run.state.known is None
    assert [each.provenance for each in run.entries if isinstance(each, Opened)] == ["off", "strict", "off"]


async def test_a_check_that_has_nothing_to_look_at_refuses() -> None:
    shop = Shop([refund(THIEF)], provenance="off")
    shop.harness.gate = Gate(provenance="strict")
    first = (Opened(ADA, provenance="off"), Said(user(PROMPT)))
    log = await shop.journal.create("r", "ada", first)
    await log.release("ready")
    shop.harness.gate.opened = lambda opened: first[0]  # type: ignore[method-assign]  # a gate that says it is off
    run = await shop.harness.resume("r")
    assert run.results["1.1"].code == "not_permitted"
    assert shop.refunded == []


CALLED = Said(Message("assistant", (ToolCall("1.1", "refund", {"iban": ON_FILE, "amount": 48.0}),)))
BEGUN = (Opened(ADA, provenance="default"), Said(user(PROMPT)), Planned((Intent("refund", open=("iban", "amount")),)))


async def test_an_intent_is_given_back_when_its_call_is_judged_again() -> None:
    state = State([*BEGUN, CALLED, Judged("1.1", ALLOWED, intent=0)])
    assert state.known is not None
    assert state.known.plan.spent == {0}
    fewer = Session(requester="ada", permissions=frozenset({"refund"}))
    state.apply(Opened(fewer, provenance="default"))
    assert state.calls["1.1"].verdict is None
    assert state.known.plan.spent == set()
    state.apply(Judged("1.1", ALLOWED, intent=0))
    state.apply(Opened(fewer, provenance="default", me=("ada@example.com",)))  # and under other names
    assert state.known.me == {"ada@example.com"}
    assert state.known.plan.spent == set()


async def test_a_model_s_plan_after_a_taint_does_not_follow_and_does_not_count() -> None:
    read = Finished(ToolResult("1.1", (Text(NOTE),), name="refund"))
    late = Planned((Intent("refund", {"iban": THIEF}),), by="the model", by_model=True)
    entries: list[Entry] = [*BEGUN, CALLED, Judged("1.1", ALLOWED, intent=0), read, late]
    found = walk([Record(run="r", seq=seq, epoch=1, at=0.0, entry=each) for seq, each in enumerate(entries)])
    assert any("after it had read what others can write" in each for each in found)
    state = State(entries)
    assert state.known is not None
    assert len(state.known.plan.intents) == 1


async def test_every_kind_of_entry_can_be_told() -> None:
    parts = [
        entry_parts(Planned((Intent("refund", {"amount": 48.0}),), by="ada")),
        entry_parts(Declassified("1.1", "ada")),
    ]
    told = ["".join(part if isinstance(part, str) else part[0] for part in each) for each in parts]
    assert told == ['planned by ada: refund {"amount":48.0}', "1.1 ada vouches for its result"]


async def test_verdicts_without_the_check_are_what_they_were() -> None:
    assert encode(Judged("1.1", Confirm("because"))) == (
        b'{"entry":"judged","call_id":"1.1","verdict":{"type":"confirm","reason":"because"}}'
    )
    assert encode(Judged("1.1", Allowed())) == b'{"entry":"judged","call_id":"1.1","verdict":{"type":"allowed"}}'


async def test_what_became_of_a_call_in_doubt_taints_like_any_result() -> None:
    told = ToolResult("1.1", (Text(NOTE),), name="refund")
    begun: list[Entry] = [
        *BEGUN,
        CALLED,
        Judged("1.1", ALLOWED, intent=0),
        Started("1.1", "write"),
        Doubted("1.1", "it died"),
    ]
    for settled, tainted in (
        (Settled("1.1", "happened", "the worker", told), True),
        (Settled("1.1", "happened", "bob"), False),
    ):
        state = State([*begun, settled])
        assert state.known is not None
        assert state.known.tainted is tainted


async def test_a_call_that_is_run_again_carries_out_its_intent_again() -> None:
    begun: list[Entry] = [
        *BEGUN,
        CALLED,
        Judged("1.1", ALLOWED, intent=0),
        Started("1.1", "write"),
        Doubted("1.1", "it died"),
    ]
    state = State([*begun, Settled("1.1", "retry", "bob")])
    assert state.known is not None
    assert state.known.plan.spent == set()


async def test_an_older_reader_refuses_what_it_cannot_know() -> None:
    with pytest.raises(JournalCorrupt, match="cannot be read"):
        decode(b'{"entry":"planned_by_a_later_release"}', 1)
    assert decode(b'{"entry":"opened","session":{"requester":"ada"}}', 1) == Opened(Session(requester="ada"))


LABELS = st.sampled_from(
    [
        None,
        Label("user"),
        Label("config"),
        Label("system", "a"),
        Label("typed", "a"),
        Label("untrusted", "a"),
        Label("system", "a", frozenset({"ada"})),
        Label("system", "a", None, True),
    ]
)


@given(st.lists(st.tuples(st.booleans(), LABELS, st.booleans()), max_size=6), st.booleans())
def test_what_is_not_marked_has_nothing_in_it_that_bears_on_a_call(
    steps: list[tuple[bool, Label | None, bool]], outside: bool
) -> None:
    state = State([Opened(ADA, provenance="default", outside=outside)])
    for number, (reads, label, fails) in enumerate(steps):
        if not reads:
            state.apply(Said(Message("user", (Text("Hello", label),))))
            continue
        call = ToolCall(f"{number}.1", "lookup_order", {"order_id": "ORD-1001"})
        state.apply(Said(Message("assistant", (call,))))
        state.apply(Judged(call.id, ALLOWED))
        state.apply(Started(call.id, "read"))
        state.apply(Finished(ToolResult(call.id, (Text("found"),), fails, None, "lookup_order", label)))
    assert state.known is not None
    state.known.turn()
    assert state.marked or state.known.unmarked
