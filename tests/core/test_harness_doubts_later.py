"""Doubts that outlive the run they came from, and services that know only later."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from core_kit import ADA, Checked, ask

from counterfoil import Catalogue, Harness, Journal, Limits, MemoryJournal, SettlementError, SqliteJournal, Tool, tool

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", "sqlite"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    made: Journal = MemoryJournal() if request.param == "memory" else SqliteJournal(tmp_path / "runs.db")
    yield made
    await made.aclose()


def hanging(**options: object) -> Tool:
    async def send(to: str) -> str:
        """Send."""
        await anyio.sleep(60)
        return "never"

    return tool(effect="write", limits=Limits(timeout=0.02), **options)(send)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("how", ["happened", "abandon"])
async def test_a_doubt_is_settled_though_its_run_was_cancelled(journal: Journal, how: str) -> None:
    harness = Harness(Checked([[ask("send", to="bo")], "ok"]), Catalogue([hanging()]), journal=journal)
    run = await harness.run("x", ADA)
    run = await harness.cancel(run.id, by="bob")
    assert run.outcome.kind == "cancelled"
    assert [doubt.call.id for doubt in await harness.doubts()] == ["1.1"]
    with pytest.raises(SettlementError, match="has gone on without"):
        await harness.settle(run.id, "1.1", "retry", by="bob")
    await harness.settle(run.id, "1.1", how, by="bob")  # type: ignore[arg-type]
    told = run.results["1.1"]
    run = await harness.resume(run.id)
    assert (run.outcome.kind, run.doubts, await harness.doubts()) == ("cancelled", [], [])
    assert run.results["1.1"] == told  # the model was told already, and history is not rewritten


async def test_an_unsettled_doubt_of_a_cancelled_run_still_guards_against_a_repeat(journal: Journal) -> None:
    model = Checked([[ask("send", to="bo")], [ask("send", to="bo")]])
    harness = Harness(model, Catalogue([hanging()]), journal=journal)
    run = await harness.run("x", ADA)
    await harness.cancel(run.id, by="bob")
    run = await harness.run("and again", ADA, run_id=run.id)
    assert run.outcome.kind == "waiting"
    assert "in doubt" in run.confirmations[0].reason


async def test_a_service_that_did_not_know_is_asked_again_at_the_next_resume(journal: Journal) -> None:
    asked: list[str] = []

    async def look_up(key: str) -> str | None:
        asked.append(key)
        if len(asked) < 3:
            raise ConnectionError("not yet")
        return "sent, as the service says"

    harness = Harness(Checked([[ask("send", to="bo")], "ok"]), Catalogue([hanging(lookup=look_up)]), journal=journal)
    run = await harness.run("x", ADA)
    assert (run.outcome.kind, len(asked)) == ("in_doubt", 1)
    assert (await harness.resume(run.id)).outcome.kind == "in_doubt"
    run = await harness.resume(run.id)
    assert (run.outcome.kind, run.results["1.1"].text) == ("answered", "sent, as the service says")
    assert len(set(asked)) == 1
