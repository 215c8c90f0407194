"""Ctrl-C acts on what is waited for, whenever it was pressed, and on nothing else."""

from __future__ import annotations

import builtins
import io
import os
import signal
import sys
from collections.abc import Iterator

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from counterfoil.cli.interrupts import Interrupts


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as opened:
        yield opened


def test_pressed_in_between_it_counts_for_the_next_line(
    portal: BlockingPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    with Interrupts(portal) as interrupts:
        press()
        assert interrupts.pressed
        with pytest.raises(KeyboardInterrupt):
            interrupts.line("? ")
        assert not interrupts.pressed
        assert interrupts.line("? ") == "y"
        with pytest.raises(EOFError):
            interrupts.line("? ")


def test_pressed_in_between_nothing_is_begun(portal: BlockingPortal) -> None:
    begun: list[str] = []

    async def work() -> str:
        begun.append("begun")
        return "done"

    with Interrupts(portal) as interrupts:
        press()
        with pytest.raises(KeyboardInterrupt):
            interrupts.do(work)
        assert begun == []
        assert interrupts.do(work) == "done"


def test_work_is_cancelled_and_has_ended_when_it_says_so(portal: BlockingPortal) -> None:
    told: list[str] = []

    async def work() -> None:
        press()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.2)
            told.append("ended")

    with Interrupts(portal) as interrupts:
        with pytest.raises(KeyboardInterrupt):
            interrupts.do(work)
        assert told == ["ended"]
        assert not interrupts.pressed


def test_what_must_be_finished_is_not_broken_off(portal: BlockingPortal) -> None:
    async def work() -> str:
        press()
        await anyio.sleep(0.2)
        return "done"

    with Interrupts(portal) as interrupts:
        assert interrupts.finish(work) == "done"
        assert interrupts.pressed


def test_an_error_of_the_work_is_its_own(portal: BlockingPortal) -> None:
    async def work() -> None:
        raise ValueError("a fault")

    with Interrupts(portal) as interrupts, pytest.raises(ValueError, match="a fault"):
        interrupts.do(work)


@pytest.mark.parametrize("pressed", [True, False])
def test_two_signals_at_once_are_no_system_error(
    portal: BlockingPortal, monkeypatch: pytest.MonkeyPatch, pressed: bool
) -> None:
    def read(question: str) -> str:
        if pressed:
            press()
        raise SystemError("returned a result with an exception set")

    monkeypatch.setattr(builtins, "input", read)
    with Interrupts(portal) as interrupts, pytest.raises(KeyboardInterrupt if pressed else SystemError):
        interrupts.line("? ")


def test_afterwards_everything_is_as_it_was(portal: BlockingPortal) -> None:
    numbers = (signal.SIGINT, signal.SIGALRM)
    before = [signal.getsignal(number) for number in numbers]
    with Interrupts(portal):
        assert [signal.getsignal(number) for number in numbers] != before
    assert [signal.getsignal(number) for number in numbers] == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
