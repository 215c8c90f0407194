"""The blocking façade: the same runs, from any number of threads."""

from __future__ import annotations

import inspect
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from core_kit import ADA, ask, only

from counterfoil import (
    Catalogue,
    Confirmation,
    Function,
    Harness,
    Reply,
    Request,
    Run,
    Scripted,
    SqliteJournal,
    sync,
    tool,
)
from counterfoil.types.message import Message
from counterfoil.types.stream import BlockDelta


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool(effect="read")
def look(n: int) -> str:
    """Look."""
    time.sleep(0.005)
    return f"seen {n}"


def answer(request: Request) -> Reply | str:
    """Look at the number that was asked about, then say it."""
    last = request.messages[-1]
    if last.role == "user":
        return Reply(Message("assistant", (ask("look", n=int(last.text)),)), "tool_calls")
    return last.results[0].text


def test_several_threads_share_one_harness(tmp_path: Path) -> None:
    before = threading.active_count()
    with sync.Harness(Function(answer), Catalogue([look]), journal=SqliteJournal(tmp_path / "runs.db")) as harness:
        start = threading.Barrier(8)

        def work(n: int) -> str:
            start.wait()
            return harness.run(str(n), ADA).text

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == [f"seen {n}" for n in range(8)]
        loops = [thread for thread in threading.enumerate() if "portal" in thread.name.lower()]
        assert len(loops) <= 1
    assert before <= threading.active_count() + 2


def test_it_is_the_same_run_as_the_async_one(tmp_path: Path) -> None:
    with sync.Harness(Scripted([[ask("pay", amount=5)], "ok"]), Catalogue([pay])) as harness:
        run = harness.run("x", ADA)
        assert run.outcome.kind == "waiting"
        (waiting,) = harness.confirmations()
        assert waiting == run.confirmations[0]
        harness.answer(waiting.id, approve=True, by="bob")
        run = harness.resume(run.id)
        assert (only(run).text, harness.read(run.id).text) == ("paid 5", "ok")
        outside = harness.call(ask("pay", amount=6), ADA)
        assert isinstance(outside, Confirmation)
        assert harness.cancel(outside.run_id, by="carol").outcome.kind == "cancelled"
        assert harness.doubts() == []


def test_a_stream_may_be_drained_or_left() -> None:
    with sync.Harness(Scripted([[ask("look", n=1)], "a b c", "a b c"]), Catalogue([look])) as harness:
        for event in harness.stream("x", ADA, run_id="r"):
            if isinstance(event, BlockDelta) and event.text == " b":
                break
        events = list(harness.resume_stream("r"))
        assert isinstance(events[-1], Run)
        assert events[-1].text == "a b c"


def test_every_method_of_the_async_harness_is_there() -> None:
    for name, method in inspect.getmembers(Harness, inspect.isfunction):
        if name.startswith("_"):
            continue
        blocking = getattr(sync.Harness, name)
        assert list(inspect.signature(blocking).parameters) == list(inspect.signature(method).parameters), name


def test_the_loop_ends_with_close() -> None:
    before = set(threading.enumerate())
    for _ in range(3):
        with sync.Harness(Scripted(["ok"]), Catalogue()) as harness:
            assert harness.run("x", ADA).text == "ok"
            assert set(threading.enumerate()) - before, "the loop has a thread of its own"
    assert not set(threading.enumerate()) - before
