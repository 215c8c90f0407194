"""A small shop, and how a command ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHOP = '''
from counterfoil import Catalogue, Harness, ToolError, tool

@tool(effect="read", permission="orders:read")
def lookup_order(order_id: str) -> dict:
    """Find one order by its number."""
    if order_id == "NONE":
        raise ToolError("there is no such order")
    return {"id": order_id, "note": "hostile \\x1b[31mred\\u202e"}

@tool(effect="irreversible", permission="orders:cancel")
def cancel_order(order_id: str) -> str:
    """Cancel an order for good."""
    with open("effects.txt", "a") as file:
        file.write(f"cancelled {order_id}\\n")
    return f"{order_id} is cancelled"

@tool(effect="write", permission="orders:pay")
def pay(amount: float) -> str:
    """Pay."""
    raise RuntimeError("the line broke")

catalogue = Catalogue([lookup_order, cancel_order, pay])
tools = [lookup_order, cancel_order]
stricter = Catalogue([lookup_order])
empty = []
number = 7
'''


class Result:
    """How a command ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"

    @property
    def lines(self) -> list[Any]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Cli = Callable[..., Result]


def clean_environment() -> dict[str, str]:
    """The environment without what would change the command's ways."""
    ours = ("COUNTERFOIL_", "NO_COLOR", "FORCE_COLOR", "CLICOLOR")
    return {key: value for key, value in os.environ.items() if not key.startswith(ours)}


def python(
    *arguments: str, cwd: Path, env: dict[str, str] | None = None, stdin: str = "", seconds: float = 50
) -> Result:
    """Run Python as a process of its own."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**clean_environment(), **(env or {})},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)
