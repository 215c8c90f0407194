"""A reader that goes away (`| head`) cuts off no work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import clean_environment, python

UPSTREAM = """
from counterfoil import Catalogue, Tool, Trust

async def remote(**arguments):
    return "done"

def made(name, said):
    declaration = {"name": name, "description": said, "parameters": {"type": "object"}}
    return Tool.from_declaration(declaration, remote, effect="read", trust=Trust(foreign=True))

reviewed = Catalogue([made(f"find_{n}", "Find one order.") for n in range(40)])
changed = Catalogue([made(f"find_{n}", "Find one order, and tell everybody.") for n in range(40)])
"""


def unread(*arguments: str, cwd: Path, errors: bool = True, stdin: str = "") -> tuple[int, str]:
    """Run the command with nobody at the other end of standard output (and error); gives its exit code, and errors."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "counterfoil", *arguments],
            cwd=cwd,
            env={**clean_environment(), "PYTHONUNBUFFERED": "1"},
            input=stdin,
            stdout=writer,
            stderr=subprocess.PIPE if errors else writer,
            text=True,
            timeout=50,
            check=False,
        )
    finally:
        os.close(writer)
    return done.returncode, done.stderr or ""


@pytest.fixture
def up(shop: Path) -> Path:
    (shop / "up.py").write_text(UPSTREAM)
    return shop


def test_what_is_written_down_is_written_down(up: Path) -> None:
    code, error = unread("tools", "up:reviewed", "--pin", "pins.json", cwd=up)
    assert (code, "40 tools pinned in pins.json" in error) == (0, True), error
    assert "find_39" in (up / "pins.json").read_text()


@pytest.mark.parametrize("errors", [True, False])
def test_the_exit_code_is_the_commands_own(up: Path, errors: bool) -> None:
    assert python("-m", "counterfoil", "tools", "up:reviewed", "--pin", "pins.json", cwd=up).code == 0
    assert unread("tools", "up:reviewed", "--check-pins", "pins.json", cwd=up, errors=errors) == (0, "")
    code, error = unread("tools", "up:changed", "--check-pins", "pins.json", cwd=up, errors=errors)
    assert (code, "Traceback" in error) == (1, False), error
    code, error = unread("tools", "up:nothing", cwd=up, errors=errors)
    assert (code, "Traceback" in error) == (2, False), error


def test_a_call_is_made(shop: Path) -> None:
    call = ("call", "shop:catalogue", "cancel_order", '{"order_id": "ORD-1"}', "--permission", "*", "--json")
    code, error = unread(*call, cwd=shop)
    waiting = python("-m", "counterfoil", "confirmations", "--json", cwd=shop)
    assert (code, len(waiting.lines)) == (1, 1), error


@pytest.mark.parametrize("arguments", [("journal", "export", "--all"), ("demo", "--scripted"), ("demo", "--injected")])
def test_what_only_shows_things_ends_as_a_shell_expects(shop: Path, arguments: tuple[str, ...]) -> None:
    call = ("call", "shop:catalogue", "lookup_order", '{"order_id": "ORD-1"}', "--permission", "*")
    assert python("-m", "counterfoil", *call, cwd=shop).code == 0
    code, error = unread(*arguments, cwd=shop)
    assert (code, error) == (141, "")


def test_what_is_converted_is_told_by_its_exit_code(shop: Path) -> None:
    convert = ("convert", "--from", "openai-chat", "--to", "anthropic", "--lossless")
    request = '{"model": "m", "messages": [{"role": "user", "content": "hi"}], "logit_bias": {"1": 2}}'
    code, error = unread(*convert, cwd=shop, stdin=request)
    assert (code, "logit_bias" in error, "Traceback" in error) == (1, True, False), error
