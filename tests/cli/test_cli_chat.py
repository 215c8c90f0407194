"""`counterfoil chat` in a pseudo-terminal: typed at, answered, interrupted."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_kit import clean_environment

HARNESS = """
import anyio
from counterfoil import Function, Gate, Harness, Message, Reply, Text, ToolCall
from shop import catalogue

async def answer(request):
    asked = [m.text for m in request.messages if m.role == "user"][-1]
    last = request.messages[-1]
    if last.role == "tool":
        return f"The tool said: {last.results[0].text}"
    if "slowly" in asked:
        await anyio.sleep(60)
    if "cancel all" in asked:
        numbers = range(1, int(asked.split()[-1]) + 1)
        calls = [ToolCall(f"c{n}", "cancel_order", {"order_id": f"ORD-{n}"}) for n in numbers]
        return Reply(Message("assistant", tuple(calls)), "tool_calls")
    if "cancel" in asked:
        return Reply(Message("assistant", (ToolCall("c", "cancel_order", {"order_id": "ORD-1"}),)), "tool_calls")
    if "fail" in asked:
        raise ValueError("a fault")
    return f"You said {asked}, message {len(request.messages)}."

off = Gate(provenance="off")
harness = Harness(Function(answer), catalogue, gate=off, instructions="Be brief.")
four_eyes = Harness(Function(answer), catalogue, gate=Gate(four_eyes=True, provenance="off"))
"""

HASTY = """
import itertools
import os
import readline
import signal
from talk import harness

prompts = itertools.count(1)

def press():
    if next(prompts) % 2 == 0:
        os.kill(os.getpid(), signal.SIGINT)

# Called when a prompt stands there and before the key is waited for: the moment in which a signal wakes nobody.
readline.set_pre_input_hook(press)
"""


class Terminal:
    """A process in a pseudo-terminal."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.parent, child = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "counterfoil", *arguments],
            cwd=folder,
            env={**clean_environment(), "TERM": "xterm", "COLUMNS": "100", "COUNTERFOIL_JOURNAL": "chat.db"},
            stdin=child,
            stdout=child,
            stderr=child,
            start_new_session=True,
        )
        os.close(child)
        self.said = ""

    def expect(self, words: str, seconds: float = 20) -> str:
        """Wait until something is said; returns all that was said since the last time."""
        end = time.monotonic() + seconds
        while words not in self.said:
            left = end - time.monotonic()
            assert left > 0, f"{words!r} did not come in {seconds} s:\n{self.said}"
            if select.select([self.parent], [], [], left)[0]:
                try:
                    chunk = os.read(self.parent, 65536)
                except OSError:  # Linux says so when the other end is closed
                    chunk = b""
                assert chunk, f"it ended before {words!r}:\n{self.said}"
                self.said += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", chunk.decode(errors="replace")).replace("\r", "")
        before, _, self.said = self.said.partition(words)
        return before

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self.parent, f"{text}\n".encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """Press Ctrl-D, and wait."""
        os.write(self.parent, b"\x04")
        return self.process.wait(10)

    def close(self) -> None:
        """Let go of everything."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.parent)


@pytest.fixture
def terminal(shop: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    (shop / "talk.py").write_text(HARNESS)
    (shop / "hasty.py").write_text(HASTY)
    name = getattr(request, "param", "harness")
    module = "hasty" if name == "hasty" else "talk"
    name = "harness" if name == "hasty" else name
    opened = Terminal(shop, "chat", f"{module}:{name}", "--as", "ada", "--permission", "orders:*")
    try:
        yield opened
    finally:
        opened.close()


def test_ctrl_c_cancels_the_turn_and_not_the_session(terminal: Terminal, shop: Path) -> None:
    terminal.expect("ada> ")
    terminal.type("hello")
    terminal.expect("You said hello, message 2.")
    terminal.expect("ada> ")
    terminal.type("answer slowly")
    time.sleep(0.5)
    began = time.monotonic()
    terminal.interrupt()
    terminal.expect("cancelled")
    terminal.expect("ada> ")
    assert time.monotonic() - began < 5
    terminal.interrupt()
    terminal.expect("Ctrl-D or /quit ends")
    terminal.expect("ada> ")
    terminal.type("again")
    terminal.expect("You said again")
    terminal.expect("ada> ")
    assert terminal.end() == 0


def test_a_confirmation_is_asked_in_place(terminal: Terminal, shop: Path) -> None:
    terminal.expect("ada> ")
    terminal.type("cancel it")
    card = terminal.expect("[y]es, [n]o, [e]dit the arguments, or [l]ater?")
    for shown in ("cancel_order", 'order_id = "ORD-1"', "ada", "cannot be taken back", "digest", "expires"):
        assert shown in card.replace("cancel_order cannot be\n", "cannot be "), card
    assert not (shop / "effects.txt").exists()
    terminal.type("what?")
    terminal.expect("[l]ater?")
    terminal.type("y")
    terminal.expect("The tool said: ORD-1 is cancelled")
    terminal.expect("ada> ")
    assert (shop / "effects.txt").read_text() == "cancelled ORD-1\n"
    terminal.type("cancel it")
    terminal.expect("[l]ater?")
    terminal.type("n")
    terminal.expect("why (the model reads it)?")
    terminal.type("I like it")
    terminal.expect("declined this: I like it")
    terminal.expect("ada> ")
    terminal.type("cancel it")
    terminal.expect("[l]ater?")
    terminal.interrupt()
    terminal.expect("cancelled")
    terminal.expect("ada> ")
    terminal.type("hello")
    terminal.expect("You said hello")
    terminal.expect("ada> ")
    assert (shop / "effects.txt").read_text() == "cancelled ORD-1\n"
    assert terminal.end() == 0


@pytest.mark.parametrize("terminal", ["hasty"], indirect=True)
def test_ctrl_c_is_heard_between_a_prompt_and_the_first_key(terminal: Terminal, shop: Path) -> None:
    for _ in range(3):
        terminal.expect("ada> ")
        terminal.type("cancel it")
        terminal.expect("[l]ater?")  # the second prompt: Ctrl-C
        terminal.expect("cancelled")
        terminal.expect("ada> ")
        terminal.type("hello")
        terminal.expect("You said hello")
        terminal.expect("ada> ")  # the fourth: Ctrl-C
        terminal.expect("Ctrl-D or /quit ends")
    terminal.expect("ada> ")
    terminal.type("/quit")
    assert terminal.process.wait(20) == 0
    assert not (shop / "effects.txt").exists()


def test_ctrl_c_pressed_again_and_again_ends_the_turn_and_not_the_session(terminal: Terminal) -> None:
    terminal.expect("ada> ")
    terminal.type("answer slowly")
    terminal.expect("answer slowly")
    for _ in range(30):
        terminal.interrupt()
        time.sleep(0.01)
    terminal.type("hello")
    while "You said hello" not in terminal.expect("ada> "):
        terminal.type("hello")  # the last of them may have taken the line back
    terminal.type("/quit")
    assert terminal.process.wait(20) == 0


def test_ctrl_d_leaves_what_is_asked_for_later(terminal: Terminal) -> None:
    terminal.expect("ada> ")
    terminal.type("cancel all 3")
    terminal.expect("[l]ater?")
    terminal.type("n")
    terminal.expect("why (the model reads it)?")
    os.write(terminal.parent, b"\x04")
    assert "counterfoil approve" in terminal.expect("ada> ")
    assert terminal.end() == 0


def test_calls_asked_about_for_the_same_reason_are_answered_once(terminal: Terminal, shop: Path) -> None:
    terminal.expect("ada> ")
    terminal.type("cancel all 3")
    card = terminal.expect("[y]es to all 3, [n]o to all, [o]ne by one, or [l]ater?")
    assert card.count("requester") == card.count("digest") == card.count("asked because") == 1
    assert [n for n in range(1, 5) if f'order_id = "ORD-{n}"' in card] == [1, 2, 3]
    terminal.type("y")
    terminal.expect("The tool said: ORD-1 is cancelled")
    terminal.expect("ada> ")
    terminal.type("cancel all 2")
    terminal.expect("[l]ater?")
    terminal.type("o")
    terminal.expect("[y]es, [n]o, [e]dit the arguments, or [l]ater?")
    terminal.type("n")
    terminal.expect("why")
    terminal.type("kept")
    terminal.expect("[e]dit the arguments")
    terminal.type("y")
    terminal.expect("declined this: kept")
    terminal.expect("ada> ")
    assert sorted((shop / "effects.txt").read_text().split("\n")) == [
        "", "cancelled ORD-1", "cancelled ORD-2", "cancelled ORD-2", "cancelled ORD-3"
    ]  # fmt: skip
    assert terminal.end() == 0


def test_what_was_not_shown_cannot_be_approved(terminal: Terminal, shop: Path) -> None:
    terminal.expect("ada> ")
    terminal.type("cancel all 45")
    card = terminal.expect("[m]ore (20 of 45 shown), [n]o to all, [o]ne by one, or [l]ater?")
    assert "ORD-20" in card
    assert "ORD-21" not in card.partition("requester")[2]
    terminal.type("y")
    terminal.expect("25 of them have not been shown")
    terminal.expect("[l]ater?")
    terminal.type("m")
    terminal.expect("[m]ore (40 of 45 shown)")
    terminal.type("m")
    assert "ORD-45" in terminal.expect("[y]es to all 45")
    assert not (shop / "effects.txt").exists()
    terminal.type("y")
    terminal.expect("The tool said")
    terminal.expect("ada> ")
    assert len((shop / "effects.txt").read_text().splitlines()) == 45
    assert terminal.end() == 0


@pytest.mark.parametrize("terminal", ["four_eyes"], indirect=True)
def test_an_answer_from_another_terminal(terminal: Terminal, shop: Path) -> None:
    terminal.expect("ada> ")
    terminal.type("cancel it")
    terminal.expect("[l]ater?")
    terminal.type("y")
    terminal.expect("somebody else must approve it")
    told = terminal.expect("ada> ")
    id = re.search(r"counterfoil approve (\S+)", told)
    assert id is not None, told
    terminal.type("hello")
    terminal.expect("waits for an answer: /resume")
    terminal.type("/tools")
    terminal.expect("irreversible")
    terminal.type("/nonsense")
    terminal.expect("there is no /nonsense")
    terminal.expect("ada> ")
    terminal.type("/quit")
    assert terminal.process.wait(10) == 0
    approved = subprocess.run(
        [sys.executable, "-m", "counterfoil", "approve", id.group(1), "--by", "bob", "--journal", "chat.db"],
        cwd=shop, env=clean_environment(), capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    assert approved.returncode == 0, approved
    again = Terminal(shop, "chat", "talk:four_eyes", "--as", "ada", "--permission", "orders:*", "--run", "last")
    try:
        again.expect("ada> ")
        again.type("/resume")
        again.expect("The tool said: ORD-1 is cancelled")
        assert (shop / "effects.txt").read_text() == "cancelled ORD-1\n"
        again.expect("ada> ")
        assert again.end() == 0
    finally:
        again.close()


def test_a_model_that_raises_ends_the_turn_and_not_the_session(terminal: Terminal) -> None:
    terminal.expect("ada> ")
    terminal.type("fail")
    terminal.expect("ValueError")
    terminal.expect("ada> ")
    terminal.type("hello")
    terminal.expect("You said hello")
    terminal.expect("ada> ")
    assert terminal.end() == 0
